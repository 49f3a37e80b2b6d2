//! The numbers, strings and sections of a WebAssembly module, read and written.

use anyhow::{Context, Result, bail};

/// A number as LEB128.
pub fn leb(mut number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// Bytes after their length.
pub fn sized(bytes: &[u8]) -> Vec<u8> {
    [&leb(bytes.len()), bytes].concat()
}

/// A section of a module.
pub fn section(id: u8, content: &[u8]) -> Vec<u8> {
    [&[id][..], &sized(content)].concat()
}

/// Takes a number in LEB128 from the front of `bytes`.
///
/// # Errors
/// Bytes that end before it does, or one above 32 bits.
pub fn take_leb(bytes: &mut &[u8]) -> Result<usize> {
    let mut number = 0;
    for shift in (0..32).step_by(7) {
        let &byte = bytes.split_off_first().context("a number is cut off")?;
        number |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    bail!("a number above 32 bits")
}

/// Takes a length and as many bytes.
///
/// # Errors
/// Fewer bytes than that.
pub fn take_sized<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = take_leb(bytes)?;
    bytes.split_off(..length).context("a part is cut off")
}
