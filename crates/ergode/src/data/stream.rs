//! Writing an ensemble that is larger than memory, some rows of every trajectory at a time.

use std::io::{self, BufWriter, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use ndarray::{ArrayView3, Axis};

use super::atomic::AtomicFile;
use super::npy::write_numbers;
use super::npy_dtype::Dtype;
use super::npy_header::write_header;
use super::npz_write::write_arrays;
use crate::error::{Error, Result};

/// An array (trajectory, time, dimension) that grows on disk; the file gets its name at the end.
pub(crate) struct NpyStream {
    path: PathBuf,
    archive: bool,
    raw: AtomicFile,
    offset: u64,
    shape: (usize, usize, usize),
    bytes: Vec<u8>,
}

impl NpyStream {
    /// Begin a `.npy` or `.npz` file of this shape.
    pub(crate) fn create(path: &Path, shape: (usize, usize, usize)) -> Result<Self> {
        let archive = match path.extension().and_then(|e| e.to_str()) {
            Some("npz") => true,
            Some("npy") => false,
            _ => {
                return Err(Error::file(
                    path,
                    "only .npz and .npy can be written piece by piece; choose one of these, or \
                     raise the memory budget",
                ));
            }
        };
        let mut raw = AtomicFile::create(path)?;
        let file = raw.file();
        let offset = write_header(file, Dtype::F64, &[shape.0, shape.1, shape.2])
            .and_then(|offset| {
                let size = (shape.0 * shape.1 * shape.2 * size_of::<f64>()) as u64;
                file.set_len(offset + size).map(|()| offset)
            })
            .map_err(|error| Error::io(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            archive,
            raw,
            offset,
            shape,
            bytes: Vec::new(),
        })
    }

    /// Write `rows` (trajectory, time, dimension) from time index `start` on.
    pub(crate) fn write_rows(&mut self, start: usize, rows: ArrayView3<f64>) -> Result<()> {
        let (_, samples, dim) = self.shape;
        let mut numbers = vec![0.0; rows.len_of(Axis(1)) * dim];
        for (k, part) in rows.outer_iter().enumerate() {
            for (number, value) in numbers.iter_mut().zip(part) {
                *number = *value;
            }
            let at = self.offset + (((k * samples + start) * dim) * size_of::<f64>()) as u64;
            let file = self.raw.file();
            file.seek(SeekFrom::Start(at))
                .and_then(|_| write_numbers(file, Dtype::F64, &numbers, &mut self.bytes))
                .map_err(|error| Error::io(&self.path, error))?;
        }
        Ok(())
    }

    /// Give the file its name, with times 0, `step`, ... where the format holds them.
    pub(crate) fn finish(mut self, step: f64, names: &[String]) -> Result<()> {
        if !self.archive {
            return self.raw.commit();
        }
        let mut archive = AtomicFile::create(&self.path)?;
        let size = (self.shape.0 * self.shape.1 * self.shape.2 * size_of::<f64>()) as u64;
        let times: Vec<f64> = (0..self.shape.1).map(|k| k as f64 * step).collect();
        let (raw, bytes) = (&mut self.raw, &mut self.bytes);
        write_arrays(
            BufWriter::with_capacity(1 << 20, archive.file()),
            size,
            |x| {
                raw.file().seek(SeekFrom::Start(0))?;
                io::copy(&mut io::BufReader::with_capacity(1 << 20, raw.file()), x)?;
                Ok(())
            },
            |t| {
                write_header(t, Dtype::F64, &[times.len()])?;
                write_numbers(t, Dtype::F64, &times, bytes)
            },
            names,
        )
        .map_err(|error| Error::io(&self.path, error.into()))?;
        archive.commit()
    }
}
