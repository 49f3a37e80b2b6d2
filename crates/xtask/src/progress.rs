//! Runs one command and shows that it is alive.
//!
//! 1. Its standard output and error go, in order, into one pipe that a thread reads by lines.
//! 2. On a terminal, one line ticks: what runs, the seconds, the latest line of output. Elsewhere
//!    there is a line at the start, one a minute, and one at the end. A thread that [keeps](keep) what
//!    it prints prints only the last of these, and leaves it to others to show the rest.
//! 3. The output is shown only when the command fails, then in full, between the names of the tests that failed;
//!    the output of an [`attempt`] is never shown.
//! 4. A command that prints nothing for too long hangs, and is ended, with all that it started.

use crate::failures::{self, CommandFailed};
use crate::processes;
use anyhow::{Context, Result, ensure};
use std::cell::RefCell;
use std::fmt::{self, Display, Formatter};
use std::io::{self, BufRead, BufReader, IsTerminal, PipeReader, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Interval of drawing the line.
pub const TICK: Duration = Duration::from_millis(200);
/// Interval of reminders that the command still runs, in a log that is no terminal.
const REMINDER: Duration = Duration::from_secs(60);
/// Columns that the ticking line takes at most.
const WIDTH: usize = 78;

/// The longest time for which a command may print nothing; unlimited if it is unset.
static SILENCE_MAX: OnceLock<Duration> = OnceLock::new();

/// Ends commands that print nothing for longer than `most`, from now on.
pub fn end_after_silence(most: Duration) {
    SILENCE_MAX.get_or_init(|| most);
}

/// Activity of a command, or of a thread that keeps its output.
#[derive(Clone, Default)]
pub struct Doing {
    label: String,
    /// The last line of its output.
    latest: String,
}

impl Display for Doing {
    fn fmt(&self, f: &mut Formatter) -> fmt::Result {
        let latest = self.latest.split('\r').next_back().unwrap_or_default().trim();
        write!(f, "{}  {latest}", self.label)
    }
}

/// Kept output of a thread.
struct Kept {
    text: String,
    doing: Arc<Mutex<Doing>>,
}

thread_local! {
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// Does `work`; returns what it returns, and what it would have printed. `doing` says meanwhile which
/// command runs.
pub fn keep<T>(doing: Arc<Mutex<Doing>>, work: impl FnOnce() -> T) -> (T, String) {
    KEPT.set(Some(Kept { text: String::new(), doing }));
    let result = work();
    (result, KEPT.take().map(|kept| kept.text).unwrap_or_default())
}

/// Prints a line, unless this thread keeps what it prints.
pub fn say(line: &str) {
    KEPT.with_borrow_mut(|kept| match kept {
        Some(kept) => kept.text += &format!("{line}\n"),
        None => println!("{line}"),
    });
}

/// Runs `command` under the name `label` and returns what it wrote.
///
/// # Errors
/// If it cannot be started; a [`CommandFailed`] if it hangs, or ends with anything but success.
pub fn run(label: &str, command: Command) -> Result<String> {
    let silence = SILENCE_MAX.get().copied().unwrap_or(Duration::MAX);
    let (status, output) = watch(label, command, "FAILED", silence)?;
    if status.is_some_and(|status| status.success()) {
        return Ok(output);
    }
    let failures: Vec<&str> = output.lines().filter(|line| names_failure(line)).collect();
    say(&failures.join("\n"));
    say(&output);
    // Again, since the end of a long log is read first.
    failures::of_output(&output).iter().for_each(|test| say(&format!("  FAILED: {test}")));
    let label = label.to_owned();
    Err(CommandFailed { label, status, silence, output }.into())
}

/// Whether a line of a test runner's output says that something failed: those of cargo, Playwright,
/// Node and of compilers. They are shown first, since the whole output is long.
fn names_failure(line: &str) -> bool {
    let line = line.trim_start();
    ["error", "✘", "not ok"].iter().any(|start| line.starts_with(start))
        || line.ends_with("... FAILED")
        || line.contains(" panicked at ")
}

/// Runs `command` as [`run`] does, where another way is open if it fails; returns whether it
/// succeeded.
///
/// # Errors
/// When it cannot be started.
pub fn attempt(label: &str, command: Command) -> Result<bool> {
    let (status, _) = watch(label, command, "no", Duration::MAX)?;
    Ok(status.is_some_and(|status| status.success()))
}

/// Runs `command` and shows that it is alive; `failed` is what its last line says if it fails. There is no status
/// if it printed nothing for longer than `silence` and was ended.
fn watch(
    label: &str,
    mut command: Command,
    failed: &str,
    silence: Duration,
) -> Result<(Option<ExitStatus>, String)> {
    let (reader, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut ticker = Ticker::start(label);
    let program = command.get_program().to_owned();
    let mut child = command.spawn().with_context(|| format!("{label}: cannot run {program:?}"))?;
    // Its end of the pipe must close with the child.
    drop(command);

    let (lines, reading) = read_lines(reader);
    let mut output = String::new();
    let mut heard = Instant::now();
    let status = loop {
        match lines.recv_timeout(TICK) {
            Ok(line) => {
                heard = Instant::now();
                ticker.doing.latest.clone_from(&line);
                output.push_str(&line);
                output.push('\n');
            }
            Err(RecvTimeoutError::Disconnected) => {
                ensure!(
                    reading.join().is_ok(),
                    "{label}: the thread that reads its output panicked"
                );
                break Some(child.wait()?);
            }
            // A process that the child left behind may hold the pipe open for ever.
            Err(RecvTimeoutError::Timeout) => {
                if let Some(status) = child.try_wait()? {
                    break Some(status);
                }
                if heard.elapsed() > silence {
                    processes::kill_tree(&mut child);
                    child.wait()?;
                    break None;
                }
            }
        }
        ticker.tick();
    };
    ticker.end(match status {
        Some(status) if status.success() => "ok",
        Some(_) => failed,
        None => "HANGS",
    });
    Ok((status, output))
}

/// Seconds for people: `0.4 s`, `1 min 12 s`.
pub fn seconds(elapsed: Duration) -> String {
    match elapsed.as_secs() {
        0..60 => format!("{:.1} s", elapsed.as_secs_f64()),
        whole => format!("{} min {:02} s", whole / 60, whole % 60),
    }
}

fn read_lines(reader: PipeReader) -> (Receiver<String>, JoinHandle<()>) {
    let (sender, lines) = channel();
    let reading = thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n').map_while(Result::ok) {
            if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                break;
            }
        }
    });
    (lines, reading)
}

/// Shows what one command is about.
struct Ticker {
    doing: Doing,
    began: Instant,
    /// None where the thread keeps what it prints.
    screen: Option<Screen>,
}

impl Ticker {
    fn start(label: &str) -> Self {
        let kept = KEPT.with_borrow(Option::is_some);
        let screen = (!kept).then(Screen::new);
        if screen.as_ref().is_some_and(|screen| !screen.terminal) {
            println!("  ...              {label}");
        }
        let doing = Doing { label: label.to_owned(), latest: String::new() };
        let mut ticker = Self { doing, began: Instant::now(), screen };
        ticker.tick();
        ticker
    }

    fn tick(&mut self) {
        let line = || vec![format!("{} {}", seconds(self.began.elapsed()), self.doing)];
        match &mut self.screen {
            Some(screen) => screen.tick(line),
            None => set_doing(&self.doing),
        }
    }

    fn end(mut self, result: &str) {
        let line =
            format!("  {result:<6} {:>10} {}", seconds(self.began.elapsed()), self.doing.label);
        match &mut self.screen {
            Some(screen) => screen.print(&line),
            None => {
                say(&line);
                set_doing(&Doing::default());
            }
        }
    }
}

/// Shows others what this thread does.
fn set_doing(doing: &Doing) {
    KEPT.with_borrow(|kept| {
        if let Some(kept) = kept {
            kept.doing.lock().unwrap_or_else(PoisonError::into_inner).clone_from(doing);
        }
    });
}

/// The standard output, with a last line that says what runs.
pub struct Screen {
    terminal: bool,
    told: Instant,
}

impl Screen {
    /// With nothing said yet.
    pub fn new() -> Self {
        Self { terminal: io::stdout().is_terminal(), told: Instant::now() }
    }

    /// Prints a text in place of the last line.
    pub fn print(&mut self, text: &str) {
        self.clear();
        println!("{text}");
    }

    /// Says what runs, if it is time to: `lines` side by side on a terminal, else one by one.
    pub fn tick(&mut self, lines: impl FnOnce() -> Vec<String>) {
        if self.told.elapsed() < if self.terminal { TICK } else { REMINDER } {
            return;
        }
        self.told = Instant::now();
        let lines = lines();
        if !self.terminal {
            lines.iter().for_each(|line| println!("  ... {line}"));
            return;
        }
        self.clear();
        for line in &lines {
            let shown = line.chars().filter(|c| !c.is_control());
            print!("  {}", shown.take(WIDTH / lines.len()).collect::<String>());
        }
        // A terminal that is gone must not stop the work.
        let _ = io::stdout().flush();
    }

    fn clear(&self) {
        if self.terminal {
            print!("\r\x1b[2K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, Duration, keep, names_failure, run, say, watch};
    use std::fs;
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
        // It waits for whoever opens the other end.
        let mut command = shell("mkfifo gate; (read line < gate; touch ended) & echo started");
        command.current_dir(folder.path());
        let output = run("left behind", command).unwrap();
        assert_eq!(output, "started\n");
        assert!(!folder.path().join("ended").exists());
        fs::write(folder.path().join("gate"), "end\n").unwrap();
    }

    #[test]
    fn a_silent_command_is_ended_with_what_it_printed() {
        let command = shell("echo begun; sleep 600; echo never");
        let silence = Duration::from_millis(300);
        let ((status, output), log) =
            keep(Arc::default(), || watch("silent", command, "FAILED", silence).unwrap());
        assert!(status.is_none() && log.contains("HANGS"), "{status:?}: {log}");
        assert!(["begun\n", ""].contains(&&*output), "{output}");
    }

    #[test]
    fn lines_that_name_a_failure_are_found_among_others() {
        for line in [
            "test a::b ... FAILED",
            "thread 'a::b' (5) panicked at tests/a.rs:1:2:",
            "  ✘  7 [chromium] › a.spec.ts:1:1 › b (2.0s)",
            "not ok 3 - b",
            "error[E0308]: mismatched types",
        ] {
            assert!(names_failure(line), "{line}");
        }
        for line in ["test a ... ok", "  ✓  7 [chromium] › an error is shown (1s)", "ok 3 - b", ""]
        {
            assert!(!names_failure(line), "{line}");
        }
    }

    #[test]
    fn kept_output_has_its_threads_lines_and_output_of_failures() {
        let (error, log) = keep(Arc::default(), || {
            say("first");
            run("well", shell("echo unseen")).unwrap();
            run("badly", shell("echo seen; exit 1")).unwrap_err().to_string()
        });
        assert!(error.contains("badly"), "{error}");
        let lines: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
        let [first, well, badly, seen] = lines[..] else { panic!("{log}") };
        assert_eq!([first, seen], ["first", "seen"]);
        assert!(well.contains("ok") && well.ends_with("well"), "{well}");
        assert!(badly.contains("FAILED") && badly.ends_with("badly"), "{badly}");
    }
}
