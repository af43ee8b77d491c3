//! The values of a column, decoded by the library.

use std::fs::File;

use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescPtr;

use super::page::{Chunk, Pages};

/// The meaning of the elements of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// Numbers, those of whole numbers unsigned or not, and what they are multiplied with.
    Number {
        unsigned: bool,
        scale: f64,
    },
    Text,
}

/// One element.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Number(f64),
    Text(Vec<u8>),
}

/// A column of one row group.
pub(crate) struct Column {
    reader: ColumnReader,
    meaning: Meaning,
    optional: bool,
}

impl Column {
    pub(crate) fn open(file: File, column: &ColumnDescPtr, meaning: Meaning, chunk: Chunk) -> Self {
        Self {
            reader: get_column_reader(column.clone(), Box::new(Pages::new(file, chunk))),
            meaning,
            optional: column.max_def_level() > 0,
        }
    }

    /// The next `count` elements, `None` where one is missing.
    pub(crate) fn read(&mut self, count: usize) -> Result<Vec<Option<Cell>>> {
        let (optional, meaning) = (self.optional, self.meaning);
        let (unsigned, scale) = match meaning {
            Meaning::Number { unsigned, scale } => (unsigned, scale),
            Meaning::Text => (false, 1.0),
        };
        let number = |v: f64| Cell::Number(v * scale);
        match &mut self.reader {
            ColumnReader::Int32ColumnReader(reader) => cells(reader, optional, count, |v| {
                number(if unsigned {
                    f64::from(v as u32)
                } else {
                    f64::from(v)
                })
            }),
            ColumnReader::Int64ColumnReader(reader) => cells(reader, optional, count, |v| {
                number(if unsigned { v as u64 as f64 } else { v as f64 })
            }),
            ColumnReader::FloatColumnReader(reader) => {
                cells(reader, optional, count, |v| number(f64::from(v)))
            }
            ColumnReader::DoubleColumnReader(reader) => cells(reader, optional, count, number),
            ColumnReader::ByteArrayColumnReader(reader) => {
                cells(reader, optional, count, |v| Cell::Text(v.data().to_vec()))
            }
            _ => Err(ParquetError::General(
                "elements of this type are not supported".to_owned(),
            )),
        }
    }
}

fn cells<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    optional: bool,
    count: usize,
    cell: impl Fn(T::T) -> Cell,
) -> Result<Vec<Option<Cell>>> {
    let (mut values, mut levels) = (Vec::new(), Vec::new());
    let (rows, ..) = reader.read_records(count, Some(&mut levels), None, &mut values)?;
    if rows < count {
        return Err(ParquetError::General(
            "a column has fewer rows than the file declares; write the file again".to_owned(),
        ));
    }
    let mut values = values.into_iter().map(cell);
    Ok(match optional {
        true => levels
            .iter()
            .map(|&l| if l > 0 { values.next() } else { None })
            .collect(),
        false => values.map(Some).collect(),
    })
}
