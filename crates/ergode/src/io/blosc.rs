//! The container format Blosc 1.

use super::fault::{Fault, fault};
use super::unpack::{read, unpack_lz4, unpack_zstd};

/// Bytes of the header.
const HEADER: usize = 16;

/// Blocks shorter than this many elements are not split by bytes of elements.
const SHORTEST_SPLIT: usize = 128;

/// The compression of the blocks of a container.
#[derive(Clone, Copy)]
enum Method {
    Lz4,
    Zlib,
    Zstd,
}

/// The data of a container, at most `most` bytes.
///
/// Blocks may be packed with LZ4, zlib or Zstandard, and their bytes shuffled.
pub(crate) fn unpack(packed: &[u8], most: usize) -> Result<Vec<u8>, Fault> {
    let Some(header) = packed.first_chunk::<HEADER>() else {
        return damaged();
    };
    let word = |at: usize| {
        let bytes = packed.get(at..)?.first_chunk::<4>()?;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    };
    let (flags, width) = (header[2], usize::from(header[3]).max(1));
    let (Some(size), Some(block), Some(length)) = (word(4), word(8), word(12)) else {
        return damaged();
    };
    if size > most || length > packed.len() || (size > 0 && block == 0) {
        return damaged();
    }
    if flags & 2 != 0 {
        return match packed.get(HEADER..HEADER + size) {
            Some(plain) => Ok(plain.to_vec()),
            None => damaged(),
        };
    }
    if flags & 4 != 0 {
        return fault("uses the bit shuffle of Blosc, which is not supported; use shuffle=1");
    }
    let method = match flags >> 5 {
        1 => Method::Lz4,
        3 => Method::Zlib,
        4 => Method::Zstd,
        _ => {
            return fault("uses a Blosc compressor that is not supported; use lz4, zlib or zstd");
        }
    };
    let mut out = Vec::with_capacity(size.min(most));
    let mut scratch = Vec::new();
    for k in 0..size.div_ceil(block.max(1)) {
        let Some(start) = word(HEADER + 4 * k) else {
            return damaged();
        };
        let expected = block.min(size - out.len());
        let whole = expected == block;
        let split = flags & 0x10 == 0 && width <= 16 && block / width >= SHORTEST_SPLIT && whole;
        scratch.clear();
        unpack_block(
            packed,
            start,
            method,
            if split { width } else { 1 },
            expected,
            &mut scratch,
        )?;
        if flags & 1 != 0 && width > 1 {
            unshuffle(&scratch, width, &mut out);
        } else {
            out.extend_from_slice(&scratch);
        }
    }
    Ok(out)
}

fn damaged<T>() -> Result<T, Fault> {
    fault("compressed data are damaged (not a Blosc container); write the file again")
}

/// Unpacks the parts of a block, each with its length in front.
fn unpack_block(
    packed: &[u8],
    mut at: usize,
    method: Method,
    parts: usize,
    size: usize,
    out: &mut Vec<u8>,
) -> Result<(), Fault> {
    let part = size / parts;
    for k in 0..parts {
        let expected = if k + 1 < parts {
            part
        } else {
            size - part * (parts - 1)
        };
        let Some(length) = packed.get(at..).and_then(|rest| rest.first_chunk::<4>()) else {
            return damaged();
        };
        let length = u32::from_le_bytes(*length) as usize;
        let end = (at + 4).saturating_add(length);
        let Some(bytes) = packed.get(at + 4..end) else {
            return damaged();
        };
        let before = out.len();
        match method {
            _ if length == expected => out.extend_from_slice(bytes),
            Method::Lz4 => unpack_lz4(bytes, expected, out)?,
            Method::Zlib => {
                out.append(&mut read(flate2::read::ZlibDecoder::new(bytes), expected)?);
            }
            Method::Zstd => out.append(&mut unpack_zstd(bytes, expected)?),
        }
        if out.len() - before != expected {
            return damaged();
        }
        at = end;
    }
    Ok(())
}

/// Puts together elements whose first bytes stand first, then all second bytes, and so on.
fn unshuffle(block: &[u8], width: usize, out: &mut Vec<u8>) {
    let elements = block.len() / width;
    for i in 0..elements {
        out.extend((0..width).map(|byte| block[byte * elements + i]));
    }
    out.extend_from_slice(&block[elements * width..]);
}
