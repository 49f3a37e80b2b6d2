//! Counts that many threads add to, often, and few read. Natively each thread adds to counts of its own: without a
//! locked instruction, and without a cache line that goes from one processor to the other. Elsewhere all threads add
//! to the same.

use imp::Counts;

/// `N` sums. A reader sees the counts of threads that have ended, and those that happened before what it waited for.
pub struct Tallies<const N: usize>(imp::All<N>);

/// This thread's counts.
pub struct Own<'a, const N: usize>(&'a Counts<N>);

impl<const N: usize> Default for Tallies<N> {
    fn default() -> Self {
        Tallies(imp::All::default())
    }
}

impl<const N: usize> Tallies<N> {
    /// Returns the counts that this thread adds to.
    #[inline]
    pub fn own(&self) -> Own<'_, N> {
        Own(imp::own(&self.0))
    }

    /// Returns the sum of a count over all threads.
    pub fn sum(&self, n: usize) -> u64 {
        imp::sum(&self.0, n)
    }
}

impl<const N: usize> Own<'_, N> {
    /// Adds to a count.
    #[inline]
    pub fn add(&self, n: usize, more: u64) {
        if let Some(count) = self.0.get(n) {
            imp::add(count, more);
        }
    }
}

#[cfg(not(any(target_arch = "wasm32", loom, shuttle)))]
mod imp {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
    use thread_local::ThreadLocal;

    pub type Counts<const N: usize> = [AtomicU64; N];

    /// Counts of one thread, on cache lines of their own. A thread that starts may take over those of one that ended.
    #[repr(align(128))]
    pub struct Aligned<const N: usize>(Counts<N>);

    #[derive(Default)]
    pub struct All<const N: usize>(ThreadLocal<Box<Aligned<N>>>);

    #[inline]
    pub fn own<const N: usize>(all: &All<N>) -> &Counts<N> {
        let zeros = || Box::new(Aligned(std::array::from_fn(|_| AtomicU64::new(0))));
        &all.0.get_or(zeros).0
    }

    /// Adds to a count that no other thread writes.
    #[inline]
    pub fn add(count: &AtomicU64, more: u64) {
        count.store(count.load(Relaxed).wrapping_add(more), Relaxed);
    }

    pub fn sum<const N: usize>(all: &All<N>, n: usize) -> u64 {
        let counts = all.0.iter().filter_map(|own| own.0.get(n));
        counts.fold(0, |sum, count| sum.wrapping_add(count.load(Relaxed)))
    }
}

#[cfg(any(target_arch = "wasm32", loom, shuttle))]
mod imp {
    use crate::sync::atomic::{AtomicU64, Ordering::Relaxed};

    pub type Counts<const N: usize> = [AtomicU64; N];

    pub struct All<const N: usize>(Counts<N>);

    impl<const N: usize> Default for All<N> {
        fn default() -> Self {
            All(std::array::from_fn(|_| AtomicU64::new(0)))
        }
    }

    #[inline]
    pub fn own<const N: usize>(all: &All<N>) -> &Counts<N> {
        &all.0
    }

    #[inline]
    pub fn add(count: &AtomicU64, more: u64) {
        count.fetch_add(more, Relaxed);
    }

    pub fn sum<const N: usize>(all: &All<N>, n: usize) -> u64 {
        all.0.get(n).map_or(0, |count| count.load(Relaxed))
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::Tallies;
    use std::thread;

    #[test]
    fn counts_of_threads_that_run_and_have_ended_are_summed() {
        let tallies = Tallies::<2>::default();
        tallies.own().add(1, 5);
        for threads in 1..=3 {
            thread::scope(|scope| {
                for n in 0..threads {
                    let tallies = &tallies;
                    scope.spawn(move || (0..1000).for_each(|_| tallies.own().add(0, n)));
                }
            });
        }
        tallies.own().add(1, 1);
        tallies.own().add(2, 9);
        assert_eq!([0, 1, 2].map(|n| tallies.sum(n)), [4000, 6, 0]);
    }
}
