//! The allocator. mimalloc, since the system's keeps an arena for each thread of a server: its processes
//! stay larger and its commands are slower. Running out of memory prints a sentence and exits, where Rust
//! would abort; a store recovers from it as from a power cut.

use crate::exit::Exit;
use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout};
use std::io::{self, Write};
use std::process;

/// mimalloc; a request that it refuses ends the process.
struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: each call goes to mimalloc as it came, and its result is handed on.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`, which is the same there.
        given(unsafe { MiMalloc.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        given(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: `memory` came from mimalloc, with `layout`.
        given(unsafe { MiMalloc.realloc(memory, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from mimalloc, with `layout`.
        unsafe { MiMalloc.dealloc(memory, layout) }
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
