//! Sums of parts of a record, and fits of them.

use std::path::PathBuf;
use std::sync::Arc;

use ergode::pipeline::{Piece, Scales, Survey, fit_sums as fit_of_sums};
use ergode::{Control, FitOptions, RunFolder};
use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::ensemble::Ensemble;
use crate::error::{InputError, raised};
use crate::model::{Fitted, parsed};
use crate::work::watched;

/// Trajectory, first row and one past the last.
type Stretch = (usize, usize, usize);

/// Count, means, sums of squared deviations, least and greatest values.
type Numbers = (f64, Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>);

/// The plan of sums.
#[pyclass(frozen, module = "ergode._core")]
pub(crate) struct SumsPlan {
    inner: Arc<ergode::pipeline::SumsPlan>,
}

/// A plan that lacks the scales of the training samples.
#[pyclass(module = "ergode._core")]
pub(crate) struct SumsDraft {
    inner: Option<ergode::pipeline::Draft>,
    dim: usize,
}

/// Sums over rows of a record.
#[pyclass(module = "ergode._core")]
pub(crate) struct Sums {
    inner: ergode::pipeline::Sums,
}

/// The rows to bring together for the decisions of a plan.
#[pyfunction]
pub(crate) fn survey_excerpt(rows: Vec<usize>, dim: usize, kept: usize) -> Vec<Stretch> {
    survey(
        vec![String::new(); dim],
        Vec::new(),
        String::new(),
        1.0,
        rows,
        Vec::new(),
    )
    .excerpt(kept)
}

fn survey(
    names: Vec<String>,
    units: Vec<String>,
    time_unit: String,
    interval: f64,
    rows: Vec<usize>,
    first_times: Vec<f64>,
) -> Survey {
    Survey {
        names,
        units,
        time_unit,
        interval,
        rows,
        first_times,
    }
}

#[pymethods]
impl SumsDraft {
    /// What a fit would decide, by an excerpt of the record and the runs of its complete rows.
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        excerpt: &Bound<'_, Ensemble>,
        kept: usize,
        runs: Vec<Stretch>,
        config: &str,
        units: Vec<String>,
        time_unit: String,
        interval: f64,
        rows: Vec<usize>,
        first_times: Vec<f64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let config = parsed(config)?;
        let excerpt = &excerpt.get().inner;
        let names = excerpt.names().to_vec();
        let dim = names.len();
        let survey = survey(names, units, time_unit, interval, rows, first_times);
        let draft = watched(py, "planning", progress, |control| {
            survey.draft(excerpt, kept, &runs, &config, control)
        })?;
        Ok(Self {
            inner: Some(draft),
            dim,
        })
    }

    /// The training rows.
    fn training(&self) -> PyResult<Vec<Stretch>> {
        let draft = self.inner.as_ref().ok_or_else(used)?;
        Ok(draft.training())
    }

    /// The plan, with the scales of all parts of the training rows.
    fn plan(&mut self, parts: Vec<Numbers>) -> PyResult<SumsPlan> {
        let mut scales = Scales::none(self.dim);
        for (count, mean, squares, low, high) in parts {
            if [&mean, &squares, &low, &high]
                .iter()
                .any(|of| of.len() != self.dim)
            {
                return Err(InputError::new_err("expected one number per coordinate"));
            }
            scales.add(&Scales {
                count,
                mean,
                squares,
                low,
                high,
            });
        }
        let plan = self.inner.take().ok_or_else(used)?.plan(&scales);
        let inner = Arc::new(plan.map_err(raised)?);
        Ok(SumsPlan { inner })
    }
}

fn used() -> PyErr {
    InputError::new_err("the draft has become a plan already")
}

#[pymethods]
impl SumsPlan {
    /// From the text of a TOML file.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let inner = Arc::new(ergode::pipeline::SumsPlan::from_toml(text).map_err(raised)?);
        Ok(Self { inner })
    }

    /// The text of a TOML file.
    fn text(&self) -> PyResult<String> {
        self.inner.to_toml().map_err(raised)
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.inner.names().to_vec()
    }

    /// Rows after those that begin pairs which a part needs.
    #[getter]
    fn halo(&self) -> usize {
        self.inner.halo()
    }

    /// Rows of every trajectory.
    #[getter]
    fn rows(&self) -> Vec<usize> {
        self.inner.trajectories().to_vec()
    }

    /// The configuration of the fit, as JSON.
    fn config(&self) -> String {
        serde_json::json!(self.inner.config()).to_string()
    }
}

#[pymethods]
impl Sums {
    /// Sums over pieces: trajectory, first row, values, first and one past the last row that are counted. One thread
    /// does the work.
    #[staticmethod]
    fn of_pieces(
        py: Python<'_>,
        plan: &Bound<'_, SumsPlan>,
        pieces: Vec<(usize, usize, PyReadonlyArray2<'_, f64>, usize, usize)>,
    ) -> PyResult<Self> {
        let pieces: Vec<Piece> = pieces
            .into_iter()
            .map(|(trajectory, first, values, start, end)| Piece {
                trajectory,
                first,
                values: values.as_array().to_owned(),
                core: start..end,
            })
            .collect();
        let plan = plan.get().inner.clone();
        let work = || ergode::pipeline::Sums::of_pieces(&plan, &pieces, &Control::new());
        let inner = py.detach(
            || match rayon::ThreadPoolBuilder::new().num_threads(1).build() {
                Ok(pool) => pool.install(work),
                Err(_) => work(),
            },
        );
        Ok(Self {
            inner: inner.map_err(raised)?,
        })
    }

    /// From the content of a file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        let inner = py.detach(|| ergode::pipeline::Sums::from_bytes(content));
        Ok(Self {
            inner: inner.map_err(raised)?,
        })
    }

    /// The content of a file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let content = py.detach(|| self.inner.to_bytes()).map_err(raised)?;
        Ok(PyBytes::new(py, &content))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let inner = py.detach(|| ergode::pipeline::Sums::load(&path));
        Ok(Self {
            inner: inner.map_err(raised)?,
        })
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.inner.save(&path)).map_err(raised)
    }

    /// Add sums of other rows.
    fn merge(&mut self, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.try_borrow()?.inner.clone();
        self.inner.merge(other).map_err(raised)
    }

    /// Rows that were counted, and rows of the record.
    #[getter]
    fn counted(&self) -> (usize, usize) {
        self.inner.counted()
    }

    fn plan(&self) -> PyResult<SumsPlan> {
        SumsPlan::new(&self.inner.plan().to_toml().map_err(raised)?)
    }
}

/// Learn a model from sums in the folder `run`.
#[pyfunction]
pub(crate) fn fit_sums(
    py: Python<'_>,
    sums: &Bound<'_, Sums>,
    config: &str,
    run: PathBuf,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fitted> {
    let config = parsed(config)?;
    let sums = sums.try_borrow()?.inner.clone();
    let inner = watched(py, "fitting", progress, |control| {
        let folder = RunFolder::open(&run)?;
        let options = FitOptions {
            folder: Some(&folder),
            exact: None,
            control: Some(control),
        };
        fit_of_sums(&sums, &config, options)
    })?;
    Ok(Fitted { inner, config })
}
