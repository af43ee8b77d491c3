//! Unpacking of compressed data, never to more than is expected.

use super::blosc;
use super::fault::Fault;
use super::unpack::{damaged, read, too_long, unpack_lz4, unpack_zstd};

/// A compression method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Gzip,
    Zlib,
    Zstd,
    Snappy,
    Lz4,
    Blosc,
}

impl Codec {
    /// No data of this kind unpack to more than this many times their size.
    pub(crate) fn largest_ratio(self) -> u64 {
        match self {
            Self::Gzip | Self::Zlib => 1040,
            Self::Snappy => 64,
            Self::Lz4 => 256,
            Self::Zstd | Self::Blosc => 1 << 15,
        }
    }

    /// The data behind `packed`, at most `most` bytes.
    pub(crate) fn unpack(self, packed: &[u8], most: usize) -> Result<Vec<u8>, Fault> {
        let possible = (packed.len() as u64 + 64).saturating_mul(self.largest_ratio());
        let most = most.min(usize::try_from(possible).unwrap_or(usize::MAX));
        match self {
            Self::Gzip => read(flate2::read::MultiGzDecoder::new(packed), most),
            Self::Zlib => read(flate2::read::ZlibDecoder::new(packed), most),
            Self::Zstd => unpack_zstd(packed, most),
            Self::Snappy => match snap::raw::decompress_len(packed) {
                Ok(length) if length <= most => snap::raw::Decoder::new()
                    .decompress_vec(packed)
                    .map_err(|error| damaged(&error)),
                Ok(length) => too_long(length, most),
                Err(error) => Err(damaged(&error)),
            },
            Self::Lz4 => {
                let mut out = Vec::with_capacity(most);
                unpack_lz4(packed, most, &mut out)?;
                Ok(out)
            }
            Self::Blosc => blosc::unpack(packed, most),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn bombs_are_refused() {
        let zeros = vec![0; 1 << 16];
        let mut packed = Vec::new();
        flate2::read::ZlibEncoder::new(&*zeros, flate2::Compression::default())
            .read_to_end(&mut packed)
            .unwrap();
        assert_eq!(Codec::Zlib.unpack(&packed, 1 << 16).unwrap(), zeros);
        assert!(Codec::Zlib.unpack(&packed, 1000).is_err());
    }
}
