//! Zarr arrays and groups, versions 2 and 3, in folders.

mod metadata;
mod write;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::metadata::Metadata;
use crate::data::Element;
use crate::error::{Error, Result};
use crate::io::array::{ArrayHeader, NumberArray, decode_text};
use crate::io::boxes::{Place, for_each_pair};
use crate::io::fault::{Fault, fault};
use crate::io::format::Format;
use crate::io::grid::{Grid, GridSource, Variable};
use crate::io::kind::is_zarr;
use crate::io::layout::Layout;
use crate::io::options::ReadOptions;
use crate::io::rows::{Sink, Source};

/// Numbers of unpacked chunks that are kept.
const CACHE: usize = 1 << 23;

/// Zarr: arrays in folders of chunks.
///
/// Read: versions 2 and 3, as for NetCDF; chunks uncompressed or compressed with gzip, zlib, Zstandard or
/// Blosc. Axes are named by `_ARRAY_DIMENSIONS` or `dimension_names`. Written: version 2, which every library
/// reads, not compressed.
pub(crate) struct Zarr;

impl Format for Zarr {
    fn extensions(&self) -> &'static [&'static str] {
        &["zarr"]
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
        if !is_zarr(path) {
            fs::metadata(path).map_err(|error| Error::io(path, error))?;
            return Err(Error::file(
                path,
                "content does not match its extension: it is not a folder with .zgroup, .zarray or \
                 zarr.json",
            ));
        }
        let grid = ZarrGrid::open(path).map_err(|fault| fault.at(path, ""))?;
        Ok(Box::new(GridSource::new(path, grid, options)?))
    }

    fn create(&self, path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
        write::create(path, layout)
    }
}

/// An open array or group.
struct ZarrGrid {
    variables: Vec<Variable>,
    arrays: Vec<Metadata>,
    size: u64,
    /// Unpacked chunks by array and name, and how many numbers they hold.
    cache: HashMap<(usize, String), Arc<[f64]>>,
    cached: usize,
}

impl ZarrGrid {
    fn open(path: &Path) -> std::result::Result<Self, Fault> {
        let mut found: Vec<(Variable, Metadata)> = Metadata::read(path, "x")?.into_iter().collect();
        if found.is_empty() {
            let mut folders: Vec<PathBuf> = fs::read_dir(path)?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<std::io::Result<_>>()?;
            folders.retain(|folder| is_zarr(folder));
            folders.sort();
            for folder in folders {
                let name = folder.file_name().unwrap_or_default().to_string_lossy();
                found.extend(Metadata::read(&folder, &name)?);
            }
        }
        let mut size = 0;
        for (_, array) in &found {
            size += folder_size(&array.folder, array.shape.len() + 1)?;
        }
        let (variables, arrays) = found.into_iter().unzip();
        Ok(Self {
            variables,
            arrays,
            size,
            cache: HashMap::new(),
            cached: 0,
        })
    }

    /// The bytes of a chunk; `None` for one that was never written.
    fn chunk_bytes(&self, array: usize, key: &str) -> std::result::Result<Option<Vec<u8>>, Fault> {
        let array = &self.arrays[array];
        let path = array.folder.join(key);
        let mut bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let expected = array.chunk_elements()? * array.dtype.size();
        for codec in array.codecs.iter().rev() {
            bytes = codec
                .unpack(bytes, expected)
                .map_err(|fault| in_chunk(key, fault))?;
        }
        if bytes.len() != expected {
            return fault(format!(
                "chunk {key} is truncated: it has {} bytes instead of {expected}; write it again",
                bytes.len()
            ));
        }
        Ok(Some(bytes))
    }

    fn chunk_numbers(
        &mut self,
        array: usize,
        key: String,
    ) -> std::result::Result<Option<Arc<[f64]>>, Fault> {
        let place = (array, key);
        if let Some(chunk) = self.cache.get(&place) {
            return Ok(Some(chunk.clone()));
        }
        let Some(bytes) = self.chunk_bytes(array, &place.1)? else {
            return Ok(None);
        };
        let metadata = &self.arrays[array];
        let header = ArrayHeader {
            dtype: metadata.dtype,
            fortran: metadata.fortran,
            shape: metadata.chunk.clone(),
            offset: 0,
        };
        let numbers: Arc<[f64]> = NumberArray::read(&mut bytes.as_slice(), &header)?
            .into_f64()
            .into();
        if self.cached + numbers.len() > CACHE {
            self.cache.clear();
            self.cached = 0;
        }
        self.cached += numbers.len();
        self.cache.insert(place, numbers.clone());
        Ok(Some(numbers))
    }
}

fn in_chunk(key: &str, fault: Fault) -> Fault {
    match fault {
        Fault::Content(message) => Fault::Content(format!("chunk {key}: {message}")),
        other => other,
    }
}

/// The bytes of the files in a folder and in the folders in it.
fn folder_size(folder: &Path, deepest: usize) -> std::io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        size += if metadata.is_dir() && deepest > 0 {
            folder_size(&entry.path(), deepest - 1)?
        } else {
            metadata.len()
        };
    }
    Ok(size)
}

impl Grid for ZarrGrid {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn numbers(
        &mut self,
        variable: usize,
        start: &[usize],
        count: &[usize],
    ) -> std::result::Result<Vec<f64>, Fault> {
        let (chunk, fill) = {
            let array = &self.arrays[variable];
            (array.chunk.clone(), array.fill)
        };
        let mut out = vec![fill; count.iter().product()];
        let rank = chunk.len();
        let first: Vec<usize> = (0..rank).map(|a| start[a] / chunk[a]).collect();
        let last: Vec<usize> = (0..rank)
            .map(|a| (start[a] + count[a] - 1) / chunk[a])
            .collect();
        let mut index = first.clone();
        loop {
            let key = self.arrays[variable].key(&index);
            if let Some(numbers) = self.chunk_numbers(variable, key)? {
                let low = |a: usize| start[a].max(index[a] * chunk[a]);
                let high = |a: usize| (start[a] + count[a]).min((index[a] + 1) * chunk[a]);
                let inside: Vec<usize> = (0..rank).map(|a| low(a) - index[a] * chunk[a]).collect();
                let outside: Vec<usize> = (0..rank).map(|a| low(a) - start[a]).collect();
                let common: Vec<usize> = (0..rank).map(|a| high(a) - low(a)).collect();
                let from = Place {
                    shape: &chunk,
                    start: &inside,
                };
                let to = Place {
                    shape: count,
                    start: &outside,
                };
                for_each_pair(&from, &to, &common, |from, to, length| {
                    out[to..to + length].copy_from_slice(&numbers[from..from + length]);
                });
            }
            let Some(axis) = (0..rank).rev().find(|&a| index[a] < last[a]) else {
                return Ok(out);
            };
            index[axis] += 1;
            index[axis + 1..].copy_from_slice(&first[axis + 1..]);
        }
    }

    fn texts(&mut self, variable: usize) -> std::result::Result<Vec<String>, Fault> {
        let (length, chunk) = match (&*self.arrays[variable].shape, &*self.arrays[variable].chunk) {
            ([length], [chunk]) => (*length, *chunk),
            _ => {
                return fault(
                    "holds text with several axes; use one axis with one text per coordinate",
                );
            }
        };
        let dtype = self.arrays[variable].dtype;
        let Element::Text(1..) = dtype.element else {
            return Ok(vec![String::new(); length]);
        };
        let mut texts = Vec::new();
        for k in 0..length.div_ceil(chunk) {
            let key = self.arrays[variable].key(&[k]);
            let Some(bytes) = self.chunk_bytes(variable, &key)? else {
                return fault(format!("chunk {key} is missing; write it again"));
            };
            for text in bytes.chunks_exact(dtype.size()) {
                texts.push(decode_text(text, dtype.big_endian)?);
            }
        }
        texts.truncate(length);
        Ok(texts)
    }

    fn chunk(&self, variable: usize, axis: usize) -> usize {
        self.arrays[variable].chunk[axis]
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn capacity(&self) -> u64 {
        let ratios = self.arrays.iter().flat_map(|array| &array.codecs);
        let ratio = ratios.map(|codec| codec.largest_ratio()).max().unwrap_or(1);
        // Chunks that hold nothing but the fill value may be left out.
        self.size.saturating_mul(ratio.max(1 << 15))
    }
}
