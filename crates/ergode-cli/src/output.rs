//! Results, failures and exit codes.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use ergode::printable;
use serde_json::Value;

/// Why a command failed: the message for the user, and the exit code (2 for bad input, else 1).
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) message: String,
    pub(crate) code: u8,
}

impl Failed {
    /// A failure caused by the user's input.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self {
            message: printable(&message.into()),
            code: 2,
        }
    }

    /// Any other failure.
    pub(crate) fn other(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            code: 1,
        }
    }
}

impl From<ergode::Error> for Failed {
    fn from(error: ergode::Error) -> Self {
        Self {
            message: error.to_string(),
            code: if error.is_bad_input() { 2 } else { 1 },
        }
    }
}

/// Print the result as JSON or as a sentence.
pub(crate) fn report(json: bool, result: &Value, sentence: &str) -> Result<(), Failed> {
    match json {
        true => print(&format!("{result}\n")),
        false => print(&format!("{sentence}\n")),
    }
}

/// Print text; a reader that has seen enough, such as `head`, is no failure.
pub(crate) fn print(text: &str) -> Result<(), Failed> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failed::other(format!(
            "the result could not be printed to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Print a line to stderr. Where stderr is closed or full, there is nobody to tell.
pub(crate) fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The longest configuration.
const LONGEST: u64 = 1 << 24;

/// Read a text file, which may be a pipe.
pub(crate) fn read_text(path: &Path) -> Result<String, Failed> {
    let failed =
        |problem: &dyn std::fmt::Display| Failed::input(format!("{}: {problem}", shown(path)));
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| failed(&error))?;
    let read = file.take(LONGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| failed(&error))?;
    if bytes.len() as u64 > LONGEST {
        return Err(failed(&format!(
            "has more than {LONGEST} bytes; give a configuration file in TOML"
        )));
    }
    String::from_utf8(bytes).map_err(|_| failed(&"is not text in UTF-8"))
}

/// Write a text file to a temporary name, then rename it.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<(), Failed> {
    let name = path
        .file_name()
        .ok_or_else(|| Failed::input(format!("{} is not a file name", shown(path))))?;
    let beside = path.with_file_name(format!(".{}.tmp", name.to_string_lossy()));
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, path))
        .map_err(|error| {
            // Remove the incomplete file; its own error is of no interest.
            let _ = fs::remove_file(&beside);
            let message = format!("{}: {error}", shown(path));
            if error.kind() == std::io::ErrorKind::NotFound {
                Failed::input(message)
            } else {
                Failed::other(message)
            }
        })
}

/// A path as text of one line.
pub(crate) fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// `1` as `1 trajectory`, `16` as `16 trajectories`.
pub(crate) fn trajectories(number: usize) -> String {
    let noun = if number == 1 {
        "trajectory"
    } else {
        "trajectories"
    };
    format!("{} {noun}", grouped(number))
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
