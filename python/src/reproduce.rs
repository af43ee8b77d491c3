//! The paper's benchmarks.

use std::path::PathBuf;

use ergode::RunFolder;
use ergode::reproduce::ReproduceConfig;
use pyo3::prelude::*;

use crate::error::InputError;
use crate::work::watched;

/// Reproduce the benchmark of `config` (JSON) in the folder `run`.
#[pyfunction]
pub(crate) fn reproduce(
    py: Python<'_>,
    config: &str,
    run: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<()> {
    let config: ReproduceConfig =
        serde_json::from_str(config).map_err(|error| InputError::new_err(error.to_string()))?;
    watched(py, "reproducing", progress, |control| {
        let folder = RunFolder::open(&run)?;
        ergode::reproduce::reproduce(&config, &folder, control)
    })?;
    Ok(())
}
