//! Errors of file content, before the path is added.

use std::io;
use std::path::Path;

use crate::error::Error;

/// The reason why an array cannot be read, before the path is added.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The reader failed, or ended too early.
    Io(io::Error),
    /// The content cannot be used.
    Content(String),
}

impl Fault {
    /// The error for a file; `what` names the array in it and may be empty.
    pub(crate) fn at(self, path: &Path, what: &str) -> Error {
        let place = if what.is_empty() {
            String::new()
        } else {
            format!("{what}: ")
        };
        match self {
            Self::Content(message) => Error::file(path, format!("{place}{message}")),
            Self::Io(source) if source.raw_os_error().is_some() => Error::io(path, source),
            Self::Io(source) if source.kind() == io::ErrorKind::UnexpectedEof => Error::file(
                path,
                format!("{place}the data end too early; the file is damaged, write it again"),
            ),
            Self::Io(source) => Error::file(
                path,
                format!("{place}{source}; the file is damaged, write it again"),
            ),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(source: io::Error) -> Self {
        Self::Io(source)
    }
}

pub(crate) fn fault<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Content(message.into()))
}
