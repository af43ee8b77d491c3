//! Parquet tables.

mod page;
mod schema;
mod thrift;
mod write;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use self::page::{Cell, Dictionary, Page, PageHeader, Physical};
use self::schema::{Chunk, Schema};
use self::thrift::Thrift;
use crate::error::{Error, Result};
use crate::io::fault::{Fault, fault};
use crate::io::format::Format;
use crate::io::kind::{Kind, open};
use crate::io::layout::Layout;
use crate::io::options::{ReadOptions, in_file, step_of};
use crate::io::rows::{BLOCK, Block, Description, Sink, Source};
use crate::io::table::{Assembler, Columns, Role, check_names};

/// Parquet: a table in columns.
///
/// Read: flat columns of numbers, plain or with a dictionary, as they are or packed with Snappy,
/// gzip, Zstandard or LZ4; columns mean what they do in other tables, and nulls are gaps. Written:
/// plain columns, with the units in the notes of the file.
pub(crate) struct Parquet;

impl Format for Parquet {
    fn extensions(&self) -> &'static [&'static str] {
        &["parquet", "pq"]
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
        let mut file = open(path, &[Kind::Parquet])?;
        let schema = Schema::read(&mut file).map_err(|fault| fault.at(path, ""))?;
        let fields = schema.columns.iter().map(|column| column.name.clone());
        let columns = in_file(path, Columns::new(fields.collect(), true, options))?;
        let physical = in_file(path, check_columns(&schema, &columns))?;
        let names = columns.coordinates();
        let is_single = |(column, role): (&schema::Column, &(Role, String))| {
            role.0 != Role::Coordinate || column.single
        };
        let description = Description {
            dim: names.len(),
            step: step_of(path, columns.has(Role::Time), options.dt)?,
            units: schema.units(&names),
            names: Some(names),
            single: schema.columns.iter().zip(&columns.all).all(is_single),
            rounding: f64::EPSILON,
            expected_rows: 0,
        };
        Ok(Box::new(TableSource {
            path: path.to_owned(),
            file,
            schema,
            physical,
            columns,
            description,
            rows: Assembler::default(),
            group: 0,
            readers: Vec::new(),
            left: 0,
            row: 0,
        }))
    }

    fn create(&self, path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
        in_file(path, check_names(&layout.names))?;
        write::create(path, layout)
    }

    fn takes_any_order(&self) -> bool {
        false
    }
}

/// How the elements of every column are stored; refuses columns that are of no use.
fn check_columns(schema: &Schema, columns: &Columns) -> Result<Vec<Physical>> {
    let columns = schema.columns.iter().zip(&columns.all);
    columns
        .map(|(column, (role, name))| {
            let what = match (&column.physical, role) {
                (Ok(Physical::Text), Role::Time | Role::Coordinate) => "text",
                (Ok(physical), _) => return Ok(*physical),
                (Err(what), _) => what,
            };
            Err(Error::input(format!(
                "column '{name}' holds {what}; leave it out or save numbers"
            )))
        })
        .collect()
}

/// A column of one row group.
struct ColumnReader {
    physical: Physical,
    optional: bool,
    chunk: Chunk,
    at: u64,
    dictionary: Dictionary,
    page: Option<Page>,
}

impl ColumnReader {
    /// Makes sure that a page with rows is open.
    fn fill(&mut self, file: &mut File) -> std::result::Result<usize, Fault> {
        loop {
            if let Some(page) = self.page.as_ref().filter(|page| page.left > 0) {
                return Ok(page.left);
            }
            if self.at >= self.chunk.end {
                return fault("a column has fewer rows than the file says; write the file again");
            }
            self.next_page(file)?;
        }
    }

    fn next_page(&mut self, file: &mut File) -> std::result::Result<(), Fault> {
        let left = self.chunk.end - self.at;
        let mut window = Vec::new();
        // Headers are short, unless they hold long texts among their statistics.
        let mut wanted = 1 << 10;
        let (length, [kind, unpacked, packed], header, levels) = loop {
            window.clear();
            file.seek(SeekFrom::Start(self.at))?;
            file.take(left.min(wanted)).read_to_end(&mut window)?;
            match Thrift::read(&window) {
                Ok((header, length)) => break parts(&header, length)?,
                Err(_) if wanted < left.min(1 << 22) => wanted <<= 4,
                Err(fault) => return Err(fault),
            }
        };
        let start = self.at + length as u64;
        if (packed as u64) > self.chunk.end.saturating_sub(start) {
            return fault("a page reaches beyond its column; the file is damaged, write it again");
        }
        let mut bytes = vec![0; packed];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        self.at = start + packed as u64;
        // The levels of the newer kind of page are never packed.
        let plain = levels.min(bytes.len());
        if let Some(codec) = self
            .chunk
            .codec
            .filter(|_| header.as_ref().is_none_or(|h| h.1))
        {
            let rest = codec.unpack(&bytes[plain..], unpacked.saturating_sub(plain))?;
            bytes.truncate(plain);
            bytes.extend(rest);
        }
        match (kind, header) {
            (2, Some((header, _))) => {
                self.dictionary = Dictionary::read(&bytes, header.rows, self.physical)?;
            }
            (0 | 3, Some((header, _))) => {
                self.page = Some(Page::read(bytes, &header, self.physical, self.optional)?);
            }
            // Indices of pages are of no use here.
            _ => {}
        }
        Ok(())
    }
}

type Parts = (usize, [usize; 3], Option<(PageHeader, bool)>, usize);

/// Length of the header, kind and sizes of the page, what it holds and whether that is packed, and
/// the bytes of levels in front.
fn parts(header: &Thrift<'_>, length: usize) -> std::result::Result<Parts, Fault> {
    let damaged = || Fault::Content("a page has no size; the file is damaged".to_owned());
    let kind = header.size(1).ok_or_else(damaged)?;
    let unpacked = header.size(2).ok_or_else(damaged)?;
    let packed = header.size(3).ok_or_else(damaged)?;
    let mut front = 0;
    let field = |id| header.field(id);
    let inner = match kind {
        0 => field(5).map(|page| (page, page.number(2), None, true)),
        2 => field(7).map(|page| (page, page.number(2), None, true)),
        3 => field(8).map(|page| {
            let (levels, repeats) = (page.size(5).unwrap_or(0), page.size(6).unwrap_or(0));
            front = levels.saturating_add(repeats);
            (
                page,
                page.number(4),
                Some(levels),
                page.number(7) != Some(0),
            )
        }),
        _ => None,
    };
    let inner = inner.map(|(page, encoding, levels, is_packed)| {
        let header = PageHeader {
            rows: page.size(1).unwrap_or(0),
            encoding: encoding.unwrap_or(-1),
            levels,
        };
        (header, is_packed)
    });
    Ok((length, [kind, unpacked, packed], inner, front))
}

/// A table that is being read.
struct TableSource {
    path: PathBuf,
    file: File,
    schema: Schema,
    physical: Vec<Physical>,
    columns: Columns,
    description: Description,
    rows: Assembler,
    group: usize,
    readers: Vec<ColumnReader>,
    /// Rows left of the group, and rows read so far.
    left: usize,
    row: usize,
}

impl Source for TableSource {
    fn description(&self) -> &Description {
        &self.description
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        loop {
            if let Some(block) = self.rows.take() {
                return Ok(Some(block));
            }
            if self.left == 0 {
                let Some(group) = self.schema.groups.get(self.group) else {
                    self.rows.close();
                    if self.rows.is_empty() {
                        return Err(Error::file(&self.path, "has no rows; write it again"));
                    }
                    return Ok(self.rows.take());
                };
                self.left = group.rows;
                let columns = self.schema.columns.iter().zip(&self.physical);
                self.readers = columns
                    .zip(&group.chunks)
                    .map(|((column, physical), chunk)| column.reader(*physical, chunk))
                    .collect();
                self.group += 1;
                continue;
            }
            let count = self.left.min((BLOCK / self.readers.len()).max(1));
            for _ in 0..count {
                let row = self.row;
                let pushed = self.push();
                pushed.map_err(|problem| match problem {
                    Problem::Fault(fault) => fault.at(&self.path, &format!("row {row}")),
                    Problem::Error(error) => Error::file(&self.path, error.to_string()),
                })?;
            }
            self.left -= count;
        }
    }
}

/// What may be wrong with a row: how it is stored, or what it holds.
enum Problem {
    Fault(Fault),
    Error(Error),
}

impl TableSource {
    /// Takes the next row.
    fn push(&mut self) -> std::result::Result<(), Problem> {
        let row = self.row;
        let place = || format!("row {row} (counted from 0)");
        if !self.columns.has(Role::Trajectory) {
            self.rows.enter(b"", place).map_err(Problem::Error)?;
        }
        let id = self
            .columns
            .all
            .iter()
            .position(|c| c.0 == Role::Trajectory);
        // The trajectory comes first, wherever its column is.
        let others = (0..self.columns.all.len()).filter(|&j| Some(j) != id);
        for j in id.into_iter().chain(others) {
            let reader = &mut self.readers[j];
            reader.fill(&mut self.file).map_err(Problem::Fault)?;
            let page = reader.page.as_mut().expect("a page was opened");
            let cell = page.next(&reader.dictionary).map_err(Problem::Fault)?;
            let (role, name) = &self.columns.all[j];
            match (role, cell) {
                (Role::Trajectory, Some(Cell::Text(text))) => {
                    self.rows.enter(&text, place).map_err(Problem::Error)?;
                }
                (Role::Trajectory, Some(Cell::Number(number))) => {
                    let id = number.to_string();
                    self.rows
                        .enter(id.as_bytes(), place)
                        .map_err(Problem::Error)?;
                }
                (Role::Coordinate, Some(Cell::Number(number))) => self.rows.value(number),
                (Role::Coordinate, _) => self.rows.value(f64::NAN),
                (Role::Ignored, _) => {}
                (Role::Time, Some(Cell::Number(number))) => self.rows.time(number),
                (Role::Time | Role::Trajectory, _) => {
                    return Err(Problem::Error(Error::input(format!(
                        "{}, column '{name}': nothing is there; every row needs its {}",
                        place(),
                        if *role == Role::Time {
                            "time"
                        } else {
                            "trajectory"
                        }
                    ))));
                }
            }
        }
        self.rows.end_row();
        self.row += 1;
        Ok(())
    }
}
