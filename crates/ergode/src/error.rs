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
    #[error("{}: {message}", printable(&path.display().to_string()))]
    File { path: PathBuf, message: String },
    #[error("{}: {source}{}", printable(&path.display().to_string()), advice(source))]
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

/// A text of one line, in which control characters, such as those of a terminal, are escaped.
///
/// Names and paths come from users and from files; whatever prints them passes them through here.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}') {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out
}

impl Error {
    /// Input that cannot be used: parameters, shapes, values.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self(Box::new(Kind::Input(printable(&message.into()))))
    }

    /// A file whose content cannot be used.
    pub(crate) fn file(path: &Path, message: impl Into<String>) -> Self {
        Self(Box::new(Kind::File {
            path: path.to_owned(),
            message: printable(&message.into()),
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
        Self(Box::new(Kind::Numerical(printable(&message.into()))))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_move_the_cursor_or_begin_a_line() {
        assert_eq!(printable("a\u{1b}[31m\nb\tµ"), "a\\u{1b}[31m\\nb\\tµ");
        let path = Path::new("a\nb.csv");
        let shown = Error::file(path, "column 'x\r'").to_string();
        assert_eq!(shown, "a\\nb.csv: column 'x\\r'");
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert!(!Error::io(path, missing).to_string().contains('\n'));
        assert_eq!(Error::input("a\nb").to_string(), "a\\nb");
    }
}
