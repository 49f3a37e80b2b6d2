//! The shell on a terminal.

use crate::place::Place;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

/// Time after which a wait for output fails.
const PATIENCE: Duration = Duration::from_secs(120);
const PROMPT: &str = "db> ";
const CTRL_C: &[u8] = b"\x03";

/// A shell, the terminal that it runs on, and what it has printed since the last wait.
struct Terminal {
    shell: Child,
    terminal: File,
    printed: Receiver<Vec<u8>>,
    unread: Vec<u8>,
}

impl Terminal {
    /// Runs `terrane shell db` with this history, up to its first prompt. Ctrl-C on the terminal is a signal to it.
    fn shell(place: &Place, history: &Path) -> Terminal {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap();
        let side = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(rustix::fs::OFlags::NOCTTY.bits().cast_signed())
            .open(name.to_str().unwrap())
            .unwrap();
        let ends = [0; 3].map(|_| Stdio::from(side.try_clone().unwrap()));
        let [input, output, errors] = ends;
        let mut command = place.terrane(&["shell", "db", "--create"]);
        command.env("TERM", "xterm").env("TERRANE_HISTORY", history);
        let control = || {
            rustix::process::setsid()?;
            Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?)
        };
        // SAFETY: between fork and exec there are only two system calls.
        unsafe { command.pre_exec(control) };
        let shell = command.stdin(input).stdout(output).stderr(errors).spawn().unwrap();
        drop((side, command));
        let terminal = File::from(terminal);
        let mut reader = terminal.try_clone().unwrap();
        // What nobody waits for is not read, and holds up the shell.
        let (sender, printed) = sync_channel(0);
        std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            // The terminal reports an error when the shell has gone.
            while let Ok(n @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        let mut started = Terminal { shell, terminal, printed, unread: Vec::new() };
        started.wait_for(PROMPT);
        started
    }

    fn types(&mut self, bytes: &[u8]) {
        self.terminal.write_all(bytes).unwrap();
    }

    /// Waits until `text` is printed; returns what was printed up to its end.
    #[track_caller]
    fn wait_for(&mut self, text: &str) -> String {
        let began = Instant::now();
        let mut searched = 0;
        loop {
            if let Some(at) = memchr::memmem::find(&self.unread[searched..], text.as_bytes()) {
                let rest = self.unread.split_off(searched + at + text.len());
                let printed = std::mem::replace(&mut self.unread, rest);
                return String::from_utf8_lossy(&printed).into_owned();
            }
            searched = self.unread.len().saturating_sub(text.len());
            let left = PATIENCE.saturating_sub(began.elapsed());
            match self.printed.recv_timeout(left) {
                Ok(bytes) => self.unread.extend(bytes),
                Err(e) => panic!("{e}: no {text:?} in {:?}", String::from_utf8_lossy(&self.unread)),
            }
        }
    }

    /// Types a line and returns what is printed up to the next prompt.
    #[track_caller]
    fn line(&mut self, line: &str) -> String {
        self.types(format!("{line}\r").as_bytes());
        self.wait_for("\u{1b}[?2004l");
        self.wait_for(PROMPT)
    }

    fn leave(mut self) {
        self.types(b"exit\r");
        while self.printed.recv().is_ok() {}
        assert_eq!(self.shell.wait().unwrap().code(), Some(0));
    }
}

/// A store with `rows` rows, whose keys are numbers.
fn store(rows: u32) -> Place {
    let place = Place::new();
    let rows: String = (0..rows).map(|n| format!("{n:08}\n")).collect();
    place.run_with_input(&["load", "db", "--format", "tsv"], rows.as_bytes()).ok();
    place
}

fn no_history() -> &'static Path {
    Path::new("")
}

/// Interrupts the command that runs, as another process does.
fn interrupt(shell: &Child) {
    let id = shell.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
}

#[test]
fn an_interrupted_scan_returns_to_the_prompt() {
    let place = Place::new();
    let value = "v".repeat(100_000);
    let rows: String = (0..600).map(|n| format!("{n:08}\t{value}\n")).collect();
    place.run_with_input(&["load", "db", "--format", "tsv"], rows.as_bytes()).ok();
    let mut shell = Terminal::shell(&place, no_history());
    shell.types(b"scan\r");
    shell.wait_for("00000002\t");
    shell.types(CTRL_C);
    let printed = shell.wait_for("interrupted");
    assert!(!printed.contains("00000599"), "it went on to the end");
    shell.wait_for(PROMPT);
    assert!(shell.line("count").contains("600"));
    shell.leave();
}

#[test]
fn an_interrupt_ends_each_command_that_reads_all_rows() {
    let rows = 100_000;
    let place = store(rows);
    let mut shell = Terminal::shell(&place, no_history());
    for command in ["count", "count --prefix 0", "check"] {
        let began = Instant::now();
        let mut tries = 0;
        // A command may end before the signal, which the prompt then ignores. It would read a Ctrl-C as a byte, and
        // drop what was typed after it.
        loop {
            shell.types(format!("{command}\r").as_bytes());
            shell.wait_for("\u{1b}[?2004l");
            interrupt(&shell.shell);
            let marker = format!("end of try {tries} of {command}");
            shell.types(format!("get '{marker}'\r").as_bytes());
            let printed = shell.wait_for(&format!("no key \"{marker}\""));
            if printed.contains("interrupted") {
                break;
            }
            tries += 1;
            assert!(began.elapsed() < PATIENCE, "{command} was never interrupted: {printed}");
        }
    }
    shell.types(b"count\r");
    shell.wait_for(&format!("\n{rows}\r\n"));
    shell.leave();
}

#[test]
fn ctrl_c_interrupts_a_load_from_a_silent_pipe() {
    let place = store(1);
    let pipe = place.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut shell = Terminal::shell(&place, no_history());
    shell.types(b"load pipe --format tsv\r");
    // Opened once the shell reads it.
    let mut writer = OpenOptions::new().write(true).open(&pipe).unwrap();
    writer.write_all(b"a\t1\nb").unwrap();
    shell.types(CTRL_C);
    shell.wait_for("interrupted");
    shell.wait_for(PROMPT);
    drop(writer);
    assert!(shell.line("count").contains("\n1\r\n"), "the row that was read is in no whole batch");
    // With nobody at the other end. The signal comes before the load or within it.
    shell.types(b"\x1b[200~count\nload pipe --format tsv\x1b[201~\r");
    shell.wait_for("\n1\r\n");
    shell.types(CTRL_C);
    shell.wait_for(PROMPT);
    assert!(shell.line("count").contains("\n1\r\n"));
    shell.leave();
}

#[test]
fn an_interrupt_at_the_prompt_leaves_the_shell_open() {
    let place = store(1);
    let mut shell = Terminal::shell(&place, no_history());
    interrupt(&shell.shell);
    shell.types(b"count\r");
    shell.wait_for("\n1\r\n");
    shell.wait_for(PROMPT);
    shell.types(CTRL_C);
    shell.wait_for(PROMPT);
    shell.leave();
}

#[test]
fn a_byte_that_is_not_utf_8_is_refused_at_the_prompt() {
    let place = store(1);
    let mut shell = Terminal::shell(&place, no_history());
    shell.types(b"put a \xff\r");
    shell.wait_for("expected UTF-8, found another byte; for example: put --hex 00ff 2a");
    shell.wait_for(PROMPT);
    assert!(shell.line("count").contains("1\r\n"));
    shell.leave();
}

#[test]
fn pasted_lines_are_commands_of_their_own() {
    let place = Place::new();
    let mut shell = Terminal::shell(&place, no_history());
    // As a terminal brackets what is pasted, and as one does that does not.
    shell.types(b"\x1b[200~put a 1\nget nothing\nput b 2\x1b[201~\r");
    shell.wait_for("no key \"nothing\"");
    shell.types(b"put c 3\rput d 4\rcount\r");
    shell.wait_for("\n4\r\n");
    shell.leave();
    assert_eq!(place.run(&["scan", "db"]).text(), "a\t1\nb\t2\nc\t3\nd\t4\n");
}

#[test]
fn commands_are_kept_for_the_next_shell() {
    let place = store(1);
    let history = place.path("history");
    let mut shell = Terminal::shell(&place, &history);
    shell.line("count --prefix 0");
    shell.leave();
    let mut shell = Terminal::shell(&place, &history);
    // Up, past `exit`.
    shell.types(b"\x1b[A\x1b[A");
    shell.wait_for("count --prefix 0");
    shell.types(b"\r");
    shell.wait_for(PROMPT);
    shell.leave();
}

#[test]
fn a_file_that_is_no_history_is_left_as_it_is() {
    let place = store(1);
    let other: String = (0..500).map(|n| format!("command {n}\n")).collect();
    for other in [other.clone(), format!("#V2\n{other}")] {
        let file = place.file("bash_history", &other);
        let mut shell = Terminal::shell(&place, &file);
        shell.line("count");
        shell.leave();
        assert_eq!(std::fs::read_to_string(file).unwrap(), other);
    }
    let fifo = place.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for special in [&fifo, Path::new("/dev/zero"), Path::new("/")] {
        let mut shell = Terminal::shell(&place, special);
        assert!(shell.line("count").contains("1\r\n"));
        shell.leave();
    }
}
