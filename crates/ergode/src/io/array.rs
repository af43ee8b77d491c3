//! Arrays of numbers in bytes: what stands in front of them, reading and writing.

use std::io::{self, Read, Write};

use super::fault::{Fault, fault};
use crate::data::{Dtype, Element, Values};
use ndarray::{ArcArray, ArrayD, Axis, Ix3, IxDyn, ShapeBuilder};

/// Bytes read at a time; a multiple of every element size.
const CHUNK: usize = 1 << 20;

/// The header of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArrayHeader {
    pub(crate) dtype: Dtype,
    /// The first index runs fastest.
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<usize>,
    /// Bytes before the data.
    pub(crate) offset: u64,
}

impl ArrayHeader {
    /// Number of elements; an error if memory could never hold them.
    pub(crate) fn elements(&self) -> Result<usize, Fault> {
        self.shape
            .iter()
            .try_fold(1_usize, |n, &k| n.checked_mul(k))
            .filter(|n| {
                n.checked_mul(self.dtype.size().max(8))
                    .is_some_and(|bytes| bytes <= isize::MAX as usize)
            })
            .ok_or_else(|| {
                Fault::Content(format!(
                    "has the impossible shape {}; the file is damaged",
                    tuple(&self.shape)
                ))
            })
    }

    /// Refuses elements that are not numbers.
    pub(crate) fn refuse_text(&self) -> Result<(), Fault> {
        match self.dtype.element {
            Element::Text(_) => fault(format!(
                "the array holds text (dtype '{}'); save numbers, for example with x.astype(float)",
                self.dtype.descr()
            )),
            _ => Ok(()),
        }
    }

    /// Refuses data of `available` bytes unless they are exactly what the shape asks for.
    pub(crate) fn check_size(&self, available: u64) -> Result<(), Fault> {
        let needed = (self.elements()? * self.dtype.size()) as u64;
        let problem = match available.cmp(&needed) {
            std::cmp::Ordering::Equal => return Ok(()),
            std::cmp::Ordering::Less => "is truncated",
            std::cmp::Ordering::Greater => "has trailing bytes",
        };
        fault(format!(
            "{problem}: shape {} of dtype '{}' needs {needed} bytes of data, the file has {available}; \
             write it again",
            tuple(&self.shape),
            self.dtype.descr()
        ))
    }
}

/// A shape as Python writes it.
pub(crate) fn tuple(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => {
            let parts: Vec<String> = shape.iter().map(usize::to_string).collect();
            format!("({})", parts.join(", "))
        }
    }
}

/// The elements of an array in C order.
pub(crate) enum Elements {
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// An array of numbers in C order.
pub(crate) struct NumberArray {
    pub(crate) shape: Vec<usize>,
    pub(crate) elements: Elements,
}

impl NumberArray {
    /// Reads the data that follow `header`, whose size must have been checked before.
    pub(crate) fn read(reader: &mut impl Read, header: &ArrayHeader) -> Result<Self, Fault> {
        /// Reads numbers of this type, in the byte order of the header, and casts them.
        macro_rules! numbers {
            ($from:ty as $to:ty) => {
                if header.dtype.big_endian {
                    read_elements(reader, header, |b| <$from>::from_be_bytes(b) as $to)?
                } else {
                    read_elements(reader, header, |b| <$from>::from_le_bytes(b) as $to)?
                }
            };
        }
        let elements = match header.dtype.element {
            Element::F4 => Elements::F32(numbers!(f32 as f32)),
            Element::F8 => Elements::F64(numbers!(f64 as f64)),
            Element::I1 => Elements::F64(numbers!(i8 as f64)),
            Element::I2 => Elements::F64(numbers!(i16 as f64)),
            Element::I4 => Elements::F64(numbers!(i32 as f64)),
            Element::I8 => Elements::F64(numbers!(i64 as f64)),
            Element::U1 => Elements::F64(numbers!(u8 as f64)),
            Element::U2 => Elements::F64(numbers!(u16 as f64)),
            Element::U4 => Elements::F64(numbers!(u32 as f64)),
            Element::U8 => Elements::F64(numbers!(u64 as f64)),
            Element::Text(_) => {
                header.refuse_text()?;
                Elements::F64(Vec::new())
            }
        };
        Ok(Self {
            shape: header.shape.clone(),
            elements,
        })
    }

    /// All elements in double precision.
    pub(crate) fn into_f64(self) -> Vec<f64> {
        match self.elements {
            Elements::F32(v) => v.into_iter().map(f64::from).collect(),
            Elements::F64(v) => v,
        }
    }

    /// The trajectories of an array of rank 1 to 3, as views of one storage.
    pub(crate) fn into_trajectories(self) -> Result<Vec<Values>, Fault> {
        let shape = match *self.shape {
            [time] => Ix3(1, time, 1),
            [time, dim] => Ix3(1, time, dim),
            [trajectories, time, dim] => Ix3(trajectories, time, dim),
            _ => {
                return Err(Fault::Content(format!(
                    "the array has shape {}; use (time,), (time, dimension) or (trajectory, time, \
                     dimension)",
                    tuple(&self.shape)
                )));
            }
        };
        if self.shape.contains(&0) {
            return Err(Fault::Content(format!(
                "the array is empty, of shape {}; give at least one row and one coordinate",
                tuple(&self.shape)
            )));
        }
        fn split<A: Clone>(shape: Ix3, elements: Vec<A>) -> Vec<Values>
        where
            Values: From<ndarray::ArcArray2<A>>,
        {
            let array = ArcArray::from_shape_vec(shape, elements).expect("the size was checked");
            (0..shape[0])
                .map(|k| array.clone().index_axis_move(Axis(0), k).into())
                .collect()
        }
        Ok(match self.elements {
            Elements::F32(v) => split(shape, v),
            Elements::F64(v) => split(shape, v),
        })
    }
}

fn read_elements<T: Copy, const SIZE: usize>(
    reader: &mut impl Read,
    header: &ArrayHeader,
    convert: impl Fn([u8; SIZE]) -> T,
) -> Result<Vec<T>, Fault> {
    let count = header.elements()?;
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(|_| {
        Fault::Content(format!(
            "the array of shape {} does not fit into memory",
            tuple(&header.shape)
        ))
    })?;
    let mut buffer = vec![0; CHUNK.min(count * SIZE)];
    while elements.len() < count {
        let bytes = (count - elements.len()).saturating_mul(SIZE).min(CHUNK);
        let chunk = &mut buffer[..bytes];
        reader.read_exact(chunk)?;
        elements.extend(chunk.as_chunks::<SIZE>().0.iter().map(|&b| convert(b)));
    }
    if header.fortran && header.shape.len() > 1 && count > 0 {
        let array = ArrayD::from_shape_vec(IxDyn(&header.shape).f(), elements)
            .expect("the size was checked");
        elements = array.iter().copied().collect();
    }
    Ok(elements)
}

/// Writes numbers in `dtype`, one of the two floating-point types in either order of bytes.
pub(crate) fn write_numbers(
    writer: &mut impl Write,
    dtype: Dtype,
    numbers: &[f64],
    bytes: &mut Vec<u8>,
) -> io::Result<()> {
    /// Fills the places with numbers of this type, as bytes in this order.
    macro_rules! fill {
        ($to:ty, $order:ident) => {
            for (place, &v) in bytes.as_chunks_mut().0.iter_mut().zip(numbers) {
                *place = (v as $to).$order();
            }
        };
    }
    bytes.resize(numbers.len() * dtype.size(), 0);
    match (dtype.element == Element::F4, dtype.big_endian) {
        (true, false) => fill!(f32, to_le_bytes),
        (true, true) => fill!(f32, to_be_bytes),
        (false, false) => fill!(f64, to_le_bytes),
        (false, true) => fill!(f64, to_be_bytes),
    }
    writer.write_all(bytes)
}

/// A text of characters of four bytes each.
pub(crate) fn decode_text(bytes: &[u8], big_endian: bool) -> Result<String, Fault> {
    let code = |b: &[u8; 4]| {
        if big_endian {
            u32::from_be_bytes(*b)
        } else {
            u32::from_le_bytes(*b)
        }
    };
    let mut codes: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(code).collect();
    codes.truncate(codes.iter().rposition(|&c| c != 0).map_or(0, |i| i + 1));
    codes
        .into_iter()
        .map(|c| {
            char::from_u32(c).ok_or_else(|| {
                Fault::Content(format!(
                    "holds {c:#x}, which is not a character; the file is damaged"
                ))
            })
        })
        .collect()
}
