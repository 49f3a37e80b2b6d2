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

/// An import of a module.
pub struct Import<'a> {
    /// Module of the import.
    pub module: &'a [u8],
    /// Name of the import there.
    pub name: &'a [u8],
    /// [`FUNCTION`](Import::FUNCTION), or a memory.
    pub kind: usize,
    /// A function's type, or the bounds of a memory.
    pub rest: &'a [u8],
}

impl Import<'_> {
    /// The kind of a function.
    pub const FUNCTION: usize = 0;
    const MEMORY: usize = 2;
}

/// The imports of a section.
///
/// # Errors
/// Bytes that end too soon, or an import that is neither a function nor a memory.
pub fn imports(mut content: &[u8]) -> Result<Vec<Import<'_>>> {
    let count = take_leb(&mut content)?;
    (0..count).map(|_| take_import(&mut content)).collect()
}

fn take_import<'a>(content: &mut &'a [u8]) -> Result<Import<'a>> {
    let (module, name) = (take_sized(content)?, take_sized(content)?);
    let kind = take_leb(content)?;
    let before = *content;
    match kind {
        Import::FUNCTION => drop(take_leb(content)?),
        Import::MEMORY => {
            let has_most = take_leb(content)? & 1 == 1;
            let _least = take_leb(content)?;
            if has_most {
                let _most = take_leb(content)?;
            }
        }
        kind => bail!("an import of kind {kind}: neither a function nor a memory"),
    }
    let (rest, _) = before.split_at(before.len() - content.len());
    Ok(Import { module, name, kind, rest })
}

/// Takes a length and as many bytes.
///
/// # Errors
/// Fewer bytes than that.
pub fn take_sized<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = take_leb(bytes)?;
    bytes.split_off(..length).context("a part is cut off")
}
