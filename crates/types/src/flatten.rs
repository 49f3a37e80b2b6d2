//! Iteration over lists of lists: the groups of compactions, the inputs of groups.
//!
//! `flat_map` does the same, but it is compiled for each closure and each use, with the inner iteration
//! three times in each, which a browser would download.

use std::slice::Iter;

/// The members of each list of `outer`, in order.
#[derive(Clone)]
pub struct Flatten<'a, O, I> {
    outer: Iter<'a, O>,
    inner: Iter<'a, I>,
    list: fn(&'a O) -> &'a [I],
}

impl<'a, O, I> Flatten<'a, O, I> {
    /// The members of the lists that `list` returns for each of `outer`.
    pub fn new(outer: &'a [O], list: fn(&'a O) -> &'a [I]) -> Self {
        Flatten { outer: outer.iter(), inner: Iter::default(), list }
    }
}

impl<'a, O, I> Iterator for Flatten<'a, O, I> {
    type Item = &'a I;

    fn next(&mut self) -> Option<&'a I> {
        loop {
            if let Some(member) = self.inner.next() {
                return Some(member);
            }
            self.inner = (self.list)(self.outer.next()?).iter();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Flatten;

    #[test]
    fn members_come_list_after_list_and_empty_lists_hold_none() {
        let lists = [vec![], vec![1, 2], vec![], vec![], vec![3], vec![]];
        let found: Vec<_> = Flatten::new(&lists, |list| list).copied().collect();
        assert_eq!(found, [1, 2, 3]);
        assert_eq!(Flatten::new(&lists[..1], |list: &Vec<i32>| list).next(), None);
    }
}
