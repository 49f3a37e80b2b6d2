//! Requests: arrays of bulk strings, or inline commands, parsed as they arrive.
//!
//! 1. Bytes are appended to the input. The parser remembers its place in the request under way, so that it looks at
//!    each byte once, however a request is cut.
//! 2. Announced lengths are compared with their limits before anything is kept. A value that is too long is skipped,
//!    together with the rest of its request, and the request fails.
//! 3. Arguments are ranges of the input. The next call removes the request that has been returned.

mod inline;

use std::fmt;

/// The most arguments of a request.
const ARGUMENTS_MAX: i64 = 1 << 20;
/// The longest bulk string that a peer may announce; a longer one is a broken request.
const BULK_BYTES_MAX: i64 = 512 << 20;
/// The longest inline command.
const INLINE_BYTES_MAX: usize = 64 << 10;
/// The longest line of a length.
const LENGTH_LINE_MAX: usize = 32;
/// The most arguments before authentication, and the longest.
const ANONYMOUS_ARGUMENTS_MAX: i64 = 10;
const ANONYMOUS_BYTES_MAX: i64 = 16 << 10;

/// Bounds of requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// The longest argument that is kept.
    pub argument_bytes: usize,
    /// The most bytes of all arguments of a request.
    pub request_bytes: usize,
    /// Whether the peer may send more than it needs to authenticate.
    pub is_trusted: bool,
}

/// A request that breaks the protocol; its connection is closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    MultibulkLength,
    AnonymousMultibulkLength,
    MultibulkLine,
    BulkLength,
    AnonymousBulkLength,
    BulkLine,
    NoDollar(u8),
    InlineLength,
    Quotes,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        match self {
            Broken::MultibulkLength => f.write_str("invalid multibulk length"),
            Broken::AnonymousMultibulkLength => f.write_str("unauthenticated multibulk length"),
            Broken::MultibulkLine => f.write_str("too big mbulk count string"),
            Broken::BulkLength => f.write_str("invalid bulk length"),
            Broken::AnonymousBulkLength => f.write_str("unauthenticated bulk length"),
            Broken::BulkLine => f.write_str("too big bulk count string"),
            Broken::NoDollar(found) => write!(f, "expected '$', got '{}'", char::from(*found)),
            Broken::InlineLength => f.write_str("too big inline request"),
            Broken::Quotes => f.write_str("unbalanced quotes in request"),
        }
    }
}

/// A range of a buffer: its start and its end.
type Span = (usize, usize);
/// Bytes of memory of a span.
pub(super) const SPAN_BYTES: usize = size_of::<Span>();

/// The arguments of a request, the command's name first.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a> {
    bytes: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Arguments<'a> {
    /// Returns the number of arguments, with the command's name.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns an argument; an empty one past the last.
    pub fn at(&self, index: usize) -> &'a [u8] {
        let span = self.spans.get(index).copied().unwrap_or_default();
        self.bytes.get(span.0..span.1).unwrap_or_default()
    }

    /// Returns the arguments from `first` on.
    pub fn from(self, first: usize) -> impl Iterator<Item = &'a [u8]> + Clone + use<'a> {
        (first..self.len()).map(move |index| self.at(index))
    }

    /// Returns the bytes of all arguments together.
    pub fn size(&self) -> usize {
        self.spans.iter().map(|(start, end)| end - start).sum()
    }

    /// Returns the arguments without the first `count`.
    pub fn after(self, count: usize) -> Self {
        Arguments { spans: self.spans.get(count..).unwrap_or_default(), ..self }
    }

    /// Copies the arguments.
    pub fn to_owned(self) -> OwnedArguments {
        // They lie in order.
        let first = self.spans.first().map_or(0, |span| span.0);
        let end = self.spans.last().map_or(0, |span| span.1);
        let spans = self.spans.iter().map(|span| (span.0 - first, span.1 - first)).collect();
        OwnedArguments { bytes: self.bytes.get(first..end).unwrap_or_default().into(), spans }
    }
}

/// Arguments that outlive their input.
pub(crate) struct OwnedArguments {
    bytes: Box<[u8]>,
    spans: Box<[Span]>,
}

impl OwnedArguments {
    pub fn as_arguments(&self) -> Arguments<'_> {
        Arguments { bytes: &self.bytes, spans: &self.spans }
    }
}

/// The next request of an input.
pub(crate) enum Next<'a> {
    Request(Arguments<'a>),
    /// A request with an argument or a sum of arguments over its limit, which was skipped.
    TooLong {
        found: usize,
        limit: usize,
    },
    /// The rest has not arrived.
    Incomplete,
}

/// A value over its limit: bytes found, and the limit.
type TooLong = (usize, usize);

/// The state of a request under way. Places are counted from its start.
#[derive(Default)]
pub(crate) struct Parser {
    input: Vec<u8>,
    /// The start of the request in the input.
    start: usize,
    /// The place of the next byte to look at.
    at: usize,
    /// Bytes after `at` that hold no end of a line.
    searched: usize,
    /// Arguments that are missing; `None` before the first line was read.
    missing: Option<i64>,
    /// The length of the bulk string under way.
    bulk: Option<usize>,
    /// Bytes of that string that are skipped.
    skipping: usize,
    too_long: Option<TooLong>,
    /// Bytes of the arguments.
    size: usize,
    spans: Vec<Span>,
    /// Arguments of an inline command, unescaped.
    inline: Vec<u8>,
    is_returned: bool,
}

impl Parser {
    /// Appends bytes that have arrived.
    pub fn fill(&mut self, bytes: &[u8]) {
        self.forget_returned();
        if self.start > 0 {
            // What is left is part of one request, and moves once.
            self.input.drain(..self.start);
            self.start = 0;
        }
        self.input.extend_from_slice(bytes);
    }

    /// Returns the bytes of memory that an incomplete request takes.
    pub fn incomplete_bytes(&self) -> usize {
        self.input.len() - self.start + self.spans.len() * SPAN_BYTES
    }

    /// Frees the buffers if nothing is left in them.
    pub fn release(&mut self) {
        self.forget_returned();
        if self.start == self.input.len() && self.missing.is_none() {
            *self = Parser::default();
        }
    }

    /// Returns the next request.
    ///
    /// # Errors
    /// A request that breaks the protocol, or announces more than its bounds.
    pub fn next(&mut self, bounds: &Bounds) -> Result<Next<'_>, Broken> {
        self.forget_returned();
        loop {
            let is_inline = match self.missing {
                Some(_) => false,
                None => match self.peek() {
                    None => return Ok(Next::Incomplete),
                    Some(first) => first != b'*',
                },
            };
            let is_whole =
                if is_inline { self.read_inline(bounds)? } else { self.read_array(bounds)? };
            if !is_whole {
                return Ok(Next::Incomplete);
            }
            if self.spans.is_empty() && self.too_long.is_none() {
                // An empty line or array is no request.
                self.is_returned = true;
                self.forget_returned();
                continue;
            }
            self.is_returned = true;
            if let Some((found, limit)) = self.too_long {
                return Ok(Next::TooLong { found, limit });
            }
            let bytes =
                if is_inline { &self.inline } else { self.input.get(self.start..).unwrap_or(&[]) };
            return Ok(Next::Request(Arguments { bytes, spans: &self.spans }));
        }
    }

    fn forget_returned(&mut self) {
        if !std::mem::take(&mut self.is_returned) {
            return;
        }
        self.start += self.at;
        (self.at, self.searched, self.size) = (0, 0, 0);
        (self.missing, self.bulk, self.too_long) = (None, None, None);
        self.spans.clear();
        self.inline.clear();
    }

    fn rest(&self) -> &[u8] {
        self.input.get(self.start + self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    /// Returns the length of the line at the place, without its end, once that has arrived.
    fn line(&mut self, end: u8) -> Option<usize> {
        let unseen = self.rest().get(self.searched..).unwrap_or_default();
        if let Some(found) = memchr(end, unseen) {
            return Some(std::mem::take(&mut self.searched) + found);
        }
        self.searched += unseen.len();
        None
    }

    fn read_inline(&mut self, bounds: &Bounds) -> Result<bool, Broken> {
        let most = if bounds.is_trusted { INLINE_BYTES_MAX } else { to_usize(ANONYMOUS_BYTES_MAX) };
        let Some(length) = self.line(b'\n') else {
            return if self.searched > most { Err(Broken::InlineLength) } else { Ok(false) };
        };
        if length > most {
            return Err(Broken::InlineLength);
        }
        let line = self.input.get(self.start + self.at..).and_then(|rest| rest.get(..length));
        let line = line.unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        inline::split(line, &mut self.inline, &mut self.spans).ok_or(Broken::Quotes)?;
        if !bounds.is_trusted && self.spans.len() > to_usize(ANONYMOUS_ARGUMENTS_MAX) {
            return Err(Broken::AnonymousMultibulkLength);
        }
        self.at += length + 1;
        Ok(true)
    }

    fn read_array(&mut self, bounds: &Bounds) -> Result<bool, Broken> {
        let mut missing = match self.missing {
            Some(missing) => missing,
            None => {
                let Some(count) = self.length(&Broken::MultibulkLine, &Broken::MultibulkLength)?
                else {
                    return Ok(false);
                };
                if count > ARGUMENTS_MAX {
                    return Err(Broken::MultibulkLength);
                }
                if count > ANONYMOUS_ARGUMENTS_MAX && !bounds.is_trusted {
                    return Err(Broken::AnonymousMultibulkLength);
                }
                count
            }
        };
        while missing > 0 {
            if !self.read_bulk(bounds)? {
                self.missing = Some(missing);
                return Ok(false);
            }
            missing -= 1;
        }
        self.missing = Some(0);
        Ok(true)
    }

    /// Reads a bulk string, and returns whether all of it has arrived.
    fn read_bulk(&mut self, bounds: &Bounds) -> Result<bool, Broken> {
        let length = match self.bulk {
            Some(length) => length,
            None => {
                match self.peek() {
                    None => return Ok(false),
                    Some(b'$') => {}
                    Some(found) => return Err(Broken::NoDollar(found)),
                }
                let Some(length) = self.length(&Broken::BulkLine, &Broken::BulkLength)? else {
                    return Ok(false);
                };
                if !(0..=BULK_BYTES_MAX).contains(&length) {
                    return Err(Broken::BulkLength);
                }
                if length > ANONYMOUS_BYTES_MAX && !bounds.is_trusted {
                    return Err(Broken::AnonymousBulkLength);
                }
                self.announce(to_usize(length), bounds)
            }
        };
        if self.too_long.is_some() {
            return Ok(self.skip());
        }
        let end = self.at + length;
        if self.rest().len() < length + 2 {
            return Ok(false);
        }
        self.spans.push((self.at, end));
        self.at = end + 2;
        self.bulk = None;
        Ok(true)
    }

    /// Notes that a bulk string starts.
    fn announce(&mut self, length: usize, bounds: &Bounds) -> usize {
        self.size = self.size.saturating_add(length);
        if length > bounds.argument_bytes {
            self.too_long.get_or_insert((length, bounds.argument_bytes));
        } else if self.size > bounds.request_bytes {
            self.too_long.get_or_insert((self.size, bounds.request_bytes));
        }
        self.bulk = Some(length);
        if self.too_long.is_some() {
            // The request fails, so its arguments are of no use.
            self.spans.clear();
            self.skipping = length + 2;
        }
        length
    }

    /// Drops what has arrived of a bulk string, and returns whether that is all of it.
    fn skip(&mut self) -> bool {
        let dropped = self.skipping.min(self.rest().len());
        // The bytes of the request that were read before are dropped as well.
        self.input.drain(self.start..self.start + self.at + dropped);
        self.at = 0;
        self.skipping -= dropped;
        if self.skipping == 0 {
            self.bulk = None;
        }
        self.skipping == 0
    }

    /// Reads a line of a sign and a number.
    fn length(&mut self, too_long: &Broken, invalid: &Broken) -> Result<Option<i64>, Broken> {
        let Some(length) = self.line(b'\r') else {
            let is_long = self.searched > LENGTH_LINE_MAX;
            return if is_long { Err(too_long.clone()) } else { Ok(None) };
        };
        if length > LENGTH_LINE_MAX {
            return Err(too_long.clone());
        }
        if self.rest().len() < length + 2 {
            // The line feed is missing; the search finds the same end again.
            return Ok(None);
        }
        let digits = self.rest().get(1..length).unwrap_or_default();
        let number = integer(digits).ok_or_else(|| invalid.clone())?;
        self.at += length + 2;
        Ok(Some(number))
    }
}

/// Parses bytes whole and in pieces, and compares the numbers of requests: a fuzz target.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    let (&length, bytes) = bytes.split_first().unwrap_or((&1, &[]));
    let bounds =
        Bounds { argument_bytes: 64, request_bytes: 256, is_trusted: length.is_multiple_of(2) };
    let requests = |piece: usize| {
        let (mut parser, mut requests) = (Parser::default(), 0);
        for piece in bytes.chunks(piece.max(1)) {
            parser.fill(piece);
            loop {
                match parser.next(&bounds) {
                    Ok(Next::Incomplete) => break,
                    Ok(_) => requests += 1,
                    Err(broken) => return (requests, Some(broken)),
                }
            }
            parser.release();
        }
        (requests, None)
    };
    assert_eq!(requests(bytes.len()), requests(usize::from(length)), "by pieces of {length}");
}

fn to_usize(length: i64) -> usize {
    usize::try_from(length).unwrap_or(0)
}

fn memchr(byte: u8, bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|found| *found == byte)
}

/// Parses a number as Redis does: no sign but a minus, no zeros in front, no space.
pub(crate) fn integer(digits: &[u8]) -> Option<i64> {
    let (is_negative, magnitude) = match digits.strip_prefix(b"-") {
        Some(magnitude) => (true, magnitude),
        None => (false, digits),
    };
    match magnitude {
        [] => return None,
        [b'0'] => return (!is_negative).then_some(0),
        [b'1'..=b'9', ..] => {}
        _ => return None,
    }
    // The least number has no positive counterpart.
    magnitude.iter().try_fold(0i64, |number, digit| {
        let digit = i64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        let tens = number.checked_mul(10)?;
        if is_negative { tens.checked_sub(digit) } else { tens.checked_add(digit) }
    })
}

#[cfg(test)]
mod tests;
