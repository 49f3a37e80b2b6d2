//! Merge or move: which tables of a set that overlap are merged because of the prefixes that they share.
//!
//! A table is *single-prefix* or *multi-prefix*. Of N tables:
//!
//! 1. N = 1: it moves.
//! 2. N = 2: two of a kind are merged; one of each both move.
//! 3. N >= 3: tables that hold a prefix which two others hold, are merged; so are two of a kind that alone
//!    share a prefix. Of one of each that do, neither is merged for it.
//!
//! What shares a table is merged together. A table whose set of prefixes is unknown holds each that it spans;
//! two such tables share one if and only if one of them spans the first prefix of the other.

use std::sync::Arc;
use terrane_types::{PrefixRule, TableInfo, sort_by};

/// Prefixes of a table.
enum Held<'a> {
    Set(&'a [Vec<u8>]),
    /// All from one to another.
    Span(&'a [u8], &'a [u8]),
}

impl<'a> Held<'a> {
    fn by(table: &'a TableInfo, rule: PrefixRule) -> Self {
        match table.prefixes.by(rule) {
            Some(set) => Held::Set(set),
            None => Held::Span(rule.of(&table.smallest), rule.of(&table.largest)),
        }
    }

    fn is_single(&self) -> bool {
        matches!(self, Held::Set(set) if set.len() == 1)
    }
}

/// The tables of a set that overlap which are merged, in the sets in which they are.
pub(super) fn merge_sets<'a>(
    tables: &[&'a Arc<TableInfo>],
    rule: PrefixRule,
) -> Vec<Vec<&'a Arc<TableInfo>>> {
    let held: Vec<_> = tables.iter().map(|table| Held::by(table, rule)).collect();
    if let ([a, b], [first, second]) = (held.as_slice(), tables) {
        let alike = a.is_single() == b.is_single();
        return if alike { vec![vec![*first, *second]] } else { Vec::new() };
    }
    let mut sets = Sets((0..tables.len()).collect());
    for holders in shared(&held) {
        let kind = |at: &usize| held.get(*at).is_some_and(Held::is_single);
        let merges = match holders.as_slice() {
            [a, b] => kind(a) == kind(b),
            _ => true,
        };
        if let Some((first, rest)) = holders.split_first().filter(|_| merges) {
            rest.iter().for_each(|at| sets.join(*first, *at));
        }
    }
    let mut merged: Vec<(usize, Vec<&Arc<TableInfo>>)> = Vec::new();
    for (at, table) in tables.iter().enumerate() {
        let set = sets.of(at);
        match merged.iter_mut().find(|(of, _)| *of == set) {
            Some((_, tables)) => tables.push(table),
            None => merged.push((set, vec![*table])),
        }
    }
    merged.into_iter().map(|(_, tables)| tables).filter(|tables| tables.len() > 1).collect()
}

/// For each prefix of a set, and the first of each span, the tables that hold it, if there are two or more.
fn shared(held: &[Held<'_>]) -> Vec<Vec<usize>> {
    let mut points = Vec::new();
    for (at, held) in held.iter().enumerate() {
        match held {
            Held::Set(set) => points.extend(set.iter().map(|p| (p.as_slice(), p.as_slice(), at))),
            Held::Span(first, last) => points.push((*first, *last, at)),
        }
    }
    sort_by(&mut points, |a, b| a.cmp(b));
    let mut open: Vec<(&[u8], usize)> = Vec::new();
    let mut all = Vec::new();
    for same in points.chunk_by(|(a, ..), (b, ..)| a == b) {
        let Some((prefix, ..)) = same.first() else { continue };
        open.retain(|(last, _)| last >= prefix);
        open.extend(same.iter().map(|(_, last, at)| (*last, *at)));
        if let [_, _, ..] = open.as_slice() {
            all.push(open.iter().map(|(_, at)| *at).collect());
        }
    }
    all
}

/// Disjoint sets of numbers: for each the next towards the one that stands for its set.
struct Sets(Vec<usize>);

impl Sets {
    fn of(&self, mut at: usize) -> usize {
        while let Some(next) = self.0.get(at).filter(|next| **next != at) {
            at = *next;
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.of(a), self.of(b));
        if let Some(above) = self.0.get_mut(a.max(b)) {
            *above = a.min(b);
        }
    }
}
