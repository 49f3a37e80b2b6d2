//! An atomic `Option<Arc<T>>`: readers follow the pointer while others replace it. Natively a reader pins the epoch,
//! and a replaced value is dropped once no thread is left that was pinned then. So readers write nothing that is
//! shared. In a browser with threads the pointer is `arc-swap`'s; without threads it has a lock, which costs nothing
//! there. loom models the native one over a model of epochs, but for the reference counts of what [`Swap::load_full`]
//! returns.

use std::sync::Arc;

#[cfg(not(target_arch = "wasm32"))]
pub use imp::{Pin, Pinned};

/// A pointer to a `T`, or to nothing.
pub struct Swap<T>(imp::Place<T>);

impl<T: Send + Sync + 'static> Default for Swap<T> {
    fn default() -> Self {
        Swap::empty()
    }
}

impl<T: Send + Sync + 'static> Swap<T> {
    /// Returns a pointer to nothing.
    pub fn empty() -> Self {
        Swap(imp::Place::default())
    }

    /// Replaces the value, which is dropped later.
    pub fn store(&self, value: Option<Arc<T>>) {
        imp::store(&self.0, value);
    }

    /// Borrows the value.
    #[inline]
    pub fn load(&self) -> imp::Held<T> {
        imp::load(&self.0)
    }

    /// Borrows the value for as long as this thread stays pinned.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline]
    pub fn peek<'p>(&'p self, pinned: &'p imp::Pinned) -> Option<&'p T> {
        imp::peek(&self.0, pinned)
    }

    /// Asks for the value, which is read soon.
    #[cfg(not(target_arch = "wasm32"))]
    #[inline]
    pub fn prefetch(&self) {
        imp::prefetch(&self.0);
    }

    /// Clones the pointer.
    pub fn load_full(&self) -> Option<Arc<T>> {
        imp::load_full(&self.0)
    }

    /// Drops the value, at once if no thread is pinned.
    pub fn clear(&self) {
        self.replace(None);
    }

    /// Replaces the value, which is dropped at once if no thread is pinned.
    pub fn replace(&self, value: Option<Arc<T>>) {
        self.store(value);
        #[cfg(not(target_arch = "wasm32"))]
        imp::reclaim();
    }
}

#[cfg(not(target_arch = "wasm32"))]
mod imp {
    #[cfg(loom)]
    use crate::sync::{epoch_model as epoch, lock_free::atomic};
    use atomic::{AtomicPtr, Ordering};
    #[cfg(not(loom))]
    use crossbeam_epoch as epoch;
    use epoch::Guard;
    use std::marker::PhantomData;
    use std::ptr;
    use std::sync::Arc;
    #[cfg(not(loom))]
    use std::sync::atomic;

    /// A pointer that owns a reference count of its value.
    pub struct Place<T>(AtomicPtr<T>, PhantomData<Arc<T>>);

    /// A value that is not dropped while its reader, this thread, is pinned.
    pub struct Held<T> {
        value: *const T,
        _pinned: Guard,
    }

    /// Proof that this thread is pinned.
    pub type Pinned = Guard;

    /// The pin of a thread that reads, once it needs one. Nothing that is replaced meanwhile is dropped, so no pin may
    /// be held while a file is read.
    #[derive(Default)]
    pub struct Pin(Option<Guard>);

    impl Pin {
        /// Pins the thread unless it is pinned.
        #[inline]
        pub fn pinned(&mut self) -> &Pinned {
            self.0.get_or_insert_with(epoch::pin)
        }
    }

    impl<T> Default for Place<T> {
        fn default() -> Self {
            Place(AtomicPtr::new(ptr::null_mut()), PhantomData)
        }
    }

    impl<T> Drop for Place<T> {
        fn drop(&mut self) {
            drop(owned(self.0.load(Ordering::Relaxed)));
        }
    }

    impl<T> Held<T> {
        #[inline]
        pub fn as_deref(&self) -> Option<&T> {
            // SAFETY: this thread was pinned when it followed the pointer, and is. What is taken out of a place is
            // dropped once no thread is left that was pinned then.
            unsafe { self.value.as_ref() }
        }
    }

    /// Takes over the count that a place owned.
    fn owned<T>(value: *const T) -> Option<Arc<T>> {
        // SAFETY: pointers in places are those of `Arc::into_raw`, and each is taken out once.
        (!value.is_null()).then(|| unsafe { Arc::from_raw(value) })
    }

    pub fn store<T: Send + Sync + 'static>(place: &Place<T>, value: Option<Arc<T>>) {
        let value = value.map_or(ptr::null(), Arc::into_raw).cast_mut();
        if let Some(before) = owned(place.0.swap(value, Ordering::AcqRel)) {
            let pinned = epoch::pin();
            pinned.defer(move || drop(before));
            pinned.flush();
        }
    }

    /// Drops replaced values that nobody can read any longer. Each round ends an epoch if no thread is pinned, and two
    /// must have ended.
    pub fn reclaim() {
        for _ in 0..3 {
            epoch::pin().flush();
        }
    }

    #[inline]
    pub fn load<T>(place: &Place<T>) -> Held<T> {
        let pinned = epoch::pin();
        Held { value: place.0.load(Ordering::Acquire), _pinned: pinned }
    }

    #[inline]
    pub fn peek<'p, T>(place: &'p Place<T>, _: &'p Pinned) -> Option<&'p T> {
        // SAFETY: as in `Held::as_deref`.
        unsafe { place.0.load(Ordering::Acquire).as_ref() }
    }

    #[inline]
    pub fn prefetch<T>(place: &Place<T>) {
        /// The counts lie before the value.
        const COUNTS: usize = 2 * size_of::<usize>();
        let value = place.0.load(Ordering::Relaxed).wrapping_byte_sub(COUNTS);
        crate::prefetch::prefetch(value, COUNTS + size_of::<T>());
    }

    pub fn load_full<T>(place: &Place<T>) -> Option<Arc<T>> {
        let held = load(place);
        held.as_deref()?;
        // SAFETY: the value has a count: that of the place, or of the drop that waits for this pin.
        unsafe {
            Arc::increment_strong_count(held.value);
            Some(Arc::from_raw(held.value))
        }
    }
}

#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
mod imp {
    use std::sync::Arc;

    pub type Place<T> = arc_swap::ArcSwapOption<T>;
    pub type Held<T> = arc_swap::Guard<Option<Arc<T>>>;

    pub fn store<T>(place: &Place<T>, value: Option<Arc<T>>) {
        place.store(value);
    }

    #[inline]
    pub fn load<T>(place: &Place<T>) -> Held<T> {
        place.load()
    }

    pub fn load_full<T>(place: &Place<T>) -> Option<Arc<T>> {
        place.load_full()
    }
}

#[cfg(all(target_arch = "wasm32", not(target_feature = "atomics")))]
mod imp {
    use std::sync::{Arc, PoisonError, RwLock};

    pub struct Place<T>(RwLock<Option<Arc<T>>>);
    pub type Held<T> = Option<Arc<T>>;

    impl<T> Default for Place<T> {
        fn default() -> Self {
            Place(RwLock::new(None))
        }
    }

    pub fn store<T>(place: &Place<T>, value: Option<Arc<T>>) {
        let mut held = place.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *held, value);
        drop(held);
        drop(before);
    }

    pub fn load<T>(place: &Place<T>) -> Held<T> {
        place.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn load_full<T>(place: &Place<T>) -> Option<Arc<T>> {
        load(place)
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::{Pin, Swap};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::thread;

    /// Counts the values that are not dropped.
    struct Counted<'a>(u64, u64, &'a AtomicUsize);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            (self.0, self.1) = (1, 2);
            self.2.fetch_sub(1, Ordering::SeqCst);
        }
    }

    static THERE: AtomicUsize = AtomicUsize::new(0);

    fn counted(n: u64) -> Option<Arc<Counted<'static>>> {
        THERE.fetch_add(1, Ordering::SeqCst);
        Some(Arc::new(Counted(n, n, &THERE)))
    }

    #[test]
    fn readers_see_whole_values_while_others_replace_them() {
        let (swap, stops) = (Swap::empty(), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stops.load(Ordering::Relaxed) {
                        let mut pin = Pin::default();
                        let whole = |value: &Counted<'_>| assert_eq!(value.0, value.1);
                        swap.peek(pin.pinned()).iter().for_each(|value| whole(value));
                        drop(pin);
                        swap.load().as_deref().iter().for_each(|value| whole(value));
                        swap.load_full().iter().for_each(|value| whole(value));
                    }
                });
            }
            for n in 0..10_000 {
                swap.store(if n % 10 == 0 { None } else { counted(n) });
            }
            stops.store(true, Ordering::Relaxed);
        });
        let last = swap.load_full().map(|value| value.0);
        assert_eq!(last, Some(9999));
        drop(swap);
        // Replaced values are dropped as others pin and unpin.
        while THERE.load(Ordering::SeqCst) > 0 {
            Swap::<u64>::empty().store(None);
            let swap = Swap::empty();
            swap.store(Some(Arc::new(1)));
            swap.store(None);
        }
    }
}
