//! The public error type of the crate.

use std::path::{Path, PathBuf};

/// What went wrong, where, and what to do next.
///
/// The message is complete by itself; [`Error::is_bad_input`] says whether the
/// user's input (exit code 2) or something else (exit code 1) was at fault.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Kind>);

/// Shorthand used throughout the crate.
pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
enum Kind {
    #[error("{0}")]
    Input(String),
    #[error("{}: {message}", path.display())]
    File { path: PathBuf, message: String },
    #[error("{}: {source}{}", path.display(), advice(source))]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{0}")]
    Numerical(String),
    #[error("interrupted; no file was written")]
    Interrupted,
    #[error("{0}")]
    Late(String),
}

/// Advice for an error of the operating system.
fn advice(source: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{
        FileTooLarge, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
    };
    match source.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => "; free some space, or write elsewhere",
        PermissionDenied | ReadOnlyFilesystem => {
            "; choose another folder, or change the permissions"
        }
        _ => "",
    }
}

impl Error {
    /// Input that cannot be used: parameters, shapes, values.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self(Box::new(Kind::Input(message.into())))
    }

    /// A file whose content cannot be used.
    pub(crate) fn file(path: &Path, message: impl Into<String>) -> Self {
        Self(Box::new(Kind::File {
            path: path.to_owned(),
            message: message.into(),
        }))
    }

    /// The operating system refused to read or write a file.
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self(Box::new(Kind::Io {
            path: path.to_owned(),
            source,
        }))
    }

    /// A computation that cannot be completed.
    pub(crate) fn numerical(message: impl Into<String>) -> Self {
        Self(Box::new(Kind::Numerical(message.into())))
    }

    /// The caller asked to stop.
    pub(crate) fn interrupted() -> Self {
        Self(Box::new(Kind::Interrupted))
    }

    /// A computation that used up its time.
    pub(crate) fn late(message: impl Into<String>) -> Self {
        Self(Box::new(Kind::Late(message.into())))
    }

    /// True when the input was at fault rather than the machine or the mathematics.
    ///
    /// A file that does not exist or is not permitted counts as bad input, a full disk does not.
    pub fn is_bad_input(&self) -> bool {
        match &*self.0 {
            Kind::Input(_) | Kind::File { .. } => true,
            Kind::Io { source, .. } => matches!(
                source.kind(),
                std::io::ErrorKind::NotFound
                    | std::io::ErrorKind::IsADirectory
                    | std::io::ErrorKind::NotADirectory
                    | std::io::ErrorKind::PermissionDenied
                    | std::io::ErrorKind::ReadOnlyFilesystem
            ),
            Kind::Numerical(_) | Kind::Interrupted | Kind::Late(_) => false,
        }
    }

    /// True when the numbers did not allow the work.
    pub(crate) fn is_numerical(&self) -> bool {
        matches!(*self.0, Kind::Numerical(_))
    }

    /// True when a computation used up its time.
    pub fn is_late(&self) -> bool {
        matches!(*self.0, Kind::Late(_))
    }

    /// True when a file or the machine failed, so that trying something simpler does not help.
    pub(crate) fn is_file(&self) -> bool {
        matches!(*self.0, Kind::File { .. } | Kind::Io { .. })
    }

    /// True when the work was stopped on request.
    pub fn is_interrupted(&self) -> bool {
        matches!(*self.0, Kind::Interrupted)
    }
}

/// Refuse a quantity that is not positive and finite.
pub(crate) fn require_positive(name: &str, value: f64) -> Result<()> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(Error::input(format!(
            "{name} must be positive and finite, not {value}"
        )))
    }
}
