//! Runs steps in three lanes, side by side: most of them wait now and then for a disk, a registry, a lock
//! or a browser, or keep one core busy.
//!
//! 1. Two lanes have steps of their own, and take the first of these whose grounds have ended; a lane that
//!    has none takes the first of the other's. The third takes the last of all, which are short.
//! 2. A step whose ground did not pass is not run; all others are.
//! 3. What a step prints is shown when it ends, under its name; meanwhile, what runs is shown.

use crate::failures;
use crate::progress::{self, Doing, Screen, TICK, seconds};
use anyhow::Result;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Lane of a step while both of the first two lanes have steps of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// Steps that build in `target/debug`, where one cargo waits for another.
    Cargo,
    /// The rest.
    Browser,
}

/// A step, ready to be run.
pub struct Task<'a> {
    /// Its name.
    pub name: &'static str,
    /// Its lane.
    pub lane: Lane,
    /// The steps without which this one makes no sense; one that is not in the list does not count.
    pub after: &'a [&'static str],
    /// Returns the output in which tests are counted.
    pub run: Box<dyn Fn() -> Result<String> + Sync + 'a>,
}

/// Outcome of a step.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// Well, with this output.
    Passed(String),
    /// With an error, which was shown, and with these tests, if it names any.
    Failed { tests: Vec<String> },
    /// Not started: its ground did not pass.
    NotRun { because: &'static str },
}

enum Stage {
    Waiting,
    Running { began: Instant, doing: Arc<Mutex<Doing>> },
    Ended { passed: bool },
}

/// A step that has ended.
struct Ended {
    index: usize,
    outcome: Outcome,
    elapsed: Duration,
    /// Its output.
    log: String,
}

struct Lanes<'a> {
    tasks: &'a [Task<'a>],
    stages: Mutex<Vec<Stage>>,
    /// A step has ended.
    changed: Condvar,
}

/// Runs all `tasks`; returns how each of them ended and how long it took, in their order.
pub fn run(tasks: &[Task]) -> Vec<(Outcome, Duration)> {
    let stages = tasks.iter().map(|_| Stage::Waiting).collect();
    let lanes = Lanes { tasks, stages: Mutex::new(stages), changed: Condvar::new() };
    let not_begun = || (Outcome::Failed { tests: Vec::new() }, Duration::ZERO);
    let mut results: Vec<_> = tasks.iter().map(|_| not_begun()).collect();
    let (sender, ended) = channel();
    thread::scope(|scope| {
        for lane in [Some(Lane::Cargo), Some(Lane::Browser), None] {
            let (lanes, sender) = (&lanes, sender.clone());
            scope.spawn(move || lanes.work(lane, &sender));
        }
        drop(sender);
        let mut screen = Screen::new();
        let mut count = 0;
        loop {
            match ended.recv_timeout(TICK) {
                Ok(Ended { index, outcome, elapsed, log }) => {
                    count += 1;
                    let name = tasks.get(index).map_or("", |task| task.name);
                    let head = format!("[{count}/{}] {name}", tasks.len());
                    screen.print(format!("{head}\n{log}").trim_end());
                    if let Some(result) = results.get_mut(index) {
                        *result = (outcome, elapsed);
                    }
                }
                Err(RecvTimeoutError::Timeout) => screen.tick(|| lanes.running()),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
    results
}

impl Lanes<'_> {
    fn stages(&self) -> MutexGuard<'_, Vec<Stage>> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs steps until all have started.
    fn work(&self, lane: Option<Lane>, sender: &Sender<Ended>) {
        let mut stages = self.stages();
        while stages.iter().any(|stage| matches!(stage, Stage::Waiting)) {
            let Some((index, task)) = choose(self.tasks, &stages, lane) else {
                stages = self.changed.wait(stages).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let because = task.after.iter().find(|ground| {
                matches!(stage(self.tasks, &stages, ground), Some(Stage::Ended { passed: false }))
            });
            let (began, doing) = (Instant::now(), Arc::default());
            set(&mut stages, index, Stage::Running { began, doing: Arc::clone(&doing) });
            drop(stages);
            let (outcome, log) = progress::keep(doing, || match because {
                Some(because) => {
                    progress::say(&format!("  not run: {because} did not pass"));
                    Outcome::NotRun { because }
                }
                None => (task.run)().map_or_else(
                    |error| {
                        progress::say(&format!("  {error:#}"));
                        Outcome::Failed { tests: failures::of_error(&error) }
                    },
                    Outcome::Passed,
                ),
            });
            stages = self.stages();
            let passed = matches!(outcome, Outcome::Passed(_));
            set(&mut stages, index, Stage::Ended { passed });
            self.changed.notify_all();
            // The receiver outlives the lanes.
            let _ = sender.send(Ended { index, outcome, elapsed: began.elapsed(), log });
        }
    }

    /// A line for each step that runs.
    fn running(&self) -> Vec<String> {
        let line = |(task, stage): (&Task, &Stage)| {
            let Stage::Running { began, doing } = stage else { return None };
            let doing = doing.lock().unwrap_or_else(PoisonError::into_inner);
            Some(format!("{} {}: {doing}", seconds(began.elapsed()), task.name))
        };
        self.tasks.iter().zip(self.stages().iter()).filter_map(line).collect()
    }
}

/// Returns the next step of the lane, or of the one without steps of its own; nothing while all remaining
/// steps wait for running ones.
fn choose<'a>(
    tasks: &'a [Task<'a>],
    stages: &[Stage],
    lane: Option<Lane>,
) -> Option<(usize, &'a Task<'a>)> {
    let ready = |(index, task): &(usize, &Task)| {
        let ended = |ground: &&str| {
            matches!(stage(tasks, stages, ground), None | Some(Stage::Ended { .. }))
        };
        matches!(stages.get(*index), Some(Stage::Waiting)) && task.after.iter().all(ended)
    };
    let mut all = tasks.iter().enumerate().filter(ready);
    let Some(lane) = lane else { return all.next_back() };
    let first = all.clone().next();
    all.find(|(_, task)| task.lane == lane).or(first)
}

/// Returns the stage of the step with that name.
fn stage<'a>(tasks: &[Task], stages: &'a [Stage], name: &str) -> Option<&'a Stage> {
    stages.get(tasks.iter().position(|task| task.name == name)?)
}

fn set(stages: &mut [Stage], index: usize, to: Stage) {
    if let Some(stage) = stages.get_mut(index) {
        *stage = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;
    use std::sync::Barrier;

    fn task<'a>(
        name: &'static str,
        after: &'a [&'static str],
        run: impl Fn() -> Result<String> + Sync + 'a,
    ) -> Task<'a> {
        Task { name, lane: Lane::Cargo, after, run: Box::new(run) }
    }

    fn outcomes(tasks: &[Task]) -> Vec<Outcome> {
        run(tasks).into_iter().map(|(outcome, _)| outcome).collect()
    }

    #[test]
    fn three_steps_run_side_by_side_also_where_all_are_of_one_lane() {
        let all = Barrier::new(3);
        let meet = || {
            all.wait();
            Ok("met".to_owned())
        };
        let met = || Outcome::Passed("met".to_owned());
        let tasks = ["one", "two", "three"].map(|name| task(name, &[], meet));
        assert_eq!(outcomes(&tasks), [met(), met(), met()]);
    }

    #[test]
    fn a_step_starts_when_its_grounds_have_ended() {
        let ended = Mutex::new(Vec::new());
        let note = |name: &'static str| {
            let ended = &ended;
            move || {
                thread::sleep(Duration::from_millis(20));
                ended.lock().unwrap().push(name);
                Ok(String::new())
            }
        };
        let tasks = [
            task("last", &["middle", "first", "not in the list"], note("last")),
            task("middle", &["first"], note("middle")),
            task("first", &[], note("first")),
        ];
        outcomes(&tasks);
        assert_eq!(*ended.lock().unwrap(), ["first", "middle", "last"]);
    }

    #[test]
    fn a_step_whose_ground_failed_is_not_run_nor_what_rests_on_it() {
        let passes = || Ok(String::new());
        let tasks = [
            task("ground", &[], || bail!("broken")),
            task("middle", &["ground"], || unreachable!()),
            task("last", &["middle"], || unreachable!()),
            task("other", &[], passes),
        ];
        let not_run = |because| Outcome::NotRun { because };
        let passed = Outcome::Passed(String::new());
        let failed = Outcome::Failed { tests: vec![] };
        let expected = [failed, not_run("ground"), not_run("middle"), passed];
        assert_eq!(outcomes(&tasks), expected);
    }

    #[test]
    fn a_lane_prefers_its_own_steps_and_the_third_the_last() {
        let passes = || Ok(String::new());
        let tasks = [
            task("cargo's", &[], passes),
            Task { lane: Lane::Browser, ..task("the browser's", &[], passes) },
            task("cargo's last", &[], passes),
        ];
        let mut stages = [Stage::Waiting, Stage::Waiting, Stage::Waiting];
        let chosen = |lane| choose(&tasks, &stages, lane).map(|(_, task)| task.name);
        assert_eq!(chosen(Some(Lane::Cargo)), Some("cargo's"));
        assert_eq!(chosen(Some(Lane::Browser)), Some("the browser's"));
        assert_eq!(chosen(None), Some("cargo's last"));
        stages[0] = Stage::Ended { passed: true };
        stages[2] = Stage::Ended { passed: true };
        let chosen = choose(&tasks, &stages, Some(Lane::Cargo)).map(|(_, task)| task.name);
        assert_eq!(chosen, Some("the browser's"));
    }
}
