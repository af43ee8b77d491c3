//! Where a fit keeps its finished stages: in a run folder, or nowhere.

use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::folder::RunFolder;
use super::learn::Models;
use crate::clock::Clock;
use crate::error::Result;
use crate::model::LangevinModel;
use crate::report::RunRecord;

/// Keeps finished stages.
pub(super) enum Store<'a> {
    /// In a folder, from which an interrupted fit resumes.
    Folder(&'a RunFolder),
    /// In memory for as long as the fit lasts.
    Memory,
}

impl<'a> Store<'a> {
    /// The folder, if there is one.
    pub(super) fn new(folder: Option<&'a RunFolder>) -> Self {
        folder.map_or(Self::Memory, Self::Folder)
    }

    /// A stage that was finished with the same key, else `work`, which is then kept; with the seconds that
    /// the work took.
    pub(super) fn stage<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        key: Value,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<(T, f64)> {
        match self {
            Self::Folder(folder) => folder.stage(name, key, work),
            Self::Memory => {
                let clock = Clock::start();
                let value = work()?;
                Ok((value, clock.seconds()))
            }
        }
    }

    /// A stage whose work makes models too, which are kept in their files.
    pub(super) fn model_stage<T: Serialize + DeserializeOwned>(
        &self,
        name: &str,
        key: Value,
        work: impl FnOnce() -> Result<(T, Models)>,
    ) -> Result<(T, Models)> {
        let Self::Folder(folder) = self else {
            return work();
        };
        let kept = Models::load(folder.path());
        if let Err(error) = &kept {
            // A stage without its files is of no use.
            folder.note_refusal(name, error);
            folder.forget(name);
        }
        let mut made = None;
        let (value, _) = folder.stage(name, key, || {
            let (value, models) = work()?;
            models.save(folder.path())?;
            made = Some(models);
            Ok(value)
        })?;
        Ok((value, made.map_or(kept, Ok)?))
    }

    /// Stored result of a finished stage with this key.
    pub(super) fn kept<T: DeserializeOwned>(&self, name: &str, key: &Value) -> Option<(T, f64)> {
        match self {
            Self::Folder(folder) => folder.kept(name, key),
            Self::Memory => None,
        }
    }

    /// Where networks keep the state of their training.
    pub(super) fn checkpoints(&self) -> Option<PathBuf> {
        match self {
            Self::Folder(folder) => Some(folder.stages()),
            Self::Memory => None,
        }
    }

    /// Write the files of a finished run, and the model with the step that its validation used.
    pub(super) fn write(&self, model: &LangevinModel, record: &RunRecord) -> Result<()> {
        match self {
            Self::Folder(folder) => {
                model.save(folder.path())?;
                folder.write(record)
            }
            Self::Memory => Ok(()),
        }
    }
}
