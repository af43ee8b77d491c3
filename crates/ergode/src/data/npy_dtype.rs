//! The element types of NumPy arrays that can be read.

use super::grid::Content;
use super::npy_header::{Fault, fault};

/// What the elements of an array are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F4,
    F8,
    I1,
    I2,
    I4,
    I8,
    U1,
    U2,
    U4,
    U8,
    /// Text of this many characters of four bytes each.
    Text(usize),
}

/// The type of the elements of an array and the order of their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dtype {
    pub(crate) element: Element,
    pub(crate) big_endian: bool,
}

impl Dtype {
    /// Little-endian single precision.
    pub(crate) const F32: Self = Self::little(Element::F4);
    /// Little-endian double precision.
    pub(crate) const F64: Self = Self::little(Element::F8);

    /// Little-endian single or double precision.
    pub(crate) fn float(single: bool) -> Self {
        if single { Self::F32 } else { Self::F64 }
    }

    /// What the elements are, in the words of files of arrays.
    pub(super) fn content(self) -> Content {
        match self.element {
            Element::F4 => Content::Single,
            Element::F8 => Content::Double,
            Element::Text(_) => Content::Text,
            _ => Content::Integer,
        }
    }

    /// Little-endian elements.
    pub(crate) const fn little(element: Element) -> Self {
        Self {
            element,
            big_endian: false,
        }
    }

    /// Bytes per element.
    pub(crate) fn size(self) -> usize {
        match self.element {
            Element::I1 | Element::U1 => 1,
            Element::I2 | Element::U2 => 2,
            Element::F4 | Element::I4 | Element::U4 => 4,
            Element::F8 | Element::I8 | Element::U8 => 8,
            Element::Text(characters) => 4 * characters,
        }
    }

    /// True for floating-point elements.
    pub(crate) fn is_float(self) -> bool {
        matches!(self.element, Element::F4 | Element::F8)
    }

    /// The type that NumPy calls `descr`, or why it cannot be read.
    pub(super) fn parse(descr: &str) -> Result<Self, Fault> {
        let (order, rest) = match descr.as_bytes().first() {
            Some(b'<' | b'>' | b'|' | b'=') => descr.split_at(1),
            _ => ("=", descr),
        };
        let element = match rest {
            "f4" => Element::F4,
            "f8" => Element::F8,
            "i1" => Element::I1,
            "i2" => Element::I2,
            "i4" => Element::I4,
            "i8" => Element::I8,
            "u1" => Element::U1,
            "u2" => Element::U2,
            "u4" => Element::U4,
            "u8" => Element::U8,
            _ => match rest.strip_prefix('U').map(str::parse::<u32>) {
                Some(Ok(characters)) if characters <= 1 << 20 => Element::Text(characters as usize),
                _ => return fault(refusal(descr, rest)),
            },
        };
        let big_endian = match order {
            ">" => true,
            "=" => cfg!(target_endian = "big"),
            _ => false,
        };
        Ok(Self {
            element,
            big_endian,
        })
    }

    /// The name NumPy gives to this type.
    pub(crate) fn descr(self) -> String {
        let order = match (self.size(), self.big_endian) {
            (1, _) => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        let rest = match self.element {
            Element::F4 => "f4",
            Element::F8 => "f8",
            Element::I1 => "i1",
            Element::I2 => "i2",
            Element::I4 => "i4",
            Element::I8 => "i8",
            Element::U1 => "u1",
            Element::U2 => "u2",
            Element::U4 => "u4",
            Element::U8 => "u8",
            Element::Text(characters) => return format!("{order}U{characters}"),
        };
        format!("{order}{rest}")
    }
}

fn refusal(descr: &str, rest: &str) -> String {
    let kind = match rest.as_bytes().first() {
        Some(b'b' | b'?') => "truth values (bool)",
        Some(b'c') => "complex numbers",
        Some(b'O') => "Python objects",
        Some(b'S' | b'a') => "byte strings",
        Some(b'U') => "text",
        Some(b'V') => "raw bytes or records",
        Some(b'M' | b'm') => "dates or time differences",
        Some(b'f') => "floating-point numbers of an unusual size",
        _ => "elements of an unknown type",
    };
    format!(
        "the array holds {kind} (dtype '{descr}'); \
         save it as float64, float32 or integers, for example with x.astype(float)"
    )
}
