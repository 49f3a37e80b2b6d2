//! Help, completions, manual pages, and how output looks where.

use crate::place::Place;

#[test]
fn help_fits_on_three_screens_of_24_lines() {
    let place = Place::new();
    let help = place.run(&["--help"]).text();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let commands = commands.lines().map_while(|line| line.split_whitespace().next());
    let commands: Vec<_> = commands.filter(|command| *command != "help").collect();
    assert!(commands.len() > 20, "{commands:?}");
    let pages = commands.into_iter().map(|command| vec![command, "--help"]);
    for args in pages.chain([vec!["--help"], vec!["-h"]]) {
        let help = place.run(&args).text();
        assert!(help.lines().count() <= 72, "{args:?} has {}", help.lines().count());
    }
}

#[test]
fn completions_name_every_command() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.run(&["completions", shell]).text();
        for command in ["load", "quarantine", "shell", "--read-only"] {
            let plain = command.trim_start_matches('-');
            assert!(script.contains(plain), "{command} in {shell}");
        }
    }
    assert_eq!(place.run(&["completions", "sh"]).code, Some(2));
}

#[test]
fn manual_pages_exist_for_every_command() {
    let place = Place::new();
    let page = place.run(&["man"]).text();
    assert!(page.contains(".TH terrane 1") && page.contains("Exit codes"), "{page}");
    assert!(place.run(&["man", "scan"]).text().contains(".TH terrane-scan 1"));
    place.run(&["man", "frobnicate"]).fails(2, &["frobnicate", "for example"]);
    place.run(&["man", "--dir", "man1"]).ok();
    for page in ["terrane.1", "terrane-load.1", "terrane-shell.1", "terrane-quarantine.1"] {
        assert!(place.path("man1").join(page).exists(), "{page}");
    }
}

#[test]
fn output_that_is_no_terminal_has_no_colors() {
    let place = Place::new();
    for args in [&["--help"][..], &["get", "db", "k"], &["frobnicate"], &["scan", "--help"]] {
        let run = place.run(args);
        assert!(!run.out.contains(&b'\x1b') && !run.err.contains('\x1b'), "{args:?}");
    }
}
