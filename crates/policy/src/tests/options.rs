//! Options: names, parameters and their text form.

use super::*;
use crate::options::presets::defaults;
use crate::toolkit::parameter::{LEVEL0, PARTITIONING};

#[test]
fn every_preset_is_found_by_its_name_and_builds() {
    for preset in presets() {
        let options = PolicyOptions::preset(preset.name).unwrap();
        assert_eq!(options.build().unwrap().name(), preset.name);
        let json = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<PolicyOptions>(&json).unwrap(), options);
        assert_eq!(json.parse::<PolicyOptions>().unwrap(), options);
        for parameter in preset.parameters {
            let value = match parameter.value {
                Value::Number { value, .. } => value.to_string(),
                Value::Switch { value } => value.to_string(),
                Value::Choice { value, .. } => format!("\"{value}\""),
                Value::Key { value } | Value::List { value, .. } => format!("\"{value}\""),
            };
            // Builds without these read options that do not use them.
            let is_said = ![&PARTITIONING[..], &LEVEL0].concat().contains(&parameter.name);
            let said = json.contains(&format!("\"{}\":{value}", parameter.name));
            assert_eq!(said, is_said, "{json}");
        }
    }
    assert_eq!(PolicyOptions::preset("no-such"), None);
}

#[test]
fn each_policy_has_its_own_summary_and_each_parameter_a_meaning() {
    let mut summaries = BTreeSet::new();
    for preset in presets() {
        assert!(preset.summary.ends_with('.') && preset.summary.contains(' '), "{}", preset.name);
        assert!(summaries.insert(preset.summary), "{}", preset.name);
        let mut meanings = BTreeSet::new();
        for Parameter { name, meaning, .. } in preset.parameters {
            assert!(meaning.contains(' ') && meanings.insert(meaning), "{}: {name}", preset.name);
        }
    }
}

#[test]
fn a_policy_is_named_as_its_module_and_all_are_in_this_build() {
    use crate::policies::ADDED_BY_ALL;
    let lean = presets().into_iter().filter(|preset| preset.in_every_build).count();
    let added = if ALL { ADDED_BY_ALL.len() } else { 0 };
    assert_eq!(lean + added, presets().len(), "every added one is recognised");
    for preset in presets() {
        assert_eq!(PolicyOptions::left_out(&format!(r#"{{"policy":"{}"}}"#, preset.name)), None);
    }
    assert_eq!(PolicyOptions::left_out(r#"{"policy":"of-a-later-release"}"#), None);
}

#[test]
fn a_missing_parameter_has_its_default_an_unknown_one_fails() {
    let read = serde_json::from_str::<PolicyOptions>;
    let expected = Tiered { size_ratio: 7, ..Tiered::default() };
    let options = read(r#"{"policy": "tiered", "size-ratio": 7}"#).unwrap();
    assert_eq!(options, PolicyOptions::Tiered(expected));
    for wrong in [
        r#"{"policy": "tiered", "sise-ratio": 7}"#,
        r#"{"policy": "tiered", "size-ratio": "7"}"#,
        r#"{"policy": "tiered", "size-ratio": 7, "size-ratio": 7}"#,
        r#"{"policy": "leveled", "pick": "greatest"}"#,
        r#"{"policy": "layered"}"#,
        r#"{"size-ratio": 7}"#,
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
        assert!(wrong.parse::<PolicyOptions>().is_err(), "{wrong}");
    }
}

/// The value without its range, which may depend on another parameter.
fn chosen(value: &Value) -> String {
    match value {
        Value::Number { value, .. } => value.to_string(),
        Value::Switch { value } => value.to_string(),
        Value::Choice { value, .. } => (*value).to_owned(),
        Value::Key { value } | Value::List { value, .. } => value.clone(),
    }
}

#[test]
fn every_parameter_is_read_into_its_own_place() {
    for preset in presets() {
        for parameter in &preset.parameters {
            let value = match parameter.value {
                Value::Number { least, value, .. } => {
                    (if value == least { least + 1 } else { least }).to_string()
                }
                Value::Switch { value } => (!value).to_string(),
                Value::Choice { among: [_], .. } => continue,
                Value::Choice { among, value } => {
                    format!("\"{}\"", among.iter().find(|other| **other != value).unwrap())
                }
                Value::Key { .. } => "\"0fA0\"".to_owned(),
                Value::List { least, most, .. } => format!("\"{least} {most}\""),
            };
            let json =
                format!("{{\"{}\": {value}, \"policy\": \"{}\"}}", parameter.name, preset.name);
            let options: PolicyOptions = json.parse().unwrap();
            assert_eq!(serde_json::from_str::<PolicyOptions>(&json).unwrap(), options);
            for (given, default) in options.parameters().iter().zip(&preset.parameters) {
                let changed = chosen(&given.value) != chosen(&default.value);
                assert_eq!(changed, given.name == parameter.name, "{json}: {given:?}");
            }
        }
    }
}

#[test]
fn a_parameter_outside_its_range_is_refused_with_the_range() {
    let options = PolicyOptions::Leveled(Leveled { size_ratio: 1, ..Leveled::default() });
    let refused = options.build().err().unwrap();
    assert_eq!(refused.to_string(), "leveled: `size-ratio` is 1, expected 2 to 64");
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_with_what_was_expected() {
    for (given, why) in [
        (
            r#""size-ratio": "ten""#,
            "leveled: `size-ratio` is \"ten\", expected a whole number from 2 to 64",
        ),
        (
            r#""size-ratio": 4.5"#,
            "leveled: `size-ratio` is 4.5, expected a whole number from 2 to 64",
        ),
        (
            r#""dynamic-level-bytes": 1"#,
            "leveled: `dynamic-level-bytes` is 1, expected true or false",
        ),
        (
            r#""pick": "newest""#,
            "leveled: `pick` is \"newest\", expected least-overlap or oldest or round-robin or random",
        ),
    ] {
        let refused = format!(r#"{{"policy": "leveled", {given}}}"#).parse::<PolicyOptions>();
        assert_eq!(refused.unwrap_err().to_string(), why);
    }
}

#[test]
fn universal_merges_no_fewer_runs_at_most_than_at_least() {
    let options: PolicyOptions =
        r#"{"policy":"universal","min-merge-width":9,"max-merge-width":8}"#.parse().unwrap();
    let refused = options.build().err().unwrap();
    assert_eq!(refused.to_string(), "universal: `max-merge-width` is 8, expected 9 to 4294967295");
}

#[cfg(feature = "all")]
#[test]
fn parameters_that_do_not_go_together_are_refused_by_name() {
    for (given, why) in [
        (
            r#"{"policy": "horizontal-tiering", "data-bytes": 4096, "level-base-bytes": 8192}"#,
            "horizontal-tiering: `data-bytes` is 4096, expected 0, or `level-base-bytes` at least: 8192",
        ),
        (
            r#"{"policy": "horizontal-leveling", "levels": 0}"#,
            "horizontal-leveling: `levels` is 0, expected 1 to 16",
        ),
        (
            r#"{"policy": "vertiorizon", "buffers": 5, "size-ratio": 6}"#,
            "vertiorizon: `buffers` is 5, expected 0, or `size-ratio` at least: 6",
        ),
        (
            r#"{"policy": "minlatency", "components": 0}"#,
            "minlatency: `components` is 0, expected 1 to 64",
        ),
        (
            r#"{"policy": "universal", "target-file-bytes": 0}"#,
            "universal: `target-file-bytes` is 0, expected 1024 to 1099511627776",
        ),
        (
            r#"{"policy": "tiered", "domain-least": "10", "domain-greatest": "0f"}"#,
            "tiered: `domain-greatest` is 0f, expected a key after `domain-least`: 10",
        ),
        (
            r#"{"policy": "leveled", "flush-floor-bytes": 4096, "target-file-bytes": 2048}"#,
            "leveled: `flush-floor-bytes` is 4096, expected at most `target-file-bytes`: 2048",
        ),
    ] {
        let options: PolicyOptions = given.parse().unwrap();
        assert_eq!(options.build().err().unwrap().to_string(), why);
        // Another release may have stored them: each that is wrong gets its default.
        let (stored, problems) = PolicyOptions::stored(given);
        assert_eq!(problems, [why]);
        assert!(stored.build().is_ok() && stored.name() == options.name());
    }
}

#[test]
fn each_choice_is_taken_by_its_name() {
    for preset in presets() {
        for parameter in &preset.parameters {
            let Value::Choice { among, .. } = parameter.value else { continue };
            for word in among {
                let given =
                    format!(r#"{{"policy":"{}","{}":"{word}"}}"#, preset.name, parameter.name);
                let options: PolicyOptions = given.parse().unwrap();
                let found = options.parameters().into_iter().find(|p| p.name == parameter.name);
                assert_eq!(chosen(&found.unwrap().value), *word, "{given}");
            }
        }
    }
}

/// The number that a parameter of this name has, if there is one.
fn number(options: &PolicyOptions, name: &str) -> Option<u64> {
    options.parameters().into_iter().find_map(|parameter| match parameter.value {
        Value::Number { value, .. } if parameter.name == name => Some(value),
        _ => None,
    })
}

#[test]
fn sizing_a_policy_for_a_machine_keeps_greater_sizes() {
    const NAMES: [&str; 2] = ["level-base-bytes", "target-file-bytes"];
    let (base, table) = (32 << 20, 16 << 20);
    for options in PolicyOptions::all() {
        let before = NAMES.map(|name| number(&options, name));
        let sized = options.clone().sized(5 << 20, 3 << 20);
        let native = options.clone().native();
        let exact = [5 << 20, 3 << 20].into_iter().zip(before).map(|(new, old)| old.map(|_| new));
        let least = [base, table].into_iter().zip(before).map(|(new, old)| old.map(|o| o.max(new)));
        assert_eq!(NAMES.map(|name| number(&sized, name)).to_vec(), exact.collect::<Vec<_>>());
        assert_eq!(NAMES.map(|name| number(&native, name)).to_vec(), least.collect::<Vec<_>>());
        for (old, new) in options.parameters().iter().zip(sized.parameters()) {
            // The least size of a split follows that of tables.
            let follows = NAMES.contains(&old.name) || old.name == "split-bytes";
            assert!(follows || chosen(&old.value) == chosen(&new.value));
        }
    }
    let large = Leveled { level_base_bytes: 1 << 40, ..Leveled::default() };
    let native = PolicyOptions::Leveled(large).native();
    assert_eq!(number(&native, "level-base-bytes"), Some(1 << 40));
}

#[test]
fn sizes_are_a_kibibyte_to_a_tebibyte() {
    let allowed = |level_base_bytes, target_file_bytes| {
        let leveled = Leveled { level_base_bytes, target_file_bytes, ..Leveled::default() };
        PolicyOptions::Leveled(leveled).build().is_ok()
    };
    let sizes = [(1 << 10) - 1, 1 << 10, 1 << 40, (1 << 40) + 1];
    assert_eq!(sizes.map(|base| allowed(base, 1 << 20)), [false, true, true, false]);
    assert_eq!(sizes.map(|table| allowed(1 << 20, table)), [false, true, true, false]);
}

#[cfg(feature = "all")]
#[test]
fn a_wrong_partitioner_is_refused_by_name() {
    for (given, why) in [
        (
            r#"{"policy": "universal", "partitioner": "halves"}"#,
            "universal: `partitioner` is \"halves\", expected default or none or size or local-range or \
             local-range-by-group or global-range",
        ),
        (
            r#"{"policy": "binomial", "domain-least": "0"}"#,
            "binomial: `domain-least` is \"0\", expected pairs of hexadecimal digits",
        ),
        (
            r#"{"policy": "spooky", "partitioner": "size"}"#,
            "unknown parameter `partitioner`, expected `size-ratio`, `level-base-bytes`, \
             `target-file-bytes`, `filters`, `l0-compaction-trigger`, `levels-below`, `leveled-levels`, \
             `trivial-moves`",
        ),
    ] {
        assert_eq!(given.parse::<PolicyOptions>().unwrap_err().to_string(), why);
        assert!(
            serde_json::from_str::<PolicyOptions>(given).unwrap_err().to_string().contains(why)
        );
    }
}

#[test]
fn every_choice_is_found_by_its_name() {
    for name in Pick::NAMES {
        assert_eq!(Pick::named(name).map(Pick::name), Some(name));
    }
    assert_eq!(Pick::named("no-such"), None);
}

#[test]
fn unknown_stored_options_do_not_affect_the_others() {
    let expected = PolicyOptions::Leveled(Leveled { size_ratio: 7, ..Leveled::default() });
    for (wrong, named) in [
        (r#"{"policy": "leveled", "size-ratio": 7, "depth": 3}"#, "depth"),
        (r#"{"policy": "leveled", "size-ratio": 7, "depth": -3.5}"#, "depth"),
        (r#"{"policy": "leveled", "size-ratio": 7, "target-file-bytes": 12}"#, "target-file-bytes"),
        (
            r#"{"policy": "leveled", "size-ratio": 7, "target-file-bytes": "2 MiB"}"#,
            "target-file-bytes",
        ),
        (r#"{"policy": "leveled", "size-ratio": 7, "pick": "greatest"}"#, "pick"),
        (r#"{"policy": "leveled", "size-ratio": 7, "size-ratio": 8}"#, "size-ratio"),
    ] {
        let (options, problems) = PolicyOptions::stored(wrong);
        assert_eq!(options, expected, "{wrong}");
        assert!(problems.len() == 1 && problems[0].contains(named), "{wrong}: {problems:?}");
    }
    for wrong in [r#"{"policy": "layered", "size-ratio": 7}"#, "{}", "", r#"{"a": {"b": 1}}"#] {
        let (options, problems) = PolicyOptions::stored(wrong);
        assert_eq!((options, problems.len()), (PolicyOptions::default(), 1), "{wrong}");
    }
    for preset in defaults() {
        let json = serde_json::to_string(&preset).unwrap();
        assert_eq!(PolicyOptions::stored(&json), (preset, vec![]));
    }
}

/// Stores keep the names of policies and parameters, so that they stay what they are.
#[cfg(feature = "all")]
#[test]
fn every_policy_has_a_name_a_table_size_and_filters() {
    let partitioned = [
        "leveled",
        "tiered",
        "universal",
        "horizontal-leveling",
        "horizontal-tiering",
        "binomial",
        "minlatency",
    ];
    let mut names = vec!["leveled-full", "tiered-full", "lazy-leveled", "spooky", "vertiorizon"];
    names.extend(["tiered-partial", "bucket", "fluid", "ecotune"]);
    names.extend(partitioned);
    for name in names {
        let options = PolicyOptions::preset(name).unwrap_or_else(|| panic!("{name}"));
        assert_eq!(options.build().unwrap().name(), name);
        let has = |wanted| options.parameters().iter().any(|p| p.name == wanted);
        assert!(has("target-file-bytes") && has("filters"), "{name}");
        assert_eq!(has("partitioner"), partitioned.contains(&name), "{name}");
        let partitioner = |options: &PolicyOptions| {
            options.described().partitioning().map(|chosen| chosen.partitioner)
        };
        if has("partitioner") {
            let by_size = format!(r#"{{"policy": "{name}", "partitioner": "size"}}"#);
            let by_size: PolicyOptions = by_size.parse().unwrap();
            assert_eq!(partitioner(&by_size), Some(Partitioner::Size), "{name}");
        } else {
            assert_eq!(partitioner(&options), None, "{name}");
        }
    }
}

#[test]
fn text_that_is_no_object_is_refused_with_accepted_examples() {
    for text in ["bucket", "", "\"leveled\"", "{policy: leveled}"] {
        let refused = text.parse::<PolicyOptions>().unwrap_err().to_string();
        let examples: Vec<_> = refused.split('`').skip(1).step_by(2).collect();
        let chosen = examples.iter().map(|example| example.parse::<PolicyOptions>().unwrap());
        let leveled = Leveled { size_ratio: 4, ..Leveled::default() };
        let expected = [PolicyOptions::default(), PolicyOptions::Leveled(leveled)];
        assert_eq!(chosen.collect::<Vec<_>>(), expected, "{text}: {refused}");
    }
}

#[test]
fn the_error_of_a_text_separates_expected_from_found() {
    for (text, found, expected) in [
        (r#"{"policy": "best"}"#, r#"unknown policy "best""#, "leveled, "),
        (r#"{"size-ratio": 4}"#, "no `policy`", "leveled, "),
        (r#"{"policy": "leveled", "ratio": 4}"#, "unknown parameter `ratio`", "`size-ratio`, "),
        (r#"{"policy": "leveled", "pick": 1}"#, "leveled: `pick` is 1", "least-overlap or "),
    ] {
        let refused = text.parse::<PolicyOptions>().unwrap_err();
        assert_eq!(refused.found, found);
        assert!(refused.expected.starts_with(expected), "{refused}");
    }
}

#[test]
fn a_word_with_a_quote_or_an_escape_is_no_option() {
    for word in [r#"lev\eled"#, r#"lev"eled"#] {
        for text in [
            format!(r#"{{"policy": "{word}"}}"#),
            format!(r#"{{"policy": "leveled", "{word}": 1}}"#),
        ] {
            let refused = text.parse::<PolicyOptions>().unwrap_err().to_string();
            assert!(refused.starts_with("no JSON object, expected "), "{text}: {refused}");
        }
    }
}

#[cfg(feature = "all")]
#[test]
fn a_flush_floor_may_be_as_large_as_a_table() {
    let build = |floor: u64| {
        let text = format!(
            r#"{{"policy": "leveled", "partitioner": "local-range", "target-file-bytes": 2048,
                "flush-floor-bytes": {floor}}}"#
        );
        text.parse::<PolicyOptions>().unwrap().build().is_ok()
    };
    assert!(build(2048) && !build(2049));
}
