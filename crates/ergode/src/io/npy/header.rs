//! The header of NumPy's array format, versions 1 to 3.

use crate::data::Dtype;
use crate::io::array::{ArrayHeader, tuple};
use crate::io::fault::{Fault, fault};
use std::io::{self, Read, Write};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// No sensible header is longer; NumPy itself writes 128 bytes.
const LONGEST: usize = 1 << 20;

impl ArrayHeader {
    /// Reads a header and leaves `reader` at the first byte of the data.
    pub(crate) fn read(reader: &mut impl Read) -> Result<Self, Fault> {
        let mut start = [0; 8];
        reader.read_exact(&mut start)?;
        if &start[..6] != MAGIC {
            return fault("is not a NumPy array (its first bytes are not \\x93NUMPY)");
        }
        let (length, before) = match start[6] {
            1 => {
                let mut bytes = [0; 2];
                reader.read_exact(&mut bytes)?;
                (u16::from_le_bytes(bytes) as usize, 10)
            }
            2 | 3 => {
                let mut bytes = [0; 4];
                reader.read_exact(&mut bytes)?;
                (u32::from_le_bytes(bytes) as usize, 12)
            }
            version => {
                return fault(format!(
                    "uses version {version}.{} of the NumPy format; versions 1 to 3 are supported",
                    start[7]
                ));
            }
        };
        if length > LONGEST {
            return fault(format!(
                "has a header of {length} bytes, more than {LONGEST}; the file is damaged"
            ));
        }
        let mut text = vec![0; length];
        reader.read_exact(&mut text)?;
        let mut header = Dictionary { rest: &text }.parse()?;
        header.offset = (before + length) as u64;
        Ok(header)
    }
}

/// Writes a header of version 1.0 for an array in C order.
///
/// Returns its length, the offset of the data: a multiple of 64.
pub(crate) fn write_header(
    writer: &mut impl Write,
    dtype: Dtype,
    shape: &[usize],
) -> io::Result<u64> {
    let mut text = format!(
        "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}",
        dtype.descr(),
        tuple(shape)
    );
    let total = (10 + text.len() + 1).next_multiple_of(64);
    text.extend(std::iter::repeat_n(' ', total - 11 - text.len()));
    text.push('\n');
    let length = u16::try_from(text.len())
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "too many dimensions"))?;
    writer.write_all(MAGIC)?;
    writer.write_all(&[1, 0])?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(text.as_bytes())?;
    Ok(total as u64)
}

/// The Python dictionary literal of a header, read from the front.
struct Dictionary<'a> {
    rest: &'a [u8],
}

impl<'a> Dictionary<'a> {
    fn parse(mut self) -> Result<ArrayHeader, Fault> {
        let (mut dtype, mut fortran, mut shape) = (None, None, None);
        self.expect(b'{')?;
        while !self.take(b'}') {
            let key = self.string()?;
            self.expect(b':')?;
            match key {
                "descr" => dtype = Some(self.dtype()?),
                "fortran_order" => fortran = Some(self.truth()?),
                "shape" => shape = Some(self.shape()?),
                _ => {
                    return fault(format!(
                        "has an unknown header entry '{key}'; the file is damaged"
                    ));
                }
            }
            if !self.take(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        self.skip_space();
        if !self.rest.is_empty() {
            return self.damaged();
        }
        let missing = |name| {
            Fault::Content(format!(
                "has no '{name}' in its header; the file is damaged"
            ))
        };
        Ok(ArrayHeader {
            dtype: dtype.ok_or_else(|| missing("descr"))?,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
            offset: 0,
        })
    }

    fn damaged<T>(&self) -> Result<T, Fault> {
        let near = String::from_utf8_lossy(&self.rest[..self.rest.len().min(20)]);
        fault(format!(
            "has an invalid header near \"{}\"; the file is damaged",
            near.escape_debug()
        ))
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_ascii_start();
    }

    /// Removes `byte`, and space before it, from the front if it is there.
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        match self.rest.split_first() {
            Some((&first, rest)) if first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Fault> {
        if self.take(byte) {
            Ok(())
        } else {
            self.damaged()
        }
    }

    /// Removes and returns the longest front made of bytes that `belongs` accepts.
    fn word(&mut self, belongs: impl Fn(&u8) -> bool) -> &'a str {
        let end = self.rest.iter().position(|b| !belongs(b));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        std::str::from_utf8(word).unwrap_or("")
    }

    fn string(&mut self) -> Result<&'a str, Fault> {
        let quote = if self.take(b'"') {
            b'"'
        } else {
            self.expect(b'\'')?;
            b'\''
        };
        let text = self.word(|&b| b != quote && b.is_ascii_graphic() || b == b' ');
        if self.rest.first() != Some(&quote) {
            return self.damaged();
        }
        self.rest = &self.rest[1..];
        Ok(text)
    }

    fn dtype(&mut self) -> Result<Dtype, Fault> {
        self.skip_space();
        if self.rest.first() == Some(&b'[') {
            return fault(
                "the array holds records with named fields (a structured dtype); \
                 save the fields as the columns of a plain array",
            );
        }
        Dtype::parse(self.string()?)
    }

    fn truth(&mut self) -> Result<bool, Fault> {
        self.skip_space();
        match self.word(u8::is_ascii_alphabetic) {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => self.damaged(),
        }
    }

    fn shape(&mut self) -> Result<Vec<usize>, Fault> {
        let mut shape = Vec::new();
        self.expect(b'(')?;
        while !self.take(b')') {
            self.skip_space();
            let digits = self.word(u8::is_ascii_digit);
            let Ok(length) = digits.parse() else {
                return fault("has an impossible length in its shape; the file is damaged");
            };
            shape.push(length);
            // Python 2 wrote long integers as 3L.
            self.word(|&b| b == b'L');
            if !self.take(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(shape)
    }
}
