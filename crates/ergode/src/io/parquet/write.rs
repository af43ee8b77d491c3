//! Writing Parquet tables.

use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::schema::UNITS;
use crate::error::{Error, Result};
use crate::io::atomic::AtomicFile;
use crate::io::layout::Layout;
use crate::io::rows::{BLOCK, Block, Sink};

/// Begins a table with a column of trajectories if there are several, one of times, and one per
/// coordinate.
pub(crate) fn create(path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
    let several = layout.lengths.len() > 1;
    let values = match layout.single {
        true => Physical::FLOAT,
        false => Physical::DOUBLE,
    };
    let mut kinds = vec![("t", Physical::DOUBLE)];
    if several {
        kinds.insert(0, ("trajectory", Physical::INT64));
    }
    kinds.extend(layout.names.iter().map(|name| (name.as_str(), values)));
    let mut units = serde_json::Map::new();
    for (name, unit) in layout.names.iter().zip((0..).map(|j| layout.unit(j))) {
        units.insert(name.clone(), unit.into());
    }
    units.insert("t".to_owned(), layout.time_unit().into());
    units.retain(|_, unit| unit != "");
    let notes = (!units.is_empty()).then(|| {
        let units = serde_json::Value::Object(units).to_string();
        vec![KeyValue::new(UNITS.to_owned(), units)]
    });
    let writer = BufWriter::with_capacity(1 << 18, AtomicFile::create(path)?);
    Ok(Box::new(TableSink {
        path: path.to_owned(),
        writer: begin(writer, &kinds, notes).map_err(|error| unwritten(path, error))?,
        several,
        dim: layout.dim,
        rows_per_group: (8 * BLOCK / kinds.len()).max(1),
        columns: vec![Vec::new(); kinds.len()],
    }))
}

/// The writer of a file of plain columns.
fn begin(
    writer: BufWriter<AtomicFile>,
    columns: &[(&str, Physical)],
    notes: Option<Vec<KeyValue>>,
) -> ParquetResult<SerializedFileWriter<BufWriter<AtomicFile>>> {
    let column = |&(name, kind): &(&str, Physical)| {
        let column = Type::primitive_type_builder(name, kind);
        Ok(Arc::new(
            column.with_repetition(Repetition::REQUIRED).build()?,
        ))
    };
    let fields = columns.iter().map(column).collect::<ParquetResult<_>>()?;
    let schema = Type::group_type_builder("schema")
        .with_fields(fields)
        .build()?;
    let properties = WriterProperties::builder()
        .set_created_by("ergode".to_owned())
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_key_value_metadata(notes)
        .build();
    SerializedFileWriter::new(writer, Arc::new(schema), Arc::new(properties))
}

fn unwritten(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::io(path, *source),
            Err(other) => Error::file(path, format!("cannot be written: {other}")),
        },
        other => Error::file(path, format!("cannot be written: {other}")),
    }
}

/// A table that is being written.
struct TableSink {
    path: PathBuf,
    writer: SerializedFileWriter<BufWriter<AtomicFile>>,
    several: bool,
    dim: usize,
    rows_per_group: usize,
    /// The rows of the present group, by column.
    columns: Vec<Vec<f64>>,
}

impl TableSink {
    /// Writes the rows that were gathered as a row group.
    fn end_group(&mut self) -> ParquetResult<()> {
        if self.columns[0].is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for numbers in &mut self.columns {
            let Some(mut column) = group.next_column()? else {
                break;
            };
            let written = match column.untyped() {
                ColumnWriter::Int64ColumnWriter(writer) => {
                    let numbers: Vec<i64> = numbers.iter().map(|&v| v as i64).collect();
                    writer.write_batch(&numbers, None, None)
                }
                ColumnWriter::FloatColumnWriter(writer) => {
                    let numbers: Vec<f32> = numbers.iter().map(|&v| v as f32).collect();
                    writer.write_batch(&numbers, None, None)
                }
                ColumnWriter::DoubleColumnWriter(writer) => writer.write_batch(numbers, None, None),
                _ => Ok(0),
            };
            written?;
            column.close()?;
            numbers.clear();
        }
        group.close()?;
        Ok(())
    }
}

impl Sink for TableSink {
    fn write(&mut self, block: &Block) -> Result<()> {
        let first = 1 + usize::from(self.several);
        for (row, &time) in block.values.chunks_exact(self.dim).zip(&block.times) {
            if self.several {
                self.columns[0].push(block.trajectory as f64);
            }
            self.columns[first - 1].push(time);
            for (column, &value) in self.columns[first..].iter_mut().zip(row) {
                column.push(value);
            }
            if self.columns[0].len() == self.rows_per_group {
                self.end_group()
                    .map_err(|error| unwritten(&self.path, error))?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let path = std::mem::take(&mut self.path);
        let finished = self.end_group().and_then(|()| self.writer.into_inner());
        let buffer = finished.map_err(|error| unwritten(&path, error))?;
        let file = buffer.into_inner();
        file.map_err(|error| Error::io(&path, error.into_error()))?
            .commit()
    }
}
