//! The check of a record before a fit.

use ergode::report::check_page;
use ergode::{CheckConfig, check_ensemble};
use pyo3::prelude::*;

use crate::ensemble::Ensemble;
use crate::work::watched;

/// Check a record; returns the report as JSON, and its page.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    ensemble: &Bound<'_, Ensemble>,
    title: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<(String, String)> {
    let ensemble = &ensemble.get().inner;
    let report = watched(py, "checking", progress, |control| {
        check_ensemble(ensemble, &CheckConfig::default(), control)
    })?;
    let json = serde_json::to_string(&report).expect("a report is plain data");
    Ok((json, check_page(title, &report).html()))
}
