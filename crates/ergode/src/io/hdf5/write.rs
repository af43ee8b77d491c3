//! Writing HDF5: contiguous arrays in one group, superblock and object headers of version 2.

use std::io::Write;
use std::path::Path;

use crate::data::Dtype;
use crate::error::{Error, Result};
use crate::io::atomic::AtomicFile;
use crate::io::grid::{FileStore, GridSink, Region};
use crate::io::layout::Layout;
use crate::io::rows::Sink;

/// Bytes of the superblock.
const SUPERBLOCK: u64 = 48;

/// An address that stands for none.
const NOWHERE: u64 = u64::MAX;

/// The type of the elements of an array.
#[derive(Clone, Copy)]
enum Element {
    Single,
    Double,
    /// Text of this many bytes, filled up with zeros.
    Text(usize),
}

impl Element {
    fn size(self) -> u64 {
        match self {
            Self::Single => 4,
            Self::Double => 8,
            Self::Text(width) => width as u64,
        }
    }

    /// The datatype message.
    fn message(self) -> Vec<u8> {
        /// Class, order of bytes, and where sign, exponent and mantissa stand, in bits.
        fn float(size: u32, exponent: u8, mantissa: u8, bias: u32) -> Vec<u8> {
            let bits = 8 * size as u16;
            let mut out = vec![0x11, 0x20, (bits - 1) as u8, 0];
            out.extend(size.to_le_bytes());
            out.extend([0, 0]);
            out.extend(bits.to_le_bytes());
            out.extend([mantissa, exponent, 0, mantissa]);
            out.extend(bias.to_le_bytes());
            out
        }
        match self {
            Self::Single => float(4, 8, 23, 127),
            Self::Double => float(8, 11, 52, 1023),
            Self::Text(width) => {
                let mut out = vec![0x13, 0x11, 0, 0];
                out.extend((width as u32).to_le_bytes());
                out
            }
        }
    }
}

/// An array to be written.
struct Array {
    name: &'static str,
    element: Element,
    shape: Vec<usize>,
    unit: String,
    /// Its content, where it is known already.
    bytes: Vec<u8>,
}

impl Array {
    fn size(&self) -> u64 {
        let elements: u64 = self.shape.iter().map(|&n| n as u64).product();
        elements * self.element.size()
    }

    /// The object header of the array, whose data are at `address`.
    fn header(&self, address: u64) -> Vec<u8> {
        let mut layout = vec![3, 1];
        layout.extend(address.to_le_bytes());
        layout.extend(self.size().to_le_bytes());
        let mut messages = vec![
            (0x01, dataspace(&self.shape)),
            (0x03, self.element.message()),
            // Space is taken late, and a fill value is written only if there is one: there is none.
            (0x05, vec![3, 0x0a]),
            (0x08, layout),
        ];
        if !self.unit.is_empty() {
            messages.push((0x0c, attribute("units", &self.unit)));
        }
        object_header(&messages)
    }
}

/// Begins a file.
pub(crate) fn create(path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
    let arrays = arrays(layout);
    // Headers do not change their size with the addresses in them.
    let root_size = group(&arrays, &vec![0; arrays.len()]).len() as u64;
    let mut next = SUPERBLOCK + root_size;
    let headers: Vec<u64> = arrays
        .iter()
        .map(|array| advance(&mut next, array.header(0).len() as u64))
        .collect();
    let places: Vec<u64> = arrays
        .iter()
        .map(|array| {
            next = next.next_multiple_of(8);
            advance(&mut next, array.size())
        })
        .collect();
    let mut start = superblock(next, SUPERBLOCK);
    start.extend(group(&arrays, &headers));
    for (array, &place) in arrays.iter().zip(&places) {
        start.extend(array.header(place));
    }
    for (array, &place) in arrays.iter().zip(&places) {
        if !array.bytes.is_empty() {
            start.resize(place as usize, 0);
            start.extend_from_slice(&array.bytes);
        }
    }
    let mut file = AtomicFile::create(path)?;
    file.write_all(&start)
        .and_then(|()| file.file().set_len(next))
        .map_err(|error| Error::io(path, error))?;
    let [.., times, values] = places[..] else {
        unreachable!("times and values are always written")
    };
    let region = |offset, single| Region {
        offset,
        dtype: Dtype::float(single),
    };
    let times = region(times, false);
    let store = FileStore::new(file, region(values, layout.single), Some(times));
    Ok(Box::new(GridSink::new(path, store, layout)?))
}

/// The present place, and moves on.
fn advance(next: &mut u64, size: u64) -> u64 {
    let place = *next;
    *next += size;
    place
}

/// Names and units, then times and values.
fn arrays(layout: &Layout) -> Vec<Array> {
    let texts = |name, texts: Vec<&str>| {
        let width = texts
            .iter()
            .map(|text| text.len())
            .max()
            .unwrap_or(0)
            .max(1);
        let mut bytes = Vec::with_capacity(width * texts.len());
        for text in &texts {
            bytes.extend_from_slice(text.as_bytes());
            bytes.resize(bytes.len() + width - text.len(), 0);
        }
        Array {
            name,
            element: Element::Text(width),
            shape: vec![texts.len()],
            unit: String::new(),
            bytes,
        }
    };
    let mut arrays = vec![texts(
        "names",
        layout.names.iter().map(String::as_str).collect(),
    )];
    let units: Vec<&str> = (0..layout.dim).map(|j| layout.unit(j)).collect();
    let unit = units[0].to_owned();
    // Units that are all the same fit into a note.
    let several = units.iter().any(|other| *other != unit);
    if several {
        arrays.push(texts("units", units));
    }
    let shape = [layout.lengths.len(), layout.longest(), layout.dim];
    let shared = usize::from(layout.shared_times);
    let numbers = |name, element, shape: &[usize], unit: String| Array {
        name,
        element,
        shape: shape.to_vec(),
        unit,
        bytes: Vec::new(),
    };
    let times = &shape[shared..2];
    arrays.push(numbers(
        "t",
        Element::Double,
        times,
        layout.time_unit().to_owned(),
    ));
    let element = if layout.single {
        Element::Single
    } else {
        Element::Double
    };
    let unit = if several { String::new() } else { unit };
    arrays.push(numbers("x", element, &shape, unit));
    arrays
}

fn superblock(end: u64, root: u64) -> Vec<u8> {
    let mut out = b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00".to_vec();
    for address in [0, NOWHERE, end, root] {
        out.extend(address.to_le_bytes());
    }
    out.extend(lookup3(&out).to_le_bytes());
    out
}

/// The object header of the root group, with links to the headers of the arrays.
fn group(arrays: &[Array], headers: &[u64]) -> Vec<u8> {
    let mut info = vec![0, 0];
    info.extend(NOWHERE.to_le_bytes());
    info.extend(NOWHERE.to_le_bytes());
    let mut messages = vec![(0x02, info), (0x0a, vec![0, 0])];
    for (array, address) in arrays.iter().zip(headers) {
        let mut link = vec![1, 0, array.name.len() as u8];
        link.extend_from_slice(array.name.as_bytes());
        link.extend(address.to_le_bytes());
        messages.push((0x06, link));
    }
    object_header(&messages)
}

fn object_header(messages: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let size: usize = messages.iter().map(|(_, data)| 4 + data.len()).sum();
    let mut out = b"OHDR\x02\x02".to_vec();
    out.extend((size as u32).to_le_bytes());
    for (kind, data) in messages {
        out.push(*kind);
        out.extend((data.len() as u16).to_le_bytes());
        out.push(0);
        out.extend_from_slice(data);
    }
    out.extend(lookup3(&out).to_le_bytes());
    out
}

fn dataspace(shape: &[usize]) -> Vec<u8> {
    let simple = u8::from(!shape.is_empty());
    let mut out = vec![2, shape.len() as u8, 0, simple];
    for &length in shape {
        out.extend((length as u64).to_le_bytes());
    }
    out
}

/// An attribute that is one text.
fn attribute(name: &str, text: &str) -> Vec<u8> {
    let (datatype, space) = (Element::Text(text.len()).message(), dataspace(&[]));
    let mut out = vec![3, 0];
    for length in [name.len() + 1, datatype.len(), space.len()] {
        out.extend((length as u16).to_le_bytes());
    }
    out.push(1);
    out.extend_from_slice(name.as_bytes());
    out.push(0);
    out.extend(datatype);
    out.extend(space);
    out.extend_from_slice(text.as_bytes());
    out
}

/// Bob Jenkins' hash lookup3 with initial value 0, the checksum of HDF5.
fn lookup3(bytes: &[u8]) -> u32 {
    let mut state = [0xdead_beef_u32.wrapping_add(bytes.len() as u32); 3];
    let blocks = bytes.len().saturating_sub(1) / 12;
    for (k, block) in bytes.chunks(12).enumerate() {
        let mut padded = [0; 12];
        padded[..block.len()].copy_from_slice(block);
        for (number, word) in state.iter_mut().zip(padded.as_chunks::<4>().0) {
            *number = number.wrapping_add(u32::from_le_bytes(*word));
        }
        if k < blocks {
            mix(&mut state);
        } else {
            finish(&mut state);
        }
    }
    state[2]
}

fn mix([a, b, c]: &mut [u32; 3]) {
    /// `x -= z; x ^= z rotated; z += y`.
    fn step(x: &mut u32, y: u32, z: &mut u32, by: u32) {
        *x = x.wrapping_sub(*z) ^ z.rotate_left(by);
        *z = z.wrapping_add(y);
    }
    step(a, *b, c, 4);
    step(b, *c, a, 6);
    step(c, *a, b, 8);
    step(a, *b, c, 16);
    step(b, *c, a, 19);
    step(c, *a, b, 4);
}

fn finish([a, b, c]: &mut [u32; 3]) {
    /// `x ^= y; x -= y rotated`.
    fn step(x: &mut u32, y: u32, by: u32) {
        *x = (*x ^ y).wrapping_sub(y.rotate_left(by));
    }
    step(c, *b, 14);
    step(a, *c, 11);
    step(b, *a, 25);
    step(c, *b, 16);
    step(a, *c, 4);
    step(b, *a, 14);
    step(c, *b, 24);
}

#[cfg(test)]
mod tests {
    use super::lookup3;

    #[test]
    fn the_checksum_is_that_of_its_author() {
        // Values of the driver program published with the algorithm.
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }
}
