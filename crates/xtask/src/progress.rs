//! Runs one command and shows that it is alive.
//!
//! 1. Its standard output and error go, in order, into one pipe that a thread reads by lines.
//! 2. On a terminal, one line ticks: what runs, the seconds, the latest line of output. Elsewhere
//!    there is a line at the start, one a minute, and one at the end.
//! 3. The output is shown only when the command fails, then in full; that of an [`attempt`] never.

use anyhow::{Context, Result, bail};
use std::io::{self, BufRead, BufReader, IsTerminal, PipeReader, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often the line is drawn again.
const TICK: Duration = Duration::from_millis(200);
/// How often a log that is no terminal hears that the command still runs.
const REMINDER: Duration = Duration::from_secs(60);
/// Columns that the ticking line takes at most.
const WIDTH: usize = 78;

/// Runs `command` under the name `label` and returns what it wrote.
///
/// # Errors
/// When it cannot be started, or ends with anything but success.
pub fn run(label: &str, command: Command) -> Result<String> {
    let (status, output) = watch(label, command, "FAILED")?;
    if status.success() {
        return Ok(output);
    }
    println!("{output}");
    bail!("{label}: {status}");
}

/// Runs `command` as [`run`] does, where another way is open if it fails; returns whether it
/// succeeded.
///
/// # Errors
/// When it cannot be started.
pub fn attempt(label: &str, command: Command) -> Result<bool> {
    Ok(watch(label, command, "no")?.0.success())
}

/// Runs `command` and shows that it is alive; `failed` is what its last line says if it fails.
fn watch(label: &str, mut command: Command, failed: &str) -> Result<(ExitStatus, String)> {
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut ticker = Ticker::start(label);
    let program = command.get_program().to_owned();
    let mut child = command.spawn().with_context(|| format!("{label}: cannot run {program:?}"))?;
    // Its end of the pipe must close with the child.
    drop(command);

    let lines = read_lines(reader);
    let mut output = String::new();
    let status = loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => {
                ticker.latest.clone_from(&line);
                output.push_str(&line);
                output.push('\n');
            }
            Err(RecvTimeoutError::Disconnected) => break child.wait()?,
            // A process that the child left behind may hold the pipe open for ever.
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = child.try_wait()? {
                    break status;
                }
            }
        }
        ticker.tick();
    };
    ticker.end(if status.success() { "ok" } else { failed });
    Ok((status, output))
}

/// Seconds for people: `0.4 s`, `1 min 12 s`.
pub fn seconds(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        0..60 => format!("{:.1} s", elapsed.as_secs_f64()),
        whole => format!("{} min {:02} s", whole / 60, whole % 60),
    }
}

fn read_lines(reader: PipeReader) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    lines
}

struct Ticker<'a> {
    label: &'a str,
    latest: String,
    began: Instant,
    told: Instant,
    terminal: bool,
}

impl<'a> Ticker<'a> {
    fn start(label: &'a str) -> Self {
        let began = Instant::now();
        let terminal = io::stdout().is_terminal();
        if !terminal {
            println!("  ...              {label}");
        }
        Self { label, latest: String::new(), began, told: began, terminal }
    }

    fn tick(&mut self) {
        let elapsed = self.began.elapsed();
        if self.terminal && self.told.elapsed() >= TICK {
            let latest = self.latest.split('\r').next_back().unwrap_or_default().trim();
            let line = format!("  ... {:>12} {}  {latest}", seconds(elapsed), self.label);
            let shown: String = line.chars().filter(|c| !c.is_control()).take(WIDTH).collect();
            print!("\r\x1b[2K{shown}");
            // A terminal that is gone must not stop the work.
            let _ = io::stdout().flush();
            self.told = Instant::now();
        } else if !self.terminal && self.told.elapsed() >= REMINDER {
            println!("  ... {:>12} {}", seconds(elapsed), self.label);
            self.told = Instant::now();
        }
    }

    fn end(self, result: &str) {
        if self.terminal {
            print!("\r\x1b[2K");
        }
        println!("  {result:<6} {:>9} {}", seconds(self.began.elapsed()), self.label);
    }
}

#[cfg(test)]
mod tests {
    use super::run;
    use std::process::Command;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_and_errors_come_back_in_order() {
        let output = run("order", shell("echo one; echo two >&2; printf three")).unwrap();
        assert_eq!(output, "one\ntwo\nthree\n");
    }

    #[test]
    fn a_failure_names_the_step_and_its_status() {
        let error = run("the step", shell("exit 3")).unwrap_err().to_string();
        assert!(error.contains("the step") && error.contains('3'), "{error}");
        let error = run("absent", Command::new("no-such-program")).unwrap_err().to_string();
        assert!(error.contains("no-such-program"), "{error}");
    }

    #[test]
    fn a_process_left_behind_does_not_hold_the_step() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = shell("(sleep 5; touch ended) & echo started");
        command.current_dir(folder.path());
        run("left behind", command).unwrap();
        assert!(!folder.path().join("ended").exists());
    }
}
