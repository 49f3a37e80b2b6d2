//! The paper's equations. L is the number of levels, T the size ratio.

/// L: the number of levels for this many buffers (section 2).
#[must_use]
pub fn levels(buffers: u64, size_ratio: u64) -> f64 {
    (buffers as f64).log(size_ratio as f64).ceil().max(1.0)
}

/// Write amplification of full merges (equation 4).
#[must_use]
pub fn full_writes(levels: f64, size_ratio: u64) -> f64 {
    (size_ratio as f64 - 1.0) / 2.0 * levels
}

/// Write amplification of partial merges (equation 5).
#[must_use]
pub fn partial_writes(levels: f64, size_ratio: u64) -> f64 {
    (size_ratio as f64 + 1.0) / 2.0 * levels
}

/// Write amplification of Spooky with X below L (equation 10): one more than full merges.
#[must_use]
pub fn spooky_writes(levels: f64, size_ratio: u64) -> f64 {
    full_writes(levels, size_ratio) + 1.0
}

/// The greatest number of files of Spooky with X this many levels above L (equation 12).
#[must_use]
pub fn spooky_files(levels: f64, size_ratio: u64, levels_below: u64) -> f64 {
    let below = levels_below as f64;
    below * (size_ratio as f64).powf(below) + levels - below - 1.0
}

/// The greatest number of files by Spooky's own rules: X and L and the levels between them, each with as many files as
/// L, which halves those that exceed their size, and a file in each level above X.
#[must_use]
pub fn spooky_files_by_rule(levels: f64, size_ratio: u64, levels_below: u64) -> f64 {
    let below = levels_below as f64;
    (below + 1.0) * 2.0 * (size_ratio as f64).powf(below) + levels - below - 1.0
}

/// Storage utilisation: the inverse of a space amplification (section 2).
#[must_use]
pub fn utilisation(space: f64) -> f64 {
    1.0 / space
}

/// The greatest space amplification of partial merges (equation 6).
#[must_use]
pub fn partial_space(size_ratio: u64) -> f64 {
    1.0 + 1.0 / (size_ratio as f64 - 1.0)
}

/// The greatest space amplification of full merges (equation 7).
#[must_use]
pub fn full_space(size_ratio: u64) -> f64 {
    1.0 + partial_space(size_ratio)
}

/// The greatest space amplification of Spooky with X this many levels above L (equation 11).
#[must_use]
pub fn spooky_space(size_ratio: u64, levels_below: u64) -> f64 {
    partial_space(size_ratio) + (size_ratio as f64).powf(-(levels_below as f64))
}
