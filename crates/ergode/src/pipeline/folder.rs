//! The folder of a run: finished stages, the log, and who may write.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::clock::{self, Clock};
use crate::error::{Error, Result};
use crate::io::{AtomicFile, from_json, read_regular, read_sealed, refuse_irregular, write_sealed};
use crate::report::{RunRecord, run_page};

/// The file of a [`RunRecord`] among the stages.
const RECORD: &str = "record.json";

/// A run on disk. Its finished stages are kept, so that a run that was stopped resumes there; one process
/// writes to it at a time.
#[derive(Debug)]
pub struct RunFolder {
    path: PathBuf,
    log: File,
    /// Held locked until the end; the system unlocks it however the process ends.
    _lock: File,
}

/// Stored result of a stage, and the key of its inputs.
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
        if fs::symlink_metadata(&stages).is_ok_and(|found| found.is_symlink()) {
            return Err(Error::file(
                &stages,
                "is a link; choose another folder for the run, or replace the link by a folder",
            ));
        }
        let name = stages.join("lock");
        refuse_irregular(&name)?;
        let lock = File::create(&name).map_err(|error| Error::io(&name, error))?;
        lock.try_lock().map_err(|_| {
            Error::file(
                path,
                "another run is writing to this folder; wait for it, or choose another folder",
            )
        })?;
        remove_unfinished(&[path, &stages, &path.join("constant")]);
        let name = path.join("log.jsonl");
        refuse_irregular(&name)?;
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
        if let Some((value, seconds)) = self.kept(name, &key) {
            self.log(&json!({"stage": name, "kept": true}))?;
            return Ok((value, seconds));
        }
        // If the work is stopped, what it replaces must not be taken for its result.
        self.forget(name);
        self.log(&json!({"stage": name, "begun": true}))?;
        let clock = Clock::start();
        let value = work()?;
        let stage = Stage {
            key,
            seconds: clock.seconds(),
            value,
        };
        write_sealed(&self.stage_file(name), &stage)?;
        self.log(&json!({"stage": name, "seconds": stage.seconds}))?;
        Ok((stage.value, stage.seconds))
    }

    /// Stored result of a finished stage with the same key; a result that was changed or cannot be read is
    /// recomputed, and the log says why.
    pub(super) fn kept<T: DeserializeOwned>(&self, name: &str, key: &Value) -> Option<(T, f64)> {
        let file = self.stage_file(name);
        fs::symlink_metadata(&file).ok()?;
        let stage: Stage<T> = read_sealed(&file)
            .inspect_err(|error| self.note_refusal(name, error))
            .ok()?;
        (stage.key == *key).then_some((stage.value, stage.seconds))
    }

    /// Log why something that was kept is not used.
    pub(super) fn note_refusal(&self, stage: &str, error: &Error) {
        // A full disk stops the work where it next writes a result.
        let _ = self.log(&json!({"stage": stage, "refused": error.to_string()}));
    }

    /// Remove what a stage left.
    pub(super) fn forget(&self, name: &str) {
        let _ = fs::remove_file(self.stage_file(name));
    }

    fn stage_file(&self, name: &str) -> PathBuf {
        self.stages().join(format!("{name}.json"))
    }

    /// Write `config.toml`, `results.json`, `report.html`, and the record that pages are made from.
    pub(crate) fn write(&self, record: &RunRecord) -> Result<()> {
        let text = record.configuration.as_bytes();
        AtomicFile::write(&self.path.join("config.toml"), text)?;
        write_sealed(&self.stages().join(RECORD), record)?;
        write_json(&self.path.join("results.json"), &record.results)?;
        let page = run_page(record).html();
        AtomicFile::write(&self.path.join("report.html"), page.as_bytes())
    }

    /// Adds a line to `log.jsonl`, with the time in seconds since 1970.
    pub(super) fn log(&self, event: &Value) -> Result<()> {
        let mut line = json!({"time": clock::date()});
        if let (Value::Object(line), Value::Object(event)) = (&mut line, event) {
            line.extend(event.clone());
        }
        let name = self.path.join("log.jsonl");
        let mut log = &self.log;
        writeln!(log, "{line}").map_err(|error| Error::io(&name, error))
    }
}

/// Removes temporary files that a killed process left; the caller has the folder to itself.
fn remove_unfinished(folders: &[&Path]) {
    let entries = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok());
    for entry in entries.flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".tmp") {
            // One that stays is in nobody's way.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Record of a finished run, for its page.
///
/// # Errors
/// When the run is not finished, a file is damaged, or another version of the library wrote it.
pub(super) fn load_record(path: &Path) -> Result<RunRecord> {
    let results: Value = read_json(&path.join("results.json"))?;
    let file = path.join("stages").join(RECORD);
    let version = results["ergode"].as_str().unwrap_or("unknown");
    if fs::symlink_metadata(&file).is_err() {
        return Err(Error::file(
            path,
            format!(
                "ergode {version} wrote this run without {RECORD}, which the page needs; rerun the fit"
            ),
        ));
    }
    read_sealed(&file).map_err(|error| {
        Error::file(
            path,
            format!("ergode {version} wrote this run, and {error}; rerun the fit"),
        )
    })
}

/// Read a file of a finished run.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = read_regular(path).map_err(|error| {
        Error::input(format!(
            "{error}; give the folder of a finished `ergode fit`"
        ))
    })?;
    from_json(&text)
        .map_err(|error| Error::file(path, format!("{error}; the file is damaged, rerun the fit")))
}

/// Write a value as JSON, first to a temporary file.
pub(super) fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::numerical(format!("{}: {error}", path.display())))?;
    AtomicFile::write(path, (text + "\n").as_bytes())
}
