//! The advice in words: what was recorded, the policies side by side, the pick, and the reasons for it.

use super::candidates::{SIZE_RATIO, number};
use super::{Advice, Compared};
use indicatif::{HumanBytes, HumanCount};
use terrane_policy::PolicyOptions;
use terrane_sim::advice::{Costs, Pick};
use terrane_sim::{Config, Kind};

/// Returns the name of a policy, with its size ratio.
fn named(policy: &PolicyOptions) -> String {
    match number(policy, SIZE_RATIO) {
        Some(ratio) => format!("{} with size ratio {ratio}", policy.name()),
        None => policy.name().to_owned(),
    }
}

/// Returns the reasons for a pick, and against cheaper policies.
pub fn reasons(
    present: &PolicyOptions,
    policies: &[Compared],
    pick: &Pick,
    space_max: f64,
) -> Vec<String> {
    let Some(picked) = policies.get(pick.picked) else { return Vec::new() };
    let Costs { write, read, space, compaction_micros, read_micros, .. } = picked.costs;
    let micros = picked.costs.device_micros();
    let name = named(&picked.policy);
    let mut reasons = vec![format!(
        "{name}: an operation takes {micros:.1} µs of the device, {compaction_micros:.1} for flushes and compactions \
         ({write:.1} bytes written for each byte put) and {read_micros:.1} for reads ({read:.2} blocks for each)"
    )];
    match policies.iter().find(|one| one.present) {
        Some(present) if present.policy == picked.policy => {
            reasons.push("it is the present policy".to_owned());
        }
        Some(present) => reasons.push(format!(
            "the present policy, {}, takes {:.1} µs: {:.1} bytes written for each byte put, {:.2} blocks for each \
             read, and {:.2} times the space of the live data, against {space:.2}",
            named(&present.policy),
            present.costs.device_micros(),
            present.costs.write,
            present.costs.read,
            present.costs.space,
        )),
        None => reasons.push(format!(
            "the present policy, {}, cannot run these operations: writes would wait for ever",
            named(present),
        )),
    }
    if let Some(large) = pick.too_large.and_then(|at| policies.get(at)) {
        reasons.push(format!(
            "{} would take {:.1} µs, but {:.2} times the space of the live data, more than --space {space_max}",
            named(&large.policy),
            large.costs.device_micros(),
            large.costs.space,
        ));
    }
    if let Some(slow) = pick.too_slow.and_then(|at| policies.get(at)) {
        reasons.push(format!(
            "{} would take {:.1} µs, but its writes would wait for {:.0} % of the time",
            named(&slow.policy),
            slow.costs.device_micros(),
            slow.costs.waited * 100.0,
        ));
    }
    if !picked.costs.keeps_up() {
        let waited = picked.costs.waited * 100.0;
        reasons.push(format!(
            "its writes wait for {waited:.0} % of the time, the least: no policy within --space {space_max} keeps up"
        ));
    }
    reasons
}

/// Returns policies by their names.
fn list(policies: &[PolicyOptions]) -> String {
    policies.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// Returns the advice as lines, with the policies on the front, the present one and the pick.
pub fn table(advice: &Advice) -> Vec<String> {
    let mut lines = recorded(&advice.recorded);
    lines.extend(advice.assumed.iter().map(|assumption| format!("assumed      {assumption}")));
    lines.push(String::new());
    lines.push(format!(
        "  {:<40}{:>9}{:>9}{:>9}{:>14}{:>9}",
        "policy", "written", "blocks", "space", "device", "waited"
    ));
    lines.push(format!(
        "  {:<40}{:>9}{:>9}{:>9}{:>14}{:>9}",
        "", "a byte", "a read", "at most", "µs/operation", "%"
    ));
    let shown = |one: &&Compared| one.on_front || one.present || one.policy == advice.pick;
    for one in advice.policies.iter().filter(shown) {
        let Costs { write, read, space, waited, .. } = one.costs;
        let mark = if one.policy == advice.pick { "*" } else { " " };
        let present = if one.present { " (present)" } else { "" };
        lines.push(format!(
            "{mark} {:<40}{write:>9.2}{read:>9.2}{space:>9.2}{:>14.1}{:>9.1}",
            format!("{}{present}", named(&one.policy)),
            one.costs.device_micros(),
            waited * 100.0,
        ));
    }
    let beaten = advice.policies.iter().filter(|one| !shown(one)).count();
    lines.push(format!("  {beaten} more are beaten by one of these at writes, reads and space"));
    if !advice.stuck.is_empty() {
        let stuck = list(&advice.stuck);
        lines.push(format!("  left out, since their writes would wait for ever: {stuck}"));
    }
    lines.push(String::new());
    let mut head = "advice  ";
    for reason in &advice.reasons {
        lines.push(format!("{head}     {reason}"));
        head = "        ";
    }
    if advice.applied {
        lines.push(format!("applied      the policy is now {}", named(&advice.pick)));
    }
    lines
}

/// Returns two lines on the recorded store.
fn recorded(config: &Config) -> Vec<String> {
    let Config { key_bytes, value_bytes, buffer_bytes, workload, .. } = config;
    let (keys, buffer) = (HumanCount(workload.load), HumanBytes(*buffer_bytes));
    let workers = config.workers;
    let clients = workload.phases.iter().flat_map(|phase| &phase.clients);
    let mixes = clients.map(|clients| {
        let shares = clients.mix.shares();
        let all: f64 = shares.iter().map(|(_, share)| share).sum();
        let part = |(kind, share): &(Kind, f64)| {
            (*share > 0.0).then(|| format!("{:.0} % {}", share / all * 100.0, words(*kind)))
        };
        let parts: Vec<String> = shares.iter().filter_map(part).collect();
        let mix = if parts.is_empty() { "updates".to_owned() } else { parts.join(", ") };
        match clients.rate {
            0.0 => mix,
            rate => format!("{mix}, {} a second", HumanCount(rate as u64)),
        }
    });
    vec![
        format!(
            "recorded     {keys} keys of {key_bytes} bytes with values of {value_bytes}, memtables of {buffer}, \
             {workers} workers, {}",
            named(&config.policy)
        ),
        format!("operations   {}", mixes.collect::<Vec<_>>().join("; ")),
    ]
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Insert => "inserts",
        Kind::Update => "updates",
        Kind::Delete => "deletes",
        Kind::Read => "gets",
        Kind::ReadMissing => "gets of missing keys",
        Kind::Scan => "scans",
        Kind::ReadModifyWrite => "read-modify-writes",
    }
}
