//! The columns and row groups of a Parquet file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use parquet::basic::{Compression, ConvertedType, LogicalType, TimeUnit, Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::schema::types::ColumnDescPtr;

use super::column::Meaning;
use super::page::Chunk;
use super::thrift::Thrift;
use crate::data::Units;
use crate::io::codec::Codec;
use crate::io::fault::{Fault, fault};
use crate::io::table::is_time;

/// The note that holds units, a JSON object by the names of the columns.
pub(crate) const UNITS: &str = "units";

/// A constant column takes a few bytes for any number of rows; more than this per byte of the file
/// are not believed.
const LARGEST_RATIO: u64 = 1 << 15;

/// A column.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) column: ColumnDescPtr,
    /// The meaning of its elements, or a name of their type if it is not supported.
    pub(crate) meaning: Result<Meaning, &'static str>,
}

/// Rows whose columns are stored one after the other.
pub(crate) struct Group {
    pub(crate) rows: usize,
    pub(crate) chunks: Vec<Chunk>,
}

/// The metadata at the end of a file.
pub(crate) struct Schema {
    pub(crate) fields: Vec<Field>,
    pub(crate) groups: Vec<Group>,
    /// The note on units.
    note: Option<String>,
}

/// The complaint about what the library refuses.
pub(crate) fn unreadable(error: ParquetError) -> Fault {
    Fault::Content(format!("{error}; the file is damaged, write it again"))
}

impl Schema {
    pub(crate) fn read(file: &mut File) -> Result<Self, Fault> {
        let size = file.metadata()?.len();
        let footer = footer(file, size)?;
        // The library takes memory for as many elements as a list claims.
        Thrift::read(&footer)?;
        let metadata = ParquetMetaDataReader::decode_metadata(&footer).map_err(unreadable)?;
        let about = metadata.file_metadata();
        let (mut fields, mut kept) = (Vec::new(), Vec::new());
        for (k, column) in about.schema_descr().columns().iter().enumerate() {
            let name = column.path().parts()[0].clone();
            if column.path().parts().len() > 1 || column.max_rep_level() > 0 {
                return fault(format!(
                    "column '{name}' holds lists or records; save one column per coordinate"
                ));
            }
            // pandas stores the index of a frame under such a name.
            if !name.starts_with("__index_level_") {
                let (meaning, column) = (meaning(column), column.clone());
                fields.push(Field {
                    name,
                    column,
                    meaning,
                });
                kept.push(k);
            }
        }
        let notes = about.key_value_metadata().into_iter().flatten();
        let note = notes.into_iter().find(|note| note.key == UNITS);
        let mut schema = Self {
            fields,
            groups: Vec::new(),
            note: note.and_then(|note| note.value.clone()),
        };
        let mut rows = 0_u64;
        for group in metadata.row_groups() {
            let group = read_group(group, &kept, size)?;
            rows = rows.saturating_add(group.rows as u64);
            schema.groups.push(group);
        }
        if rows.saturating_mul(schema.fields.len() as u64) > size.saturating_mul(LARGEST_RATIO) {
            return fault(format!(
                "declares {rows} rows, too many for a file of {size} bytes; the file is damaged"
            ));
        }
        Ok(schema)
    }

    /// The units of these coordinates and of time.
    pub(crate) fn units(&self, names: &[String]) -> Option<Units> {
        let note: serde_json::Value = serde_json::from_str(self.note.as_deref()?).ok()?;
        let unit = |name: &str| note[name].as_str().unwrap_or_default().to_owned();
        let time = self.fields.iter().find(|c| is_time(&c.name));
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

/// The description at the end of a file.
fn footer(file: &mut File, size: u64) -> Result<Vec<u8>, Fault> {
    let mut tail = [0; 8];
    if size < 12 {
        return fault("is truncated; write it again");
    }
    file.seek(SeekFrom::End(-8))?;
    file.read_exact(&mut tail)?;
    if &tail[4..] == b"PARE" {
        return fault("is encrypted; write it without encryption");
    }
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if &tail[4..] != b"PAR1" || length > size - 12 {
        return fault("is truncated: the end marker of a Parquet file is missing; write it again");
    }
    let mut bytes = vec![0; length as usize];
    file.seek(SeekFrom::Start(size - 8 - length))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn meaning(column: &ColumnDescPtr) -> Result<Meaning, &'static str> {
    use ConvertedType::{TIMESTAMP_MICROS, TIMESTAMP_MILLIS, UINT_8, UINT_16, UINT_32, UINT_64};
    let (logical, converted) = (column.logical_type_ref(), column.converted_type());
    match column.physical_type() {
        Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE => Ok(Meaning::Number {
            unsigned: matches!(logical, Some(LogicalType::Integer(kind)) if !kind.is_signed)
                || matches!(converted, UINT_8 | UINT_16 | UINT_32 | UINT_64),
            // Time stamps are read in seconds.
            scale: match (logical, converted) {
                (Some(LogicalType::Timestamp(stamp)), _) => match stamp.unit {
                    TimeUnit::MILLIS => 1e-3,
                    TimeUnit::MICROS => 1e-6,
                    TimeUnit::NANOS => 1e-9,
                },
                (None, TIMESTAMP_MILLIS) => 1e-3,
                (None, TIMESTAMP_MICROS) => 1e-6,
                _ => 1.0,
            },
        }),
        Type::BYTE_ARRAY => Ok(Meaning::Text),
        Type::BOOLEAN => Err("booleans"),
        _ => Err("elements that are neither numbers nor text"),
    }
}

fn read_group(group: &RowGroupMetaData, kept: &[usize], size: u64) -> Result<Group, Fault> {
    let damaged =
        || Fault::Content("a row group has no columns or rows; the file is damaged".to_owned());
    let chunks = kept
        .iter()
        .map(|&k| chunk(group.columns().get(k).ok_or_else(damaged)?, size))
        .collect::<Result<_, _>>()?;
    Ok(Group {
        rows: usize::try_from(group.num_rows()).map_err(|_| damaged())?,
        chunks,
    })
}

fn chunk(column: &ColumnChunkMetaData, size: u64) -> Result<Chunk, Fault> {
    let codec = match column.compression() {
        Compression::UNCOMPRESSED => None,
        Compression::SNAPPY => Some(Codec::Snappy),
        Compression::GZIP(_) => Some(Codec::Gzip),
        Compression::ZSTD(_) => Some(Codec::Zstd),
        Compression::LZ4_RAW => Some(Codec::Lz4),
        _ => {
            return fault(
                "a column uses a compression that is not supported; use snappy, gzip, zstd, lz4 or none",
            );
        }
    };
    let data = column.data_page_offset();
    let dictionary = column.dictionary_page_offset().filter(|&at| at > 0);
    let place = |n: i64| {
        u64::try_from(n).map_err(|_| {
            Fault::Content("a column has no valid offset; the file is damaged".to_owned())
        })
    };
    let start = place(dictionary.map_or(data, |at| at.min(data)))?;
    let end = start.saturating_add(place(column.compressed_size())?);
    if end > size {
        return fault("is truncated: a column reaches beyond its end; write it again");
    }
    Ok(Chunk { start, end, codec })
}
