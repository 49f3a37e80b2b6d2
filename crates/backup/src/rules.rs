//! The rules of backups, as switches.
//!
//! A product build keeps every rule, and the compiler sees a constant. In unit tests each can be broken, so that a test
//! shows that the model (`model`) would notice.

terrane::rules! {
    test;
    /// A rule (INVARIANTS.md).
    pub(crate) enum Rule {
        /// 1. A store claims a place only if nobody else has claimed it since.
        OwnClaim = 1,
        /// 2. A store records a claim before it creates the claim.
        RecordFirst = 2,
        /// 3. Until a claim of a store is there, the store keeps the marks of all its tries.
        KeepTries = 3,
        /// 4. Each try has a mark of its own.
        OwnMark = 4,
        /// 5. A store that lacks batches of its lineage, or is from before another continued it, does not continue it.
        RefuseOlder = 5,
        /// 6. A writer ends the other lineages of the place before it uploads.
        EndOthers = 6,
        /// 7. A manifest of a later epoch fences a writer that starts.
        LaterEpoch = 7,
        /// 8. A manifest is created only where there is none.
        CreateOnce = 8,
        /// 9. Another writer's manifest where the next one belongs fences a writer.
        OwnManifest = 9,
        /// 10. A manifest names a base only with all batches through its moment.
        WholeBase = 10,
        /// 11. Batches count as uploaded once a manifest names them.
        NamedFirst = 11,
        /// 12. Lineages are searched from the newest one on, by epochs and successors.
        NewestFirst = 12,
        /// 13. No object is removed that a kept manifest names.
        KeepNamed = 13,
        /// 14. A store that takes over starts a lineage before its claim.
        OwnLineage = 14,
    }
}
