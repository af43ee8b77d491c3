//! Paths that stand for several files: folders and patterns.

use std::fs;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, glob_with};

use super::kind::is_zarr;
use super::registry::format_for;
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
    let matched = glob_with(&pattern(&text), HIDDEN_STAY_HIDDEN)
        .map_err(|error| Error::file(path, format!("is not a valid file pattern: {error}")))?;
    let mut found = matched
        .map(|file| file.map_err(|error| Error::io(path, error.into())))
        .collect::<Result<Vec<_>>>()?;
    found.sort();
    if found.is_empty() {
        return Err(Error::file(
            path,
            "matches no file; * matches any characters of a name, ? matches one",
        ));
    }
    Ok(found)
}

/// `*` and `?` do not match a separator or the dot of a hidden file.
const HIDDEN_STAY_HIDDEN: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// The pattern of `glob` for a path in which `*` and `?` alone are special.
fn pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '[' => pattern.push_str("[[]"),
            ']' => pattern.push_str("[]]"),
            '*' if pattern.ends_with('*') => {}
            _ => pattern.push(c),
        }
    }
    pattern
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let names = names_in(folder).map_err(|error| Error::io(folder, error))?;
    for name in &names {
        let inside = folder.join(name);
        if (inside.is_dir() && !is_zarr(&inside)) || format_for(&inside).is_err() {
            return Err(Error::file(
                folder,
                format!(
                    "is a folder. All files in a folder are read as one ensemble, but the format of \
                     '{name}' is not supported; give a pattern such as '{}'",
                    folder.join("*.csv").display()
                ),
            ));
        }
    }
    if names.is_empty() {
        return Err(Error::file(
            folder,
            "is an empty folder; give a file or a folder of files",
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
