//! Pointers that are swapped while others follow them, in every order of their atomic operations.

use crate::loomed::explore;
use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;
use terrane_table::sync::swap::{Pin, Swap};

/// A value that loom knows to be written when it is made and when it is dropped: it panics if a thread reads it that
/// may not have seen the one, or while another may do the other.
struct Value(u64, UnsafeCell<()>);

// SAFETY: the cell has nothing in it, and loom checks every access.
unsafe impl Sync for Value {}

impl Value {
    fn new(number: u64) -> Option<Arc<Self>> {
        let written = UnsafeCell::new(());
        written.with_mut(|_| ());
        Some(Arc::new(Value(number, written)))
    }

    fn number(&self) -> u64 {
        self.1.with(|_| ());
        self.0
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        self.1.with_mut(|_| ());
    }
}

/// Returns a pointer to the value 1.
fn one() -> Arc<Swap<Value>> {
    let swap = Swap::empty();
    swap.store(Value::new(1));
    Arc::new(swap)
}

#[test]
fn a_borrowed_value_is_whole_while_it_is_replaced() {
    explore(3, || {
        let swap = one();
        let replaced = swap.clone();
        let writer = thread::spawn(move || replaced.store(Value::new(2)));
        let mut pin = Pin::default();
        let peek = |pin: &mut Pin| swap.peek(pin.pinned()).map(Value::number);
        let (first, second) = (peek(&mut pin), peek(&mut pin));
        assert!(matches!((first, second), (Some(1), Some(1 | 2)) | (Some(2), Some(2))));
        drop(pin);
        assert!(swap.load().as_deref().map(Value::number) >= second);
        writer.join().unwrap();
        assert_eq!(swap.load().as_deref().map(Value::number), Some(2));
    });
}

#[test]
fn a_value_that_is_cleared_stays_for_those_who_borrowed_it() {
    explore(3, || {
        let swap = one();
        let cleared = swap.clone();
        let writer = thread::spawn(move || cleared.clear());
        let held = swap.load();
        assert!(matches!(held.as_deref().map(Value::number), None | Some(1)));
        assert_eq!(held.as_deref().is_some(), held.as_deref().map(Value::number) == Some(1));
        drop(held);
        writer.join().unwrap();
        assert!(swap.load().as_deref().is_none());
    });
}

#[test]
fn two_writers_drop_each_value_once() {
    explore(2, || {
        let swap = one();
        let writers = [2, 3].map(|number| {
            let swap = swap.clone();
            thread::spawn(move || swap.store(Value::new(number)))
        });
        let held = swap.load();
        assert!(held.as_deref().map(Value::number) >= Some(1));
        drop(held);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert!(swap.load().as_deref().map(Value::number) >= Some(2));
    });
}

/// A value that shows another, as a get reads them.
struct Shows {
    own: Value,
    shown: Swap<Value>,
}

fn shows(number: u64, shown: u64) -> Option<Arc<Shows>> {
    let own = Arc::into_inner(Value::new(number)?)?;
    let swap = Swap::empty();
    swap.store(Value::new(shown));
    Some(Arc::new(Shows { own, shown: swap }))
}

#[test]
fn one_pin_keeps_a_value_and_what_it_shows() {
    explore(2, || {
        let place = Arc::new(Swap::empty());
        place.store(shows(1, 2));
        // One writer hides what the value shows, as an eviction does, then replaces the value, as an edit does.
        let written = place.clone();
        let writer = thread::spawn(move || {
            let mut pin = Pin::default();
            written.peek(pin.pinned()).into_iter().for_each(|value| value.shown.clear());
            drop(pin);
            written.replace(shows(3, 4));
        });
        let mut pin = Pin::default();
        let pinned = pin.pinned();
        let value = place.peek(pinned).expect("it is replaced, never taken out");
        let shown = value.shown.peek(pinned);
        let seen = (value.own.number(), shown.map(Value::number));
        assert!(matches!(seen, (1, None | Some(2)) | (3, Some(4))), "{seen:?}");
        // Both are there until the pin ends.
        assert_eq!((value.own.number(), shown.map(Value::number)), seen);
        drop(pin);
        writer.join().unwrap();
        assert_eq!(place.load().as_deref().map(|value| value.own.number()), Some(3));
    });
}
