//! The outcome of a fit.

use std::path::Path;

use super::folder::load_record;
use super::learn::Models;
use crate::error::Result;
use crate::model::LangevinModel;
use crate::report::{Page, Results, RunRecord, run_page};
use crate::validate::Validation;

/// Result of a fit.
#[derive(Debug)]
pub struct Fitted {
    /// The learned model.
    pub model: LangevinModel,
    /// The same score with the constant mobility Φ = ⟨M⟩.
    pub constant: LangevinModel,
    /// Results as plain data.
    pub record: RunRecord,
}

impl Fitted {
    /// `results.json`.
    pub fn results(&self) -> &Results {
        &self.record.results
    }

    /// The comparison with held-out data.
    pub fn validation(&self) -> &Validation {
        &self.record.validation
    }

    /// The report page.
    pub fn page(&self) -> Page {
        run_page(&self.record)
    }

    /// Read what a finished fit left in the folder of its run.
    ///
    /// # Errors
    /// When a file is missing or damaged, the fit was not finished, or another version wrote it.
    pub fn load(path: &Path) -> Result<Self> {
        let record = load_record(path)?;
        let Models { model, constant } = Models::load(path)?;
        Ok(Self {
            model,
            constant,
            record,
        })
    }
}
