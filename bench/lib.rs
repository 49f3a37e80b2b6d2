//! Benchmarks of the engine: `cargo xtask bench`, or `cargo bench -p terrane-bench -- NAME` for some.
