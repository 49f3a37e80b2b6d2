//! The number of files: equation 12, and figure 14 D with its choices of X.

use super::drive::{FILES as FILES_MOST, MACHINE, Machine, Updates};
use super::flash::{self, LARGE};
use super::growth::uniform;
use super::{equations, store};
use crate::figure::{Figure, Source};
use crate::scaled::{Scaled, start};
use crate::{PapersError, Scale};
use terrane_policy::Shape;

/// The most files, when the tree is idle.
pub const FILES: &str = "files";
/// The greatest number of files by Spooky's rules.
pub const BY_RULE: &str = "files, by the paper's rules";
/// Levels from X to L.
pub const DIVIDED: &str = "levels from X to L";
/// Files of L.
pub const LARGEST: &str = "files of L";
/// Files of X and of the levels between it and L.
pub const BETWEEN: &str = "files of X to L-1";
/// Files of X to L-1 beyond the first of their level among the keys of a file of L.
pub const FURTHER: &str = "of these beyond one for a file of L";
/// Files of smaller levels.
pub const SMALLER: &str = "files above X";
/// Mean number of entries in a file of X to L-1.
pub const ENTRIES: &str = "entries in a file of X to L-1";

/// Entries of a buffer in the cases in which nothing else differs.
#[must_use]
pub fn entries(scale: Scale) -> &'static [u64] {
    if scale == Scale::Ci { &[20, 160] } else { &[20, 40, 160, 640] }
}

/// Buffers of these cases.
const BUFFERS: u64 = 500;
/// The distance of X from L in them.
const DISTANCE: u64 = 3;

/// The case of X three levels above L, with buffers of this many entries.
#[must_use]
pub fn case_of_entries(entries: u64) -> String {
    format!("{}, N/B = {BUFFERS}, {entries} entries a buffer", case(DISTANCE))
}

/// The distances of X from L.
#[must_use]
pub fn distances(scale: Scale) -> &'static [u64] {
    if scale == Scale::Ci { &[1, 2] } else { &[1, 2, 3, 4] }
}

/// The case of X this many levels above L.
#[must_use]
pub fn case(below: u64) -> String {
    format!("X = L-{below}")
}

/// Files of L, of the levels that are divided like it, and of smaller ones.
#[derive(Clone, Copy, Default)]
struct Counted {
    largest: usize,
    between: usize,
    further: usize,
    entries: u64,
    smaller: usize,
}

impl Counted {
    /// Counts the files of a tree with X this many levels above L.
    fn of(shape: &Shape, below: u64) -> Self {
        let mut levels = shape.levels();
        while let [above @ .., last] = levels
            && last.tables().next().is_none()
        {
            levels = above;
        }
        let Some((last, above)) = levels.split_last() else { return Counted::default() };
        let below = usize::try_from(below).unwrap_or(usize::MAX);
        let (smaller, divided) = above.split_at(above.len().saturating_sub(below));
        let starts: Vec<_> = last.tables().map(|table| &table.smallest).collect();
        let mut counted = Counted { largest: starts.len(), ..Counted::default() };
        for level in divided {
            let mut within: Vec<_> = level
                .tables()
                .map(|table| starts.partition_point(|start| *start <= &table.smallest).max(1))
                .collect();
            counted.between += within.len();
            within.sort_unstable();
            within.dedup();
            counted.further += level.tables().count() - within.len();
            counted.entries += level.tables().map(|table| table.entries).sum::<u64>();
        }
        counted.smaller = smaller.iter().map(|level| level.tables().count()).sum();
        counted
    }

    fn all(self) -> usize {
        self.largest + self.between + self.smaller
    }

    fn entries_a_file(self) -> f64 {
        self.entries as f64 / self.between.max(1) as f64
    }
}

/// Simulates a load and updates, and looks at the tree after each buffer; returns the counts when files were most.
fn count_at_peak(
    case: &str,
    store: Scaled,
    buffers: u64,
    below: u64,
) -> Result<Counted, PapersError> {
    let workload = uniform(store, buffers, 1);
    let config = store.at_rest(store.spooky(5, below, 64), workload);
    let failed = |why| PapersError::Simulation { case: case.to_owned(), why };
    let mut simulation = start(case, config)?;
    let mut most = Counted::default();
    while simulation.advance(store.buffer_entries).map_err(failed)? {
        let counted = Counted::of(simulation.shape(), below);
        if counted.all() > most.all() {
            most = counted;
        }
    }
    Ok(most)
}

/// Equation 12, beside the files of each level.
///
/// # Errors
/// A simulation that failed.
pub fn by_level(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let (buffers, keys) = if scale == Scale::Ci { (1000, 40_000) } else { (3500, 200_000) };
    let store = store(keys / buffers);
    let levels = equations::levels(buffers, 5);
    let mut figure = Figure::new(
        "equation-12",
        "Equation 12: the number of files, by level",
        "There are at most (L - X) T^(L - X) + X - 1 files: merges are divided across L - X levels, each of T^(L - X) \
         files, and each smaller level has one.",
        format!(
            "T = 5, N/B = {buffers}, {keys} keys loaded, then as many uniform updates; the tree is looked at when it \
             is idle, after each buffer, and counted when it has most files. L of the equation is {levels}. Then X = \
             L-{DISTANCE} with N/B = {BUFFERS} and buffers of more and more entries, for L = {}.",
            equations::levels(BUFFERS, 5)
        ),
    );
    for &below in distances(scale) {
        let case = case(below);
        progress(&format!("equation 12, {case}"));
        let counted = count_at_peak(&case, store, buffers, below)?;
        let equation = equations::spooky_files(levels, 5, below);
        figure.beside(&case, FILES, counted.all() as f64, (Source::Equation, equation));
        figure.found(&case, BY_RULE, equations::spooky_files_by_rule(levels, 5, below));
        let (divided, files) = (below as f64, 5f64.powf(below as f64));
        figure.beside(&case, DIVIDED, divided + 1.0, (Source::Equation, divided));
        figure.beside(&case, LARGEST, counted.largest as f64, (Source::Equation, files));
        let between = (Source::Equation, files * (divided - 1.0));
        match below {
            1 => figure.found(&case, BETWEEN, counted.between as f64),
            _ => figure.beside(&case, BETWEEN, counted.between as f64, between),
        }
        figure.found(&case, FURTHER, counted.further as f64);
        figure.found(&case, ENTRIES, counted.entries_a_file());
        let above = (Source::Equation, levels - divided - 1.0);
        figure.beside(&case, SMALLER, counted.smaller as f64, above);
    }
    for &entries in entries(scale) {
        let case = case_of_entries(entries);
        progress(&format!("equation 12, {case}"));
        let counted = count_at_peak(&case, super::store(entries), BUFFERS, DISTANCE)?;
        let levels = equations::levels(BUFFERS, 5);
        let equation = equations::spooky_files(levels, 5, DISTANCE);
        figure.beside(&case, FILES, counted.all() as f64, (Source::Equation, equation));
        figure.found(&case, BY_RULE, equations::spooky_files_by_rule(levels, 5, DISTANCE));
        figure.found(&case, LARGEST, counted.largest as f64);
        figure.found(&case, BETWEEN, counted.between as f64);
        figure.found(&case, FURTHER, counted.further as f64);
        figure.found(&case, ENTRIES, counted.entries_a_file());
        figure.found(&case, SMALLER, counted.smaller as f64);
    }
    figure.notes.push(
        "The equation has L - X levels that are divided, but X to L are one more; and T^(L - X) files in each, which \
         is the least: a file of L that exceeds N_L / T^(L - X) is halved (section 4.1), so that there are up to twice \
         as many, and as many in each level whose files end where those of L do. *By the paper's rules* counts both."
            .to_owned(),
    );
    figure.notes.push(
        "What exceeds that as well are files of a few entries. Levels X to L-1 are cut at the first keys of L's files, \
         so that each has at most one file among the keys of a file of L as long as a merge joins all that lies there. \
         Here it joins files that overlap, and two files of a few entries each mostly do not: the merge leaves them \
         beside each other. With buffers of more entries all of them overlap, and the rule holds; in the paper's store \
         a buffer has some 127 thousand."
            .to_owned(),
    );
    Ok(figure)
}

/// The limit of open files of the paper's machine.
const LIMIT: f64 = 1024.0;
/// Whether the files stay below the limit of the paper's machine.
pub const WITHIN: &str = "within 1024 files";

/// Figure 14 D on the device.
///
/// # Errors
/// A simulation that failed.
pub fn on_device(scale: Scale, progress: &mut dyn FnMut(&str)) -> Result<Figure, PapersError> {
    let drive = flash::drive(scale, Updates::Uniform);
    let mut figure = Figure::new(
        "figure-14d",
        "Figure 14 D: X on the device",
        "With X = L-1 the device overflows, since large files are merged at a time. With L-2 and L-3 less and less \
         space is needed, and with L-4 the store has too many open files, of which the system allows 1024.",
        format!(
            "644 of 960 GB, and one worker a merge, since each of several writes files of its own. {}",
            drive.setting(5)
        ),
    );
    let drive = drive.on(Machine { sharing: 1, ..MACHINE });
    for &below in distances(scale) {
        let case = case(below);
        progress(&format!("figure 14 D, {case}"));
        let policy = drive.store.spooky(5, below, 64);
        if drive.measure(&mut figure, &case, policy, LARGE)?.is_some() {
            let files = figure.number(&case, FILES_MOST).unwrap_or(0.0);
            figure.found(&case, WITHIN, f64::from(u8::from(files <= LIMIT)));
        }
    }
    if scale == Scale::Full {
        figure.notes.push(
            "With X = L-1 the paper's device overflows; ours does not, though the store takes up 0.96 of it at \
             its peak. The rest is as in the paper: L-2 and L-3 need less and less space, L-4 no less than L-3, \
             and with L-4 the store has six times as many files as the paper's system lets it open."
                .to_owned(),
        );
    }
    Ok(figure)
}
