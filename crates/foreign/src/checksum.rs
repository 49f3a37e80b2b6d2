//! CRC32C, masked as LevelDB and its descendants store it: a checksum of bytes that contain checksums is weak.

/// The polynomial of Castagnoli, reversed.
const POLYNOMIAL: u32 = 0x82f6_3b78;
/// Added to the rotated checksum.
const MASK: u32 = 0xa282_ead8;

const TABLE: [u32; 256] = table();

/// Returns the remainder of each byte.
#[allow(clippy::indexing_slicing)] // In a constant: an index that is out of bounds does not compile.
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut sum = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            sum = if sum & 1 == 0 { sum >> 1 } else { sum >> 1 ^ POLYNOMIAL };
            bit += 1;
        }
        table[byte] = sum;
        byte += 1;
    }
    table
}

/// Returns the checksum of bytes.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |sum: u32, byte: &u8| {
        let index = usize::from(sum as u8 ^ byte);
        sum >> 8 ^ TABLE.get(index).copied().unwrap_or_default()
    };
    !bytes.iter().fold(!0, step)
}

/// Returns the checksum of bytes as it is stored.
pub(crate) fn masked(bytes: &[u8]) -> u32 {
    crc32c(bytes).rotate_right(15).wrapping_add(MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // RFC 3720, B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }
}
