//! The compact protocol of Thrift, in which Parquet describes itself.

use crate::io::fault::{Fault, fault};

/// Structures inside structures that are followed.
const DEEPEST: usize = 16;

/// A value that was read.
#[derive(Clone, Debug)]
pub(crate) enum Thrift<'a> {
    Number(i64),
    Bytes(&'a [u8]),
    List(Vec<Thrift<'a>>),
    Struct(Vec<(i64, Thrift<'a>)>),
}

impl<'a> Thrift<'a> {
    /// Reads a structure from the front of `bytes`, and says how many bytes it took.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<(Self, usize), Fault> {
        let mut reader = Reader { bytes, at: 0 };
        match reader.value(12, DEEPEST) {
            Some(value) => Ok((value, reader.at)),
            None => fault("has a description that cannot be understood; the file is damaged"),
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

    /// The field with this number, which is text.
    pub(crate) fn text(&self, id: i64) -> Option<String> {
        match self.field(id) {
            Some(Self::Bytes(bytes)) => Some(String::from_utf8_lossy(bytes).into_owned()),
            _ => None,
        }
    }

    /// The elements of the field with this number, none if it is not a list.
    pub(crate) fn list(&self, id: i64) -> &[Self] {
        match self.field(id) {
            Some(Self::List(list)) => list,
            _ => &[],
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
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

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let bytes = self.bytes.get(self.at..)?.get(..length)?;
        self.at += length;
        Some(bytes)
    }

    /// A value of this type, with at most `depth` more structures around others.
    fn value(&mut self, kind: u8, depth: usize) -> Option<Thrift<'a>> {
        Some(match kind {
            1 => Thrift::Number(1),
            2 => Thrift::Number(0),
            3 => Thrift::Number(i64::from(self.byte()? as i8)),
            4..=6 => Thrift::Number(self.zigzag()?),
            7 => Thrift::Bytes(self.take(8)?),
            8 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Thrift::Bytes(self.take(length)?)
            }
            9 | 10 => self.list(depth.checked_sub(1)?)?,
            12 => self.structure(depth.checked_sub(1)?)?,
            _ => return None,
        })
    }

    fn list(&mut self, depth: usize) -> Option<Thrift<'a>> {
        let header = self.byte()?;
        let length = match header >> 4 {
            15 => usize::try_from(self.varint()?).ok()?,
            short => usize::from(short),
        };
        // Every element takes a byte or more.
        if length > self.bytes.len() - self.at {
            return None;
        }
        let mut list = Vec::new();
        for _ in 0..length {
            list.push(match header & 15 {
                // Truth values take a byte each in lists.
                1 | 2 => Thrift::Number(i64::from(self.byte()? == 1)),
                kind => self.value(kind, depth)?,
            });
        }
        Some(Thrift::List(list))
    }

    fn structure(&mut self, depth: usize) -> Option<Thrift<'a>> {
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

/// A structure as it is being written; fields come in order of their numbers.
#[derive(Default)]
pub(crate) struct Fields {
    bytes: Vec<u8>,
    last: u8,
}

impl Fields {
    fn begin(&mut self, id: u8, kind: u8) {
        self.bytes.push((id - self.last) << 4 | kind);
        self.last = id;
    }

    /// Adds a number of 32 bits.
    pub(crate) fn int(mut self, id: u8, number: i64) -> Self {
        self.begin(id, 5);
        zigzag(&mut self.bytes, number);
        self
    }

    /// Adds a number of 64 bits.
    pub(crate) fn long(mut self, id: u8, number: i64) -> Self {
        self.begin(id, 6);
        zigzag(&mut self.bytes, number);
        self
    }

    /// Adds text.
    pub(crate) fn text(mut self, id: u8, text: &str) -> Self {
        self.begin(id, 8);
        push_text(&mut self.bytes, text);
        self
    }

    /// Adds a structure.
    pub(crate) fn inner(mut self, id: u8, fields: Self) -> Self {
        self.begin(id, 12);
        self.bytes.extend(fields.end());
        self
    }

    /// Adds a list of structures.
    pub(crate) fn structures(mut self, id: u8, list: Vec<Self>) -> Self {
        self.begin(id, 9);
        push_length(&mut self.bytes, list.len(), 12);
        for fields in list {
            self.bytes.extend(fields.end());
        }
        self
    }

    /// Adds a list of numbers of 32 bits.
    pub(crate) fn ints(mut self, id: u8, list: &[i64]) -> Self {
        self.begin(id, 9);
        push_length(&mut self.bytes, list.len(), 5);
        for number in list {
            zigzag(&mut self.bytes, *number);
        }
        self
    }

    /// Adds a list of texts.
    pub(crate) fn texts(mut self, id: u8, list: &[&str]) -> Self {
        self.begin(id, 9);
        push_length(&mut self.bytes, list.len(), 8);
        for text in list {
            push_text(&mut self.bytes, text);
        }
        self
    }

    /// The bytes of the structure.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn zigzag(out: &mut Vec<u8>, number: i64) {
    varint(out, ((number << 1) ^ (number >> 63)) as u64);
}

fn push_text(out: &mut Vec<u8>, text: &str) {
    varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn push_length(out: &mut Vec<u8>, length: usize, kind: u8) {
    if length < 15 {
        out.push((length as u8) << 4 | kind);
    } else {
        out.push(0xf0 | kind);
        varint(out, length as u64);
    }
}
