//! The history file: the commands of earlier shells, the newest last.
//!
//! 1. It is used if it is a regular file that is empty or whose first line is this program's. Any other
//!    file, a pipe or a device is left as it is, and the shell keeps no history.
//! 2. A command is appended when it is entered, escaped, in one write, so that several shells share the file.
//! 3. A file of more than twice the commands that are kept is replaced when a shell starts.

use crate::escape::{escape, unescape};
use crate::message;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Names the history file; empty for none.
const VARIABLE: &str = "TERRANE_HISTORY";
/// The name in the home directory where the variable is not set.
const NAME: &str = ".terrane_history";
/// The first line of the file.
const HEAD: &[u8] = b"#terrane shell history\n";
/// The most commands that are kept.
const COMMANDS_MAX: usize = 1000;
/// The most bytes of a history that are read.
const BYTES_MAX: u64 = 16 << 20;

/// The file that commands are appended to.
pub struct HistoryFile {
    path: PathBuf,
    lines: Vec<String>,
}

impl HistoryFile {
    /// Reads the file that the environment names; `None` if it names none, or a file that is no history.
    pub fn find() -> Option<HistoryFile> {
        let path = match env::var_os(VARIABLE) {
            Some(file) => Some(PathBuf::from(file)).filter(|file| !file.as_os_str().is_empty()),
            None => env::home_dir().map(|home| home.join(NAME)),
        }?;
        let note_unused = |why: &str| {
            let path = path.display();
            message::note(&format!("no history is kept: {path} {why}, and is left as it is"));
        };
        match HistoryFile::read(&path) {
            Ok(Some(lines)) => Some(HistoryFile { path, lines }),
            Ok(None) => {
                note_unused("is no history of this shell");
                None
            }
            Err(e) => {
                note_unused(&format!("cannot be read ({e})"));
                None
            }
        }
    }

    /// Returns the commands of a history; `None` if the file is something else.
    fn read(path: &Path) -> io::Result<Option<Vec<String>>> {
        let found = match fs::metadata(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Some(Vec::new())),
            found => found?,
        };
        if !found.is_file() {
            return Ok(None);
        }
        let mut file = BufReader::new(File::open(path)?.take(BYTES_MAX));
        let mut head = Vec::new();
        (&mut file).take(HEAD.len() as u64).read_to_end(&mut head)?;
        if !head.is_empty() && head != HEAD {
            return Ok(None);
        }
        let mut lines = Vec::new();
        for line in file.split(b'\n') {
            let mut text = Vec::new();
            if unescape(&line?, &mut text).is_ok() {
                lines.extend(String::from_utf8(text));
            }
        }
        Ok(Some(lines))
    }

    /// Takes the commands, the oldest first, and shortens a file that is too long.
    pub fn lines(&mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.lines);
        let old = lines.len().saturating_sub(COMMANDS_MAX);
        lines.drain(..old);
        if old > COMMANDS_MAX {
            // Where that fails, the file stays long.
            let _ = self.replace(&lines);
        }
        lines
    }

    /// Replaces the file by one with these commands.
    fn replace(&self, lines: &[String]) -> io::Result<()> {
        let path = fs::canonicalize(&self.path)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        let mut bytes = HEAD.to_vec();
        lines.iter().try_for_each(|line| encode(line, &mut bytes))?;
        file.write_all(&bytes)?;
        file.persist(path)?;
        Ok(())
    }

    /// Appends a command. Where that fails, the command is kept in this shell alone.
    pub fn append(&mut self, line: &str) {
        let _ = self.try_append(line);
    }

    fn try_append(&self, line: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&self.path)?;
        let mut bytes = Vec::new();
        if file.metadata()?.len() == 0 {
            bytes.extend_from_slice(HEAD);
        }
        encode(line, &mut bytes)?;
        file.write_all(&bytes)
    }
}

fn encode(line: &str, out: &mut Vec<u8>) -> io::Result<()> {
    escape(line.as_bytes(), out)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(path: &Path) -> Option<HistoryFile> {
        let lines = HistoryFile::read(path).unwrap();
        lines.map(|lines| HistoryFile { path: path.to_owned(), lines })
    }

    #[test]
    fn commands_are_read_back_in_their_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history");
        let lines = ["get a", "put b 'two\nlines'", "scan \\", "put é"];
        for line in lines {
            at(&path).unwrap().append(line);
        }
        assert_eq!(at(&path).unwrap().lines(), lines);
    }

    #[test]
    fn a_long_history_loses_its_oldest_commands() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history");
        let mut history = at(&path).unwrap();
        let lines: Vec<_> = (0..2 * COMMANDS_MAX + 1).map(|n| format!("get {n}")).collect();
        lines.iter().for_each(|line| history.append(line));
        let newest = &lines[lines.len() - COMMANDS_MAX..];
        assert_eq!(at(&path).unwrap().lines(), newest);
        assert_eq!(HistoryFile::read(&path).unwrap().unwrap(), newest);
    }

    #[test]
    fn a_file_of_another_program_is_no_history() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("history");
        for other in ["ls\n", "#V2\nget a\n", "#terrane"] {
            fs::write(&path, other).unwrap();
            assert!(at(&path).is_none(), "{other}");
        }
        fs::write(&path, "").unwrap();
        at(&path).unwrap().append("get a");
        assert_eq!(at(&path).unwrap().lines(), ["get a"]);
    }
}
