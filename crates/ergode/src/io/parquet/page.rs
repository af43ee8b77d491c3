//! Pages of a column, unpacked within bounds before the library decodes them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};

use super::thrift::Thrift;
use crate::io::codec::Codec;
use crate::io::fault::Fault;

/// The bytes of a column in a row group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) codec: Option<Codec>,
}

/// Reads the pages of a chunk.
///
/// A page unpacks to no more than its bytes vouch for, and a dictionary has no more elements than bytes:
/// the library takes memory for as many as the header claims.
pub(crate) struct Pages {
    file: File,
    chunk: Chunk,
    at: u64,
}

/// The content of a page header.
struct Header {
    kind: i64,
    unpacked: usize,
    packed: usize,
    /// Fields of the kind of page.
    values: u32,
    encoding: Encoding,
    /// Bytes of repetition and definition levels, which are never packed, and whether the rest is.
    levels: Option<(u32, u32, bool)>,
}

fn damaged<T>(what: &str) -> Result<T> {
    Err(ParquetError::General(format!(
        "{what}; the file is damaged, write it again"
    )))
}

fn failed(fault: Fault) -> ParquetError {
    match fault {
        Fault::Io(error) => ParquetError::External(Box::new(error)),
        Fault::Content(message) => ParquetError::General(message),
    }
}

impl Header {
    fn of(header: &Thrift) -> Option<Self> {
        let kind = header.number(1)?;
        let page = match kind {
            0 => header.field(5)?,
            2 => header.field(7)?,
            3 => header.field(8)?,
            // Indices of pages are of no use here.
            _ => header,
        };
        let length = |id| page.number(id).and_then(|n| u32::try_from(n).ok());
        let v2 = kind == 3;
        Some(Self {
            kind,
            unpacked: header.size(2)?,
            packed: header.size(3)?,
            values: if page.field(1).is_some() {
                length(1)?
            } else {
                0
            },
            encoding: encoding(page.number(if v2 { 4 } else { 2 })),
            levels: match v2 {
                true => Some((length(6)?, length(5)?, page.number(7) != Some(0))),
                false => None,
            },
        })
    }
}

/// The encoding with this number; one that no data have where it is not known.
fn encoding(number: Option<i64>) -> Encoding {
    match number {
        Some(0) => Encoding::PLAIN,
        Some(2) => Encoding::PLAIN_DICTIONARY,
        Some(3) => Encoding::RLE,
        Some(5) => Encoding::DELTA_BINARY_PACKED,
        Some(6) => Encoding::DELTA_LENGTH_BYTE_ARRAY,
        Some(7) => Encoding::DELTA_BYTE_ARRAY,
        Some(8) => Encoding::RLE_DICTIONARY,
        Some(9) => Encoding::BYTE_STREAM_SPLIT,
        #[allow(deprecated)]
        _ => Encoding::BIT_PACKED,
    }
}

impl Pages {
    pub(crate) fn new(file: File, chunk: Chunk) -> Self {
        Self {
            file,
            chunk,
            at: chunk.start,
        }
    }

    /// The header of the next page; leaves the file behind it.
    fn header(&mut self) -> Result<Header> {
        let left = self.chunk.end - self.at;
        let mut window = Vec::new();
        // Headers are short, unless they hold long texts among their statistics.
        let mut wanted = 1 << 10;
        loop {
            window.clear();
            self.file.seek(SeekFrom::Start(self.at))?;
            (&self.file)
                .take(left.min(wanted))
                .read_to_end(&mut window)?;
            match Thrift::read(&window) {
                Ok((header, length)) => {
                    self.at += length as u64;
                    return match Header::of(&header) {
                        Some(header) => Ok(header),
                        None => damaged("a page has no size"),
                    };
                }
                Err(_) if wanted < left.min(1 << 22) => wanted <<= 4,
                Err(fault) => return Err(failed(fault)),
            }
        }
    }

    /// The bytes of a page, unpacked.
    fn body(&mut self, header: &Header) -> Result<Bytes> {
        if header.packed as u64 > self.chunk.end.saturating_sub(self.at) {
            return damaged("a page reaches beyond its column");
        }
        let mut bytes = vec![0; header.packed];
        self.file.seek(SeekFrom::Start(self.at))?;
        self.file.read_exact(&mut bytes)?;
        self.at += header.packed as u64;
        let (plain, is_packed) = match header.levels {
            Some((repeats, levels, is_packed)) => {
                (u64::from(repeats) + u64::from(levels), is_packed)
            }
            None => (0, true),
        };
        let Ok(plain) = usize::try_from(plain) else {
            return damaged("a page has too many levels");
        };
        if plain > bytes.len() {
            return damaged("a page has fewer bytes than levels");
        }
        if let Some(codec) = self.chunk.codec.filter(|_| is_packed) {
            let most = header.unpacked.saturating_sub(plain);
            let rest = codec.unpack(&bytes[plain..], most).map_err(failed)?;
            bytes.truncate(plain);
            bytes.extend(rest);
        }
        Ok(bytes.into())
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        while self.at < self.chunk.end {
            let header = self.header()?;
            let buf = self.body(&header)?;
            let (num_values, encoding) = (header.values, header.encoding);
            return Ok(Some(match (header.kind, header.levels) {
                (0, _) => Page::DataPage {
                    buf,
                    num_values,
                    encoding,
                    def_level_encoding: Encoding::RLE,
                    rep_level_encoding: Encoding::RLE,
                    statistics: None,
                },
                (2, _) if num_values as usize > buf.len() => {
                    return damaged("a dictionary has fewer bytes than elements");
                }
                (2, _) => Page::DictionaryPage {
                    buf,
                    num_values,
                    encoding,
                    is_sorted: false,
                },
                (3, Some((rep_levels_byte_len, def_levels_byte_len, _))) => Page::DataPageV2 {
                    buf,
                    num_values,
                    encoding,
                    num_nulls: 0,
                    num_rows: num_values,
                    def_levels_byte_len,
                    rep_levels_byte_len,
                    is_compressed: false,
                    statistics: None,
                },
                _ => continue,
            }));
        }
        Ok(None)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        damaged("pages are read in order only")
    }

    fn skip_next_page(&mut self) -> Result<()> {
        damaged("pages are read in order only")
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
