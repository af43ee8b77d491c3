//! Tables of text.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use super::atomic::AtomicFile;
use super::date::days;
use super::format::Format;
use super::kind::{Kind, open};
use super::layout::Layout;
use super::options::{ReadOptions, in_file, step_of};
use super::rows::{Block, Description, Sink, Source};
use super::table::{Assembler, Columns, Role, check_names};
use crate::data::Units;
use crate::error::{Error, Result};

/// No row of a table is longer; a longer one is not a row but a file without line ends.
const LONGEST: u64 = 1 << 28;

/// Tables separated by commas (`.csv`) or tabs (`.tsv`), one row per sample. A first row without these, but with
/// semicolons, tabs or commas, is separated by them. Decimal commas are refused.
///
/// A first row with a field that is not a number names the columns. A column named `t` or `time`
/// holds times, numbers or dates ([`days`], counted in days), one named `trajectory`, `traj`, `id` or `run`
/// names the trajectory of a row; rows of a trajectory must be contiguous. All other columns are coordinates.
/// An empty field, `nan` or `NA` is a gap. Numbers are written with as many digits as it takes to read the
/// same number again.
pub(crate) struct Csv;

impl Format for Csv {
    fn extensions(&self) -> &'static [&'static str] {
        &["csv", "tsv"]
    }

    fn least_memory(&self, size: u64) -> u64 {
        // A number takes eight bytes, and in words hardly ever more than 32.
        size / 4
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
        let file = open(path, &[Kind::Text])?;
        let mut lines = Lines {
            path: path.to_owned(),
            reader: BufReader::with_capacity(1 << 18, file),
            delimiter: delimiter_of(path),
            line: Vec::new(),
            number: 0,
            blank: None,
        };
        let start = lines.reader.fill_buf().map_err(|e| Error::io(path, e))?;
        lines.delimiter = delimiter_in(start, lines.delimiter);
        if !lines.advance(false)? {
            return Err(Error::file(path, "has no rows; add data"));
        }
        let first = || -> Result<(Columns, bool)> {
            let fields = split_header(lines.text(), lines.delimiter, lines.number)?;
            let plain =
                |f: &String| number_in(f.as_bytes()).is_some() || days(f.as_bytes()).is_some();
            let named = !fields.iter().all(plain);
            let columns = Columns::new(fields, named, options)
                .map_err(|e| Error::input(format!("line {}: {e}", lines.number)))?;
            Ok((columns, named))
        };
        let (mut columns, named) = in_file(path, first())?;
        // A first row of numbers is a row like any other.
        let held = !named || lines.advance(false)?;
        if held {
            columns.dates = columns
                .field_of(Role::Time, fields(lines.text(), lines.delimiter))
                .is_some_and(|f| days(f).is_some());
        }
        let names = columns.coordinates();
        let description = Description {
            dim: names.len(),
            step: step_of(path, columns.has(Role::Time), options.dt)?,
            names: named.then_some(names),
            units: columns.dates.then(|| Units {
                time: "days".to_owned(),
                ..Units::default()
            }),
            single: false,
            rounding: f64::EPSILON,
            expected_rows: 0,
        };
        Ok(Box::new(Table {
            lines,
            columns,
            description,
            rows: Assembler::default(),
            held,
            done: false,
        }))
    }

    fn create(&self, path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
        in_file(path, check_names(&layout.names))?;
        TableSink::create(path, layout)
    }

    fn takes_any_order(&self) -> bool {
        false
    }

    fn is_table(&self) -> bool {
        true
    }
}

/// The lines of a file that hold something.
struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    delimiter: u8,
    line: Vec<u8>,
    number: usize,
    /// The first of the blank lines before the present one.
    blank: Option<usize>,
}

impl Lines {
    /// Goes on to the next line that is not blank; false at the end.
    ///
    /// Blank lines matter only if rows follow; `started` says that rows came before.
    fn advance(&mut self, started: bool) -> Result<bool> {
        self.blank = None;
        loop {
            self.line.clear();
            let mut limited = (&mut self.reader).take(LONGEST);
            let read = limited.read_until(b'\n', &mut self.line);
            if read.map_err(|e| Error::io(&self.path, e))? == 0 {
                return Ok(false);
            }
            self.number += 1;
            if self.line.len() as u64 == LONGEST {
                return Err(Error::file(
                    &self.path,
                    format!(
                        "line {} is longer than {LONGEST} bytes; write one row per line",
                        self.number
                    ),
                ));
            }
            let text = self.text();
            if !text.trim_ascii().is_empty() || text.contains(&self.delimiter) {
                return Ok(true);
            }
            self.blank = self.blank.or(started.then_some(self.number));
        }
    }

    /// The present line without its end.
    fn text(&self) -> &[u8] {
        let mut text = self.line.as_slice();
        if self.number == 1 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        text = text.strip_suffix(b"\n").unwrap_or(text);
        text.strip_suffix(b"\r").unwrap_or(text)
    }
}

/// A table that is being read.
struct Table {
    lines: Lines,
    columns: Columns,
    description: Description,
    rows: Assembler,
    /// The present line is still to be taken.
    held: bool,
    done: bool,
}

impl Source for Table {
    fn description(&self) -> &Description {
        &self.description
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        loop {
            if let Some(block) = self.rows.take() {
                return Ok(Some(block));
            }
            if self.done {
                return Ok(None);
            }
            if std::mem::take(&mut self.held) || self.lines.advance(true)? {
                let taken = self.take_line();
                in_file(&self.lines.path, taken)?;
                continue;
            }
            self.done = true;
            self.rows.close();
            if self.rows.is_empty() {
                return Err(Error::file(
                    &self.lines.path,
                    "has a header but no rows; add data",
                ));
            }
        }
    }
}

impl Table {
    fn take_line(&mut self) -> Result<()> {
        let (number, delimiter) = (self.lines.number, self.lines.delimiter);
        if let Some(first) = self.lines.blank {
            // In a table of one column a blank line is an empty field, else it is no row at all.
            if self.columns.all.len() > 1 {
                return Err(Error::input(format!(
                    "line {first} is blank, but rows follow; write nan in every column for a gap, or \
                     remove the line"
                )));
            }
            for gap in first..number {
                push(&mut self.rows, &self.columns, b"", delimiter, gap)?;
            }
        }
        push(
            &mut self.rows,
            &self.columns,
            self.lines.text(),
            delimiter,
            number,
        )
    }
}

/// The fields of a line.
fn fields(line: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    line.split(move |&b| b == delimiter).map(bare)
}

/// Takes the fields of a line as a row.
fn push(
    rows: &mut Assembler,
    columns: &Columns,
    line: &[u8],
    delimiter: u8,
    number: usize,
) -> Result<()> {
    let (count, expected) = (fields(line, delimiter).count(), columns.all.len());
    if count != expected {
        let advice = match count == 2 * expected && delimiter == b',' {
            true => ", and decimal points in place of decimal commas",
            false => "",
        };
        return Err(Error::input(format!(
            "line {number} has {count} fields but the first row has {expected}; \
             write nan for missing values{advice}"
        )));
    }
    let id = columns.field_of(Role::Trajectory, fields(line, delimiter));
    rows.enter(id.unwrap_or(b""), || format!("line {number}"))?;
    for (field, (role, name)) in fields(line, delimiter).zip(&columns.all) {
        let date = (*role == Role::Time).then(|| days(field)).flatten();
        let problem = match (number_in(field), role) {
            (_, Role::Trajectory | Role::Ignored) => continue,
            (_, Role::Time) if columns.dates != date.is_some() => match columns.dates {
                true => "is not a date, but the first time is",
                false => "is a date, but the first time is a number",
            },
            (None, Role::Time) if date.is_some() => {
                rows.time(date.unwrap_or(f64::NAN));
                continue;
            }
            (None, _) if with_point(field).is_some() => {
                "has a decimal comma, which is not supported: replace it by a decimal point"
            }
            (None, _) => "is not a number",
            (Some(value), _) if value.is_infinite() => "is infinite",
            (Some(value), Role::Time) if value.is_nan() => "is not a time",
            (Some(value), Role::Time) => {
                rows.time(value);
                continue;
            }
            (Some(value), Role::Coordinate) => {
                rows.value(value);
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
    rows.end_row();
    Ok(())
}

/// A table that is being written.
struct TableSink {
    path: PathBuf,
    writer: BufWriter<AtomicFile>,
    delimiter: u8,
    dim: usize,
    several: bool,
    /// Single precision is written with as few digits as it needs.
    single: bool,
    line: String,
}

impl TableSink {
    fn create(path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
        let several = layout.lengths.len() > 1;
        let delimiter = delimiter_of(path);
        let mut writer = BufWriter::with_capacity(1 << 18, AtomicFile::create(path)?);
        let special = ["trajectory", "t"];
        let header = special[usize::from(!several)..]
            .iter()
            .copied()
            .chain(layout.names.iter().map(String::as_str));
        let mut names = csv::WriterBuilder::new()
            .delimiter(delimiter)
            .from_writer(&mut writer);
        names
            .write_record(header)
            .map_err(std::io::Error::from)
            .and_then(|()| names.flush())
            .map_err(|error| Error::io(path, error))?;
        drop(names);
        Ok(Box::new(Self {
            path: path.to_owned(),
            writer,
            delimiter,
            dim: layout.dim,
            several,
            single: layout.single,
            line: String::new(),
        }))
    }
}

impl Sink for TableSink {
    fn write(&mut self, block: &Block) -> Result<()> {
        let (line, delimiter) = (&mut self.line, char::from(self.delimiter));
        for (row, time) in block.values.chunks_exact(self.dim).zip(&block.times) {
            line.clear();
            if self.several {
                let _ = write!(line, "{}{delimiter}", block.trajectory);
            }
            let _ = write!(line, "{time:?}");
            for v in row {
                match v.is_nan() {
                    true => line.extend([delimiter, 'n', 'a', 'n']),
                    false if self.single => _ = write!(line, "{delimiter}{:?}", *v as f32),
                    false => _ = write!(line, "{delimiter}{v:?}"),
                }
            }
            line.push('\n');
            self.writer
                .write_all(line.as_bytes())
                .map_err(|error| Error::io(&self.path, error))?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.writer
            .into_inner()
            .map_err(|error| Error::io(&self.path, error.into_error()))?
            .commit()
    }
}

fn delimiter_of(path: &Path) -> u8 {
    match path.extension() {
        Some(extension) if extension.eq_ignore_ascii_case("tsv") => b'\t',
        _ => b',',
    }
}

/// The delimiter of a table that begins like this: the usual one unless the first row has another.
fn delimiter_in(start: &[u8], usual: u8) -> u8 {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    let mut lines = start.split(|&b| b == b'\n');
    let Some(line) = lines.find(|line| !line.trim_ascii().is_empty()) else {
        return usual;
    };
    let count = |delimiter: u8| {
        let mut quoted = false;
        let outside = line.iter().filter(|&&b| {
            quoted ^= b == b'"';
            !quoted && b == delimiter
        });
        outside.count()
    };
    let others = [b';', b'\t', b',']
        .into_iter()
        .filter(|&b| b != usual && count(b) > 0);
    // Between semicolons and tabs, commas may be those of numbers.
    let of_numbers = |b: &u8| {
        let numbers = fields(line, *b).all(|f| number_in(f).or(with_point(f)).is_some());
        usual == b',' && numbers
    };
    match count(usual) {
        0 => others.into_iter().next().unwrap_or(usual),
        _ => others.into_iter().find(of_numbers).unwrap_or(usual),
    }
}

/// The number in a field whose decimal comma is a point.
fn with_point(field: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(field).ok()?;
    let (whole, fraction) = text.split_once(',')?;
    format!("{whole}.{fraction}").parse().ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_that_of_the_first_row() {
        let cases = [
            ("t,x\n", b','),
            ("t;x\n", b';'),
            ("t\tx\n", b'\t'),
            ("x\n", b','),
            ("", b','),
            ("\n \nt;x\n", b';'),
            ("\"a;b\",c\n", b','),
            ("a;b,c\n", b','),
            ("0,5;1,25\n", b';'),
            ("1,2\t3,4\n", b'\t'),
        ];
        for (text, expected) in cases {
            assert_eq!(delimiter_in(text.as_bytes(), b','), expected, "{text:?}");
        }
        assert_eq!(delimiter_in(b"t,x\n", b'\t'), b',');
        assert_eq!(delimiter_in(b"t\tx;y\n", b'\t'), b'\t');
    }
}
