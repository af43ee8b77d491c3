//! A file of rows that is read by position.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::dtype::{Dtype, Element};
use crate::error::{Error, Result};

/// The file with its layout: all rows one after the other.
pub(super) struct Storage {
    pub(super) path: PathBuf,
    file: File,
    /// Bytes before the first row.
    offset: u64,
    pub(super) dtype: Dtype,
    pub(super) width: usize,
    /// The state of the file when it was opened.
    opened: Metadata,
    /// The first error.
    fault: OnceLock<(io::ErrorKind, String)>,
}

impl Storage {
    pub(super) fn new(
        path: &Path,
        file: File,
        offset: u64,
        dtype: Dtype,
        width: usize,
    ) -> Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            opened: file.metadata().map_err(|error| Error::io(path, error))?,
            file,
            offset,
            dtype,
            width,
            fault: OnceLock::new(),
        })
    }

    /// Bytes of a row.
    pub(super) fn row_bytes(&self) -> usize {
        self.width * self.dtype.size()
    }

    /// Reads from the beginning of a row of the file on; false once anything has gone wrong.
    pub(super) fn read(&self, row: usize, bytes: &mut [u8]) -> bool {
        if self.fault.get().is_some() {
            return false;
        }
        let at = self.offset + row as u64 * self.row_bytes() as u64;
        let outcome = read_at(&self.file, bytes, at);
        if let Err(error) = &outcome {
            let text = match error.kind() {
                io::ErrorKind::UnexpectedEof => "ends before its last row".to_owned(),
                _ => error.to_string(),
            };
            // Another thread may have been first.
            let _ = self.fault.set((error.kind(), text));
        }
        outcome.is_ok()
    }

    /// Fails if the file changed or could not be read since it was opened.
    pub(super) fn intact(&self) -> Result<()> {
        let problem = |kind, text: &str| {
            let message = format!(
                "{text}; the file changed or was removed while in use: restore it and rerun"
            );
            Err(Error::io(&self.path, io::Error::new(kind, message)))
        };
        if let Some((kind, text)) = self.fault.get() {
            return problem(*kind, text);
        }
        let now = self.file.metadata();
        let now = now.map_err(|error| Error::io(&self.path, error))?;
        let same =
            now.len() == self.opened.len() && now.modified().ok() == self.opened.modified().ok();
        if same {
            Ok(())
        } else {
            problem(
                io::ErrorKind::InvalidData,
                "has another size or modification time than when it \
                 was opened",
            )
        }
    }
}

/// Floating-point numbers from their bytes.
pub(super) fn decode(dtype: Dtype, bytes: &[u8], out: &mut [f64]) {
    macro_rules! numbers {
        ($from:ty, $order:ident) => {
            for (out, bytes) in out.iter_mut().zip(bytes.as_chunks().0) {
                *out = <$from>::$order(*bytes).into();
            }
        };
    }
    match (dtype.element == Element::F4, dtype.big_endian) {
        (true, false) => numbers!(f32, from_le_bytes),
        (true, true) => numbers!(f32, from_be_bytes),
        (false, false) => numbers!(f64, from_le_bytes),
        (false, true) => numbers!(f64, from_be_bytes),
    }
}

/// Fills `bytes` from a place of the file, which other threads may read at the same time.
fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        std::os::unix::fs::FileExt::read_exact_at(file, bytes, at)
    }
    #[cfg(windows)]
    {
        let mut done = 0;
        while done < bytes.len() {
            let place = at + done as u64;
            match std::os::windows::fs::FileExt::seek_read(file, &mut bytes[done..], place)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => done += count,
            }
        }
        Ok(())
    }
}
