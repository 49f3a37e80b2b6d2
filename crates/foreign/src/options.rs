//! The policy of a column family, by the OPTIONS file beside its MANIFEST.
//!
//! RocksDB's leveled compaction and Pebble's are `leveled` here, RocksDB's universal compaction is `universal`, each
//! with the sizes and counts of the file. It is the nearest policy, not the same: these engines score levels by more
//! than their bytes, and Pebble divides level 0 into sublevels.

use std::collections::HashMap;
use terrane_policy::{Leveled, PolicyOptions, Universal};

/// The settings of a section.
type Section<'a> = HashMap<&'a str, &'a str>;

/// Returns the policy that is the nearest to a column family's, if there is one.
#[must_use]
pub fn policy(options: &str, family: &str) -> Option<PolicyOptions> {
    let policy: PolicyOptions = match section(options, &format!("CFOptions \"{family}\"")) {
        Some(own) => rocksdb(&own)?,
        None => pebble(options)?,
    };
    policy.build().is_ok().then_some(policy)
}

/// Returns the settings of the section with a title.
fn section<'a>(options: &'a str, title: &str) -> Option<Section<'a>> {
    let heading = |line: &str| -> Option<String> {
        line.trim().strip_prefix('[')?.strip_suffix(']').map(str::to_owned)
    };
    let mut lines = options.lines().skip_while(|line| heading(line).as_deref() != Some(title));
    lines.next()?;
    let own = lines.take_while(|line| heading(line).is_none());
    Some(own.filter_map(|line| line.trim().split_once('=')).collect())
}

/// Returns a number, which some options write as a fraction.
fn number(section: &Section, name: &str) -> Option<u64> {
    let value: f64 = section.get(name)?.parse().ok()?;
    (value >= 0.0).then_some(value as u64)
}

fn rocksdb(own: &Section) -> Option<PolicyOptions> {
    let target_file_bytes = number(own, "target_file_size_base")?;
    let trigger = number(own, "level0_file_num_compaction_trigger")?;
    match *own.get("compaction_style")? {
        "kCompactionStyleLevel" => {
            let leveled = Leveled {
                size_ratio: number(own, "max_bytes_for_level_multiplier")?,
                level_base_bytes: number(own, "max_bytes_for_level_base")?,
                target_file_bytes,
                l0_compaction_trigger: trigger,
                dynamic_level_bytes: *own.get("level_compaction_dynamic_level_bytes")? == "true",
                ..Leveled::default()
            };
            Some(leveled.into())
        }
        "kCompactionStyleUniversal" => {
            let text = own.get("compaction_options_universal")?;
            let inner = text.trim_matches(['{', '}']).split(';');
            let inner: Section = inner.filter_map(|pair| pair.split_once('=')).collect();
            let universal = Universal {
                run_trigger: trigger,
                size_ratio_percent: number(&inner, "size_ratio")?,
                min_merge_width: number(&inner, "min_merge_width")?,
                max_merge_width: number(&inner, "max_merge_width")?,
                space_percent: number(&inner, "max_size_amplification_percent")?,
                target_file_bytes,
                ..Universal::default()
            };
            Some(universal.into())
        }
        _ => None,
    }
}

fn pebble(options: &str) -> Option<PolicyOptions> {
    section(options, "Version")?.get("pebble_version")?;
    let all = section(options, "Options")?;
    let level0 = section(options, "Level \"0\"")?;
    let leveled = Leveled {
        // Not an option of Pebble.
        size_ratio: 10,
        level_base_bytes: number(&all, "lbase_max_bytes")?,
        target_file_bytes: number(&level0, "target_file_size")?,
        l0_compaction_trigger: number(&all, "l0_compaction_threshold")?,
        dynamic_level_bytes: true,
        ..Leveled::default()
    };
    Some(leveled.into())
}
