//! Rows that each format's reader returns for an input.

use super::*;
use crate::cli::{Cli, Command};
use clap::Parser;
use proptest::prelude::*;

/// Keys and values.
type Pairs<T> = Vec<(T, T)>;
/// A malformed row: its line, what was expected and what was found.
type Malformed = (u64, String, String);

/// The rows of `input`, up to one that is malformed.
fn read(args: &str, input: &[u8]) -> (Pairs<String>, Option<Malformed>) {
    let (rows, problem) = read_bytes(args, input);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (rows.into_iter().map(|(key, value)| (text(key), text(value))).collect(), problem)
}

fn read_bytes(args: &str, input: &[u8]) -> (Pairs<Vec<u8>>, Option<Malformed>) {
    let args = format!("terrane load db --format {args}");
    let Command::Load(Working { args, .. }) = Cli::parse_from(args.split_whitespace()).command
    else {
        panic!("not a load");
    };
    // A small buffer, so that lines and escapes lie across its end.
    let input = BufReader::with_capacity(7, io::Cursor::new(input.to_vec()));
    let mut reader = rows(&args, args.format.unwrap(), Lines::new(Box::new(input))).unwrap();
    let (mut found, mut row) = (Vec::new(), Row::default());
    loop {
        match reader.read(&mut row) {
            Ok(true) => found.push((row.key.clone(), row.value.clone())),
            Ok(false) => return (found, None),
            Err(Problem::Row { line, expected, found: other }) => {
                return (found, Some((line, expected, other)));
            }
            Err(Problem::Io(e)) => panic!("{e}"),
        }
    }
}

fn pairs(pairs: &[(&str, &str)]) -> Pairs<String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[track_caller]
fn reads(args: &str, input: &str, expected: &[(&str, &str)]) {
    let (rows, problem) = read(args, input.as_bytes());
    assert_eq!(problem, None);
    assert_eq!(rows, pairs(expected));
}

#[track_caller]
fn refuses(args: &str, input: &str, line: u64, words: [&str; 2]) {
    let (_, problem) = read(args, input.as_bytes());
    let (at, expected, found) = problem.expect("a malformed row");
    assert_eq!(at, line);
    assert!(expected.contains(words[0]), "{expected}");
    assert!(found.contains(words[1]), "{found}");
}

#[test]
fn a_single_column_is_the_key_and_its_position_the_value() {
    reads("tsv", "b\na\r\n\nc", &[("b", "0"), ("a", "1"), ("c", "2")]);
    reads("csv", "b\na\r\n\n\"c\"", &[("b", "0"), ("a", "1"), ("c", "2")]);
    reads("tsv --header", "name\nb\na\n", &[("b", "0"), ("a", "1")]);
    reads("ndjson", "{\"key\":\"b\"}\n\n{\"key\":\"a\"}\n", &[("b", "0"), ("a", "1")]);
    reads("tsv", "", &[]);
}

#[test]
fn columns_are_selected_by_number_and_by_name() {
    let rows = "1\tone\tI\n2\ttwo\tII\n";
    reads("tsv", rows, &[("1", "one"), ("2", "two")]);
    reads("tsv --key 2", rows, &[("one", "1"), ("two", "2")]);
    reads("tsv --key 3 --value 3", rows, &[("I", "I"), ("II", "II")]);
    let csv = "\u{feff}n,name,roman\n1,one,I\n";
    reads("csv --header --key name --value roman", csv, &[("one", "I")]);
    reads("csv --header --key 2 --value n", csv, &[("one", "1")]);
    refuses("tsv --value 4", rows, 1, ["at least 4 columns", "3 columns"]);
    refuses("csv --header --key none", csv, 1, ["\"none\"", "\"n\", \"name\", \"roman\""]);
}

#[test]
fn a_name_in_the_header_takes_precedence_over_a_number() {
    let csv = "2,2021,1\na,b,c\n";
    reads("csv --header --key 2021", csv, &[("b", "a")]);
    reads("csv --header --key 2 --value 1", csv, &[("a", "c")]);
    reads("csv --header --key 3 --value 2021", csv, &[("c", "b")]);
    reads("csv --key 2 --value 1", "x,y\n", &[("y", "x")]);
    refuses("csv --header --key 2022", csv, 1, ["named \"2022\"", "\"2021\""]);
}

#[test]
fn an_example_has_a_bound() {
    for key in ["16", "17", "3000000", "536870912"] {
        let columns = Columns::new(Some(key), None, false).unwrap();
        let example = columns.example(",");
        assert!(example.len() < 300, "{example}");
        assert_eq!(example.contains("apple"), key == "16", "{example}");
    }
    let beyond = Columns::new(Some("18446744073709551615"), None, false).unwrap_err();
    assert!(format!("{beyond:?}").contains("1 to 536870912"), "{beyond:?}");
}

#[test]
fn other_separators_are_named_or_refused() {
    reads("csv", "sep=;\na;1,5\n", &[("a", "1,5")]);
    reads("csv --header --key b", "\u{feff}\"SEP=\t\"\r\na\tb\r\n1\t2\r\n", &[("2", "1")]);
    reads("csv --separator ;", "\"a;b\";1\nc;\"2\"\"\"\n", &[("a;b", "1"), ("c", "2\"")]);
    reads(r"csv --separator \t", "a\t1\n", &[("a", "1")]);
    reads("csv --separator ,", "a;1\nsep=;\n", &[("a;1", "0"), ("sep=;", "1")]);
    reads("csv", "\"a;1\"\nb;2\n", &[("a;1", "0"), ("b;2", "1")]);
    for row in ["a;1\nb;2\n", "\"a\";\"1\"\n", "\na;1"] {
        refuses("csv", row, 1 + row.starts_with('\n') as u64, ["--separator ';'", "semicolons"]);
    }
    refuses("csv", "a\t1\n", 1, [r"--separator '\t'", "tabs"]);
    refuses("csv", "a,1\n\"b\";2\n", 2, ["a comma or the end of the row", ";2"]);
    for refused in ["csv --separator ab", "csv --separator x", "tsv --separator ;"] {
        let args = format!("terrane load db --format {refused}");
        let parsed = Cli::try_parse_from(args.split_whitespace()).map(|cli| cli.command);
        let Ok(Command::Load(Working { args, .. })) = parsed else { continue };
        let lines = Lines::new(Box::new(io::Cursor::new("")));
        assert!(rows(&args, Format::Tsv, lines).is_err(), "{refused}");
    }
}

/// Rows of which one panics.
struct Panics(Lines, u64);

impl Rows for Panics {
    fn read(&mut self, row: &mut Row) -> Result<bool, Problem> {
        self.1 = self.1.checked_sub(1).expect("the end of the rows that are there");
        row.key = self.1.to_string().into();
        Ok(true)
    }

    fn lines(&self) -> &Lines {
        &self.0
    }

    fn example(&self) -> String {
        String::new()
    }
}

#[test]
fn a_panic_of_the_reader_is_not_the_end_of_the_input() {
    for before in [0, 25] {
        let dir = tempfile::tempdir().unwrap();
        let Command::Load(Working { args, .. }) =
            Cli::parse_from(["terrane", "load", "db", "--batch", "10"]).command
        else {
            panic!("not a load");
        };
        let rows = Panics(Lines::new(Box::new(io::Cursor::new(""))), before);
        let reader =
            Reader::start(Batches::new(Box::new(rows), "rows".into(), args.batch)).unwrap();
        let open = || {
            let db = Db::open(dir.path(), terrane::Options::default())?;
            let keyspace = db.default_keyspace();
            Ok((db, keyspace))
        };
        let ended = write(&args, reader, &mut Progress::new(None), open, Db::close);
        let failed = format!("{:?}", ended.unwrap_err());
        assert!(failed.contains("the end of the rows") && failed.contains("Defect"), "{failed}");
    }
}

#[test]
fn a_row_of_another_width_is_malformed() {
    refuses("tsv", "a\tb\nc\n", 2, ["2 columns", "1 column"]);
    refuses("tsv", "a\nb\tc\n", 2, ["1 column", "2 columns"]);
    refuses("csv --header", "a,b\n1,2\n\"x\ny\",2,3\n", 3, ["2 columns", "3 columns"]);
}

#[test]
fn tsv_escapes_are_undone_and_others_malformed() {
    reads("tsv", "a\\tb\t\\\\n\\x41\\r\\n\n", &[("a\tb", "\\nA\r\n")]);
    refuses("tsv", "a\n\\q\n", 2, ["escape", "\\\\q"]);
    refuses("tsv", "C:\\", 1, ["escape", "\\"]);
}

#[test]
fn csv_quotes_hold_commas_newlines_and_quotes() {
    reads(
        "csv",
        "\"a,b\",\"1\r\n2\"\r\n\"say \"\"x\"\"\",5\" disk\n",
        &[("a,b", "1\r\n2"), ("say \"x\"", "5\" disk")],
    );
    reads("csv", "a,\n,b", &[("a", ""), ("", "b")]);
    refuses("csv", "a,b\n\"c,d\ne,f\n", 2, ["quote", "the end of the input"]);
    refuses("csv", "a,b\nc,\"d\"e\n", 2, ["a comma or the end of the row", "\"e\""]);
}

#[test]
fn json_fields_are_taken_by_name() {
    reads("ndjson", r#"{"key":"a\u00e9\n","value":"1","more":[1,{"key":2}]}"#, &[("aé\n", "1")]);
    reads("ndjson", r#"{"value_hex":"4142","key_hex":"61"}"#, &[("a", "AB")]);
    reads(
        "ndjson --key id --value doc",
        r#"{"id":-7,"doc":{"x": [1, 2]}}"#,
        &[("-7", "{\"x\": [1, 2]}")],
    );
    refuses("ndjson", "{\"key\":\"a\",\"value\":1}\n{\"key\":\"b\"}", 2, ["\"value\"", "{"]);
    refuses("ndjson", "{\"key\":\"a\"}\n{\"key\":\"b\",\"value\":1}", 2, ["no field", "{"]);
    refuses("ndjson", "{\"name\":\"a\"}", 1, ["\"key\" or \"key_hex\"", "name"]);
    refuses("ndjson", "{\"key\":[1]}", 1, ["text or number", "[1]"]);
    refuses("ndjson", "{\"key\":\"a\"} x", 1, ["a JSON object", "column"]);
    refuses("ndjson", "[1]", 1, ["a JSON object", "sequence"]);
    refuses("ndjson", "no JSON", 1, ["a JSON object", "\"no JSON\" (expected ident at column 2)"]);
    refuses("ndjson", "{\"key_hex\":\"abc\"}", 1, ["hexadecimal", "abc"]);
    refuses("ndjson", "{\"key\":\"\\ud800\"}", 1, ["text", "hex escape"]);
}

#[test]
fn a_batch_ends_early_where_its_values_are_large() {
    let input = |value: &str, rows: usize| {
        let lines = format!("k\t{value}\n").repeat(rows);
        let columns = Columns::new(None, None, false).unwrap();
        let lines = Lines::new(Box::new(io::Cursor::new(lines)));
        let rows = Box::new(tsv::Tsv::new(lines, columns));
        let mut batches = Batches::new(rows, "rows".into(), 4);
        batches.read_first().unwrap();
        let mut next = || batches.next(terrane::KeyspaceId(0)).unwrap().map(|batch| batch.rows);
        std::iter::from_fn(&mut next).collect::<Vec<_>>()
    };
    assert_eq!(input("v", 10), [4, 4, 2]);
    assert_eq!(input("v", 8), [4, 4]);
    assert_eq!(input(&"v".repeat(9 << 20), 5), [2, 2, 1]);
}

/// A terminal: its input continues after an end.
struct Terminal(Vec<&'static [u8]>);

impl io::Read for Terminal {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        assert!(!self.0.is_empty(), "the input is read after its end");
        let mut line = self.0.remove(0);
        io::Read::read(&mut line, buf)
    }
}

#[test]
fn one_end_of_a_terminals_input_ends_the_load() {
    let terminal = io::BufReader::new(Terminal(vec![b"a\n", b"b\n", b""]));
    let columns = Columns::new(None, None, false).unwrap();
    let rows = Box::new(tsv::Tsv::new(Lines::new(Box::new(terminal)), columns));
    let mut batches = Batches::new(rows, "rows".into(), 10);
    batches.read_first().unwrap();
    assert_eq!(batches.next(terrane::KeyspaceId(0)).unwrap().unwrap().rows, 2);
    assert!(batches.next(terrane::KeyspaceId(0)).unwrap().is_none());
}

#[test]
fn empty_lines_and_lone_carriage_returns_are_no_rows() {
    reads("tsv", "\na\t1\r\n\r\n\nb\t2\n\n", &[("a", "1"), ("b", "2")]);
    reads("tsv", "\t1\n", &[("", "1")]);
    reads("csv", "a,\"1\r2\"\n", &[("a", "1\r2")]);
    refuses("csv", "a,1\rb,2\rc,3", 1, ["a newline after each carriage return", "1\\rb"]);
}

proptest! {
    #[test]
    fn csv_written_by_another_program_is_read(
        rows in prop::collection::vec(
            (prop::collection::vec(0u8..255, 0..12), "[a\",\r\n]{0,8}"),
            1..20,
        ),
    ) {
        let mut writer = ::csv::Writer::from_writer(Vec::new());
        for (key, value) in &rows {
            writer.write_record([key.as_slice(), value.as_bytes()]).unwrap();
        }
        let (found, problem) = read_bytes("csv", &writer.into_inner().unwrap());
        prop_assert_eq!(problem, None);
        let rows: Vec<_> = rows.into_iter().map(|(k, v)| (k, v.into_bytes())).collect();
        prop_assert_eq!(found, rows);
    }

    #[test]
    fn any_bytes_are_rows_or_malformed(
        input in prop::collection::vec(
            prop_oneof![prop::sample::select(b"\"\\\n\r\t,{}:xk".to_vec()), any::<u8>()],
            0..80,
        ),
    ) {
        for format in ["tsv", "csv", "csv --header", "ndjson"] {
            let (rows, _) = read_bytes(format, &input);
            let lines = input.split(|b| *b == b'\n').count();
            prop_assert!(rows.len() <= lines);
        }
    }
}
