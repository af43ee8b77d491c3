//! The paper's benchmarks.

use std::path::PathBuf;

use ergode::{ReproduceConfig, RunFolder};
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
    watched(py, "reproducing", progress, |watch| {
        let folder = RunFolder::open(&run)?;
        let tell = |what: &str| watch.tell(what);
        ergode::reproduce(&config, &folder, &tell, watch.control)
    })?;
    Ok(())
}
