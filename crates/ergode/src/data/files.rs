//! Paths that stand for several files: folders and patterns.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::ensemble::Ensemble;
use super::format::{Format, ReadOptions, format_of, in_file, read_file};
use super::rows::{Block, Description, MemorySource, Picked, Source};
use super::stored::MEMORY;
use super::zarr::{Zarr, is_zarr};
use crate::control::Control;
use crate::error::{Error, Result};

/// The files that a path stands for, in the order of their names.
///
/// An existing file, or a Zarr folder, stands for itself; another folder for the files in it; a path
/// with `*` (any characters) or `?` (one character) for the files it matches.
pub(super) fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    let text = path.to_string_lossy();
    if path.is_dir() && !is_zarr(path) {
        return files_in(path);
    }
    if path.exists() || !text.contains(['*', '?']) {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = vec![PathBuf::new()];
    for component in path.components() {
        found = match component {
            Component::Normal(part) if part.to_string_lossy().contains(['*', '?']) => {
                let pattern: Vec<char> = part.to_string_lossy().chars().collect();
                let mut next = Vec::new();
                for folder in &found {
                    for name in names_in(folder).unwrap_or_default() {
                        let characters: Vec<char> = name.chars().collect();
                        if matches(&pattern, &characters) {
                            next.push(folder.join(name));
                        }
                    }
                }
                next
            }
            other => found.iter().map(|folder| folder.join(other)).collect(),
        };
    }
    found.retain(|file| file.exists());
    found.sort();
    if found.is_empty() {
        return Err(Error::file(
            path,
            "matches no file; * stands for any characters of a name and ? for one",
        ));
    }
    Ok(found)
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let names = names_in(folder).map_err(|error| Error::io(folder, error))?;
    for name in &names {
        let inside = folder.join(name);
        if (inside.is_dir() && !is_zarr(&inside)) || format_for(&inside).is_err() {
            return Err(Error::file(
                folder,
                format!(
                    "is a folder, whose files are read as one ensemble, but '{name}' in it is of no \
                     known format; give a pattern such as '{}'",
                    folder.join("*.csv").display()
                ),
            ));
        }
    }
    if names.is_empty() {
        return Err(Error::file(
            folder,
            "is a folder without files; give a file, or a folder of files",
        ));
    }
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

/// The names in a folder that are not hidden, in order.
fn names_in(folder: &Path) -> std::io::Result<Vec<String>> {
    let here = Path::new(".");
    let folder = if folder.as_os_str().is_empty() {
        here
    } else {
        folder
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Whether a name is one that a pattern stands for.
fn matches(pattern: &[char], name: &[char]) -> bool {
    // The last star, and where the name goes on if that star takes one more character.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    (p, n) = (at + 1, taken + 1);
                    star = Some((at, taken + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// The format of a file that exists, also of a Zarr folder under any name.
pub(super) fn format_for(path: &Path) -> Result<&'static dyn Format> {
    if is_zarr(path) {
        Ok(&Zarr)
    } else {
        format_of(path)
    }
}

/// Opens what a path stands for.
pub(super) fn open_all(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let files = files_of(path)?;
    match &files[..] {
        [file] => open_file(file, options),
        _ => Ok(Box::new(Chain::new(files, options)?)),
    }
}

/// Opens one file for the coordinates that are asked for.
pub(super) fn open_file(file: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let source = format_for(file)?.open(file, options)?;
    match options.columns.is_empty() {
        true => Ok(source),
        false => Ok(Box::new(in_file(
            file,
            Picked::new(source, &options.columns),
        )?)),
    }
}

/// Reads the files of an ensemble.
pub(super) fn read_all(
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
    ensembles[0].rebuilt(trajectories.collect())
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
            "names its coordinates{} otherwise than {}{}",
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        let is = |pattern: &str, name: &str| {
            let characters = |text: &str| text.chars().collect::<Vec<_>>();
            matches(&characters(pattern), &characters(name))
        };
        assert!(
            is("*.csv", "a.csv") && is("*.csv", ".csv") && is("*", "") && is("a*b*c", "a1b2bc")
        );
        assert!(is("run-??.npz", "run-01.npz") && is("?", "ß") && is("a**", "abc"));
        assert!(!is("*.csv", "a.csv2") && !is("run-??.npz", "run-1.npz") && !is("?", ""));
    }
}
