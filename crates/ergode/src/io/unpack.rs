//! Methods of compression, each unpacked to no more than is expected.

use std::io::Read;

use super::fault::{Fault, fault};

pub(super) fn damaged(error: &dyn std::fmt::Display) -> Fault {
    Fault::Content(format!(
        "compressed data are damaged ({error}); write the file again"
    ))
}

pub(super) fn too_long<T>(length: usize, most: usize) -> Result<T, Fault> {
    fault(format!(
        "compressed data decompress to {length} bytes, more than the expected {most}; the file is \
         damaged, write it again"
    ))
}

/// Reads to the end; refuses more than `most` bytes.
pub(super) fn read(reader: impl Read, most: usize) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    reader
        .take(most as u64 + 1)
        .read_to_end(&mut out)
        .map_err(|error| damaged(&error))?;
    if out.len() > most {
        return too_long(out.len(), most);
    }
    Ok(out)
}

/// Unpacks frames of Zstandard whose window is not out of proportion.
pub(super) fn unpack_zstd(mut packed: &[u8], most: usize) -> Result<Vec<u8>, Fault> {
    let mut out = Vec::new();
    while !packed.is_empty() {
        // Encoders that do not know the length of the data ask for up to 8 MiB.
        if zstd_window(packed).is_none_or(|window| window > (most as u64).max(8 << 20)) {
            return fault("compressed data are damaged (invalid frame); write the file again");
        }
        let decoder = ruzstd::decoding::StreamingDecoder::new(&mut packed)
            .map_err(|error| damaged(&error))?;
        out.append(&mut read(decoder, most - out.len())?);
    }
    Ok(out)
}

/// The size of the window of a frame.
fn zstd_window(packed: &[u8]) -> Option<u64> {
    let [0x28, 0xb5, 0x2f, 0xfd, descriptor, rest @ ..] = packed else {
        return None;
    };
    if descriptor & 0x20 == 0 {
        let window = rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // A frame of a single segment has no window but the size of its content.
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let size = [1, 2, 4, 8][usize::from(descriptor >> 6)];
    let mut bytes = [0; 8];
    bytes[..size].copy_from_slice(rest.get(dictionary..dictionary + size)?);
    Some(u64::from_le_bytes(bytes) + if size == 2 { 256 } else { 0 })
}

/// Appends the data behind a block of LZ4 to `out`, at most `most` bytes.
pub(super) fn unpack_lz4(packed: &[u8], most: usize, out: &mut Vec<u8>) -> Result<(), Fault> {
    let begin = out.len();
    let end = begin + most;
    let mut at = 0;
    let mut next = || {
        let byte = packed.get(at..)?.first().copied();
        at += 1;
        byte
    };
    // If the first part is 15, bytes are added to it up to and including the first that is not 255.
    fn length(first: u8, next: &mut impl FnMut() -> Option<u8>) -> Option<usize> {
        let mut length = usize::from(first);
        if first == 15 {
            loop {
                let byte = next()?;
                length += usize::from(byte);
                if byte < 255 {
                    break;
                }
            }
        }
        Some(length)
    }
    let mut unpack = || -> Option<()> {
        while let Some(token) = next() {
            for _ in 0..length(token >> 4, &mut next)? {
                let byte = next()?;
                out.push(byte);
                if out.len() > end {
                    return None;
                }
            }
            let Some(low) = next() else {
                // The last sequence has no match.
                return Some(());
            };
            let offset = usize::from(u16::from_le_bytes([low, next()?]));
            let count = length(token & 15, &mut next)? + 4;
            let from = out
                .len()
                .checked_sub(offset)
                .filter(|&from| from >= begin)?;
            if offset == 0 || out.len() + count > end {
                return None;
            }
            for k in 0..count {
                out.push(out[from + k]);
            }
        }
        Some(())
    };
    unpack().ok_or_else(|| damaged(&"not an LZ4 block"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lz4_repeats_what_came_before() {
        // "abc" literally, then eight bytes from three back, then "z" literally.
        let packed = [0x34, b'a', b'b', b'c', 3, 0, 0x10, b'z'];
        let mut out = Vec::new();
        unpack_lz4(&packed, 100, &mut out).unwrap();
        assert_eq!(out, b"abcabcabcabz");
        assert!(unpack_lz4(&packed, 11, &mut Vec::new()).is_err());
        assert!(unpack_lz4(&[0x04, 1, 0], 100, &mut Vec::new()).is_err());
    }
}
