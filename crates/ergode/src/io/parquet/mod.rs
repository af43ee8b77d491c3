//! Parquet tables.

mod column;
mod page;
mod schema;
mod thrift;
mod write;

use std::fs::File;
use std::path::{Path, PathBuf};

use parquet::basic::Type;

use self::column::{Cell, Column, Meaning};
use self::schema::{Field, Schema, unreadable};
use crate::error::{Error, Result};
use crate::io::format::Format;
use crate::io::kind::{Kind, open};
use crate::io::layout::Layout;
use crate::io::options::{ReadOptions, in_file, step_of};
use crate::io::rows::{BLOCK, Block, Description, Sink, Source};
use crate::io::table::{Assembler, Columns, Role, check_names};

/// Rows of text that are decoded at once: texts may share their beginnings, which take no room in the file.
const TEXTS: usize = 256;

/// Parquet: a table in columns.
///
/// Read: flat columns of numbers in any encoding, plain or packed with Snappy, gzip, Zstandard or
/// LZ4; columns mean what they do in other tables, and nulls are gaps. Written:
/// plain columns, with the units in the notes of the file.
pub(crate) struct Parquet;

impl Format for Parquet {
    fn extensions(&self) -> &'static [&'static str] {
        &["parquet", "pq"]
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
        let mut file = open(path, &[Kind::Parquet])?;
        let schema = Schema::read(&mut file).map_err(|fault| fault.at(path, ""))?;
        let fields = schema.fields.iter().map(|field| field.name.clone());
        let columns = in_file(path, Columns::new(fields.collect(), true, options))?;
        let meanings = in_file(path, check_columns(&schema, &columns))?;
        let names = columns.coordinates();
        let is_single = |(field, (role, _)): (&Field, &(Role, String))| {
            *role != Role::Coordinate || field.column.physical_type() == Type::FLOAT
        };
        let description = Description {
            dim: names.len(),
            step: step_of(path, columns.has(Role::Time), options.dt)?,
            units: schema.units(&names),
            names: Some(names),
            single: schema.fields.iter().zip(&columns.all).all(is_single),
            rounding: f64::EPSILON,
            expected_rows: 0,
        };
        Ok(Box::new(TableSource {
            path: path.to_owned(),
            file,
            schema,
            meanings,
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

    fn is_table(&self) -> bool {
        true
    }
}

/// The meaning of the elements of every column; refuses columns of unsupported types.
fn check_columns(schema: &Schema, columns: &Columns) -> Result<Vec<Meaning>> {
    let columns = schema.fields.iter().zip(&columns.all);
    columns
        .map(|(field, (role, name))| {
            let what = match (field.meaning, role) {
                (Ok(Meaning::Text), Role::Time | Role::Coordinate) => "text",
                (Ok(meaning), _) => return Ok(meaning),
                (Err(what), _) => what,
            };
            Err(Error::input(format!(
                "column '{name}' holds {what}; leave it out or save numbers"
            )))
        })
        .collect()
}

/// A table that is being read.
struct TableSource {
    path: PathBuf,
    file: File,
    schema: Schema,
    meanings: Vec<Meaning>,
    columns: Columns,
    description: Description,
    rows: Assembler,
    group: usize,
    /// The columns of the group; `None` for those not selected.
    readers: Vec<Option<Column>>,
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
            if self.left > 0 {
                self.read_rows()?;
            } else if self.group < self.schema.groups.len() {
                self.open_group()?;
            } else {
                self.rows.close();
                if self.rows.is_empty() {
                    return Err(Error::file(&self.path, "has no rows; add data"));
                }
                return Ok(self.rows.take());
            }
        }
    }
}

impl TableSource {
    /// Opens the columns of the next group.
    fn open_group(&mut self) -> Result<()> {
        let group = &self.schema.groups[self.group];
        let columns = self.schema.fields.iter().zip(&self.meanings);
        let roles = self.columns.all.iter().map(|(role, _)| *role);
        let open = |(((field, meaning), chunk), role): (((&Field, &Meaning), &_), Role)| {
            if role == Role::Ignored {
                return Ok(None);
            }
            let file = self.file.try_clone()?;
            Ok(Some(Column::open(file, &field.column, *meaning, *chunk)))
        };
        self.readers = columns
            .zip(&group.chunks)
            .zip(roles)
            .map(open)
            .collect::<std::io::Result<_>>()
            .map_err(|error| Error::io(&self.path, error))?;
        self.left = group.rows;
        self.group += 1;
        Ok(())
    }

    /// Takes some rows of the group.
    fn read_rows(&mut self) -> Result<()> {
        let mut count = self.left.min((BLOCK / self.readers.len()).max(1));
        if self.meanings.contains(&Meaning::Text) {
            count = count.min(TEXTS);
        }
        let mut cells = Vec::with_capacity(self.readers.len());
        for (reader, (_, name)) in self.readers.iter_mut().zip(&self.columns.all) {
            let read = reader
                .as_mut()
                .map_or(Ok(Vec::new()), |reader| reader.read(count));
            let place = || format!("column '{name}' after row {}", self.row);
            cells.push(
                read.map_err(|error| unreadable(error).at(&self.path, &place()))?
                    .into_iter(),
            );
        }
        for _ in 0..count {
            let row: Vec<Option<Cell>> = cells.iter_mut().map(|c| c.next().flatten()).collect();
            let pushed = self.push(row);
            in_file(&self.path, pushed)?;
        }
        self.left -= count;
        Ok(())
    }

    /// Takes a row.
    fn push(&mut self, cells: Vec<Option<Cell>>) -> Result<()> {
        let row = self.row;
        let place = || format!("row {row} (counted from 0)");
        let missing = |name: &str, what: &str| {
            Err(Error::input(format!(
                "{}, column '{name}': the value is missing; every row needs a {what}",
                place()
            )))
        };
        let roles = || self.columns.all.iter();
        // The trajectory comes first, wherever its column is.
        match roles().position(|(role, _)| *role == Role::Trajectory) {
            None => self.rows.enter(b"", place)?,
            Some(id) => match &cells[id] {
                Some(Cell::Text(text)) => self.rows.enter(text, place)?,
                Some(Cell::Number(number)) => {
                    self.rows.enter(number.to_string().as_bytes(), place)?
                }
                None => return missing(&self.columns.all[id].1, "trajectory"),
            },
        }
        for ((role, name), cell) in self.columns.all.iter().zip(cells) {
            match (role, cell) {
                (Role::Coordinate, Some(Cell::Number(number))) => self.rows.value(number),
                (Role::Coordinate, _) => self.rows.value(f64::NAN),
                (Role::Time, Some(Cell::Number(number))) => self.rows.time(number),
                (Role::Time, _) => return missing(name, "time"),
                (Role::Trajectory | Role::Ignored, _) => {}
            }
        }
        self.rows.end_row();
        self.row += 1;
        Ok(())
    }
}
