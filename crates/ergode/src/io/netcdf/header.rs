//! The header of classic NetCDF files.

use crate::data::{Dtype, Element};
use crate::io::array::{ArrayHeader, NumberArray, tuple};
use crate::io::fault::{Fault, fault};
use crate::io::grid::{Content, Note, Variable};
use std::io::Read;

/// Marks of the lists of a header.
pub(crate) const DIMENSIONS: u32 = 10;
pub(crate) const VARIABLES: u32 = 11;
pub(crate) const ATTRIBUTES: u32 = 12;

/// Types of elements, by number.
pub(crate) const CHARACTERS: u32 = 2;
pub(crate) const SINGLE: u32 = 5;
pub(crate) const DOUBLE: u32 = 6;

/// The position of an array in the file.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) begin: u64,
    pub(crate) dtype: Dtype,
    /// The first axis counts records.
    pub(crate) records: bool,
    /// Characters of each text, for arrays of text.
    pub(crate) characters: usize,
}

/// The content of a header.
pub(crate) struct Header {
    pub(crate) variables: Vec<Variable>,
    pub(crate) stored: Vec<Stored>,
    /// Bytes between records.
    pub(crate) record: u64,
}

/// An axis: its name and length; no length for that of the records.
struct Axis {
    name: String,
    length: Option<usize>,
}

/// The bytes of a header; requests never exceed the size of the file.
struct Bytes<'a, R> {
    reader: &'a mut R,
    left: u64,
    version: u8,
}

impl<R: Read> Bytes<'_, R> {
    fn take(&mut self, length: usize) -> Result<Vec<u8>, Fault> {
        if length as u64 > self.left {
            return fault(format!(
                "the header needs {length} bytes, but {} are left; the file is damaged, write it again",
                self.left
            ));
        }
        let mut bytes = vec![0; length];
        self.reader.read_exact(&mut bytes)?;
        self.left -= length as u64;
        Ok(bytes)
    }

    fn word(&mut self) -> Result<u32, Fault> {
        let bytes = self.take(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn long(&mut self) -> Result<u64, Fault> {
        Ok(u64::from(self.word()?) << 32 | u64::from(self.word()?))
    }

    /// A count or a length: eight bytes in CDF-5, four before.
    fn count(&mut self) -> Result<usize, Fault> {
        let count = if self.version == 5 {
            self.long()?
        } else {
            u64::from(self.word()?)
        };
        usize::try_from(count)
            .ok()
            .filter(|&count| count <= isize::MAX as usize)
            .ok_or_else(|| {
                Fault::Content(format!(
                    "has the impossible length {count}; the file is damaged"
                ))
            })
    }

    /// The number of entries of a list of this kind.
    fn list(&mut self, mark: u32) -> Result<usize, Fault> {
        let (found, count) = (self.word()?, self.count()?);
        match (found, count) {
            (0, 0) => Ok(0),
            // An entry takes eight bytes or more.
            (found, count) if found == mark && count as u64 <= self.left / 8 => Ok(count),
            _ => fault("has an invalid header; the file is damaged"),
        }
    }

    /// Bytes filled up to a multiple of four.
    fn padded(&mut self, length: usize) -> Result<Vec<u8>, Fault> {
        let mut bytes = self.take(length)?;
        self.take(length.next_multiple_of(4) - length)?;
        bytes.truncate(length);
        Ok(bytes)
    }

    fn name(&mut self) -> Result<String, Fault> {
        let length = self.count()?;
        Ok(String::from_utf8_lossy(&self.padded(length)?).into_owned())
    }

    fn attributes(&mut self) -> Result<Vec<(String, Note)>, Fault> {
        let mut notes = Vec::new();
        for _ in 0..self.list(ATTRIBUTES)? {
            let (name, kind, count) = (self.name()?, self.word()?, self.count()?);
            let dtype = dtype(kind)?;
            let length = count.checked_mul(dtype.size()).unwrap_or(usize::MAX - 4);
            let bytes = self.padded(length)?;
            let note = if kind == CHARACTERS {
                let text = String::from_utf8_lossy(&bytes);
                Note::Text(vec![text.trim_end_matches('\0').to_owned()])
            } else {
                let header = ArrayHeader {
                    dtype,
                    fortran: false,
                    shape: vec![count],
                    offset: 0,
                };
                Note::Numbers(NumberArray::read(&mut bytes.as_slice(), &header)?.into_f64())
            };
            notes.push((name, note));
        }
        Ok(notes)
    }
}

fn dtype(kind: u32) -> Result<Dtype, Fault> {
    let element = match kind {
        1 => Element::I1,
        CHARACTERS | 7 => Element::U1,
        3 => Element::I2,
        4 => Element::I4,
        SINGLE => Element::F4,
        DOUBLE => Element::F8,
        8 => Element::U2,
        9 => Element::U4,
        10 => Element::I8,
        11 => Element::U8,
        _ => {
            return fault(format!(
                "has elements of unknown type {kind}; the file is damaged"
            ));
        }
    };
    Ok(Dtype {
        element,
        big_endian: true,
    })
}

impl Header {
    /// Reads the header of a file of `size` bytes.
    pub(crate) fn read(reader: &mut impl Read, size: u64) -> Result<Self, Fault> {
        let mut bytes = Bytes {
            reader,
            left: size,
            version: 0,
        };
        let magic = bytes.take(4)?;
        bytes.version = magic[3];
        let records = bytes.count()?;
        let mut axes = Vec::new();
        for _ in 0..bytes.list(DIMENSIONS)? {
            let (name, length) = (bytes.name()?, bytes.count()?);
            axes.push(Axis {
                name,
                length: (length > 0).then_some(length),
            });
        }
        bytes.attributes()?;
        let mut header = Self {
            variables: Vec::new(),
            stored: Vec::new(),
            record: 0,
        };
        for _ in 0..bytes.list(VARIABLES)? {
            header.variable(&mut bytes, &axes)?;
        }
        header.set_records(records, bytes.version, size)?;
        for (variable, stored) in header.variables.iter_mut().zip(&mut header.stored) {
            // The last axis of text counts characters.
            if variable.content == Content::Text {
                variable.axes.pop();
                stored.characters = variable.shape.pop().unwrap_or(0);
            }
        }
        Ok(header)
    }

    fn variable(&mut self, bytes: &mut Bytes<'_, impl Read>, axes: &[Axis]) -> Result<(), Fault> {
        let name = bytes.name()?;
        let rank = bytes.count()?;
        if rank as u64 > bytes.left / 4 {
            return fault("has an invalid header; the file is damaged");
        }
        let (mut names, mut shape, mut records) = (Vec::new(), Vec::new(), false);
        for k in 0..rank {
            let Some(axis) = axes.get(bytes.count()?) else {
                return fault(format!(
                    "array '{name}' refers to an axis that does not exist; the file is damaged"
                ));
            };
            records |= k == 0 && axis.length.is_none();
            names.push(axis.name.clone());
            shape.push(axis.length.unwrap_or(0));
        }
        let notes = bytes.attributes()?;
        let kind = bytes.word()?;
        // The stored size is redundant, and wrong in files with arrays above 4 GiB.
        bytes.count()?;
        let begin = if bytes.version == 1 {
            u64::from(bytes.word()?)
        } else {
            bytes.long()?
        };
        self.variables.push(Variable {
            name,
            axes: names,
            shape,
            content: match kind {
                CHARACTERS => Content::Text,
                SINGLE => Content::Single,
                DOUBLE => Content::Double,
                _ => Content::Integer,
            },
            notes,
        });
        self.stored.push(Stored {
            begin,
            dtype: dtype(kind)?,
            records,
            characters: 0,
        });
        Ok(())
    }

    /// Finds the bytes between records, gives arrays of records their length, and refuses arrays
    /// that reach beyond the file.
    fn set_records(&mut self, records: usize, version: u8, size: u64) -> Result<(), Fault> {
        let bytes_of = |shape: &[usize], dtype: Dtype| {
            shape
                .iter()
                .try_fold(dtype.size() as u64, |n, &k| n.checked_mul(k as u64))
        };
        let absurd = |name: &str, shape: &[usize]| {
            Fault::Content(format!(
                "array '{name}' is truncated: its shape {} does not fit into the file; write it again",
                tuple(shape)
            ))
        };
        let several = self.stored.iter().filter(|stored| stored.records).count() > 1;
        for (variable, stored) in self.variables.iter().zip(&self.stored) {
            if !stored.records {
                continue;
            }
            let one = bytes_of(&variable.shape[1..], stored.dtype)
                .filter(|&bytes| bytes <= size)
                .ok_or_else(|| absurd(&variable.name, &variable.shape[1..]))?;
            // Records of several arrays are filled up to a multiple of four, those of one are not.
            self.record += if several {
                one.next_multiple_of(4)
            } else {
                one
            };
        }
        // Files that are being written say that they do not know.
        let unknown =
            (version != 5 && records == u32::MAX as usize) || records == isize::MAX as usize;
        for (variable, stored) in self.variables.iter_mut().zip(&self.stored) {
            let fits = |bytes: Option<u64>| {
                bytes
                    .and_then(|bytes| stored.begin.checked_add(bytes))
                    .is_some_and(|end| end <= size)
            };
            if stored.records {
                let room = size.saturating_sub(stored.begin) / self.record.max(1);
                variable.shape[0] = if unknown { room as usize } else { records };
                let one = bytes_of(&variable.shape[1..], stored.dtype).unwrap_or(u64::MAX);
                let before = (variable.shape[0] as u64).saturating_sub(1);
                let all = before
                    .checked_mul(self.record)
                    .and_then(|n| n.checked_add(one));
                if variable.shape[0] > 0 && !fits(all) {
                    return Err(absurd(&variable.name, &variable.shape));
                }
            } else if !fits(bytes_of(&variable.shape, stored.dtype)) {
                return Err(absurd(&variable.name, &variable.shape));
            }
        }
        Ok(())
    }
}
