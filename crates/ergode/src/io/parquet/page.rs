//! Pages of a column: levels, dictionaries and values.

use crate::data::Dtype;
use crate::io::array::{ArrayHeader, NumberArray};
use crate::io::fault::{Fault, fault};
use std::sync::Arc;

/// How the elements of a column are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Physical {
    /// Numbers, and what they are multiplied with.
    Number(Dtype, f64),
    Text,
}

/// One element.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Number(f64),
    Text(Arc<[u8]>),
}

fn damaged<T>() -> Result<T, Fault> {
    fault("a page is damaged or cut short; write the file again")
}

/// Runs of repeated and of packed whole numbers.
struct Runs {
    bytes: Arc<[u8]>,
    at: usize,
    end: usize,
    /// Bits of a number, at most 32.
    width: u32,
    /// Numbers left of a run, the number that is repeated or the first bit of those packed.
    left: usize,
    repeated: Option<u32>,
    bit: usize,
}

impl Runs {
    fn new(bytes: Arc<[u8]>, at: usize, end: usize, width: u32) -> Self {
        Self {
            bytes,
            at,
            end,
            width,
            left: 0,
            repeated: None,
            bit: 0,
        }
    }

    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at).filter(|_| self.at < self.end)?;
        self.at += 1;
        Some(byte)
    }

    fn next(&mut self) -> Option<u32> {
        while self.left == 0 {
            self.begin_run()?;
        }
        self.left -= 1;
        if let Some(number) = self.repeated {
            return Some(number);
        }
        let mut number = 0;
        for k in 0..self.width as usize {
            let bit = self.bit + k;
            let byte = *self.bytes.get(bit / 8).filter(|_| bit / 8 < self.end)?;
            number |= u32::from(byte >> (bit % 8) & 1) << k;
        }
        self.bit += self.width as usize;
        Some(number)
    }

    fn begin_run(&mut self) -> Option<()> {
        let mut header = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            header |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let count = (header >> 1) as usize;
        if header & 1 == 1 {
            self.repeated = None;
            self.left = count * 8;
            self.bit = self.at * 8;
            self.at += count * self.width as usize;
        } else {
            let mut number = 0;
            for k in 0..self.width.div_ceil(8) {
                number |= u32::from(self.byte()?) << (8 * k);
            }
            (self.repeated, self.left) = (Some(number), count);
        }
        Some(())
    }
}

/// The values of a page that are not missing.
enum Values {
    Numbers(Vec<f64>, usize),
    Texts(Vec<Arc<[u8]>>, usize),
    Indices(Runs),
}

/// A data page that is being read.
pub(crate) struct Page {
    /// Rows that are left.
    pub(crate) left: usize,
    levels: Option<Runs>,
    values: Values,
}

/// The distinct elements of a column.
#[derive(Clone, Default)]
pub(crate) struct Dictionary(Vec<Cell>);

impl Dictionary {
    /// Reads the elements of a dictionary page.
    pub(crate) fn read(bytes: &[u8], count: usize, physical: Physical) -> Result<Self, Fault> {
        let cells: Vec<Cell> = match physical {
            Physical::Number(dtype, scale) => {
                if bytes.len() / dtype.size() < count {
                    return damaged();
                }
                let numbers = numbers(&bytes[..count * dtype.size()], dtype, scale)?;
                numbers.into_iter().map(Cell::Number).collect()
            }
            Physical::Text => texts(bytes, count)?.into_iter().map(Cell::Text).collect(),
        };
        Ok(Self(cells))
    }
}

/// What a page header says.
pub(crate) struct PageHeader {
    pub(crate) rows: usize,
    pub(crate) encoding: i64,
    /// Bytes of the levels in front, where the header tells.
    pub(crate) levels: Option<usize>,
}

impl Page {
    /// Takes a page apart; `optional` says that elements may be missing.
    pub(crate) fn read(
        bytes: Vec<u8>,
        header: &PageHeader,
        physical: Physical,
        optional: bool,
    ) -> Result<Self, Fault> {
        let bytes: Arc<[u8]> = bytes.into();
        let (mut at, mut levels) = (0, None);
        if optional {
            let length = match (header.levels, bytes.first_chunk::<4>()) {
                (Some(length), _) => length,
                (None, Some(length)) => {
                    at = 4;
                    u32::from_le_bytes(*length) as usize
                }
                (None, None) => return damaged(),
            };
            if length > bytes.len() - at {
                return damaged();
            }
            levels = Some(Runs::new(bytes.clone(), at, at + length, 1));
            at += length;
        }
        let rest = &bytes[at..];
        let values = match (header.encoding, physical) {
            (0, Physical::Number(dtype, scale)) => {
                let whole = rest.len() / dtype.size() * dtype.size();
                Values::Numbers(numbers(&rest[..whole], dtype, scale)?, 0)
            }
            (0, Physical::Text) => Values::Texts(texts(rest, usize::MAX)?, 0),
            (2 | 8, _) => {
                let Some(&width) = rest.first().filter(|&&width| width <= 32) else {
                    return damaged();
                };
                let end = bytes.len();
                Values::Indices(Runs::new(bytes.clone(), at + 1, end, u32::from(width)))
            }
            (9, Physical::Number(dtype, scale)) => {
                let joined = join(rest, dtype.size());
                Values::Numbers(numbers(&joined, dtype, scale)?, 0)
            }
            (encoding, _) => {
                return fault(format!(
                    "a column has the encoding number {encoding}, which is not known; write it \
                     plain or with a dictionary"
                ));
            }
        };
        Ok(Self {
            left: header.rows,
            levels,
            values,
        })
    }

    /// The element of the next row; `None` where it is missing.
    pub(crate) fn next(&mut self, dictionary: &Dictionary) -> Result<Option<Cell>, Fault> {
        self.left -= 1;
        if let Some(levels) = &mut self.levels {
            match levels.next() {
                Some(0) => return Ok(None),
                Some(_) => {}
                None => return damaged(),
            }
        }
        let cell = match &mut self.values {
            Values::Numbers(numbers, at) => {
                *at += 1;
                numbers.get(*at - 1).map(|&number| Cell::Number(number))
            }
            Values::Texts(texts, at) => {
                *at += 1;
                texts.get(*at - 1).map(|text| Cell::Text(text.clone()))
            }
            Values::Indices(runs) => {
                let index = runs.next();
                index.and_then(|index| dictionary.0.get(index as usize).cloned())
            }
        };
        match cell {
            Some(cell) => Ok(Some(cell)),
            None => damaged(),
        }
    }
}

fn numbers(bytes: &[u8], dtype: Dtype, scale: f64) -> Result<Vec<f64>, Fault> {
    let header = ArrayHeader {
        dtype,
        fortran: false,
        shape: vec![bytes.len() / dtype.size()],
        offset: 0,
    };
    let mut numbers = NumberArray::read(&mut &*bytes, &header)?.into_f64();
    if scale != 1.0 {
        numbers.iter_mut().for_each(|number| *number *= scale);
    }
    Ok(numbers)
}

/// Up to `most` texts, each with its length in front.
fn texts(mut bytes: &[u8], most: usize) -> Result<Vec<Arc<[u8]>>, Fault> {
    let mut texts = Vec::new();
    while texts.len() < most && !bytes.is_empty() {
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else {
            return damaged();
        };
        let Some((text, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize) else {
            return damaged();
        };
        texts.push(text.into());
        bytes = rest;
    }
    Ok(texts)
}

/// Elements whose first bytes stand first, then all second bytes, and so on.
fn join(bytes: &[u8], width: usize) -> Vec<u8> {
    let count = bytes.len() / width;
    let byte = |k: usize| bytes[k % width * count + k / width];
    (0..count * width).map(byte).collect()
}
