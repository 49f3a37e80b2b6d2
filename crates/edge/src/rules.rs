//! The rules of replication, as switches.
//!
//! A product build keeps every rule, and the compiler sees a constant. In unit tests each can be broken, so that a test
//! shows that the model of replicas (`follow/model`) would notice.

terrane::rules! {
    test;
    /// A rule (INVARIANTS.md).
    pub(crate) enum Rule {
        /// 1. A replica writes a batch of the source and the cursor after it as one batch.
        CursorWithBatch = 1,
        /// 2. It deletes a cursor, durably, before its rows stop fitting it.
        ForgetFirst = 2,
        /// 3. It empties its store before it loads a snapshot.
        EmptyFirst = 3,
        /// 4. The cursor of a snapshot is in the batch of its last rows.
        CursorLast = 4,
        /// 5. A batch that does not follow the last one is refused.
        InOrder = 5,
        /// 6. A server syncs what a snapshot shows before it sends the snapshot.
        SnapshotAfterSync = 6,
    }
}
