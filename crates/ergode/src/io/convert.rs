//! Conversion from file to file in bounded memory.

use std::path::Path;

use ndarray::ArrayView2;

use super::layout::Layout;
use super::options::{ReadOptions, contradiction, in_file};
use super::read::open_all;
use super::registry::format_of;
use super::rows::{Block, Description, Source, timed_block};
use crate::control::Control;
use crate::data::{
    Facts, Hash, check_dim, check_increasing, default_names, infinite, no_samples, scan_block,
};
use crate::error::{Error, Result, printable};

/// A summary of the converted data.
#[derive(Clone, Debug)]
pub struct Converted {
    /// Number of trajectories.
    pub trajectories: usize,
    /// Number of complete rows, gaps left out.
    pub samples: usize,
    /// Names of the coordinates.
    pub names: Vec<String>,
    /// The time between consecutive rows, if it is the same everywhere.
    pub sampling_interval: Option<f64>,
    /// Warnings about the data, one sentence each.
    pub warnings: Vec<String>,
}

/// Writes what is read from `input` to `output`, in the format that its extension names.
///
/// The input may be a file, a folder of files or a pattern, as for
/// [`read_ensemble`](crate::read_ensemble), and is read twice, some rows at a time: first to check it and to
/// know its shape, then to write it. NumPy archives of up to 1 GiB, and of arrays in Fortran order, are held in
/// memory as a whole.
///
/// An output that holds values alone (`.npy`) is refused where names, units or a first time other than 0
/// would be lost, unless `values_only` says that they may be. Uneven times are never dropped.
///
/// # Errors
/// As for [`read_ensemble`](crate::read_ensemble) and [`write_ensemble`](crate::write_ensemble), and when
/// `control` asks to stop.
pub fn convert_ensemble(
    input: impl AsRef<Path>,
    output: impl AsRef<Path>,
    options: &ReadOptions,
    values_only: bool,
    control: &Control,
) -> Result<Converted> {
    let (input, output) = (input.as_ref(), output.as_ref());
    let format = format_of(output)?;
    let survey = Survey::of(input, &mut *open_all(input, options)?, options, control)?;
    let layout = &survey.layout;
    if format.holds_values_only() && !values_only {
        in_file(output, refuse_loss(layout))?;
    }
    let mut source = open_all(input, options)?;
    let mut sink = format.create(output, layout)?;
    let mut even = layout.interval().is_some();
    let mut rows: usize = layout.lengths.iter().sum();
    while let Some(block) = timed_block(&mut *source)? {
        let count = block.times.len();
        let expected = layout.lengths.get(block.trajectory);
        if expected.is_none_or(|&length| block.start + count > length) {
            return Err(changed(input));
        }
        even &= layout.is_even(&block);
        rows -= count;
        sink.write(&block)?;
        control.advance(count as u64)?;
    }
    if rows > 0 {
        return Err(changed(input));
    }
    sink.finish()?;
    let long = layout.lengths.iter().any(|&rows| rows > 1);
    Ok(Converted {
        trajectories: layout.lengths.len(),
        samples: survey.facts.samples,
        names: layout.names.clone(),
        sampling_interval: layout.interval().filter(|_| even && long),
        warnings: survey.facts.warnings(&layout.names),
    })
}

/// Refuses a layout that a format without names and times cannot store.
fn refuse_loss(layout: &Layout) -> Result<()> {
    let mut lost = Vec::new();
    if layout.names != default_names(layout.dim) {
        lost.push(format!("the names {}", layout.names.join(", ")));
    }
    if layout.units.is_some() {
        lost.push("the units".to_owned());
    }
    if let Some((first, _)) = layout.ends.iter().find(|(first, _)| *first != 0.0) {
        lost.push(format!("the start time {first}"));
    }
    match lost.is_empty() {
        true => Ok(()),
        false => Err(Error::input(format!(
            "stores values only and would lose {}; write .npz, .zarr, .h5 or .nc instead, or accept \
             the loss with --values-only",
            lost.join(" and ")
        ))),
    }
}

fn changed(input: &Path) -> Error {
    Error::file(
        input,
        "changed while it was read; rerun when nothing writes to it",
    )
}

/// The result of the first pass.
struct Survey {
    layout: Layout,
    facts: Facts,
    /// A hash of the times of every trajectory, and whether its last row is a gap.
    clocks: Vec<(Hash, bool)>,
    /// The first complete row.
    first: Vec<f64>,
}

impl Survey {
    fn of(
        path: &Path,
        source: &mut dyn Source,
        options: &ReadOptions,
        control: &Control,
    ) -> Result<Self> {
        let description = source.description().clone();
        let dim = description.dim;
        in_file(path, check_dim(dim))?;
        let names = description.names.clone();
        let mut survey = Self {
            layout: Layout {
                lengths: Vec::new(),
                ends: Vec::new(),
                dim,
                names: names.map_or_else(
                    || default_names(dim),
                    |names| names.iter().map(|name| printable(name)).collect(),
                ),
                units: description.units.clone(),
                single: description.single,
                shared_times: false,
            },
            facts: Facts {
                samples: 0,
                partial_gaps: 0,
                constant: (0..dim).collect(),
            },
            clocks: Vec::new(),
            first: Vec::new(),
        };
        while let Some(block) = timed_block(source)? {
            control.advance(0)?;
            in_file(path, survey.add(&block))?;
        }
        in_file(path, survey.end(&description, options))?;
        let rows: usize = survey.layout.lengths.iter().sum();
        control.begin(rows as u64);
        Ok(survey)
    }

    fn add(&mut self, block: &Block) -> Result<()> {
        let (k, layout) = (block.trajectory, &mut self.layout);
        if k == layout.lengths.len() {
            layout.lengths.push(0);
            layout.ends.push((block.times[0], f64::NEG_INFINITY));
            self.clocks.push((Hash::default(), false));
        }
        let rows = block.times.len();
        let view = ArrayView2::from_shape((rows, layout.dim), &block.values)
            .expect("blocks hold whole rows");
        check_increasing(k, block.start, layout.ends[k].1, &block.times)?;
        let found = scan_block(view, 0..rows)
            .map_err(|place| infinite(k, block.start + place.0, place.1))?;
        layout.lengths[k] += rows;
        layout.ends[k].1 = block.times[rows - 1];
        let (hash, ends_in_gap) = &mut self.clocks[k];
        block.times.iter().for_each(|time| hash.add(time.to_bits()));
        *ends_in_gap = found.runs.last().is_none_or(|run| run.end < rows);
        self.facts.partial_gaps += found.partial_gaps;
        for run in found.runs {
            self.facts.samples += run.len();
            for row in run {
                let row = view.row(row);
                if self.first.is_empty() {
                    self.first.extend(row);
                }
                if self.facts.constant.is_empty() {
                    break;
                }
                self.facts.constant.retain(|&j| row[j] == self.first[j]);
            }
        }
        Ok(())
    }

    fn end(&mut self, description: &Description, options: &ReadOptions) -> Result<()> {
        if self.facts.samples == 0 {
            return Err(no_samples());
        }
        if self.facts.samples == 1 {
            self.facts.constant.clear();
        }
        let layout = &mut self.layout;
        let (clock, length) = (self.clocks[0].0.value(), layout.lengths[0]);
        let same_clock = self.clocks.iter().all(|(hash, _)| hash.value() == clock)
            && layout.lengths.iter().all(|&rows| rows == length);
        let gap = self.clocks.iter().any(|(_, ends_in_gap)| *ends_in_gap);
        layout.shared_times =
            layout.lengths.len() == 1 || !gap && (same_clock || description.step.is_some());
        let Some(dt) = options.dt else {
            return Ok(());
        };
        for (k, (&rows, &(first, last))) in layout.lengths.iter().zip(&layout.ends).enumerate() {
            let step = (last - first) / (rows.max(2) - 1) as f64;
            if rows > 1 && (step - dt).abs() > 1e-6 * step {
                return Err(contradiction(
                    k,
                    dt,
                    &format!("the times in the file are {step:?} apart"),
                ));
            }
        }
        Ok(())
    }
}
