//! Arrays of a NumPy archive that are read row by row, where they are too large for memory once unpacked.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use flate2::CrcReader;
use flate2::bufread::DeflateDecoder;
use zip::CompressionMethod;

use crate::data::Element;
use crate::io::array::{ArrayHeader, NumberArray, decode_text};
use crate::io::fault::{Fault, fault};
use crate::io::grid::{Content, Grid, Variable};

/// Readers of an array that are kept, each further on: one reads rows, one looks for their end ahead.
const READERS: usize = 3;

/// Where an array lies in an archive.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// First byte in the file, and bytes there.
    pub(super) start: u64,
    pub(super) packed: u64,
    pub(super) compression: CompressionMethod,
    pub(super) crc: u32,
    pub(super) header: ArrayHeader,
}

/// The arrays of an archive, in C order.
pub(super) struct NpzGrid {
    path: PathBuf,
    size: u64,
    variables: Vec<Variable>,
    places: Vec<Place>,
    readers: Vec<Vec<Unpacked>>,
}

impl NpzGrid {
    pub(super) fn new(path: &Path, size: u64, arrays: Vec<(String, Place)>) -> Self {
        let variable = |(name, place): &(String, Place)| Variable {
            name: name.clone(),
            axes: Vec::new(),
            shape: place.header.shape.clone(),
            content: match place.header.fortran && place.header.shape.len() > 1 {
                true => Content::Other("numbers in Fortran order".to_owned()),
                false => place.header.dtype.into(),
            },
            notes: Vec::new(),
        };
        Self {
            path: path.to_owned(),
            size,
            variables: arrays.iter().map(variable).collect(),
            readers: arrays.iter().map(|_| Vec::new()).collect(),
            places: arrays.into_iter().map(|(_, place)| place).collect(),
        }
    }

    /// A reader that stands at an element of an array.
    fn reader_at(
        &mut self,
        variable: usize,
        element: usize,
    ) -> std::result::Result<&mut Unpacked, Fault> {
        let place = &self.places[variable];
        let readers = &mut self.readers[variable];
        // The one that has least to skip.
        let near = readers
            .iter()
            .enumerate()
            .filter(|(_, r)| r.element <= element);
        let chosen = match near.max_by_key(|(_, reader)| reader.element) {
            Some((k, _)) => k,
            None if readers.len() < READERS => {
                readers.push(Unpacked::open(&self.path, place)?);
                readers.len() - 1
            }
            None => {
                let all = readers.iter().enumerate();
                let last = all
                    .max_by_key(|(_, reader)| reader.element)
                    .map_or(0, |(k, _)| k);
                readers[last] = Unpacked::open(&self.path, place)?;
                last
            }
        };
        let reader = &mut readers[chosen];
        reader.skip(element, place)?;
        Ok(reader)
    }
}

impl Grid for NpzGrid {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn numbers(
        &mut self,
        variable: usize,
        start: &[usize],
        count: &[usize],
    ) -> std::result::Result<Vec<f64>, Fault> {
        let shape = self.variables[variable].shape.clone();
        // A box is contiguous if it is whole along all axes behind the first along which it has several.
        let several = count
            .iter()
            .position(|&n| n > 1)
            .map_or(shape.len(), |axis| axis + 1);
        if (several..shape.len()).any(|axis| count[axis] != shape[axis]) {
            return fault(
                "is stored column by column; save it as (trajectory, time, dimension) in C order",
            );
        }
        let along = start.iter().zip(&shape);
        let position = along.fold(0, |at, (&from, &length)| at * length + from);
        let part = ArrayHeader {
            shape: count.to_vec(),
            fortran: false,
            ..self.places[variable].header.clone()
        };
        let total = self.places[variable].header.elements()?;
        let crc = self.places[variable].crc;
        let reader = self.reader_at(variable, position)?;
        let numbers = NumberArray::read(&mut reader.bytes, &part)?.into_f64();
        reader.element += numbers.len();
        if reader.element == total {
            reader.end(crc)?;
        }
        Ok(numbers)
    }

    fn texts(&mut self, variable: usize) -> std::result::Result<Vec<String>, Fault> {
        let header = self.places[variable].header.clone();
        let Element::Text(width) = header.dtype.element else {
            return fault("holds no text");
        };
        let reader = self.reader_at(variable, 0)?;
        let mut bytes = vec![0; 4 * width];
        let mut texts = Vec::new();
        for _ in 0..header.elements()? {
            reader.bytes.read_exact(&mut bytes)?;
            texts.push(decode_text(&bytes, header.dtype.big_endian)?);
        }
        reader.element = usize::MAX;
        Ok(texts)
    }

    fn chunk(&self, _: usize, _: usize) -> usize {
        1
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn capacity(&self) -> u64 {
        let needed = self
            .places
            .iter()
            .map(|place| place.header.elements().unwrap_or(0));
        needed.map(|n| n as u64).max().unwrap_or(0).max(self.size)
    }
}

/// The unpacked bytes of an array, from an element on.
struct Unpacked {
    bytes: CrcReader<BufReader<Box<dyn Read>>>,
    element: usize,
}

impl Unpacked {
    fn open(path: &Path, place: &Place) -> std::result::Result<Self, Fault> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(place.start))?;
        let packed = BufReader::with_capacity(1 << 18, file.take(place.packed));
        let unpacked: Box<dyn Read> = match place.compression {
            CompressionMethod::Stored => Box::new(packed),
            CompressionMethod::Deflated => Box::new(DeflateDecoder::new(packed)),
            other => {
                return fault(format!(
                    "is compressed by {other:?}; save it with numpy.savez"
                ));
            }
        };
        let mut bytes = CrcReader::new(BufReader::with_capacity(1 << 18, unpacked));
        ArrayHeader::read(&mut bytes)?;
        Ok(Self { bytes, element: 0 })
    }

    /// Goes on to an element.
    fn skip(&mut self, element: usize, place: &Place) -> std::result::Result<(), Fault> {
        let bytes = ((element - self.element) * place.header.dtype.size()) as u64;
        let skipped = io::copy(&mut (&mut self.bytes).take(bytes), &mut io::sink())?;
        if skipped < bytes {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.element = element;
        Ok(())
    }

    /// Compares the checksum once all bytes are read.
    fn end(&mut self, crc: u32) -> std::result::Result<(), Fault> {
        match self.bytes.fill_buf()?.is_empty() && self.bytes.crc().sum() == crc {
            true => Ok(()),
            false => fault("does not match its checksum; the file is damaged, write it again"),
        }
    }
}

/// Bytes that the arrays take once they are unpacked.
pub(super) fn unpacked(arrays: &[(String, Place)]) -> u64 {
    let bytes = arrays.iter().map(|(_, place)| {
        let elements = place.header.elements().unwrap_or(usize::MAX) as u64;
        elements.saturating_mul(place.header.dtype.size() as u64)
    });
    bytes.fold(0, u64::saturating_add)
}
