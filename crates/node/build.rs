//! Flags by which an addon finds Node's functions in the program that loads it.

fn main() {
    napi_build::setup();
}
