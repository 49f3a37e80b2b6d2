//! Runs the built `terrane` in a folder of its own.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

pub struct Place {
    dir: TempDir,
}

/// Outcome of a run of the command.
pub struct Run {
    pub code: Option<i32>,
    pub out: Vec<u8>,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Place { dir: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// The command, run in the folder.
    pub fn terrane(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrane"));
        command.args(args).current_dir(&self.dir).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Run {
        Run::of(self.terrane(args))
    }

    /// Puts what the store's logs hold into tables.
    pub fn flush(&self, store: &str) {
        let db = terrane::Db::open(self.path(store), terrane::Options::default()).unwrap();
        db.flush().unwrap();
        db.close().unwrap();
    }

    pub fn run_with_input(&self, args: &[&str], input: &[u8]) -> Run {
        let mut child = self
            .terrane(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            // A command may end before it has read everything.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        ended(output)
    }
}

impl Place {
    /// The JSON document that a command prints.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> serde_json::Value {
        serde_json::from_slice(&self.run(args).ok()).unwrap()
    }
}

impl Run {
    /// Runs a command to its end.
    pub fn of(mut command: Command) -> Self {
        ended(command.output().unwrap())
    }

    #[track_caller]
    pub fn ok(self) -> Vec<u8> {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.out
    }

    #[track_caller]
    pub fn text(self) -> String {
        String::from_utf8(self.ok()).unwrap()
    }

    /// The command failed with `code`, and its last sentence has all of `words`.
    #[track_caller]
    pub fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.err);
        let last = self.err.trim_end().lines().last().unwrap_or_default();
        assert!(last.starts_with("terrane: "), "{}", self.err);
        for word in words {
            assert!(last.contains(word), "expected {word:?} in {last:?}");
        }
    }
}

fn ended(output: Output) -> Run {
    let err = String::from_utf8(output.stderr).unwrap();
    Run { code: output.status.code(), out: output.stdout, err }
}

/// The number of rows that a load's summary names.
pub fn rows_loaded(err: &str) -> usize {
    let summary = err.lines().find_map(|l| l.strip_prefix("terrane: loaded ")).expect(err);
    let (count, _) = summary.split_once(" row").expect(err);
    count.replace(',', "").parse().expect(err)
}

/// The names of the files in a folder.
pub fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
