//! Writing a Zarr group of version 2.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::data::Dtype;
use crate::error::{Error, Result};
use crate::io::atomic::AtomicFolder;
use crate::io::grid::{Array, GridSink, Region, Store};
use crate::io::layout::Layout;
use crate::io::rows::{BLOCK, Sink};

/// Begins a group with the arrays `x` and `time` or `t`.
pub(crate) fn create(path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
    let (trajectories, rows, dim) = (layout.lengths.len(), layout.longest(), layout.dim);
    let rows_per_chunk = (BLOCK / dim).clamp(1, rows.max(1));
    let unit = |unit: &str| match unit {
        "" => Value::Null,
        unit => json!(unit),
    };
    let units: Vec<&str> = (0..dim).map(|j| layout.unit(j)).collect();
    let values = Chunked {
        name: "x",
        dtype: Dtype::float(layout.single),
        rows,
        rows_per_chunk,
        width: dim,
        axes: &["trajectory", "time", "dim"],
        open: None,
    };
    let times = Chunked {
        name: if layout.shared_times { "time" } else { "t" },
        dtype: Dtype::F64,
        rows,
        rows_per_chunk: BLOCK.min(rows.max(1)),
        width: 1,
        axes: if layout.shared_times {
            &["time"]
        } else {
            &["trajectory", "time"]
        },
        open: None,
    };
    let same = units.iter().all(|other| *other == units[0]);
    let unit_of_values = if same { unit(units[0]) } else { json!(units) };
    let folder = AtomicFolder::create(path)?;
    write_json(&folder, ".zgroup", &json!({"zarr_format": 2}))?;
    values.describe(&folder, trajectories, unit_of_values, json!(layout.names))?;
    times.describe(&folder, trajectories, unit(layout.time_unit()), Value::Null)?;
    let store = ZarrStore {
        folder,
        values,
        times,
        bytes: Vec::new(),
    };
    Ok(Box::new(GridSink::new(path, store, layout)?))
}

fn write_json(folder: &AtomicFolder, name: &str, value: &Value) -> Result<()> {
    let path = folder.path().join(name);
    let text = serde_json::to_string_pretty(value).expect("a JSON value is text");
    std::fs::write(path, text).map_err(|error| Error::io(folder.target(), error))
}

/// An array whose chunks hold rows of one trajectory.
struct Chunked {
    name: &'static str,
    dtype: Dtype,
    /// Rows of a trajectory, rows of a chunk, and numbers of a row.
    rows: usize,
    rows_per_chunk: usize,
    width: usize,
    axes: &'static [&'static str],
    /// The chunk that was written last.
    open: Option<(usize, usize, File)>,
}

impl Chunked {
    /// Writes the description of the array.
    fn describe(
        &self,
        folder: &AtomicFolder,
        trajectories: usize,
        units: Value,
        names: Value,
    ) -> Result<()> {
        let inside = folder.path().join(self.name);
        std::fs::create_dir(&inside).map_err(|error| Error::io(folder.target(), error))?;
        let shape = [trajectories, self.rows, self.width];
        let chunks = [1, self.rows_per_chunk, self.width];
        // Shared times lack the first axis, and times the last.
        let range = match self.axes.len() {
            1 => 1..2,
            rank => 0..rank,
        };
        let array = json!({
            "zarr_format": 2,
            "shape": shape[range.clone()],
            "chunks": chunks[range],
            "dtype": self.dtype.descr(),
            "compressor": null,
            "fill_value": "NaN",
            "order": "C",
            "filters": null,
            "dimension_separator": ".",
        });
        write_json(folder, &format!("{}/.zarray", self.name), &array)?;
        let mut attributes = json!({"_ARRAY_DIMENSIONS": self.axes});
        for (name, value) in [("units", units), ("names", names)] {
            if !value.is_null() {
                attributes[name] = value;
            }
        }
        write_json(folder, &format!("{}/.zattrs", self.name), &attributes)
    }

    /// The open file of a chunk.
    fn chunk(&mut self, folder: &Path, trajectory: usize, chunk: usize) -> io::Result<&mut File> {
        let is_open = matches!(&self.open, Some((k, c, _)) if (*k, *c) == (trajectory, chunk));
        if !is_open {
            let name = match self.axes.len() {
                1 => chunk.to_string(),
                2 => format!("{trajectory}.{chunk}"),
                _ => format!("{trajectory}.{chunk}.0"),
            };
            let path = folder.join(self.name).join(name);
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            // Every chunk has its full size, also the last.
            file.set_len((self.rows_per_chunk * self.width * self.dtype.size()) as u64)?;
            self.open = Some((trajectory, chunk, file));
        }
        let (_, _, file) = self.open.as_mut().expect("a chunk was opened");
        Ok(file)
    }
}

/// A group that is being written.
struct ZarrStore {
    folder: AtomicFolder,
    values: Chunked,
    times: Chunked,
    bytes: Vec<u8>,
}

impl Store for ZarrStore {
    fn holds_times(&self) -> bool {
        true
    }

    fn put(&mut self, array: Array, position: u64, mut numbers: &[f64]) -> io::Result<()> {
        let array = match array {
            Array::Values => &mut self.values,
            Array::Times => &mut self.times,
        };
        let region = Region {
            offset: 0,
            dtype: array.dtype,
        };
        let mut row = position as usize / array.width;
        while !numbers.is_empty() {
            let (trajectory, inside) = (row / array.rows, row % array.rows);
            let (chunk, first) = (inside / array.rows_per_chunk, inside % array.rows_per_chunk);
            let room = (array.rows_per_chunk - first).min(array.rows - inside);
            let (now, later) = numbers.split_at(numbers.len().min(room * array.width));
            let at = (first * array.width) as u64;
            let file = array.chunk(self.folder.path(), trajectory, chunk)?;
            region.put(file, at, now, &mut self.bytes)?;
            row += now.len() / array.width;
            numbers = later;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.folder.commit()
    }
}
