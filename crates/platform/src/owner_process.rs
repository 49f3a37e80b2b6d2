//! The process that opened a store. A child that it forks has a copy of the store's memory and shares its
//! files: if it wrote as well, both would write the same bytes of the log.
//!
//! On Linux a page that the system clears in the child distinguishes the two, without a system call for
//! each write. Elsewhere, and where there is no such page, the process id does.

#[cfg(target_os = "linux")]
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
#[cfg(target_os = "linux")]
use std::ptr::{self, NonNull};
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicU8, Ordering};

/// Bytes to map: the system makes a page of them.
#[cfg(target_os = "linux")]
const MARK_BYTES: usize = 1;

/// The process that opened a store.
pub struct OwnerProcess {
    id: u32,
    #[cfg(target_os = "linux")]
    mark: Option<Mark>,
}

impl OwnerProcess {
    /// Returns this process.
    #[must_use]
    pub fn current() -> Self {
        OwnerProcess {
            id: std::process::id(),
            #[cfg(target_os = "linux")]
            mark: Mark::new(),
        }
    }

    /// Whether this process is the owner.
    #[inline]
    #[must_use]
    pub fn is_current(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(mark) = &self.mark {
            return mark.is_set();
        }
        self.id == std::process::id()
    }
}

/// A page with a mark that a forked child finds cleared.
#[cfg(target_os = "linux")]
struct Mark(NonNull<AtomicU8>);

// SAFETY: an atomic is shared between threads, and no thread has an affinity to the page.
#[cfg(target_os = "linux")]
unsafe impl Send for Mark {}
// SAFETY: as above.
#[cfg(target_os = "linux")]
unsafe impl Sync for Mark {}

#[cfg(target_os = "linux")]
impl Mark {
    /// Maps a page and sets the mark, if the system clears it in a child.
    fn new() -> Option<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, where the system has room.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), MARK_BYTES, access, MapFlags::PRIVATE) };
        let page = start.ok()?;
        let mark = Mark(NonNull::new(page.cast::<AtomicU8>())?);
        // SAFETY: this mapping, which is anonymous and private.
        unsafe { madvise(page, MARK_BYTES, Advice::LinuxWipeOnFork) }.ok()?;
        mark.byte().store(1, Ordering::Relaxed);
        Some(mark)
    }

    fn is_set(&self) -> bool {
        self.byte().load(Ordering::Relaxed) != 0
    }

    fn byte(&self) -> &AtomicU8 {
        // SAFETY: the page is mapped, readable and writable until this is dropped; it starts as zeros.
        unsafe { self.0.as_ref() }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mark {
    fn drop(&mut self) {
        // SAFETY: this mapping, to which no reference is left. It stays if the system fails.
        let _ = unsafe { munmap(self.0.as_ptr().cast(), MARK_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_opened_a_store_is_its_owner() {
        let owner = OwnerProcess::current();
        assert!(owner.is_current());
        #[cfg(target_os = "linux")]
        assert!(owner.mark.is_some_and(|mark| mark.is_set()), "the system clears pages in a child");
        let other = OwnerProcess {
            id: std::process::id() + 1,
            #[cfg(target_os = "linux")]
            mark: None,
        };
        assert!(!other.is_current());
    }
}
