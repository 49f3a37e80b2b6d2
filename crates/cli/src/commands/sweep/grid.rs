//! The grid: names with the values that they are varied over, and the configuration of each combination.
//!
//! A configuration is changed as JSON: the value at a name is replaced, and what results is parsed as a file of
//! `--config` is, which refuses what no configuration has. Fields come first, then names of policies, workloads and
//! machines, since a preset's sizes follow the buffer, and then the fields of these.

use crate::commands::simulate::{
    Case, ChosenPolicy, ChosenWorkload, chosen_policy, chosen_workload, device, with_buffer,
};
use crate::exit::{Exit, Failure};
use serde_json::{Map, Value};
use std::fmt::Display;
use terrane_policy::PolicyOptions;
use terrane_sim::{Config, Simulation, Workload};

/// The most points of a grid.
const POINTS_MAX: usize = 10_000;

const EXAMPLE: &str = "for example: --vary size-ratio=2,4,8";

/// A name, and the values that it is varied over, as they were given.
#[derive(Clone, Debug, PartialEq)]
pub struct Varied {
    pub name: String,
    pub values: Vec<String>,
}

/// Parses `NAME=VALUE,...`. A comma within brackets, braces or quotes is part of a value.
pub fn varied(text: &str) -> Result<Varied, String> {
    let malformed = || format!("expected NAME=VALUE,...\n{EXAMPLE}");
    let (name, values) = text.split_once('=').ok_or_else(malformed)?;
    let (name, values) = (name.trim().replace('_', "-"), split(values));
    if name.split('.').any(str::is_empty) || values.iter().any(String::is_empty) {
        return Err(malformed());
    }
    Ok(Varied { name, values })
}

/// Splits at the commas that are outside of JSON's brackets and strings.
fn split(text: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for c in text.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                values.push(std::mem::take(&mut value).trim().to_owned());
                continue;
            }
            _ => {}
        }
        value.push(c);
    }
    values.push(value.trim().to_owned());
    values
}

/// A combination of values, and the configuration with them.
pub struct Point {
    /// The name of the configuration, where the file has several.
    pub case: Option<String>,
    /// Names with their values, in the order in which they were given.
    pub parameters: Vec<(String, String)>,
    pub config: Config,
}

impl Point {
    /// Returns the case and the values, to name the point in messages.
    pub fn name(&self) -> String {
        let values = self.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        self.case.iter().cloned().chain(values).collect::<Vec<_>>().join(", ")
    }
}

/// Returns the points of every case, the last name varying fastest. With `is_default` the policy is the default one,
/// whose sizes follow the buffer.
pub fn points(cases: &[Case], varied: &[Varied], is_default: bool) -> Result<Vec<Point>, Failure> {
    let usage = |sentence: String| Failure::new(Exit::Usage, sentence);
    let twice = varied
        .iter()
        .enumerate()
        .find(|(at, one)| varied.iter().take(*at).any(|other| other.name == one.name));
    if let Some((_, Varied { name, .. })) = twice {
        return Err(usage(format!("expected each name once, found {name} twice; {EXAMPLE}")));
    }
    let sizes = varied.iter().map(|varied| varied.values.len());
    let count = sizes.fold(cases.len(), usize::saturating_mul);
    if count > POINTS_MAX {
        return Err(usage(format!("expected at most {POINTS_MAX} simulations, found {count}")));
    }
    let mut points = Vec::new();
    for case in cases {
        for parameters in combinations(varied) {
            let config = config(&case.config, &parameters, is_default);
            let name = case.name.clone();
            let point = |config| Point { case: name, parameters, config };
            match config {
                Ok(config) => points.push(point(config)),
                Err(why) => {
                    let point = point(Config::default());
                    return Err(usage(format!("{}: {why}", point.name())));
                }
            }
        }
    }
    Ok(points)
}

fn combinations(varied: &[Varied]) -> Vec<Vec<(String, String)>> {
    varied.iter().fold(vec![Vec::new()], |all, Varied { name, values }| {
        let with = |one: &Vec<(String, String)>, value: &String| {
            one.iter().cloned().chain([(name.clone(), value.clone())]).collect()
        };
        all.iter().flat_map(|one| values.iter().map(|value| with(one, value))).collect()
    })
}

/// The order in which a name is applied.
fn stage(name: &str) -> usize {
    match name {
        "policy" | "workload" | "device" => 1,
        _ if name.contains('.') || OPTIONS.contains(&name) => 2,
        _ if is_field(&value(&Config::default()), name) => 0,
        _ => 2,
    }
}

/// Options of `simulate` that are no fields of a configuration.
const OPTIONS: [&str; 4] = ["entries", "operations", "clients", "rate"];

fn value(config: &Config) -> Value {
    serde_json::to_value(config).unwrap_or_default()
}

fn is_field(object: &Value, name: &str) -> bool {
    object.get(name).is_some()
}

/// Returns a configuration with these values, which a simulation accepts.
fn config(
    base: &Config,
    parameters: &[(String, String)],
    is_default: bool,
) -> Result<Config, String> {
    let mut config = base.clone();
    let mut preset = is_default.then(PolicyOptions::default);
    for at in 0..3 {
        for (name, text) in parameters.iter().filter(|(name, _)| stage(name) == at) {
            match name.as_str() {
                "policy" => {
                    let ChosenPolicy { options, preset: is_preset } = chosen_policy(text)?;
                    preset = is_preset.then(|| options.clone());
                    config.policy = options;
                }
                "device" => config.device = device(text)?,
                "workload" => config.workload = workload(text, &config.workload)?,
                _ if OPTIONS.contains(&name.as_str()) => option(&mut config, name, text)?,
                _ => config = with(&config, name, text)?,
            }
        }
        if at == 1
            && let Some(preset) = &preset
        {
            config.policy = with_buffer(preset, config.buffer_bytes);
        }
    }
    Simulation::new(config.clone()).map_err(|why| why.to_string())?;
    Ok(config)
}

fn workload(text: &str, base: &Workload) -> Result<Workload, String> {
    Ok(match chosen_workload(text)? {
        ChosenWorkload::Given(workload) => workload,
        ChosenWorkload::Named(name) => {
            let operations = base.phases.iter().map(|phase| phase.operations).find(|n| *n > 0);
            let operations = operations.unwrap_or(base.load);
            Workload::preset(&name, base.load, operations).unwrap_or_default()
        }
    })
}

/// Sets an option of `simulate`. As there, a load alone has as many keys as entries, and so have its phases unless
/// operations are given.
fn option(config: &mut Config, name: &str, text: &str) -> Result<(), String> {
    let workload = &mut config.workload;
    let is_alone = workload.phases.is_empty();
    if is_alone && matches!(name, "operations" | "clients") {
        return Err("expected a workload with operations after the load, found a load alone; for \
                    example: --vary workload=uniform"
            .to_owned());
    }
    let clients = |workload: &mut Workload, count| {
        let all = workload.phases.iter_mut().flat_map(|phase| &mut phase.clients);
        all.for_each(|clients| clients.count = count);
    };
    match name {
        "entries" => workload.load = number(text)?,
        "operations" => {
            let operations = number(text)?;
            workload.phases.iter_mut().for_each(|phase| phase.operations = operations);
        }
        "clients" => clients(workload, number(text)?),
        _ => *workload = workload.clone().at_rate(number(text)?),
    }
    Ok(())
}

fn number<T: std::str::FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|e: T::Err| format!("expected a number, found {text:?}: {e}"))
}

/// Returns the configuration with a value at a name, which has dots or is one of the policy's parameters.
fn with(config: &Config, name: &str, text: &str) -> Result<Config, String> {
    let mut changed = value(config);
    let parts: Vec<_> = name.split('.').collect();
    let is_of_policy = |part: &str| changed.get("policy").is_some_and(|p| is_field(p, part));
    let path = match parts.as_slice() {
        [first, ..] if is_field(&changed, first) => parts,
        [first] if is_of_policy(first) => vec!["policy", first],
        _ => {
            return Err(format!(
                "expected a field of a configuration or a parameter of the policy {}, found {name}; \
                 `terrane policies` lists parameters; {EXAMPLE}",
                config.policy.name()
            ));
        }
    };
    let given = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    set(&mut changed, &path, given)?;
    serde_json::from_value(changed).map_err(|e| e.to_string())
}

fn set(at: &mut Value, path: &[&str], given: Value) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else {
        *at = given;
        return Ok(());
    };
    // A part that is left out, such as a flash device, has its defaults.
    if at.is_null() {
        *at = Value::Object(Map::new());
    }
    match at {
        Value::Object(fields) => {
            set(fields.entry((*first).to_owned()).or_insert(Value::Null), rest, given)
        }
        Value::Array(items) => {
            let length = items.len();
            let item = first.parse::<usize>().ok().and_then(|number| items.get_mut(number));
            let missing = || format!("expected a number below {length} for an item, found {first}");
            set(item.ok_or_else(missing)?, rest, given)
        }
        _ => Err(format!("expected an object or a list before {first}, found a value")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(parameters: &[(&str, &str)]) -> Result<Config, String> {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        config(&Config::default(), &parameters.iter().map(own).collect::<Vec<_>>(), true)
    }

    #[test]
    fn commas_within_json_are_part_of_a_value() {
        let text = r#"workload={"load":1,"keys":2},[1,2],"a,\"b",uniform"#;
        let values = [r#"{"load":1,"keys":2}"#, "[1,2]", r#""a,\"b""#, "uniform"];
        let values = values.map(str::to_owned).to_vec();
        assert_eq!(varied(text), Ok(Varied { name: "workload".to_owned(), values }));
        for malformed in ["a", "=1", "a=", "a=1,,2", "a..b=1"] {
            assert!(varied(malformed).unwrap_err().contains(EXAMPLE), "{malformed}");
        }
    }

    #[test]
    fn combinations_vary_the_last_name_fastest() {
        let varied = [varied("a_b=1,2").unwrap(), varied("c=3,4").unwrap()];
        let all = combinations(&varied);
        let shown: Vec<_> = all.iter().map(|one| format!("{one:?}")).collect();
        assert_eq!(shown.len(), 4);
        assert_eq!(shown[1], r#"[("a-b", "1"), ("c", "4")]"#);
        assert_eq!(shown[2], r#"[("a-b", "2"), ("c", "3")]"#);
    }

    #[test]
    fn a_preset_follows_the_buffer_whatever_the_order_of_names() {
        let of = |parameters: &[(&str, &str)]| applied(parameters).unwrap().policy;
        let buffers = [("size-ratio", "3"), ("policy", "tiered"), ("buffer-bytes", "1048576")];
        let mut reversed = buffers;
        reversed.reverse();
        assert_eq!(of(&buffers), of(&reversed));
        assert_ne!(of(&buffers), of(&buffers[..2]));
        let whole = r#"{"policy":"tiered","size-ratio":3}"#;
        assert_eq!(of(&[("policy", whole)]), of(&[("buffer-bytes", "9999"), ("policy", whole)]));
    }

    #[test]
    fn a_name_reaches_fields_of_fields_and_parts_left_out() {
        let config = applied(&[
            ("workload", "uniform"),
            ("workload.phases.0.operations", "7"),
            ("flash.page-bytes", "65536"),
            ("device.write-speed", "1e9"),
            ("entries", "500"),
            ("clients", "3"),
        ]);
        let config = config.unwrap();
        assert_eq!(config.workload.load, 500);
        let phase = &config.workload.phases[0];
        assert_eq!((phase.operations, phase.clients[0].count), (7, 3));
        assert_eq!(config.flash.unwrap().page_bytes, 65536);
        assert!(config.device.write_speed == 1e9);
    }

    #[test]
    fn what_no_configuration_has_is_refused() {
        for (parameters, words) in [
            (&[("bufer-bytes", "1")][..], "bufer-bytes"),
            (&[("device.speed", "1")], "write-speed"),
            (&[("workers", "many")], "many"),
            (&[("size-ratio", "1")], "size-ratio"),
            (&[("workload.phases.0.operations", "1")], "below 0"),
            (&[("operations", "1")], "a load alone"),
            (&[("workers.more", "1")], "before more"),
            (&[("rate", "fast")], "expected a number"),
            (&[("policy", "levelled")], "leveled"),
        ] {
            let why = applied(parameters).unwrap_err();
            assert!(why.contains(words), "{parameters:?}: {why}");
        }
    }
}
