//! Tables of text.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use ndarray::ArcArray2;

use super::atomic::AtomicFile;
use super::ensemble::Ensemble;
use super::format::{Format, Kind, ReadOptions, check_dt, in_file, open, times_from};
use super::trajectory::{Times, Trajectory, each};
use crate::error::{Error, Result};

/// Tables separated by commas (`.csv`) or tabs (`.tsv`), one row per sample.
///
/// A first row with a field that is not a number names the columns. A column named `t` or `time`
/// holds times, one named `trajectory`, `traj`, `id` or `run` tells the trajectories apart, whose
/// rows must be contiguous; all others are coordinates. An empty field, `nan` or `NA` is a gap.
/// Numbers are written with as many digits as it takes to read the same number again.
pub(super) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "table"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv", "tsv"]
    }

    fn read(&self, path: &Path, options: &ReadOptions) -> Result<Ensemble> {
        let file = open(path, Kind::Text)?;
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let delimiter = delimiter_of(path);
        let (mut line, mut number) = (Vec::new(), 0);
        let mut blank: Option<usize> = None;
        let mut table: Option<Table> = None;
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line);
            if read.map_err(|e| Error::io(path, e))? == 0 {
                break;
            }
            number += 1;
            let mut text = line.as_slice();
            if number == 1 {
                text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
            }
            text = text.strip_suffix(b"\n").unwrap_or(text);
            text = text.strip_suffix(b"\r").unwrap_or(text);
            if text.trim_ascii().is_empty() && !text.contains(&delimiter) {
                // Blank lines matter only if rows follow.
                blank = blank.or(table.is_some().then_some(number));
                continue;
            }
            in_file(
                path,
                take_line(&mut table, text, delimiter, number, blank.take()),
            )?;
        }
        let Some(table) = table else {
            return Err(Error::file(path, "has no rows; write it again"));
        };
        let (trajectories, names, has_times) = table.finish(path, options)?;
        let mut ensemble = in_file(path, Ensemble::new(trajectories))?;
        if let Some(names) = names {
            ensemble = in_file(path, ensemble.with_names(names))?;
        }
        if has_times {
            check_dt(path, &ensemble, options.dt)?;
        }
        Ok(ensemble)
    }

    fn write(&self, path: &Path, ensemble: &Ensemble) -> Result<()> {
        for name in ensemble.names() {
            if is_time(name) || is_trajectory(name) {
                return Err(Error::file(
                    path,
                    format!(
                        "cannot hold a coordinate named '{name}', which would be read back as \
                         something else; rename it or write .npz"
                    ),
                ));
            }
        }
        let mut atomic = AtomicFile::create(path)?;
        let mut writer = BufWriter::with_capacity(1 << 18, atomic.file());
        write_table(&mut writer, ensemble, delimiter_of(path))
            .and_then(|()| writer.flush())
            .map_err(|error| Error::io(path, error))?;
        drop(writer);
        atomic.commit()
    }
}

fn delimiter_of(path: &Path) -> u8 {
    match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("tsv") => b'\t',
        _ => b',',
    }
}

fn is_time(name: &str) -> bool {
    ["t", "time"].iter().any(|n| name.eq_ignore_ascii_case(n))
}

fn is_trajectory(name: &str) -> bool {
    ["trajectory", "traj", "id", "run"]
        .iter()
        .any(|n| name.eq_ignore_ascii_case(n))
}

/// The number in a field, NaN for a gap, `None` for anything else.
fn number_in(field: &[u8]) -> Option<f64> {
    match field {
        b"" | b"NA" | b"na" => Some(f64::NAN),
        _ => std::str::from_utf8(field).ok()?.parse().ok(),
    }
}

/// A field without the space and the quotes around it.
fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    match field {
        [b'"', inside @ .., b'"'] => inside.trim_ascii(),
        _ => field,
    }
}

fn take_line(
    table: &mut Option<Table>,
    line: &[u8],
    delimiter: u8,
    number: usize,
    blank: Option<usize>,
) -> Result<()> {
    let Some(table) = table else {
        let fields = split_header(line, delimiter, number)?;
        let is_header = fields.iter().any(|f| number_in(f.as_bytes()).is_none());
        let new = table.insert(Table::new(fields, is_header, number)?);
        return if is_header {
            Ok(())
        } else {
            new.push(line, delimiter, number)
        };
    };
    if let Some(first) = blank {
        // In a table of one column a blank line is an empty field, else it is no row at all.
        if table.columns.len() > 1 {
            return Err(Error::input(format!(
                "line {first} is blank but rows follow; \
                 write nan in every column for a gap, or remove the line"
            )));
        }
        for gap in first..number {
            table.push(b"", delimiter, gap)?;
        }
    }
    table.push(line, delimiter, number)
}

/// The fields of the first row, which may be quoted text.
fn split_header(line: &[u8], delimiter: u8, number: usize) -> Result<Vec<String>> {
    let mut record = csv::ByteRecord::new();
    csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(delimiter)
        .from_reader(line)
        .read_byte_record(&mut record)
        .map_err(|e| Error::input(format!("line {number}: {e}")))?;
    let text = |field: &[u8]| String::from_utf8_lossy(field.trim_ascii()).into_owned();
    let mut fields: Vec<String> = record.iter().map(text).collect();
    // numpy.savetxt puts "# " in front of the names.
    if let Some(first) = fields.first_mut()
        && let Some(rest) = first.strip_prefix('#')
    {
        *first = rest.trim_start().to_owned();
    }
    Ok(fields)
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Time,
    Trajectory,
    Coordinate,
}

/// The rows read so far of one trajectory.
#[derive(Default)]
struct Rows {
    values: Vec<f64>,
    times: Vec<f64>,
    count: usize,
}

/// A table as it is being read.
struct Table {
    columns: Vec<(Role, String)>,
    has_header: bool,
    trajectories: Vec<Rows>,
    /// The trajectory of the row before, and all trajectories seen.
    current: Vec<u8>,
    seen: HashSet<Vec<u8>>,
}

impl Table {
    fn new(fields: Vec<String>, has_header: bool, number: usize) -> Result<Self> {
        let columns: Vec<(Role, String)> = fields
            .into_iter()
            .enumerate()
            .map(|(j, name)| match () {
                () if !has_header => (Role::Coordinate, (j + 1).to_string()),
                () if is_time(&name) => (Role::Time, name),
                () if is_trajectory(&name) => (Role::Trajectory, name),
                () => (Role::Coordinate, name),
            })
            .collect();
        let count = |role| columns.iter().filter(|(r, _)| *r == role).count();
        if count(Role::Time) > 1 || count(Role::Trajectory) > 1 {
            return Err(Error::input(format!(
                "line {number}: several columns hold times, or several tell the trajectories \
                 apart; keep one of t and time, and one of trajectory, traj, id and run"
            )));
        }
        if count(Role::Coordinate) == 0 {
            return Err(Error::input(format!(
                "line {number}: no column holds a coordinate; add one besides the times"
            )));
        }
        Ok(Self {
            columns,
            has_header,
            trajectories: Vec::new(),
            current: Vec::new(),
            seen: HashSet::new(),
        })
    }

    fn push(&mut self, line: &[u8], delimiter: u8, number: usize) -> Result<()> {
        let fields = line.split(|&b| b == delimiter).count();
        if fields != self.columns.len() {
            return Err(Error::input(format!(
                "line {number} has {fields} fields but the first row has {}; \
                 write nan for missing values",
                self.columns.len()
            )));
        }
        let fields = || line.split(|&b| b == delimiter).map(bare);
        let id = self.columns.iter().position(|c| c.0 == Role::Trajectory);
        self.enter(id.and_then(|j| fields().nth(j)).unwrap_or(b""), number)?;
        let rows = self
            .trajectories
            .last_mut()
            .expect("a trajectory was entered");
        for (field, (role, name)) in fields().zip(&self.columns) {
            if *role == Role::Trajectory {
                continue;
            }
            let problem = match number_in(field) {
                None => "is not a number",
                Some(value) if value.is_infinite() => "is infinite",
                Some(value) if *role == Role::Time && value.is_nan() => "is not a time",
                Some(value) => {
                    match role {
                        Role::Time => rows.times.push(value),
                        _ => rows.values.push(value),
                    }
                    continue;
                }
            };
            let text = String::from_utf8_lossy(&field[..field.len().min(40)]);
            return Err(Error::input(format!(
                "line {number}, column '{name}': \"{}\" {problem}; write a finite number{}",
                text.escape_debug(),
                if *role == Role::Time {
                    ""
                } else {
                    ", or nan for a gap"
                }
            )));
        }
        rows.count += 1;
        Ok(())
    }

    /// Makes `id` the trajectory of the rows that follow.
    fn enter(&mut self, id: &[u8], number: usize) -> Result<()> {
        if !self.trajectories.is_empty() && self.current == id {
            return Ok(());
        }
        if !self.seen.insert(id.to_vec()) {
            return Err(Error::input(format!(
                "line {number}: trajectory \"{}\" continues after rows of another one; \
                 sort the rows by trajectory",
                String::from_utf8_lossy(id).escape_debug()
            )));
        }
        self.current = id.to_vec();
        self.trajectories.push(Rows::default());
        Ok(())
    }

    /// The trajectories, the names of a header, and whether there are times.
    fn finish(
        self,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<(Vec<Trajectory>, Option<Vec<String>>, bool)> {
        let has_times = self.columns.iter().any(|c| c.0 == Role::Time);
        let names: Vec<String> = self
            .columns
            .into_iter()
            .filter(|(role, _)| *role == Role::Coordinate)
            .map(|(_, name)| name)
            .collect();
        if self.trajectories.is_empty() {
            return Err(Error::file(
                path,
                "has a header but no rows; write it again",
            ));
        }
        let mut trajectories = Vec::with_capacity(self.trajectories.len());
        for rows in self.trajectories {
            let values = ArcArray2::from_shape_vec((rows.count, names.len()), rows.values)
                .expect("every row has one value per coordinate");
            let times = if has_times {
                Times::Uneven(rows.times.into())
            } else {
                times_from(path, options.dt)?
            };
            trajectories.push(Trajectory::new(values, times));
        }
        Ok((trajectories, self.has_header.then_some(names), has_times))
    }
}

fn write_table(writer: &mut impl Write, ensemble: &Ensemble, delimiter: u8) -> std::io::Result<()> {
    let several = ensemble.len() > 1;
    let special = ["trajectory", "t"];
    let header = special[usize::from(!several)..]
        .iter()
        .copied()
        .chain(ensemble.names().iter().map(String::as_str));
    let mut names = csv::WriterBuilder::new()
        .delimiter(delimiter)
        .from_writer(&mut *writer);
    names.write_record(header)?;
    names.flush()?;
    drop(names);

    let delimiter = char::from(delimiter);
    let mut line = String::new();
    for (k, trajectory) in ensemble.trajectories().iter().enumerate() {
        for i in 0..trajectory.len() {
            line.clear();
            if several {
                let _ = write!(line, "{k}{delimiter}");
            }
            let _ = write!(line, "{:?}", trajectory.time(i));
            each!(trajectory.values(), a => for v in a.row(i) {
                match v.is_nan() {
                    true => line.extend([delimiter, 'n', 'a', 'n']),
                    false => _ = write!(line, "{delimiter}{v:?}"),
                }
            });
            line.push('\n');
            writer.write_all(line.as_bytes())?;
        }
    }
    Ok(())
}
