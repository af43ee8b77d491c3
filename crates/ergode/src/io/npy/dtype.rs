//! The element types of NumPy arrays that can be read.

use crate::data::{Dtype, Element};
use crate::io::fault::{Fault, fault};

impl Dtype {
    /// The type that NumPy calls `descr`, or why it cannot be read.
    pub(crate) fn parse(descr: &str) -> Result<Self, Fault> {
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
}

fn refusal(descr: &str, rest: &str) -> String {
    let kind = match rest.as_bytes().first() {
        Some(b'b' | b'?') => "booleans (bool)",
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
