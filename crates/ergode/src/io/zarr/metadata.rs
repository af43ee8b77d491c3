//! The description of a Zarr array.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::data::{Dtype, Element};
use crate::io::codec::Codec;
use crate::io::fault::{Fault, fault};
use crate::io::grid::{Note, Variable};

/// Bytes of a chunk that is still unpacked as a whole.
const LARGEST_CHUNK: usize = 1 << 31;

/// No sensible description is longer.
const LONGEST: u64 = 1 << 24;

/// A step between numbers and the bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Packed(Codec),
    /// A checksum of four bytes behind the data.
    Checksum,
}

impl Step {
    pub(crate) fn largest_ratio(self) -> u64 {
        match self {
            Self::Packed(codec) => codec.largest_ratio(),
            Self::Checksum => 1,
        }
    }

    /// The bytes behind `bytes`, of which at most `most` are numbers.
    pub(crate) fn unpack(self, mut bytes: Vec<u8>, most: usize) -> Result<Vec<u8>, Fault> {
        match self {
            // A checksum may be inside what is packed.
            Self::Packed(codec) => codec.unpack(&bytes, most + 4),
            Self::Checksum => {
                bytes.truncate(bytes.len().saturating_sub(4));
                Ok(bytes)
            }
        }
    }
}

/// How an array is stored.
#[derive(Clone, Debug)]
pub(crate) struct Metadata {
    pub(crate) folder: PathBuf,
    pub(crate) shape: Vec<usize>,
    pub(crate) chunk: Vec<usize>,
    pub(crate) dtype: Dtype,
    pub(crate) fortran: bool,
    pub(crate) fill: f64,
    /// From numbers to bytes.
    pub(crate) codecs: Vec<Step>,
    separator: char,
    /// The prefix of the indices in the name of a chunk.
    prefix: &'static str,
}

impl Metadata {
    /// The array in a folder, under this name; `None` for a group.
    pub(crate) fn read(folder: &Path, name: &str) -> Result<Option<(Variable, Self)>, Fault> {
        let (old, new) = (folder.join(".zarray"), folder.join("zarr.json"));
        let found = if old.is_file() {
            let attributes = folder.join(".zattrs");
            let attributes = match attributes.is_file() {
                true => json(&attributes)?,
                false => Value::Null,
            };
            Some(version2(folder, &json(&old)?, &attributes))
        } else if new.is_file() {
            let document = json(&new)?;
            (document["node_type"] == "array").then(|| version3(folder, &document))
        } else {
            None
        };
        let Some(found) = found else {
            return Ok(None);
        };
        let named = |fault| match fault {
            Fault::Content(message) => Fault::Content(format!("array '{name}': {message}")),
            other => other,
        };
        let (array, axes, notes) = found.map_err(named)?;
        array.check().map_err(named)?;
        let variable = Variable {
            name: name.to_owned(),
            axes,
            shape: array.shape.clone(),
            content: array.dtype.into(),
            notes,
        };
        Ok(Some((variable, array)))
    }

    fn check(&self) -> Result<(), Fault> {
        if self.chunk.len() != self.shape.len() || self.chunk.contains(&0) {
            return fault(format!(
                "has chunks of shape {:?} for an array of shape {:?}; the file is damaged",
                self.chunk, self.shape
            ));
        }
        self.chunk_elements().map(|_| ())
    }

    /// Elements of a chunk.
    pub(crate) fn chunk_elements(&self) -> Result<usize, Fault> {
        self.chunk
            .iter()
            .try_fold(1_usize, |n, &k| n.checked_mul(k))
            .filter(|n| {
                n.checked_mul(self.dtype.size().max(8))
                    .is_some_and(|bytes| bytes <= LARGEST_CHUNK)
            })
            .ok_or_else(|| {
                Fault::Content(format!(
                    "has chunks of shape {:?}, more than {LARGEST_CHUNK} bytes each; write smaller chunks",
                    self.chunk
                ))
            })
    }

    /// The name of the chunk with this index.
    pub(crate) fn key(&self, index: &[usize]) -> String {
        let indices: Vec<String> = index.iter().map(usize::to_string).collect();
        let mut key = self.prefix.to_owned();
        if self.prefix == "c" && !index.is_empty() {
            key.push(self.separator);
        }
        if self.prefix.is_empty() && index.is_empty() {
            key.push('0');
        }
        key + &indices.join(&self.separator.to_string())
    }
}

fn json(path: &Path) -> Result<Value, Fault> {
    let size = fs::metadata(path)?.len();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if size > LONGEST {
        return fault(format!(
            "{name} has {size} bytes, more than {LONGEST}; the file is damaged"
        ));
    }
    serde_json::from_slice(&fs::read(path)?)
        .map_err(|error| Fault::Content(format!("{name} is damaged ({error}); write it again")))
}

type Found = (Metadata, Vec<String>, Vec<(String, Note)>);

fn version2(folder: &Path, document: &Value, attributes: &Value) -> Result<Found, Fault> {
    if document["filters"]
        .as_array()
        .is_some_and(|filters| !filters.is_empty())
    {
        return fault("has filters, which are not supported; write it without filters");
    }
    let Some(descr) = document["dtype"].as_str() else {
        return fault("holds records with named fields; save the fields as plain arrays");
    };
    let codecs = match &document["compressor"] {
        Value::Null => Vec::new(),
        compressor => vec![packed(compressor["id"].as_str().unwrap_or_default())?],
    };
    let mut notes = notes(attributes);
    let fill = fill(&document["fill_value"]);
    // In version 2 the fill value of packed numbers marks gaps.
    if notes.iter().any(|(name, _)| name == "scale_factor") && !fill.is_nan() {
        notes.push(("_FillValue".to_owned(), Note::Numbers(vec![fill])));
    }
    let array = Metadata {
        folder: folder.to_owned(),
        shape: lengths(&document["shape"])?,
        chunk: lengths(&document["chunks"])?,
        dtype: Dtype::parse(descr)?,
        fortran: document["order"] == "F",
        fill,
        codecs,
        separator: separator(&document["dimension_separator"], '.'),
        prefix: "",
    };
    Ok((array, texts(&attributes["_ARRAY_DIMENSIONS"]), notes))
}

fn version3(folder: &Path, document: &Value) -> Result<Found, Fault> {
    let (mut codecs, mut big_endian) = (Vec::new(), false);
    for codec in document["codecs"].as_array().into_iter().flatten() {
        match codec["name"].as_str().unwrap_or_default() {
            "bytes" => big_endian = codec["configuration"]["endian"] == "big",
            "crc32c" => codecs.push(Step::Checksum),
            "sharding_indexed" => {
                return fault("is sharded, which is not supported; write it without shards");
            }
            "transpose" => {
                return fault("is transposed, which is not supported; write it in C order");
            }
            name => codecs.push(packed(name)?),
        }
    }
    let grid = &document["chunk_grid"];
    if grid["name"] != "regular" {
        return fault(
            "has chunks of different sizes, which are not supported; write a regular grid of \
             chunks",
        );
    }
    let encoding = &document["chunk_key_encoding"];
    let default = encoding["name"] != "v2";
    let array = Metadata {
        folder: folder.to_owned(),
        shape: lengths(&document["shape"])?,
        chunk: lengths(&grid["configuration"]["chunk_shape"])?,
        dtype: Dtype {
            big_endian,
            ..data_type(&document["data_type"])?
        },
        fortran: false,
        fill: fill(&document["fill_value"]),
        codecs,
        separator: separator(
            &encoding["configuration"]["separator"],
            if default { '/' } else { '.' },
        ),
        prefix: if default { "c" } else { "" },
    };
    let axes = texts(&document["dimension_names"]);
    Ok((array, axes, notes(&document["attributes"])))
}

fn data_type(value: &Value) -> Result<Dtype, Fault> {
    let name = value
        .as_str()
        .or(value["name"].as_str())
        .unwrap_or_default();
    let element = match name {
        "float32" => Element::F4,
        "float64" => Element::F8,
        "int8" => Element::I1,
        "int16" => Element::I2,
        "int32" => Element::I4,
        "int64" => Element::I8,
        "uint8" => Element::U1,
        "uint16" => Element::U2,
        "uint32" => Element::U4,
        "uint64" => Element::U8,
        "fixed_length_utf32" => {
            let bytes = value["configuration"]["length_bytes"].as_u64().unwrap_or(0);
            Element::Text((bytes / 4).min(1 << 20) as usize)
        }
        _ => {
            return fault(format!(
                "holds elements of type '{name}'; save it as float64, float32 or integers"
            ));
        }
    };
    Ok(Dtype::little(element))
}

fn packed(name: &str) -> Result<Step, Fault> {
    let codec = match name {
        "gzip" => Codec::Gzip,
        "zlib" | "numcodecs.zlib" => Codec::Zlib,
        "zstd" | "numcodecs.zstd" => Codec::Zstd,
        "blosc" | "numcodecs.blosc" => Codec::Blosc,
        _ => {
            return fault(format!(
                "is compressed with '{name}', which is not supported; use zstd, gzip, zlib, blosc or none"
            ));
        }
    };
    Ok(Step::Packed(codec))
}

fn lengths(value: &Value) -> Result<Vec<usize>, Fault> {
    let length = |value: &Value| {
        let length = usize::try_from(value.as_u64()?).ok()?;
        (length <= isize::MAX as usize / 8).then_some(length)
    };
    value
        .as_array()
        .filter(|lengths| lengths.len() <= 32)
        .and_then(|lengths| lengths.iter().map(length).collect())
        .ok_or_else(|| {
            Fault::Content(format!(
                "has the impossible shape {value}; the file is damaged"
            ))
        })
}

fn separator(value: &Value, default: char) -> char {
    match value.as_str() {
        Some("/") => '/',
        Some(".") => '.',
        _ => default,
    }
}

/// The value of chunks that were not written: a gap unless it is a number.
fn fill(value: &Value) -> f64 {
    match value.as_str() {
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        _ => value.as_f64().unwrap_or(f64::NAN),
    }
}

fn texts(value: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let texts = value
        .as_array()
        .map(|texts| texts.iter().map(text).collect());
    texts.unwrap_or_default()
}

/// The attributes that are texts or numbers.
fn notes(value: &Value) -> Vec<(String, Note)> {
    let note = |value: &Value| match value {
        Value::String(text) => Some(Note::Text(vec![text.clone()])),
        Value::Number(number) => Some(Note::Numbers(vec![number.as_f64()?])),
        Value::Array(list) if list.iter().all(Value::is_string) => Some(Note::Text(texts(value))),
        _ => None,
    };
    let entries = value.as_object().into_iter().flatten();
    entries
        .filter_map(|(name, value)| Some((name.clone(), note(value)?)))
        .collect()
}
