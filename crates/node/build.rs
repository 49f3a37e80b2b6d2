//! Flags by which an addon finds Node's functions in the program that loads it.

fn main() {
    // On Windows it looks them up by itself, and the flags would name a library of Node that they are imported from.
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("windows") {
        napi_build::setup();
    }
}
