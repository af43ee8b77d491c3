//! Classic NetCDF files (CDF-1, 2 and 5), and NetCDF-4, which is HDF5.

mod header;
mod write;

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use self::header::{Header, Stored};
use crate::error::Result;
use crate::io::array::{ArrayHeader, NumberArray};
use crate::io::boxes::for_each_run;
use crate::io::fault::{Fault, fault};
use crate::io::format::Format;
use crate::io::grid::{Content, Grid, GridSource, Variable, text_of};
use crate::io::kind::{Kind, kind_of, open};
use crate::io::layout::Layout;
use crate::io::options::ReadOptions;
use crate::io::rows::{Sink, Source};

/// NetCDF: named arrays with named axes.
///
/// Read: the array `x`, or the only one of floating-point numbers, or all of them where each is one
/// coordinate along time (and trajectory); axes may come in any order if one is named `time`. The
/// array `time` or `t` holds times. Packed numbers (`scale_factor`, `add_offset`) are unpacked, and
/// `_FillValue` and `missing_value` are gaps. Written: classic, `x(trajectory, time, dim)` with
/// `time(time)` or `t(trajectory, time)` and the names in `dim`.
pub(crate) struct NetCdf;

impl Format for NetCdf {
    fn extensions(&self) -> &'static [&'static str] {
        &["nc", "nc4", "cdf"]
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
        let file = open(path, &[Kind::NetCdf, Kind::Hdf5])?;
        if kind_of(path, &file)? == Kind::Hdf5 {
            return crate::io::hdf5::open_file(path, options);
        }
        let grid = Classic::open(file).map_err(|fault| fault.at(path, ""))?;
        Ok(Box::new(GridSource::new(path, grid, options)?))
    }

    fn create(&self, path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
        write::create(path, layout)
    }
}

/// An open classic file.
struct Classic {
    reader: BufReader<File>,
    position: u64,
    size: u64,
    variables: Vec<Variable>,
    stored: Vec<Stored>,
    /// Bytes between records.
    record: u64,
}

impl Classic {
    fn open(file: File) -> std::result::Result<Self, Fault> {
        let size = file.metadata()?.len();
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let header = Header::read(&mut reader, size)?;
        let mut reader = BufReader::with_capacity(1 << 20, reader.into_inner());
        reader.rewind()?;
        Ok(Self {
            reader,
            position: 0,
            size,
            variables: header.variables,
            stored: header.stored,
            record: header.record,
        })
    }

    /// Reads bytes of the file, keeping what is buffered.
    fn bytes(
        &mut self,
        at: u64,
        length: usize,
        into: &mut Vec<u8>,
    ) -> std::result::Result<(), Fault> {
        if at
            .checked_add(length as u64)
            .is_none_or(|end| end > self.size)
        {
            return fault("the data end too early; the file is damaged, write it again");
        }
        match i64::try_from(i128::from(at) - i128::from(self.position)) {
            Ok(step) => self.reader.seek_relative(step)?,
            Err(_) => _ = self.reader.seek(SeekFrom::Start(at))?,
        }
        let before = into.len();
        into.resize(before + length, 0);
        self.reader.read_exact(&mut into[before..])?;
        self.position = at + length as u64;
        Ok(())
    }

    /// The bytes of a box; `shape` is that of the stored array.
    fn box_bytes(
        &mut self,
        variable: usize,
        shape: &[usize],
        start: &[usize],
        count: &[usize],
    ) -> std::result::Result<Vec<u8>, Fault> {
        let (begin, width, records) = {
            let stored = &self.stored[variable];
            (stored.begin, stored.dtype.size(), stored.records)
        };
        let mut bytes = Vec::new();
        if !records {
            for_each_run(shape, start, count, |position, length| {
                self.bytes(
                    begin + (position * width) as u64,
                    length * width,
                    &mut bytes,
                )
            })?;
            return Ok(bytes);
        }
        for record in start[0]..start[0] + count[0] {
            let base = self
                .record
                .saturating_mul(record as u64)
                .saturating_add(begin);
            for_each_run(&shape[1..], &start[1..], &count[1..], |position, length| {
                let at = base.saturating_add((position * width) as u64);
                self.bytes(at, length * width, &mut bytes)
            })?;
        }
        Ok(bytes)
    }
}

impl Grid for Classic {
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
        let bytes = self.box_bytes(variable, &shape, start, count)?;
        let header = ArrayHeader {
            dtype: self.stored[variable].dtype,
            fortran: false,
            shape: count.to_vec(),
            offset: 0,
        };
        Ok(NumberArray::read(&mut bytes.as_slice(), &header)?.into_f64())
    }

    fn texts(&mut self, variable: usize) -> std::result::Result<Vec<String>, Fault> {
        let mut shape = self.variables[variable].shape.clone();
        let width = self.stored[variable].characters;
        shape.push(width);
        if self.variables[variable].content != Content::Text || width == 0 {
            return Ok(Vec::new());
        }
        let bytes = self.box_bytes(variable, &shape, &vec![0; shape.len()], &shape)?;
        Ok(bytes.chunks_exact(width).map(text_of).collect())
    }

    fn chunk(&self, _: usize, _: usize) -> usize {
        1
    }

    fn size(&self) -> u64 {
        self.size
    }
}
