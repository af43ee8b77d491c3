//! Writing Parquet tables.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::thrift::Fields;
use crate::data::Dtype;
use crate::error::{Error, Result};
use crate::io::array::write_numbers;
use crate::io::atomic::AtomicFile;
use crate::io::layout::Layout;
use crate::io::rows::{BLOCK, Block, Sink};

/// The note that holds units, a JSON object by the names of the columns.
pub(crate) const UNITS: &str = "units";

/// Numbers of Parquet's enumerations.
const INT64: i64 = 2;
const FLOAT: i64 = 4;
const DOUBLE: i64 = 5;
const PLAIN: i64 = 0;
const RLE: i64 = 3;

/// Begins a table with a column of trajectories if there are several, one of times, and one per
/// coordinate.
pub(crate) fn create(path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
    let mut writer = BufWriter::with_capacity(1 << 18, AtomicFile::create(path)?);
    writer
        .write_all(b"PAR1")
        .map_err(|error| Error::io(path, error))?;
    let mut names: Vec<String> = vec!["t".to_owned()];
    if layout.lengths.len() > 1 {
        names.insert(0, "trajectory".to_owned());
    }
    names.extend_from_slice(&layout.names);
    let mut units = serde_json::Map::new();
    for (name, unit) in layout.names.iter().zip((0..).map(|j| layout.unit(j))) {
        units.insert(name.clone(), unit.into());
    }
    units.insert("t".to_owned(), layout.time_unit().into());
    units.retain(|_, unit| unit != "");
    Ok(Box::new(TableSink {
        path: path.to_owned(),
        writer,
        at: 4,
        several: layout.lengths.len() > 1,
        dim: layout.dim,
        values: Dtype::float(layout.single),
        rows_per_group: (8 * BLOCK / names.len()).max(1),
        columns: vec![Vec::new(); names.len()],
        names,
        units,
        groups: Vec::new(),
        rows: 0,
        bytes: Vec::new(),
    }))
}

/// A table as it is being written.
struct TableSink {
    path: PathBuf,
    writer: BufWriter<AtomicFile>,
    at: i64,
    several: bool,
    dim: usize,
    values: Dtype,
    rows_per_group: usize,
    names: Vec<String>,
    units: serde_json::Map<String, serde_json::Value>,
    /// The rows of the present group, by column.
    columns: Vec<Vec<f64>>,
    groups: Vec<Fields>,
    rows: usize,
    bytes: Vec<u8>,
}

impl TableSink {
    /// The first column of coordinates.
    fn first(&self) -> usize {
        1 + usize::from(self.several)
    }

    fn kind(&self, column: usize) -> i64 {
        match column {
            0 if self.several => INT64,
            column if column < self.first() => DOUBLE,
            _ if self.values == Dtype::F32 => FLOAT,
            _ => DOUBLE,
        }
    }

    /// Writes the rows that were gathered as a row group.
    fn end_group(&mut self) -> Result<()> {
        let rows = self.columns[0].len();
        if rows == 0 {
            return Ok(());
        }
        let (mut chunks, begin) = (Vec::new(), self.at);
        for column in 0..self.columns.len() {
            let kind = self.kind(column);
            let chunk = self.write_column(column, kind);
            chunks.push(chunk.map_err(|error| Error::io(&self.path, error))?);
        }
        self.groups.push(
            Fields::default()
                .structures(1, chunks)
                .long(2, self.at - begin)
                .long(3, rows as i64),
        );
        self.rows += rows;
        self.columns.iter_mut().for_each(Vec::clear);
        Ok(())
    }

    /// Writes a column as one page, and describes it.
    fn write_column(&mut self, column: usize, kind: i64) -> std::io::Result<Fields> {
        let (begin, numbers) = (self.at, &self.columns[column]);
        let mut data = Vec::new();
        match kind {
            INT64 => numbers
                .iter()
                .for_each(|&v| data.extend((v as i64).to_le_bytes())),
            FLOAT => write_numbers(&mut data, Dtype::F32, numbers, &mut self.bytes)?,
            _ => write_numbers(&mut data, Dtype::F64, numbers, &mut self.bytes)?,
        }
        let page = Fields::default()
            .int(1, 0)
            .int(2, data.len() as i64)
            .int(3, data.len() as i64)
            .inner(
                5,
                Fields::default()
                    .int(1, numbers.len() as i64)
                    .int(2, PLAIN)
                    .int(3, RLE)
                    .int(4, RLE),
            )
            .end();
        self.writer.write_all(&page)?;
        self.writer.write_all(&data)?;
        let size = (page.len() + data.len()) as i64;
        self.at += size;
        let metadata = Fields::default()
            .int(1, kind)
            .ints(2, &[PLAIN, RLE])
            .texts(3, &[&self.names[column]])
            .int(4, 0)
            .long(5, numbers.len() as i64)
            .long(6, size)
            .long(7, size)
            .long(9, begin);
        Ok(Fields::default().long(2, begin).inner(3, metadata))
    }

    /// The description of the whole file.
    fn footer(&mut self) -> Vec<u8> {
        let root = Fields::default()
            .text(4, "schema")
            .int(5, self.names.len() as i64);
        let mut schema = vec![root];
        for (column, name) in self.names.iter().enumerate() {
            let kind = self.kind(column);
            schema.push(Fields::default().int(1, kind).int(3, 0).text(4, name));
        }
        let mut footer = Fields::default()
            .int(1, 1)
            .structures(2, schema)
            .long(3, self.rows as i64)
            .structures(4, std::mem::take(&mut self.groups));
        if !self.units.is_empty() {
            let units = serde_json::Value::Object(self.units.clone()).to_string();
            let note = Fields::default().text(1, UNITS).text(2, &units);
            footer = footer.structures(5, vec![note]);
        }
        let mut bytes = footer.text(6, "ergode").end();
        bytes.extend((bytes.len() as u32).to_le_bytes());
        bytes.extend(b"PAR1");
        bytes
    }
}

impl Sink for TableSink {
    fn write(&mut self, block: &Block) -> Result<()> {
        let first = self.first();
        for (row, &time) in block.values.chunks_exact(self.dim).zip(&block.times) {
            if self.several {
                self.columns[0].push(block.trajectory as f64);
            }
            self.columns[first - 1].push(time);
            for (column, &value) in self.columns[first..].iter_mut().zip(row) {
                column.push(value);
            }
            if self.columns[0].len() == self.rows_per_group {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.end_group()?;
        let footer = self.footer();
        let report = |error| Error::io(&self.path, error);
        self.writer.write_all(&footer).map_err(report)?;
        self.writer
            .into_inner()
            .map_err(|error| Error::io(&self.path, error.into_error()))?
            .commit()
    }
}
