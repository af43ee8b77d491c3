//! Paths that stand for several files: folders and patterns.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::registry::format_for;
use super::zarr::is_zarr;
use crate::error::{Error, Result};

/// The files that a path stands for, in the order of their names.
///
/// An existing file, or a Zarr folder, stands for itself; another folder for the files in it; a path
/// with `*` (any characters) or `?` (one character) for the files it matches.
pub(crate) fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
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
