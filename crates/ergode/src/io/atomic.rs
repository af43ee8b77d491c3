//! Files and folders that appear complete or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use tempfile::{Builder, NamedTempFile, TempDir};

use crate::error::{Error, Result};

/// A file written under a temporary name beside its target and renamed by [`AtomicFile::commit`].
///
/// Dropping it without a commit (an error, a panic) removes the temporary file and leaves the
/// target as it was.
#[derive(Debug)]
pub(crate) struct AtomicFile {
    target: PathBuf,
    file: NamedTempFile,
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

    /// Creates the temporary file in the folder of `path`.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if path.file_name().is_none() || path.is_dir() {
            return Err(Error::file(
                path,
                "is a folder, not a file; give a file name",
            ));
        }
        let file = beside(path, 0o666, |builder, folder| builder.tempfile_in(folder))?;
        let target = path.to_owned();
        Ok(Self { target, file })
    }

    /// The open temporary file, readable and writable.
    pub(crate) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Flushes the content to the disk and gives the file its final name.
    pub(crate) fn commit(self) -> Result<()> {
        let report = |error| Error::io(&self.target, error);
        self.file.as_file().sync_all().map_err(report)?;
        let renamed = self.file.persist(&self.target);
        renamed.map(drop).map_err(|failed| report(failed.error))
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

/// A folder written under a temporary name beside its target and renamed by
/// [`AtomicFolder::commit`].
#[derive(Debug)]
pub(crate) struct AtomicFolder {
    target: PathBuf,
    folder: TempDir,
}

impl AtomicFolder {
    /// Creates the temporary folder.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        if path.is_file() {
            return Err(Error::file(
                path,
                "is a file, but the output is a folder; remove the file or choose another name",
            ));
        }
        let target = path.to_owned();
        let folder = folder_beside(path)?;
        Ok(Self { target, folder })
    }

    /// The folder to write into.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The name that the folder will have.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Gives the folder its final name, in place of one that is there.
    pub(crate) fn commit(mut self) -> Result<()> {
        let report = |error| Error::io(&self.target, error);
        // A folder that is there moves into a temporary one, which removes it at the end.
        let old = match self.target.exists() {
            true => Some(folder_beside(&self.target)?),
            false => None,
        };
        if let Some(old) = &old {
            fs::rename(&self.target, old.path().join("old")).map_err(report)?;
        }
        if let Err(error) = fs::rename(self.folder.path(), &self.target) {
            if let Some(old) = &old {
                // The folder that was there comes back, as far as that is possible.
                let _ = fs::rename(old.path().join("old"), &self.target);
            }
            return Err(report(error));
        }
        self.folder.disable_cleanup(true);
        old.map_or(Ok(()), TempDir::close).map_err(report)
    }
}

fn folder_beside(path: &Path) -> Result<TempDir> {
    beside(path, 0o777, |builder, folder| builder.tempdir_in(folder))
}

/// Makes something under a hidden temporary name in the folder of `path`, with these permissions
/// as far as the user's mask allows.
fn beside<T>(
    path: &Path,
    permissions: u32,
    make: impl FnOnce(&Builder<'_, '_>, &Path) -> std::io::Result<T>,
) -> Result<T> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let prefix = format!(".{name}.");
    let mut builder = Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(permissions));
    #[cfg(not(unix))]
    let _ = permissions;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    make(&builder, folder.unwrap_or(Path::new("."))).map_err(|error| Error::io(path, error))
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
