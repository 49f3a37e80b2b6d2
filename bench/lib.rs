//! Benchmarks of the engine: `cargo xtask bench micro`, or `cargo bench -p terrane-bench -- NAME` for some.
