use super::*;
use proptest::prelude::*;

const BOUNDS: Bounds = Bounds { argument_bytes: 64, request_bytes: 256, is_trusted: true };

/// The result of parsing pieces: requests, values that were too long, and the end.
#[derive(Debug, PartialEq, Eq)]
struct Parsed {
    requests: Vec<Result<Vec<Vec<u8>>, TooLong>>,
    broken: Option<Broken>,
}

fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, bounds: &Bounds) -> Parsed {
    let (mut parser, mut requests) = (Parser::default(), Vec::new());
    for piece in pieces {
        parser.fill(piece);
        loop {
            match parser.next(bounds) {
                Ok(Next::Request(found)) => {
                    let owned = found.to_owned();
                    let copied = owned.as_arguments().from(0).map(<[u8]>::to_vec);
                    requests.push(Ok(copied.collect()));
                }
                Ok(Next::TooLong { found, limit }) => requests.push(Err((found, limit))),
                Ok(Next::Incomplete) => break,
                Err(broken) => return Parsed { requests, broken: Some(broken) },
            }
        }
        parser.release();
    }
    Parsed { requests, broken: None }
}

fn whole(bytes: &[u8]) -> Parsed {
    parse([bytes], &BOUNDS)
}

fn requests(bytes: &[u8]) -> Vec<Vec<String>> {
    let parsed = whole(bytes);
    assert_eq!(parsed.broken, None);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    parsed.requests.into_iter().map(|it| it.unwrap().into_iter().map(text).collect()).collect()
}

fn broken(bytes: &[u8]) -> String {
    whole(bytes).broken.expect("a broken request").to_string()
}

#[test]
fn arrays_and_inline_commands_are_read() {
    let input =
        b"*2\r\n$3\r\nGET\r\n$0\r\n\r\nPING \"a\\x41\\n\" 'b\\'c'\r\n\r\n*0\r\n*-1\r\nQUIT\n";
    assert_eq!(requests(input), [vec!["GET", ""], vec!["PING", "aA\n", "b'c"], vec!["QUIT"]]);
}

#[test]
fn broken_requests_are_named() {
    let rows: [(&[u8], &str); 11] = [
        (b"*3000000000\r\n", "invalid multibulk length"),
        (b"*x\r\n", "invalid multibulk length"),
        (b"*1\r\nfoo\r\n", "expected '$', got 'f'"),
        (b"*1\r\n*1\r\n", "expected '$', got '*'"),
        (b"*1\r\n$-10\r\n", "invalid bulk length"),
        (b"*1\r\n$2000000000\r\n", "invalid bulk length"),
        (b"*1\r\n$blabla\r\n", "invalid bulk length"),
        (b"set \"\"\"test-key\"\"\" value\r\n", "unbalanced quotes in request"),
        (b"set 'a\r\n", "unbalanced quotes in request"),
        (&[b'*'; 64], "too big mbulk count string"),
        (&[b'a'; 70_000], "too big inline request"),
    ];
    for (input, expected) in rows {
        assert_eq!(broken(input), format!("Protocol error: {expected}"));
    }
}

#[test]
fn a_peer_without_a_token_may_send_little() {
    let bounds = Bounds { is_trusted: false, ..BOUNDS };
    let broken = |input: &[u8]| parse([input], &bounds).broken;
    assert_eq!(broken(b"*10\r\n$16384\r\n"), None);
    assert_eq!(broken(b"*11\r\n"), Some(Broken::AnonymousMultibulkLength));
    assert_eq!(broken(b"*2\r\n$16385\r\n"), Some(Broken::AnonymousBulkLength));
    assert_eq!(broken(b"a b c d e f g h i j k\r\n"), Some(Broken::AnonymousMultibulkLength));
    assert_eq!(broken(&[b'a'; 17_000]), Some(Broken::InlineLength));
}

#[test]
fn a_value_over_its_limit_is_skipped() {
    let mut input = b"*3\r\n$3\r\nSET\r\n$65\r\n".to_vec();
    input.extend([b'*'; 65]);
    input.extend(b"\r\n$1\r\nv\r\n*1\r\n$4\r\nPING\r\n");
    let parsed = whole(&input);
    assert_eq!(parsed.requests, [Err((65, 64)), Ok(vec![b"PING".to_vec()])]);
    assert_eq!(parsed, parse(input.chunks(1), &BOUNDS));
}

#[test]
fn a_skipped_value_takes_no_memory() {
    let mut parser = Parser::default();
    parser.fill(b"*2\r\n$3\r\nGET\r\n$500000000\r\n");
    for _ in 0..1000 {
        assert!(matches!(parser.next(&BOUNDS), Ok(Next::Incomplete)));
        assert!(parser.input.is_empty());
        parser.fill(&[0; 1000]);
    }
}

#[test]
fn a_request_over_its_limit_is_skipped() {
    let mut input = b"*6\r\n".to_vec();
    for _ in 0..6 {
        input.extend(b"$60\r\n");
        input.extend([b'x'; 62]);
    }
    assert_eq!(whole(&input).requests, [Err((300, 256))]);
}

#[test]
fn numbers_are_as_strict_as_in_redis() {
    let valid = ["0", "-1", "10", "9223372036854775807", "-9223372036854775808"];
    assert!(valid.iter().all(|text| integer(text.as_bytes()) == text.parse().ok()));
    for text in ["", "-", "-0", "01", "+1", " 1", "1 ", "1.0", "9223372036854775808"] {
        assert_eq!(integer(text.as_bytes()), None, "{text:?}");
    }
}

fn request() -> impl Strategy<Value = Vec<u8>> {
    let argument = prop::collection::vec(any::<u8>(), 0..80);
    let array = prop::collection::vec(argument, 0..6).prop_map(|arguments| {
        let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
        for argument in arguments {
            bytes.extend(format!("${}\r\n", argument.len()).into_bytes());
            bytes.extend(argument);
            bytes.extend(b"\r\n");
        }
        bytes
    });
    let inline = "[a-z\"' \\\\]{0,20}\r\n".prop_map(String::into_bytes);
    prop_oneof![4 => array, 1 => inline]
}

/// Cuts bytes into pieces of these lengths, in turn.
fn pieces<'a>(bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let (mut rest, mut pieces) = (bytes, Vec::new());
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*length).min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

proptest! {
    #[test]
    fn requests_in_pieces_are_read_as_whole_ones(
        requests in prop::collection::vec(request(), 0..8),
        lengths in prop::collection::vec(1usize..40, 1..8),
    ) {
        let input = requests.concat();
        prop_assert_eq!(whole(&input), parse(pieces(&input, &lengths), &BOUNDS));
    }

    #[test]
    fn arbitrary_bytes_in_pieces_are_read_alike(
        input in "[*$0-9a\r\n\"x-]{0,60}".prop_map(String::into_bytes),
        lengths in prop::collection::vec(1usize..9, 1..5),
    ) {
        prop_assert_eq!(whole(&input), parse(pieces(&input, &lengths), &BOUNDS));
    }

    #[test]
    fn arbitrary_bytes_never_panic(input in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzz(&input);
    }
}
