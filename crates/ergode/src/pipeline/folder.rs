//! The folder of a run: finished stages, the log, and who may write.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::io::AtomicFile;

/// A run on disk. Its stages are kept when they are finished, so that a run that was stopped goes on
/// from there; one process writes to it at a time.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    log: File,
    /// Held locked until the end; the system unlocks it however the process ends.
    _lock: File,
}

/// What a stage left behind, and what it was computed from.
#[derive(Serialize, Deserialize)]
struct Stage<T> {
    key: Value,
    seconds: f64,
    value: T,
}

impl RunFolder {
    /// Opens the folder, which is made if it does not exist.
    ///
    /// # Errors
    /// When it cannot be written, or another process is writing to it.
    pub fn open(path: &Path) -> Result<Self> {
        let stages = path.join("stages");
        fs::create_dir_all(&stages).map_err(|error| Error::io(&stages, error))?;
        let name = stages.join("lock");
        let lock = File::create(&name).map_err(|error| Error::io(&name, error))?;
        lock.try_lock().map_err(|_| {
            Error::file(
                path,
                "another run is writing to this folder; wait for it, or choose another folder",
            )
        })?;
        let name = path.join("log.jsonl");
        let log = OpenOptions::new().create(true).append(true).open(&name);
        Ok(Self {
            path: path.to_owned(),
            log: log.map_err(|error| Error::io(&name, error))?,
            _lock: lock,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder where stages keep their files.
    pub fn stages(&self) -> PathBuf {
        self.path.join("stages")
    }

    /// A stage that was finished with the same key, else `work`, which is then kept. The seconds are
    /// those that the work took when it was done.
    pub(crate) fn stage<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        key: Value,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<(T, f64)> {
        let file = self.stages().join(format!("{name}.json"));
        // What cannot be read is computed anew.
        let kept = fs::read(&file).ok();
        let kept = kept.and_then(|bytes| serde_json::from_slice::<Stage<T>>(&bytes).ok());
        if let Some(kept) = kept.filter(|kept| kept.key == key) {
            self.log(&json!({"stage": name, "kept": true}))?;
            return Ok((kept.value, kept.seconds));
        }
        // Should the work be stopped, what it replaced must not be taken for its result.
        let _ = fs::remove_file(&file);
        self.log(&json!({"stage": name, "begun": true}))?;
        let clock = Instant::now();
        let value = work()?;
        let seconds = clock.elapsed().as_secs_f64();
        let stage = Stage {
            key,
            seconds,
            value,
        };
        write_json(&file, &stage)?;
        self.log(&json!({"stage": name, "seconds": seconds}))?;
        Ok((stage.value, seconds))
    }

    /// Adds a line to `log.jsonl`, with the time in seconds since 1970.
    pub(super) fn log(&self, event: &Value) -> Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut line = json!({"time": now.map_or(0.0, |now| now.as_secs_f64())});
        if let (Value::Object(line), Value::Object(event)) = (&mut line, event) {
            line.extend(event.clone());
        }
        let name = self.path.join("log.jsonl");
        let mut log = &self.log;
        writeln!(log, "{line}").map_err(|error| Error::io(&name, error))
    }
}

/// What a finished stage of the run in `path` left behind.
pub(super) fn kept<T: DeserializeOwned>(path: &Path, name: &str) -> Result<T> {
    let file = path.join("stages").join(format!("{name}.json"));
    Ok(read_json::<Stage<T>>(&file)?.value)
}

/// Read a file of a finished run.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read(path).map_err(|error| {
        Error::file(
            path,
            format!("{error}; give the folder of a finished `ergode fit`"),
        )
    })?;
    serde_json::from_slice(&text).map_err(|error| {
        Error::file(
            path,
            format!("{error}; the file is damaged, run the fit again"),
        )
    })
}

/// Write a value as JSON, beside its place and then there.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::numerical(format!("{}: {error}", path.display())))?;
    AtomicFile::write(path, (text + "\n").as_bytes())
}
