//! The columns and row groups of a Parquet file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::page::{Dictionary, Physical};
use super::thrift::Thrift;
use super::{ColumnReader, write};
use crate::data::{Dtype, Element, Units};
use crate::io::codec::Codec;
use crate::io::fault::{Fault, fault};

/// A constant column takes a few bytes for any number of rows; more than this per byte of the file
/// are not believed.
const LARGEST_RATIO: u64 = 1 << 15;

/// A column.
pub(crate) struct Column {
    pub(crate) name: String,
    /// How its elements are stored, or what they are if that is no use.
    pub(crate) physical: Result<Physical, String>,
    pub(crate) single: bool,
    optional: bool,
}

impl Column {
    /// A reader of one chunk of the column.
    pub(crate) fn reader(&self, physical: Physical, chunk: &Chunk) -> ColumnReader {
        ColumnReader {
            physical,
            optional: self.optional,
            chunk: *chunk,
            at: chunk.start,
            dictionary: Dictionary::default(),
            page: None,
        }
    }
}

/// The bytes of a column in a row group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) codec: Option<Codec>,
}

/// Rows whose columns are stored one after the other.
pub(crate) struct Group {
    pub(crate) rows: usize,
    pub(crate) chunks: Vec<Chunk>,
}

/// What the end of a file says.
pub(crate) struct Schema {
    pub(crate) columns: Vec<Column>,
    pub(crate) groups: Vec<Group>,
    /// The note on units.
    note: Option<String>,
}

impl Schema {
    pub(crate) fn read(file: &mut File) -> Result<Self, Fault> {
        let size = file.metadata()?.len();
        let mut tail = [0; 8];
        if size < 12 {
            return fault("is truncated; write it again");
        }
        file.seek(SeekFrom::End(-8))?;
        file.read_exact(&mut tail)?;
        if &tail[4..] == b"PARE" {
            return fault("is encrypted; write it without");
        }
        let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
        if &tail[4..] != b"PAR1" || length > size - 12 {
            return fault("is truncated: its end is not that of a Parquet file; write it again");
        }
        let mut bytes = vec![0; length as usize];
        file.seek(SeekFrom::Start(size - 8 - length))?;
        file.read_exact(&mut bytes)?;
        let (footer, _) = Thrift::read(&bytes)?;
        let (columns, kept) = columns(footer.list(2))?;
        let mut schema = Self {
            columns,
            groups: Vec::new(),
            note: footer
                .list(5)
                .iter()
                .find(|pair| pair.text(1).as_deref() == Some(write::UNITS))
                .and_then(|pair| pair.text(2)),
        };
        let mut rows = 0_u64;
        for group in footer.list(4) {
            let group = read_group(group, &kept, size)?;
            rows = rows.saturating_add(group.rows as u64);
            schema.groups.push(group);
        }
        if rows.saturating_mul(schema.columns.len() as u64) > size.saturating_mul(LARGEST_RATIO) {
            return fault(format!(
                "claims {rows} rows, which a file of {size} bytes cannot hold; the file is damaged"
            ));
        }
        Ok(schema)
    }

    /// The units of these coordinates and of time.
    pub(crate) fn units(&self, names: &[String]) -> Option<Units> {
        let note: serde_json::Value = serde_json::from_str(self.note.as_deref()?).ok()?;
        let unit = |name: &str| note[name].as_str().unwrap_or_default().to_owned();
        let time = self
            .columns
            .iter()
            .find(|c| super::super::table::is_time(&c.name));
        let mut coordinates: Vec<String> = names.iter().map(|name| unit(name)).collect();
        if coordinates.iter().all(String::is_empty) {
            coordinates.clear();
        }
        Some(Units {
            coordinates,
            time: time.map(|c| unit(&c.name)).unwrap_or_default(),
        })
    }
}

/// The columns, and which of those of the file they are.
fn columns(elements: &[Thrift<'_>]) -> Result<(Vec<Column>, Vec<usize>), Fault> {
    let (mut columns, mut kept) = (Vec::new(), Vec::new());
    for (k, element) in elements.iter().skip(1).enumerate() {
        let name = element.text(4).unwrap_or_default();
        let nested = element.number(5).is_some_and(|children| children > 0);
        if nested || element.number(3) == Some(2) {
            return fault(format!(
                "column '{name}' holds lists or records; save one column per coordinate"
            ));
        }
        // pandas stores the index of a frame under such a name.
        if name.starts_with("__index_level_") {
            continue;
        }
        let physical = physical(element);
        columns.push(Column {
            name,
            single: matches!(physical, Ok(Physical::Number(dtype, _)) if dtype == Dtype::F32),
            physical,
            optional: element.number(3) == Some(1),
        });
        kept.push(k);
    }
    Ok((columns, kept))
}

fn physical(element: &Thrift<'_>) -> Result<Physical, String> {
    let unsigned = matches!(element.number(6), Some(11..=14));
    let dtype = match (element.number(1), unsigned) {
        (Some(1), false) => Element::I4,
        (Some(1), true) => Element::U4,
        (Some(2), false) => Element::I8,
        (Some(2), true) => Element::U8,
        (Some(4), _) => Element::F4,
        (Some(5), _) => Element::F8,
        (Some(6), _) => return Ok(Physical::Text),
        (Some(0), _) => return Err("truth values".to_owned()),
        _ => return Err("elements that are neither numbers nor text".to_owned()),
    };
    Ok(Physical::Number(Dtype::little(dtype), seconds(element)))
}

/// What makes seconds of a time stamp, 1 for other numbers.
fn seconds(element: &Thrift<'_>) -> f64 {
    let unit = element
        .field(10)
        .and_then(|logical| logical.field(8))
        .and_then(|stamp| stamp.field(2));
    match (unit, element.number(6)) {
        (Some(unit), _) if unit.field(1).is_some() => 1e-3,
        (Some(unit), _) if unit.field(2).is_some() => 1e-6,
        (Some(unit), _) if unit.field(3).is_some() => 1e-9,
        (None, Some(9)) => 1e-3,
        (None, Some(10)) => 1e-6,
        _ => 1.0,
    }
}

fn read_group(group: &Thrift<'_>, kept: &[usize], size: u64) -> Result<Group, Fault> {
    let damaged =
        || Fault::Content("a row group has no columns or rows; the file is damaged".to_owned());
    let mut chunks = Vec::with_capacity(kept.len());
    for &k in kept {
        let column = group.list(1).get(k).and_then(|column| column.field(3));
        let column = column.ok_or_else(damaged)?;
        let codec = match column.number(4) {
            Some(0) => None,
            Some(1) => Some(Codec::Snappy),
            Some(2) => Some(Codec::Gzip),
            Some(6) => Some(Codec::Zstd),
            Some(7) => Some(Codec::Lz4),
            _ => {
                return fault(
                    "a column is packed in a way that is not known; use snappy, gzip, zstd, \
                     lz4 or none",
                );
            }
        };
        let data = column.size(9).ok_or_else(damaged)? as u64;
        let dictionary = column.size(11).filter(|&at| at > 0).map(|at| at as u64);
        let start = dictionary.map_or(data, |at| at.min(data));
        let end = start.saturating_add(column.size(7).ok_or_else(damaged)? as u64);
        if end > size {
            return fault("is truncated: a column reaches beyond its end; write it again");
        }
        chunks.push(Chunk { start, end, codec });
    }
    Ok(Group {
        rows: group.size(3).ok_or_else(damaged)?,
        chunks,
    })
}
