//! Bounds that the trees of each policy keep once there is nothing left to do.

use super::*;

/// Levels of capacities by T = 3 and B = 12: within them, and each of the last `leveled` one run.
pub(crate) fn vertical(shape: &Shape, leveled: usize, dynamic_level_bytes: bool) {
    let bytes: Vec<_> = shape.levels().iter().map(Level::bytes).collect();
    let Some((&last_bytes, above)) = bytes.split_last() else { return };
    let last = above.len();
    assert!(shape.levels()[0].runs.len() < 4, "{shape:?}");
    for (depth, level) in shape.levels().iter().enumerate().skip(1) {
        let most = if depth + leveled > last { 1 } else { 2 };
        assert!(level.runs.len() <= most, "level {depth}: {shape:?}");
        let capacity = match (last - depth) as u32 {
            above if dynamic_level_bytes && above > 0 => 12.max(last_bytes / 3u64.pow(above)),
            _ => 12 * 3u64.pow(depth as u32),
        };
        assert!(level.bytes() <= capacity, "level {depth}: {shape:?}");
    }
}

pub(crate) fn tiered(shape: &Shape) {
    let last = shape.levels().len().saturating_sub(1);
    for (depth, level) in shape.levels().iter().enumerate() {
        assert!(level.runs.len() < if depth == 0 { 4 } else { 3 }, "{shape:?}");
        let oldest = level.runs.last().map_or(0, Run::bytes);
        let bytes = if depth > 0 && depth == last { oldest } else { level.bytes() };
        assert!(bytes < 12 * 3u64.pow(depth as u32 + 1), "{shape:?}");
    }
}

pub(crate) fn tiered_full(shape: &Shape) {
    for (depth, level) in shape.levels().iter().enumerate() {
        assert!(level.runs.len() <= 3, "{shape:?}");
        assert!(depth == 0 || level.bytes() <= 12 * 3u64.pow(depth as u32), "{shape:?}");
    }
}

pub(crate) fn universal(shape: &Shape) {
    let runs: Vec<_> = shape.levels().iter().flat_map(|l| &l.runs).map(Run::bytes).collect();
    assert!(runs.len() <= 4, "{shape:?}");
    if let [first, second, third, oldest] = runs[..] {
        assert!(first + second + third < 2 * oldest, "{shape:?}");
        assert!(first < second && second < third && third < oldest, "{shape:?}");
    }
}

/// Levels of T = 3 and B = 12: at most C_i above L, less than C_X at X and than C_L at L, the last
/// `leveled` of one run.
pub(crate) fn spooky(shape: &Shape, below: usize, leveled: usize) {
    let last = shape.deepest();
    let divided = last.saturating_sub(below).max(1);
    assert!(shape.levels().first().is_none_or(|l| l.runs.len() < 4), "{shape:?}");
    for (depth, level) in shape.levels().iter().enumerate().skip(1) {
        let most = if depth + leveled > last { 1 } else { 3 };
        assert!(level.runs.len() <= most, "level {depth}: {shape:?}");
        let capacity = match (last - depth) as u32 {
            0 => 12 * 3u64.pow(last as u32),
            above => 12.max(shape.levels()[last].bytes() / 3u64.pow(above)),
        };
        let is_full = level.bytes() >= capacity;
        let may_be = depth < divided || depth < last && depth > divided;
        assert!(!is_full || may_be && level.bytes() == capacity, "level {depth}: {shape:?}");
    }
    let clear = shape.levels().iter().take(last).skip(divided.min(last.max(1) - 1));
    let rises = last > 1 && clear.into_iter().all(|l| l.runs.is_empty());
    assert!(!rises || shape.bytes() >= 12 * 3u64.pow(last as u32 - 1), "{shape:?}");
}

/// Less than an admission waits in level 0, in few runs.
pub(crate) fn admitting(shape: &Shape) {
    let Some(level0) = shape.levels().first() else { return };
    assert!(level0.runs.len() < 4 && level0.bytes() < 9, "{shape:?}");
}

pub(crate) fn tiered_partial(shape: &Shape) {
    for (depth, level) in shape.levels().iter().enumerate().skip(1) {
        assert!(level.bytes() < 12 * 3u64.pow(depth as u32 + 1), "level {depth}: {shape:?}");
        assert!(level.runs.len() <= 3, "level {depth}: {shape:?}");
    }
    assert!(shape.levels().first().is_none_or(|level| level.runs.len() < 4), "{shape:?}");
}

/// Levels of T = 3 and B = 12 below a level 0 in which no key is in as many tables as the trigger.
pub(crate) fn bucket(shape: &Shape) {
    let level0: Vec<_> = shape.tables().filter(|(level, ..)| *level == 0).collect();
    for (_, _, table) in &level0 {
        let over = level0.iter().filter(|(_, _, t)| t.spans(&table.smallest)).count();
        assert!(over < 3, "{shape:?}");
    }
    let mut below = shape.levels().iter().map(Level::bytes);
    below.next();
    let bytes: Vec<_> = below.collect();
    let Some((&last_bytes, above)) = bytes.split_last() else { return };
    assert!(shape.levels().iter().skip(1).all(|level| level.runs.len() < 2), "{shape:?}");
    for (depth, bytes) in above.iter().enumerate() {
        let capacity = 12.max(last_bytes / 3u64.pow((above.len() - depth) as u32));
        assert!(*bytes <= capacity, "level {}: {shape:?}", depth + 1);
    }
    assert!(last_bytes <= 12 * 3u64.pow(bytes.len() as u32), "{shape:?}");
}

/// Levels of T = 3 and B = 12, of any number of runs, below a level 0 of less than the trigger.
pub(crate) fn ptier(shape: &Shape) {
    for (depth, level) in shape.levels().iter().enumerate() {
        match depth {
            0 => assert!(level.runs.len() < 3, "{shape:?}"),
            _ => assert!(level.bytes() <= 12 * 3u64.pow(depth as u32 - 1), "{shape:?}"),
        }
    }
}

/// Levels above the largest have less than their capacities, in as many runs as they may.
#[cfg(feature = "all")]
pub(crate) fn fluid(shape: &Shape, size_ratios: &[u64], runs: &[u64], largest_runs: usize) {
    let Some((level0, below)) = shape.levels().split_first() else { return };
    assert!(level0.runs.len() < 4 && level0.bytes() < 12, "{shape:?}");
    let of = |list: &[u64], at: usize| *list.get(at).or(list.last()).unwrap();
    let mut capacity = 12;
    for (at, level) in below.iter().enumerate() {
        capacity *= of(size_ratios, at);
        let is_last = at + 1 == below.len();
        let most = if is_last { largest_runs } else { of(runs, at) as usize };
        let bytes = if is_last { level.runs.last().unwrap().bytes() } else { level.bytes() };
        assert!(level.runs.len() <= most && bytes < capacity, "level {}: {shape:?}", at + 1);
    }
}

/// The last level is one run, and the runs above it have not ended a round.
#[cfg(feature = "all")]
pub(crate) fn ecotune(shape: &Shape) {
    admitting(shape);
    let last = shape.deepest().max(2);
    assert!(shape.levels().get(last).is_none_or(|level| level.runs.len() <= 1), "{shape:?}");
    let status = growing::ECOTUNE.status(shape, &[]);
    let fact = |wanted| {
        let find = |fact: &Fact| match fact {
            Fact::Number { name, value, .. } if *name == wanted => Some(*value),
            _ => None,
        };
        status.facts.iter().find_map(find).unwrap()
    };
    let main: u64 = shape.levels().iter().take(last).skip(1).map(Level::bytes).sum();
    let runs: usize = shape.levels().iter().take(last).skip(1).map(|level| level.runs.len()).sum();
    assert!(main < fact("round-admissions") * fact("admission-bytes"), "{shape:?}");
    assert!((runs as u64) < 2 * fact("round-admissions"), "{shape:?}");
}

pub(crate) fn stack(shape: &Shape) {
    admitting(shape);
    assert!(shape.runs().iter().filter(|(place, _)| place.level > 0).count() <= 3, "{shape:?}");
}

pub(crate) fn horizontal(shape: &Shape) {
    stack(shape);
    assert!(shape.deepest() <= 3, "{shape:?}");
    assert!(shape.levels().iter().skip(1).all(|level| level.runs.len() < 2), "{shape:?}");
}
