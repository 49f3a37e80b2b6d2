//! Plans and refusals as text: each file in `crates/policy/scripts` draws trees and says what becomes of them.
//!
//! A file is a list of commands, each with lines of its own and, behind `----`, what it prints; an empty line ends
//! it, and `#` starts a comment. A failing script prints what it found; with `TERRANE_REWRITE=1` that is written to
//! the file, for review.
//!
//! * `policy NAME|JSON` plans from here on.
//! * `tree`, then a line for each level, `L1: 0-3 4-9 | 0-9`: its runs, newest first, each with its tables. A table
//!   has a quarter KiB for each number from the first to the last. `1,3,5` is a table of three keys, a byte each.
//! * `flush 0-9` adds a run to level 0, cut where the policy cuts it.
//! * `status` prints the figures that the policy has of each of its parts, in bytes and thousandths.
//! * `plan` prints the next plan, `step` also installs it, and `run` does so until there is none; both print what the
//!   policy decided then, and the tree.
//! * `running`, then groups: a compaction that has started.
//! * `check`, then groups or a change of levels: prints `sound`, or why the validator refuses the plan.
//!
//! A group is `merge L0.0 L1.0.2 -> L1.0`: a run is named by its level and its place in it, a table by its place in
//! the run; `-> L1 new` makes a run.

use super::*;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// State that the commands of a file change.
#[derive(Default)]
struct Script {
    policy: Option<Box<dyn Policy>>,
    model: Model,
    state: Vec<u8>,
    running: Running,
}

impl Script {
    /// Runs a command and returns what it prints.
    fn command(&mut self, command: &str, lines: &[&str]) -> String {
        let (name, rest) = command.split_once(' ').unwrap_or((command, ""));
        match name {
            "policy" => self.choose(rest),
            "tree" => self.draw(lines),
            "flush" => self.flush(rest),
            "status" => return self.status(),
            "plan" => {
                return self.planned().map_or("nothing\n".to_owned(), |plan| self.show(&plan));
            }
            "step" => return self.run(1),
            "run" => return self.run(100),
            "running" => self.running.compactions.push(plan(self.groups(lines))),
            "check" => return self.check(lines),
            other => panic!("unknown command {other:?}"),
        }
        String::new()
    }

    fn choose(&mut self, text: &str) {
        let policy = text.parse::<PolicyOptions>().unwrap().build().unwrap();
        self.state = policy.adopt(&self.model.shape);
        self.policy = Some(policy);
    }

    /// Draws a tree: the oldest run is written first.
    fn draw(&mut self, lines: &[&str]) {
        self.model = Model::default();
        self.running = Running::default();
        let levels = lines.iter().map(|line| line.split_once(':').unwrap()).collect::<Vec<_>>();
        for (level, runs) in levels.into_iter().rev() {
            let level = level.trim_start_matches('L').parse().unwrap();
            for run in runs.split('|').rev().filter(|run| !run.trim().is_empty()) {
                let id = self.model.fresh(&self.running);
                for table in run.split_whitespace() {
                    self.model.write(level, id.0, keys(table));
                }
            }
        }
        if let Some(policy) = &self.policy {
            self.state = policy.adopt(&self.model.shape);
        }
    }

    fn flush(&mut self, tables: &str) {
        let (before, id) = (self.model.shape.clone(), self.model.fresh(&self.running));
        let written: Vec<_> = tables.split_whitespace().map(keys).collect();
        let plan = self.flush_plan(&written.concat());
        let part = |key: &u16| plan.cuts.partition_point(|cut| *cut <= key.bytes());
        let parts = written.iter().flat_map(|keys| keys.chunk_by(|a, b| part(a) == part(b)));
        let written: Vec<_> =
            parts.map(|keys| self.model.write(0, id.0, keys.iter().copied())).collect();
        let shape = &self.model.shape;
        let tables: Vec<_> = (shape.tables().filter(|(.., table)| written.contains(&table.id)))
            .map(|(.., table)| TableInfo::clone(table))
            .collect();
        let step = Step::Flush { plan: &plan, tables: &tables };
        if let Some(policy) = &self.policy {
            self.state = policy.apply(&self.state, &unobserved(&before, step));
        }
    }

    fn flush_plan(&self, keys: &[u16]) -> FlushPlan {
        let Some(policy) = &self.policy else { return FlushPlan::default() };
        let count = keys.len() as u64;
        let keys = keys.iter().map(|key| key.bytes()).collect();
        let sealed = KeySample { entries: count, bytes: count, keys };
        let context = PlanContext {
            shape: &self.model.shape,
            state: &self.state,
            running: &self.running,
            observed: &Observed::default(),
            filter_bits: FilterBits::whole(10),
            workers: 4,
            l0_stop_trigger: LEVEL0_RUNS_MAX,
            oldest_snapshot: u64::MAX,
            fresh: self.model.fresh(&self.running),
        };
        policy.flush(&context, &sealed)
    }

    fn status(&self) -> String {
        let policy = self.policy.as_deref().expect("a policy was named");
        let mut lines = BTreeMap::<usize, String>::new();
        for fact in policy.status(&self.model.shape, &self.state).facts {
            let (Of::Item(at), text) = (match fact {
                Fact::Number { name, of, value, .. } => (of, format!(" {name} {value}")),
                Fact::Key { name, of, key } if key.is_empty() => (of, format!(" {name} none")),
                Fact::Key { name, of, key } => (of, format!(" {name} {}", number_of(&key, 0))),
            }) else {
                continue;
            };
            *lines.entry(at).or_default() += &text;
        }
        lines.iter().map(|(at, line)| format!("{at}:{line}\n")).collect()
    }

    fn planned(&self) -> Option<Plan> {
        let policy = self.policy.as_deref().expect("a policy was named");
        let fresh = self.model.fresh(&self.running);
        propose(policy, &self.model.shape, &self.state, &self.running, fresh)
    }

    /// Installs up to `most` plans; prints each, and the tree that is left.
    fn run(&mut self, most: usize) -> String {
        let mut out = String::new();
        for _ in 0..most {
            let Some(plan) = self.planned() else { break };
            assert_eq!(validate_plan(&self.model.shape, &self.running, &plan), Ok(()));
            out += &self.show(&plan);
            out += &self.install(&plan);
        }
        out + &self.tree()
    }

    /// Returns a line for each decision of the policy.
    fn install(&mut self, plan: &Plan) -> String {
        let mut out = String::new();
        let policy = self.policy.as_deref().expect("a policy was named");
        let groups = match plan {
            Plan::Compact(compaction) => compaction.groups.as_slice(),
            Plan::Reshape(reshape) => {
                let step = Step::Reshape(reshape.change);
                self.state = policy.apply(&self.state, &unobserved(&self.model.shape, step));
                self.model = self.model.reshape(reshape.change);
                return out;
            }
        };
        for (at, group) in groups.iter().enumerate() {
            let next = self.model.commit(group, false).unwrap();
            let there = |id| self.model.shape.tables().any(|(.., table)| table.id == id);
            let is_output = |table: &TableInfo| match group.action {
                Action::Move => group.inputs.contains(&table.id),
                Action::Merge { .. } => !there(table.id),
            };
            let outputs: Vec<_> = (next.shape.tables().filter(|(.., table)| is_output(table)))
                .map(|(.., table)| TableInfo::clone(table))
                .collect();
            let ends = at + 1 == groups.len();
            let step = Step::Group { group, outputs: &outputs, ends };
            let installed = unobserved(&self.model.shape, step);
            for decision in policy.decisions(&self.state, &installed) {
                let _ = writeln!(out, "{}", decision.name);
            }
            self.state = policy.apply(&self.state, &installed);
            self.model = next;
        }
        out
    }

    fn check(&self, lines: &[&str]) -> String {
        let words: Vec<_> = lines.first().unwrap().split(' ').collect();
        let plan = match words[..] {
            ["add", level] => reshaping(LevelChange::Add(number(level))),
            ["drop", level] => reshaping(LevelChange::Drop(number(level))),
            _ => Plan::from(plan(self.groups(lines))),
        };
        match validate_plan(&self.model.shape, &self.running, &plan) {
            Ok(()) => "sound\n".to_owned(),
            Err(refusal) => format!("{refusal}\n"),
        }
    }

    fn groups(&self, lines: &[&str]) -> Vec<Group> {
        lines.iter().map(|line| self.group(line)).collect()
    }

    fn group(&self, line: &str) -> Group {
        let (line, follows) =
            line.split_once(" after ").map_or((line, None), |(l, f)| (l, Some(f)));
        let (inputs, destination) = line.split_once("->").unwrap();
        let mut inputs = inputs.split_whitespace();
        let action = inputs.next().unwrap();
        let inputs: Vec<_> = inputs.flat_map(|place| self.tables_at(place)).collect();
        let (level, run) = match destination.split_whitespace().collect::<Vec<_>>()[..] {
            [level, "new"] => (number(level), self.model.fresh(&self.running).0),
            [place] => {
                let (level, run, _) = split_place(place);
                (level, self.model.shape.levels()[level].runs[run].id.0)
            }
            _ => panic!("{destination}"),
        };
        let group = match action {
            "merge" => merge(&inputs, level, run),
            "move" => move_to(&inputs, level, run),
            other => panic!("unknown action {other:?}"),
        };
        Group { follows: follows.map(|place| self.tables_at(place)[0]), ..group }
    }

    /// The tables at a place; a table that no tree has for `missing`.
    fn tables_at(&self, place: &str) -> Vec<TableId> {
        if place == "missing" {
            return vec![TableId(9999)];
        }
        let (level, run, table) = split_place(place);
        let tables = self.model.shape.levels()[level].runs[run].tables();
        let ids: Vec<_> = tables.iter().map(|table| table.id).collect();
        table.map_or(ids.clone(), |at| vec![ids[at]])
    }

    fn show(&self, plan: &Plan) -> String {
        let compaction = match plan {
            Plan::Reshape(reshape) => return format!("{}\n", reshape.change),
            Plan::Compact(compaction) => compaction,
        };
        let mut out = String::new();
        if compaction.groups.len() > 1 && compaction.order != Order::Parallel {
            out += "one after another\n";
        }
        for group in &compaction.groups {
            let inputs = self.places(&group.inputs).join(" ");
            let (level, run) = (group.destination.level, group.destination.run);
            let runs = self.model.shape.levels().get(level).map_or(&[][..], |level| &level.runs);
            let to = match runs.iter().position(|r| r.id == run) {
                Some(at) => format!("L{level}.{at}"),
                None => format!("L{level} new"),
            };
            let (action, cuts) = match &group.action {
                Action::Move => ("move", Vec::new()),
                Action::Merge { cuts, .. } => {
                    ("merge", cuts.iter().map(|cut| number_of(cut, 0)).collect::<Vec<_>>())
                }
            };
            let cut =
                if cuts.is_empty() { String::new() } else { format!(" cut at {}", cuts.join(" ")) };
            let _ = writeln!(out, "{action} {inputs} -> {to}{cut}");
        }
        out
    }

    /// The places of tables: whole runs by their run.
    fn places(&self, ids: &[TableId]) -> Vec<String> {
        let mut places = Vec::new();
        for (level, of_level) in self.model.shape.levels().iter().enumerate() {
            for (at, run) in of_level.runs.iter().enumerate() {
                let held = |table: &Arc<TableInfo>| ids.contains(&table.id);
                if run.tables().iter().all(held) {
                    places.push(format!("L{level}.{at}"));
                    continue;
                }
                let tables = run.tables().iter().enumerate().filter(|(_, table)| held(table));
                places.extend(tables.map(|(table, _)| format!("L{level}.{at}.{table}")));
            }
        }
        places
    }

    fn tree(&self) -> String {
        let table = |table: &Arc<TableInfo>| {
            let (first, last) = (&table.smallest, &table.largest);
            format!("{}-{}", number_of(first, 0), number_of(last, KEYS - 1))
        };
        let run = |run: &Run| run.tables().iter().map(table).collect::<Vec<_>>().join(" ");
        let mut out = String::new();
        for (level, of_level) in self.model.shape.levels().iter().enumerate() {
            let runs: Vec<_> = of_level.runs.iter().map(run).collect();
            let _ = writeln!(out, "{}", format!("L{level}: {}", runs.join(" | ")).trim_end());
        }
        out
    }
}

fn reshaping(change: LevelChange) -> Plan {
    Plan::Reshape(Reshape { change, reason: String::new().into() })
}

fn number(text: &str) -> usize {
    text.trim_start_matches('L').parse().unwrap()
}

/// Keys, each with an entry of one byte, that a number of a table stands for.
const KEYS: u16 = 256;

/// The keys of a table, `first-last` or `one,another`.
fn keys(table: &str) -> Vec<u16> {
    let number = |text: &str| text.parse::<u16>().unwrap() * KEYS;
    match table.split_once('-') {
        Some((first, last)) => (number(first)..=number(last) + (KEYS - 1)).collect(),
        None => table.split(',').map(number).collect(),
    }
}

/// The number that a key belongs to, and the key's place in it if that is not `place`.
fn number_of(key: &[u8], place: u16) -> String {
    let key = u16::from_be_bytes([key[0], key[1]]);
    match key % KEYS {
        at if at == place => format!("{}", key / KEYS),
        at => format!("{}+{at}", key / KEYS),
    }
}

/// The level, the run and the table of a place such as `L1.0.2`.
fn split_place(place: &str) -> (usize, usize, Option<usize>) {
    let mut parts = place.trim_start_matches('L').split('.').map(|part| part.parse().unwrap());
    (parts.next().unwrap(), parts.next().unwrap(), parts.next())
}

/// Runs a file; returns it with what its commands print now.
fn rerun(text: &str) -> String {
    let (mut script, mut out) = (Script::default(), String::new());
    for block in text.split("\n\n") {
        let (given, expects) = match block.split_once("\n----") {
            Some((given, _)) => (given, true),
            None => (block, false),
        };
        let lines: Vec<_> = given.lines().filter(|line| !line.starts_with('#')).collect();
        out += given.trim_end();
        if let Some((command, lines)) =
            lines.split_first().filter(|(command, _)| !command.is_empty())
        {
            let printed = script.command(command, lines);
            if expects || !printed.is_empty() {
                out += "\n----\n";
                out += printed.trim_end();
            }
        }
        out += "\n\n";
    }
    out.trim_end().to_owned() + "\n"
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut paths: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn scripts_print_what_they_say() {
    let mut differ = Vec::new();
    for path in scripts() {
        let text = std::fs::read_to_string(&path).unwrap();
        let found = rerun(&text);
        if found == text {
            continue;
        }
        if std::env::var_os("TERRANE_REWRITE").is_some() {
            std::fs::write(&path, found).unwrap();
            continue;
        }
        let lines = text.lines().zip(found.lines()).enumerate().find(|(_, (a, b))| a != b);
        differ.push(format!("{}: {lines:?}\n{found}", path.display()));
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn every_policy_has_a_script() {
    let named: Vec<_> = scripts();
    let all: String = named.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    for preset in presets() {
        let asked = |line: &str| {
            line.strip_prefix("policy ").is_some_and(|rest| {
                rest == preset.name || rest.contains(&format!("\"policy\": \"{}\"", preset.name))
            })
        };
        assert!(all.lines().any(asked), "no script of {}", preset.name);
    }
}
