//! Running out of memory: a sentence and an exit code, where Rust would abort. A store recovers
//! from it as from a power cut.

use crate::exit::Exit;
use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{self, Write};
use std::process;

/// The system's memory; a request that it refuses ends the process.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: each call goes to the system's allocator as it came, and its result is handed on.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is the same there.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: `memory` came from the system's allocator, with `layout`.
        given(unsafe { System.realloc(memory, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from the system's allocator, with `layout`.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn given(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        end(bytes);
    }
    memory
}

#[cold]
fn end(bytes: usize) -> ! {
    // Neither standard error nor a number takes memory to be written.
    let _ = writeln!(io::stderr(), "terrane: out of memory: could not allocate {bytes} bytes");
    process::exit(Exit::Io as i32)
}
