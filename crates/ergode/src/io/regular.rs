//! Files of a folder that others may have prepared: regular files of a size that fits into memory, and
//! content that is still what was written.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::atomic::AtomicFile;
use super::json::from_json;
use crate::data::checksum;
use crate::error::{Error, Result};
use crate::memory;

/// Bytes of memory that a byte of a file may become when it is parsed.
const EXPANSION: u64 = 8;

/// Refuses a path that is there and is no regular file of its folder: a device, a pipe, a folder, or a link
/// that leads elsewhere. Nothing is opened, so that a pipe without a writer holds nobody up.
///
/// # Errors
/// When it is, or the system does not say.
pub(crate) fn refuse_irregular(path: &Path) -> Result<()> {
    let report = |error| Error::io(path, error);
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(report(error)),
        Ok(found) if found.is_file() => return Ok(()),
        Ok(_) => {}
    }
    if !fs::metadata(path).map_err(report)?.is_file() {
        return Err(Error::file(
            path,
            "is a folder, a pipe or a device; put a regular file in its place, or remove it",
        ));
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    match path.canonicalize().map_err(report)? {
        target if target.starts_with(folder.map_err(report)?) => Ok(()),
        target => Err(Error::file(
            path,
            format!(
                "is a link to {}, outside its folder; copy the file into the folder",
                target.display()
            ),
        )),
    }
}

/// The content of a regular file; its size is looked at first.
///
/// # Errors
/// As [`refuse_irregular`], and when it cannot be read or is too large for memory.
pub(crate) fn read_regular(path: &Path) -> Result<Vec<u8>> {
    refuse_irregular(path)?;
    let report = |error| Error::io(path, error);
    let file = File::open(path).map_err(report)?;
    let size = file.metadata().map_err(report)?.len();
    let large = |error: Error| Error::file(path, error.to_string());
    memory::claim("reading it", &[("bytes of the file", size)], EXPANSION).map_err(large)?;
    let mut content = Vec::new();
    // No more than was counted, also if the file grows.
    file.take(size).read_to_end(&mut content).map_err(report)?;
    Ok(content)
}

const BEFORE: (&str, &str) = ("{\"checksum\":\"", "\",\"content\":");
const AFTER: &str = "}\n";

/// Writes a value as JSON beside its checksum: `{"checksum": "..", "content": value}`.
///
/// # Errors
/// When the value is no JSON, or the file cannot be written.
pub(crate) fn write_sealed(path: &Path, value: &impl Serialize) -> Result<()> {
    let content = serde_json::to_vec(value)
        .map_err(|error| Error::numerical(format!("{}: {error}", path.display())))?;
    let mut text = format!("{}{:016x}{}", BEFORE.0, checksum(&content), BEFORE.1).into_bytes();
    text.extend_from_slice(&content);
    text.extend_from_slice(AFTER.as_bytes());
    AtomicFile::write(path, &text)
}

/// Reads what [`write_sealed`] wrote.
///
/// # Errors
/// As [`read_regular`], and when the content was changed or cut, or is of another kind.
pub(crate) fn read_sealed<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = read_regular(path)?;
    let content = unsealed(&text).ok_or_else(|| {
        Error::file(
            path,
            "was changed or cut after it was written: its checksum does not match",
        )
    })?;
    from_json(content).map_err(|error| Error::file(path, error.to_string()))
}

fn unsealed(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(BEFORE.0.as_bytes())?;
    let (sum, rest) = rest.split_at_checked(16)?;
    let content = rest
        .strip_prefix(BEFORE.1.as_bytes())?
        .strip_suffix(AFTER.as_bytes())?;
    (format!("{:016x}", checksum(content)).as_bytes() == sum).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_content_comes_back_and_a_change_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write_sealed(&path, &vec![1.5, 0.1]).unwrap();
        assert_eq!(read_sealed::<Vec<f64>>(&path).unwrap(), [1.5, 0.1]);
        let text = fs::read_to_string(&path).unwrap();
        let whole: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(whole["content"][0], 1.5);
        for changed in [
            text.replace("1.5", "1.6"),
            text[..30].to_owned(),
            String::new(),
        ] {
            fs::write(&path, changed).unwrap();
            let message = read_sealed::<Vec<f64>>(&path).unwrap_err().to_string();
            assert!(message.contains("changed or cut"), "{message}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn devices_folders_links_out_and_giants_are_refused() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("run");
        fs::create_dir(&inside).unwrap();
        let message = |name: &str| read_regular(&inside.join(name)).unwrap_err().to_string();
        symlink("/dev/zero", inside.join("device")).unwrap();
        assert!(
            message("device").contains("a pipe or a device"),
            "{}",
            message("device")
        );
        fs::create_dir(inside.join("folder")).unwrap();
        assert!(message("folder").contains("is a folder"));
        fs::write(folder.path().join("secret"), "s").unwrap();
        symlink("../secret", inside.join("out")).unwrap();
        assert!(message("out").contains("outside its folder"));
        let giant = File::create(inside.join("giant")).unwrap();
        giant.set_len(1 << 42).unwrap();
        assert!(
            message("giant").contains("would take 32.0 TiB"),
            "{}",
            message("giant")
        );
        // A link inside the folder is as good as a file.
        fs::write(inside.join("file"), "s").unwrap();
        symlink("file", inside.join("in")).unwrap();
        assert_eq!(read_regular(&inside.join("in")).unwrap(), b"s");
    }
}
