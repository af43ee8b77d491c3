//! The compact protocol of Thrift, in which Parquet describes itself.

use crate::io::fault::{Fault, fault};

/// Structures inside structures that are followed.
const DEEPEST: usize = 16;

/// A value that was read.
#[derive(Clone, Debug)]
pub(crate) enum Thrift {
    Number(i64),
    /// Bytes or a list, of no use here.
    Other,
    Struct(Vec<(i64, Thrift)>),
}

impl Thrift {
    /// Reads a structure from the front of `bytes`, and says how many bytes it took.
    pub(crate) fn read(bytes: &[u8]) -> Result<(Self, usize), Fault> {
        let mut reader = Reader { bytes, at: 0 };
        match reader.value(12, DEEPEST) {
            Some(value) => Ok((value, reader.at)),
            None => fault("has invalid metadata; the file is damaged"),
        }
    }

    /// The field of a structure with this number.
    pub(crate) fn field(&self, id: i64) -> Option<&Self> {
        match self {
            Self::Struct(fields) => fields.iter().find(|(n, _)| *n == id).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The field with this number, which is a number.
    pub(crate) fn number(&self, id: i64) -> Option<i64> {
        match self.field(id) {
            Some(Self::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// The field with this number, which is a length or a place.
    pub(crate) fn size(&self, id: i64) -> Option<usize> {
        self.number(id)
            .and_then(|number| usize::try_from(number).ok())
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let number = self.varint()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn skip(&mut self, length: usize) -> Option<Thrift> {
        self.bytes.get(self.at..)?.get(..length)?;
        self.at += length;
        Some(Thrift::Other)
    }

    /// A value of this type, with at most `depth` more structures around others.
    fn value(&mut self, kind: u8, depth: usize) -> Option<Thrift> {
        Some(match kind {
            1 => Thrift::Number(1),
            2 => Thrift::Number(0),
            3 => Thrift::Number(i64::from(self.byte()? as i8)),
            4..=6 => Thrift::Number(self.zigzag()?),
            7 => self.skip(8)?,
            8 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.skip(length)?
            }
            9 | 10 => self.list(depth.checked_sub(1)?)?,
            12 => self.structure(depth.checked_sub(1)?)?,
            _ => return None,
        })
    }

    fn list(&mut self, depth: usize) -> Option<Thrift> {
        let header = self.byte()?;
        let length = match header >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            short => usize::from(short),
        };
        // Every element takes a byte or more.
        if length > self.bytes.len() - self.at {
            return None;
        }
        for _ in 0..length {
            match header & 15 {
                // Truth values take a byte each in lists.
                1 | 2 => _ = self.byte()?,
                kind => _ = self.value(kind, depth)?,
            }
        }
        Some(Thrift::Other)
    }

    fn structure(&mut self, depth: usize) -> Option<Thrift> {
        let (mut fields, mut id) = (Vec::new(), 0_i64);
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Some(Thrift::Struct(fields));
            }
            id = match header >> 4 {
                0 => self.zigzag()?,
                step => id.checked_add(i64::from(step))?,
            };
            fields.push((id, self.value(header & 15, depth)?));
        }
    }
}
