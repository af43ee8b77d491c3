//! Files that appear complete or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// A file written under a temporary name beside its target and renamed by [`AtomicFile::commit`].
///
/// Dropping it without a commit (an error, a panic) removes the temporary file and leaves the
/// target as it was.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    target: PathBuf,
    temporary: PathBuf,
    file: Option<File>,
}

impl AtomicFile {
    /// Writes all of `bytes` to `path`.
    pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
        let mut file = Self::create(path)?;
        file.file()
            .write_all(bytes)
            .map_err(|error| Error::io(path, error))?;
        file.commit()
    }

    /// Creates the temporary file `.NAME.PID.COUNTER.tmp` in the folder of `path`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if path.file_name().is_none() || path.is_dir() {
            return Err(Error::file(
                path,
                "is a folder, not a file; give the name of a file inside it",
            ));
        }
        loop {
            let temporary = beside(path);
            match OpenOptions::new()
                .read(true)
                .write(true)
                .create_new(true)
                .open(&temporary)
            {
                Ok(file) => {
                    return Ok(Self {
                        target: path.to_owned(),
                        temporary,
                        file: Some(file),
                    });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io(path, error)),
            }
        }
    }

    /// The open temporary file, readable and writable.
    pub(crate) fn file(&mut self) -> &mut File {
        self.file
            .as_mut()
            .expect("the file is open until it is committed")
    }

    /// Flushes the content to the disk and gives the file its final name.
    pub(crate) fn commit(mut self) -> Result<()> {
        let target = self.target.clone();
        let report = |error| Error::io(&target, error);
        self.file().sync_all().map_err(report)?;
        // Windows refuses to rename a file that is still open.
        drop(self.file.take());
        match fs::rename(&self.temporary, &target) {
            Ok(()) => {
                self.temporary.clear();
                Ok(())
            }
            Err(error) => Err(report(error)),
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file().flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        drop(self.file.take());
        if !self.temporary.as_os_str().is_empty() {
            // Nothing useful can be done about a temporary file that will not go away.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A folder written under a temporary name beside its target and renamed by
/// [`AtomicFolder::commit`].
#[derive(Debug)]
pub(crate) struct AtomicFolder {
    target: PathBuf,
    temporary: PathBuf,
}

impl AtomicFolder {
    /// Creates the temporary folder.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if path.is_file() {
            return Err(Error::file(
                path,
                "is a file, but a folder is to be written; remove it or choose another name",
            ));
        }
        let temporary = beside(path);
        fs::create_dir(&temporary).map_err(|error| Error::io(path, error))?;
        Ok(Self {
            target: path.to_owned(),
            temporary,
        })
    }

    /// The folder to write into.
    pub(crate) fn path(&self) -> &Path {
        &self.temporary
    }

    /// The name that the folder will have.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the folder its final name, in place of one that is there.
    pub(crate) fn commit(mut self) -> Result<()> {
        let report = |error| Error::io(&self.target, error);
        let old = self.target.exists().then(|| beside(&self.target));
        if let Some(old) = &old {
            fs::rename(&self.target, old).map_err(report)?;
        }
        if let Err(error) = fs::rename(&self.temporary, &self.target) {
            if let Some(old) = &old {
                // The one that was there comes back, as far as that is possible.
                let _ = fs::rename(old, &self.target);
            }
            return Err(report(error));
        }
        self.temporary.clear();
        match old {
            Some(old) => fs::remove_dir_all(old).map_err(report),
            None => Ok(()),
        }
    }
}

impl Drop for AtomicFolder {
    fn drop(&mut self) {
        if !self.temporary.as_os_str().is_empty() {
            // Nothing useful can be done about a temporary folder that will not go away.
            let _ = fs::remove_dir_all(&self.temporary);
        }
    }
}

/// A name beside `path` that no other call returns: `.NAME.PID.COUNTER.tmp`.
fn beside(path: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let counter = COUNTER.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{counter}.tmp", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn entries(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn commit_replaces_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        fs::write(&path, b"old").unwrap();
        let mut atomic = AtomicFile::create(&path).unwrap();
        atomic.file().write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        atomic.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(entries(folder.path()), 1);
    }

    #[test]
    fn drop_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        let mut atomic = AtomicFile::create(&path).unwrap();
        atomic.file().write_all(b"half").unwrap();
        assert_eq!(entries(folder.path()), 1);
        drop(atomic);
        assert_eq!(entries(folder.path()), 0);
    }

    #[test]
    fn a_failed_commit_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        let atomic = AtomicFile::create(&path).unwrap();
        // A non-empty folder in the way makes the rename fail.
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), b"").unwrap();
        assert!(atomic.commit().is_err());
        assert_eq!(entries(folder.path()), 1);
    }

    #[test]
    fn folders_and_missing_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = AtomicFile::create(folder.path()).unwrap_err();
        assert!(error.to_string().contains("folder"), "{error}");
        let missing = folder.path().join("no").join("a.bin");
        assert!(AtomicFile::create(&missing).unwrap_err().is_bad_input());
    }
}
