//! The memory of a block that left the cache, for the next block that its thread reads: a cache that is
//! full frees a block for each that it takes, and both have about one size.

use super::block::Block;
use std::cell::Cell;
use std::sync::Arc;

thread_local! {
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Keeps the memory of a block, unless somebody reads it, or the thread ends and has given up what it keeps:
/// what it drops then may still read.
pub(super) fn keep(block: Arc<Block>) {
    if let Some(block) = Arc::into_inner(block) {
        let _ = SPARE.try_with(|spare| spare.set(block.into_bytes()));
    }
}

/// Memory for `len` bytes, with anything in it. It is at most twice as large, since the cache counts it.
pub(super) fn take(len: usize) -> Vec<u8> {
    let spare = SPARE.try_with(Cell::take).unwrap_or_default();
    let fits = (len..=len.saturating_mul(2)).contains(&spare.capacity());
    if fits { spare } else { Vec::with_capacity(len) }
}

#[cfg(test)]
mod tests {
    use super::super::block_writer::BlockWriter;
    use super::*;
    use crate::entry::Tag;
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    /// A block of about `bytes`, and where its memory lies.
    fn block(bytes: usize) -> (Arc<Block>, *const u8) {
        let mut writer = BlockWriter::new(16);
        writer.add(0, b"key", Tag::at(1), &vec![7; bytes]);
        let bytes = writer.finish().to_vec();
        let place = bytes.as_ptr();
        (Arc::new(Block::decode(bytes).unwrap()), place)
    }

    #[test]
    fn an_unread_blocks_memory_serves_the_next_of_about_its_size() {
        for (len, is_taken) in [(600, true), (1000, true), (400, false), (2000, false)] {
            let (spare, place) = block(1000);
            keep(spare);
            let taken = take(len);
            assert_eq!(taken.as_ptr() == place, is_taken, "{len} bytes");
            assert!((len..=2 * len).contains(&taken.capacity()));
            assert_eq!(SPARE.take().capacity(), 0, "taken or given up");
        }
    }

    #[test]
    fn a_thread_that_ends_reads_without_spare_memory() {
        /// Reads when it is dropped.
        struct Reads(Arc<AtomicBool>);
        impl Drop for Reads {
            fn drop(&mut self) {
                assert!(SPARE.try_with(|_| ()).is_err(), "it was used later, and is gone first");
                keep(block(1000).0);
                assert!(take(1000).capacity() >= 1000);
                self.0.store(true, Ordering::Relaxed);
            }
        }
        thread_local! {
            static READS: RefCell<Option<Reads>> = const { RefCell::new(None) };
        }
        let done = Arc::new(AtomicBool::new(false));
        let reads = Reads(done.clone());
        thread::spawn(move || {
            READS.set(Some(reads));
            keep(block(1000).0);
        })
        .join()
        .unwrap();
        assert!(done.load(Ordering::Relaxed));
    }

    #[test]
    fn a_block_that_somebody_reads_keeps_its_memory() {
        let (read, place) = block(1000);
        keep(Arc::clone(&read));
        let taken = take(1000);
        assert_ne!(taken.as_ptr(), place);
        assert_eq!(read.entries().as_ptr(), place);
    }
}
