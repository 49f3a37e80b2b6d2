//! Processes that are more than plain commands: busy processes, and process trees that hang.

use anyhow::{Context, Result};
use std::env;
use std::io::{self, Read};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};
use std::thread;

/// Processes that keep processors busy until this is dropped or its process has ended, however that ends.
pub struct Busy(Vec<(Child, Option<ChildStdin>)>);

impl Busy {
    /// Starts `count` processes; each is this program with the argument `busy`, which calls [`spin`].
    ///
    /// # Errors
    /// A process that cannot be started.
    pub fn start(count: usize) -> Result<Self> {
        let program = env::current_exe()?;
        let mut busy = Self(Vec::new());
        for _ in 0..count {
            let mut command = Command::new(&program);
            command.arg("busy").stdin(Stdio::piped()).stdout(Stdio::null());
            let mut child = command.spawn().context("cannot start a busy process")?;
            let stdin = child.stdin.take();
            busy.0.push((child, stdin));
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for (child, stdin) in &mut self.0 {
            // The process stops at the end of its input.
            drop(stdin.take());
            let _ = child.wait();
        }
    }
}

/// Keeps one processor busy until the standard input ends, which it does with the process at its other end.
pub fn spin() -> ExitCode {
    let input = thread::spawn(|| {
        let mut byte = [0];
        while io::stdin().read(&mut byte).is_ok_and(|count| count > 0) {}
    });
    while !input.is_finished() {
        std::hint::spin_loop();
    }
    ExitCode::SUCCESS
}

/// Kills a process and its descendants, except those that have another parent since.
pub fn kill_tree(child: &mut Child) {
    let processes = Command::new("ps").args(["-A", "-o", "pid=,ppid="]).output();
    let listed = processes.map(|ps| String::from_utf8_lossy(&ps.stdout).into_owned());
    let tree = descendants(child.id(), &listed.unwrap_or_default());
    let ids: Vec<String> = tree.iter().map(u32::to_string).collect();
    if !ids.is_empty() {
        let _ = Command::new("kill").arg("-KILL").args(&ids).stderr(Stdio::null()).status();
    }
    let _ = child.kill();
}

/// Returns a process and its descendants, parents first; `listed` has a process and its parent in each line.
fn descendants(root: u32, listed: &str) -> Vec<u32> {
    let pairs: Vec<(u32, u32)> = listed
        .lines()
        .filter_map(|line| {
            let mut numbers = line.split_whitespace().map(str::parse);
            Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
        })
        .collect();
    let mut tree = vec![root];
    let mut next = 0;
    while let Some(parent) = tree.get(next).copied() {
        next += 1;
        tree.extend(pairs.iter().filter(|(_, of)| *of == parent).map(|(process, _)| *process));
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::{descendants, kill_tree};
    use std::io::Read;
    use std::process::Command;

    #[test]
    fn descendants_are_found_whatever_the_order_of_the_list() {
        let listed = "  7     1\n  9     8\n  8     7\n 10     1\n 11     7\n";
        assert_eq!(descendants(7, listed), [7, 8, 11, 9]);
        assert_eq!(descendants(12, listed), [12]);
    }

    #[cfg(unix)]
    #[test]
    fn a_killed_tree_leaves_no_process() {
        let mut command = Command::new("sh");
        // All three hold the pipe for as long as they run.
        command.args(["-c", "sh -c 'echo; sleep 600; echo' & wait"]);
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut child = command.stdout(writer).spawn().unwrap();
        drop(command);
        reader.read_exact(&mut [0]).unwrap();
        kill_tree(&mut child);
        child.wait().unwrap();
        assert_eq!(reader.read(&mut [0]).unwrap(), 0, "its end is closed everywhere");
    }
}
