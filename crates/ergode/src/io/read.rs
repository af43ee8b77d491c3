//! Reading ensembles, from one file or from several.

use std::path::{Path, PathBuf};

use super::files::files_of;
use super::format::Format;
use super::options::{ReadOptions, in_file, refuse_large};
use super::registry::format_for;
use super::rows::{Block, Description, MemorySource, Picked, Source, collect};
use crate::control::Control;
use crate::data::{Ensemble, MEMORY};
use crate::error::{Error, Result};

/// Reads trajectories from a file whose extension names its format.
///
/// The path of a folder stands for the files in it, and one with `*` (any characters) or `?` (one
/// character) in its names for the files that it matches: together they are one ensemble, each
/// file one or more trajectories, in the order of their names. A Zarr folder is one file.
///
/// # Errors
/// When the extension is not known, a file cannot be read, is of another kind or is damaged, files
/// differ in their coordinates, the content does not make an
/// [`Ensemble`], or `control` asks to stop.
pub fn read_ensemble(
    path: impl AsRef<Path>,
    options: &ReadOptions,
    control: &Control,
) -> Result<Ensemble> {
    let path = path.as_ref();
    let files = files_of(path)?;
    match &files[..] {
        [file] => read_file(file, options, control),
        _ => in_file(path, read_all(&files, options, control)),
    }
}

/// Reads one file, unless it is too large.
pub(crate) fn read_file(file: &Path, options: &ReadOptions, control: &Control) -> Result<Ensemble> {
    let format = format_for(file)?;
    refuse_idle_options(file, format, options)?;
    if let Ok(found) = file.metadata() {
        refuse_large(file, format.least_memory(found.len()), options.memory)?;
    }
    match options.columns.is_empty() {
        true => format.read(file, options, control),
        false => collect(file, &mut *open_file(file, options)?, options, control),
    }
}

/// Refuses options that a format would ignore.
fn refuse_idle_options(file: &Path, format: &dyn Format, options: &ReadOptions) -> Result<()> {
    let problem = match format.is_table() {
        true if options.array.is_some() => "is a table, which has no arrays; leave out --array",
        false if options.trajectory.is_some() => {
            "holds arrays, not a table; leave out --id, or store (trajectory, time, dimension)"
        }
        false if options.time.is_some() => {
            "holds arrays, not a table; leave out --time-column, and store the times as the array 't'"
        }
        _ => return Ok(()),
    };
    Err(Error::file(file, problem))
}

/// Opens what a path stands for.
pub(crate) fn open_all(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let files = files_of(path)?;
    match &files[..] {
        [file] => open_file(file, options),
        _ => Ok(Box::new(Chain::new(files, options)?)),
    }
}

/// Opens one file for the selected coordinates.
pub(crate) fn open_file(file: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let format = format_for(file)?;
    refuse_idle_options(file, format, options)?;
    let source = format.open(file, options)?;
    match options.columns.is_empty() {
        true => Ok(source),
        false => Ok(Box::new(in_file(
            file,
            Picked::new(source, &options.columns),
        )?)),
    }
}

/// Reads the files of an ensemble.
pub(crate) fn read_all(
    files: &[PathBuf],
    options: &ReadOptions,
    control: &Control,
) -> Result<Ensemble> {
    let size = |file: &PathBuf| file.metadata().map_or(0, |found| found.len());
    let total: u64 = files.iter().map(size).sum();
    let mut ensembles = Vec::with_capacity(files.len());
    for file in files {
        // Every file has the part of memory that it is of all of them.
        let memory = u128::from(options.memory.unwrap_or(MEMORY)) * u128::from(size(file));
        let options = ReadOptions {
            memory: Some((memory / u128::from(total.max(1))) as u64),
            ..options.clone()
        };
        ensembles.push(read_file(file, &options, control)?);
    }
    let first = MemorySource::new(ensembles[0].clone());
    for (file, ensemble) in files.iter().zip(&ensembles).skip(1) {
        let other = MemorySource::new(ensemble.clone());
        check_alike(
            (&files[0], first.description()),
            (file, other.description()),
        )?;
    }
    let trajectories = ensembles
        .iter()
        .flat_map(|e| e.trajectories().iter().cloned());
    let repeated = ensembles.iter().map(Ensemble::repeated_rows).sum();
    let all = ensembles[0].rebuilt(trajectories.collect())?;
    Ok(all.with_repeated_rows(repeated))
}

/// Refuses a file whose coordinates are not those of the first.
fn check_alike(
    (first, expected): (&Path, &Description),
    (file, found): (&Path, &Description),
) -> Result<()> {
    let listed = |description: &Description| match &description.names {
        Some(names) if names.len() <= 10 => format!(" ({})", names.join(", ")),
        _ => String::new(),
    };
    let problem = if found.dim != expected.dim {
        format!(
            "has {} coordinates{} but {} has {}{}",
            found.dim,
            listed(found),
            first.display(),
            expected.dim,
            listed(expected)
        )
    } else if matches!((&found.names, &expected.names), (Some(a), Some(b)) if a != b) {
        format!(
            "has other coordinate names{} than {}{}",
            listed(found),
            first.display(),
            listed(expected)
        )
    } else if matches!((&found.units, &expected.units), (Some(a), Some(b)) if a != b) {
        format!("has other units than {}", first.display())
    } else {
        return Ok(());
    };
    Err(Error::file(
        file,
        format!("{problem}; all files of an ensemble need the same coordinates"),
    ))
}

/// The rows of several files, one after the other.
struct Chain {
    files: Vec<PathBuf>,
    options: ReadOptions,
    description: Description,
    /// The file that is open, and the number of trajectories before it.
    open: Option<Box<dyn Source>>,
    next: usize,
    before: usize,
    last: usize,
}

impl Chain {
    fn new(files: Vec<PathBuf>, options: &ReadOptions) -> Result<Self> {
        let describe = |file: &Path| {
            let source = open_file(file, options)?;
            Ok(source.description().clone())
        };
        let first = describe(&files[0])?;
        let mut description = first.clone();
        for file in &files[1..] {
            let found = describe(file)?;
            check_alike((&files[0], &first), (file, &found))?;
            description.single &= found.single;
            description.rounding = description.rounding.max(found.rounding);
            description.step = description.step.or(found.step);
        }
        Ok(Self {
            files,
            options: options.clone(),
            description,
            open: None,
            next: 0,
            before: 0,
            last: 0,
        })
    }
}

impl Source for Chain {
    fn description(&self) -> &Description {
        &self.description
    }

    fn next_block(&mut self) -> Result<Option<Block>> {
        loop {
            if let Some(source) = &mut self.open {
                if let Some(mut block) = source.next_block()? {
                    block.trajectory += self.before;
                    self.last = block.trajectory + 1;
                    return Ok(Some(block));
                }
                self.before = self.last;
            }
            let Some(file) = self.files.get(self.next) else {
                return Ok(None);
            };
            self.open = Some(open_file(file, &self.options)?);
            self.next += 1;
        }
    }

    fn seek(&mut self, trajectory: usize, row: usize) -> Result<()> {
        while let Some(file) = self.files.get(self.next) {
            let mut source = open_file(file, &self.options)?;
            let Some(count) = source.trajectories() else {
                return Ok(());
            };
            if self.before + count > trajectory {
                source.seek(trajectory - self.before, row)?;
                self.last = trajectory;
                (self.open, self.next) = (Some(source), self.next + 1);
                return Ok(());
            }
            (self.before, self.last) = (self.before + count, self.before + count);
            self.next += 1;
        }
        Ok(())
    }
}
