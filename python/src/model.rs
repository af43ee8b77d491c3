//! Fits: learned, loaded, evaluated, simulated, validated.

use std::path::PathBuf;

use ergode::report::{EquationFormat, validation_page, write_figures};
use ergode::systems::ExactFields;
use ergode::{
    FitConfig, FitOptions, ModelField, RunFolder, fit_with, simulate_model, simulation_protocol,
    validate_model,
};
use numpy::{IntoPyArray, PyArrayDyn, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::json;

use crate::ensemble::Ensemble;
use crate::error::{InputError, raised};
use crate::systems::System;
use crate::work::watched;

/// States evaluated at a time, few enough for the cache.
const TILE: usize = 1024;

/// The result of a fit.
#[pyclass(frozen, module = "ergode._core")]
pub(crate) struct Fitted {
    pub(crate) inner: ergode::Fitted,
    pub(crate) config: FitConfig,
}

/// A configuration as JSON: the TOML text, or the defaults, with `key=value` changes.
#[pyfunction]
pub(crate) fn configure(toml: Option<&str>, changes: Vec<String>) -> PyResult<String> {
    let base = toml.map_or_else(|| Ok(FitConfig::default()), FitConfig::from_toml);
    let config = base.and_then(|base| base.with_changes(&changes));
    Ok(json!(config.map_err(raised)?).to_string())
}

/// Every key of a configuration with its default, what it takes and what it sets, as JSON.
#[pyfunction]
pub(crate) fn configuration_keys() -> String {
    json!(FitConfig::keys()).to_string()
}

pub(crate) fn parsed(config: &str) -> PyResult<FitConfig> {
    serde_json::from_str(config).map_err(|error| InputError::new_err(error.to_string()))
}

/// Learn a model from `ensemble` in the folder `run`; `exact` is the reference system, if known.
#[pyfunction]
pub(crate) fn fit(
    py: Python<'_>,
    ensemble: &Bound<'_, Ensemble>,
    config: &str,
    run: PathBuf,
    exact: Option<&Bound<'_, System>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Fitted> {
    let config = parsed(config)?;
    let ensemble = &ensemble.get().inner;
    let exact = exact.map(|system| system.get());
    let inner = watched(py, "fitting", progress, |control| {
        let folder = RunFolder::open(&run)?;
        let fields = exact.map(System::fields).transpose()?;
        let fields = fields.as_ref().map(|fields| fields as &dyn ExactFields);
        let options = FitOptions {
            folder: Some(&folder),
            exact: fields,
            control: Some(control),
        };
        fit_with(ensemble, &config, options)
    })?;
    Ok(Fitted { inner, config })
}

/// Load a run from its folder.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, run: PathBuf) -> PyResult<Fitted> {
    let path = run.join("config.toml");
    let inner = py.detach(|| ergode::Fitted::load(&run)).map_err(raised)?;
    let text = std::fs::read_to_string(&path)
        .map_err(|error| InputError::new_err(format!("{}: {error}", path.display())))?;
    let config = FitConfig::from_toml(&text).map_err(raised)?;
    Ok(Fitted { inner, config })
}

/// The field with this name.
fn named(field: &str) -> PyResult<ModelField> {
    ModelField::by_name(field).ok_or_else(|| InputError::new_err(format!("no field `{field}`")))
}

impl Fitted {
    /// What `evaluate` gives on tiles, for states (state, coordinate).
    fn on_states<'py>(
        &self,
        py: Python<'py>,
        field: ModelField,
        x: PyReadonlyArray2<'py, f64>,
        evaluate: impl Fn(&[f64], &mut [f64]) + Send + Sync,
    ) -> Bound<'py, PyArrayDyn<f64>> {
        let (x, dim, rank) = (x.as_array(), self.inner.model.dim(), field.rank());
        let n = x.nrows();
        let out = py.detach(|| on_tiles(x, dim.pow(rank as u32), evaluate));
        let shape = [&[n][..], &vec![dim; rank]].concat();
        let out = ndarray::ArrayD::from_shape_vec(shape, out).expect("a row per state");
        out.into_pyarray(py)
    }
}

#[pymethods]
impl Fitted {
    /// Names of the coordinates.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.inner.model.names().to_vec()
    }

    /// Names of the observed coordinates, without delays.
    #[getter]
    fn observed_names(&self) -> Vec<String> {
        self.inner.model.observation().names.clone()
    }

    /// `results.json`.
    fn results(&self) -> String {
        json!(self.inner.results()).to_string()
    }

    /// Drift and diffusion written out: text, latex, python, julia or rust.
    fn equation(&self, format: &str) -> PyResult<String> {
        let format = EquationFormat::by_name(format).ok_or_else(|| {
            InputError::new_err(format!(
                "there is no format '{format}'; the formats are text, latex, python, julia and rust"
            ))
        })?;
        let equation = self.inner.model.written_equation().ok_or_else(|| {
            InputError::new_err(
                "the drift or the diffusion of this model is no polynomial: it has a network, a ring, or a \
                 score of logarithms; fit with recipe=\"generator\"",
            )
        })?;
        Ok(equation.write(format))
    }

    /// The configuration as JSON.
    fn config(&self) -> String {
        json!(self.config).to_string()
    }

    /// Time scales and other comparisons besides the validation, as JSON.
    fn evidence(&self) -> String {
        json!(self.inner.record.evidence).to_string()
    }

    /// True where trend or cycle lie between the record and the state.
    #[getter]
    fn has_anomalies(&self) -> bool {
        let observation = self.inner.model.observation();
        observation.trend.is_some() || observation.cycle.is_some()
    }

    /// True for states (state, coordinate) among the samples.
    fn sampled(&self, x: PyReadonlyArray2<'_, f64>) -> Vec<bool> {
        let rows = x.as_array();
        let rows = rows.rows().into_iter();
        rows.map(|row| self.inner.model.in_support(&row.to_vec()))
            .collect()
    }

    /// Lower and upper ends of the samples, coordinate by coordinate.
    #[getter]
    fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        self.inner.model.sampled_bounds()
    }

    /// The comparison with held-out data, as JSON.
    fn validation(&self) -> String {
        json!(self.inner.validation()).to_string()
    }

    /// The page of that comparison.
    fn validation_page(&self) -> String {
        validation_page(self.inner.validation()).html()
    }

    /// The report page.
    fn page(&self) -> String {
        self.inner.page().html()
    }

    /// The report as plain data, JSON.
    fn page_data(&self) -> String {
        json!(self.inner.page()).to_string()
    }

    /// Write every figure of the report as SVG; returns the files.
    fn write_figures(&self, py: Python<'_>, folder: PathBuf) -> PyResult<Vec<PathBuf>> {
        py.detach(|| write_figures(&self.inner.page(), &folder))
            .map_err(raised)
    }

    /// "score", "drift", "div_mobility", "mobility" or "diffusion" at states (state, coordinate).
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        field: &str,
        x: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let field = named(field)?;
        Ok(self.on_states(py, field, x, |x, out| self.inner.model.field(field, x, out)))
    }

    /// The standard errors of that field.
    fn standard_error<'py>(
        &self,
        py: Python<'py>,
        field: &str,
        x: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let (field, model) = (named(field)?, &self.inner.model);
        // No states, to learn whether the error is known.
        model.field_error(field, &[], &mut []).map_err(raised)?;
        Ok(self.on_states(py, field, x, |x, out| {
            let known = model.field_error(field, x, out);
            known.expect("it was known of no states");
        }))
    }

    /// New trajectories; the settings with the fractions of samples out of support and with indefinite D, as
    /// JSON; and the failures.
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of the Python method"
    )]
    fn simulate(
        &self,
        py: Python<'_>,
        time: f64,
        dt: Option<f64>,
        save_every: Option<f64>,
        trajectories: usize,
        seed: u64,
        start: Option<f64>,
        state: bool,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Ensemble, String, Vec<String>)> {
        let model = &self.inner.model;
        let (run, protocol) = watched(py, "choosing a step", progress, |control| {
            let protocol =
                simulation_protocol(model, time, dt, save_every, trajectories, seed, control)?;
            control.stage("simulating");
            let mut run = simulate_model(model, &protocol, control)?;
            if !state {
                let states = &run.simulation.ensemble;
                run.simulation.ensemble = model.observation().observe(states, start, seed)?;
            }
            Ok((run, protocol))
        })?;
        let about = json!({
            "out_of_support": run.out_of_support,
            "indefinite_diffusion": run.indefinite,
            "protocol": protocol,
        });
        let failures = run.simulation.failures.iter();
        let failures = failures.map(|failure| failure.to_string()).collect();
        Ok((run.simulation.ensemble.into(), about.to_string(), failures))
    }

    /// Compare with other data of the same process: the comparison and its summary as JSON, and its page.
    fn validate(
        &self,
        py: Python<'_>,
        ensemble: &Bound<'_, Ensemble>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, String, String)> {
        let (fitted, data) = (&self.inner, &ensemble.get().inner);
        let (validation, runs) = watched(py, "simulating and validating", progress, |control| {
            let (model, constant) = (&fitted.model, &fitted.constant);
            validate_model(model, constant, data, None, &self.config, control)
        })?;
        let summary = json!(runs.results(&validation)).to_string();
        let page = validation_page(&validation).html();
        Ok((json!(validation).to_string(), summary, page))
    }
}

/// `width` numbers for every state: fields of the library take and give tiles with the states running
/// fastest, NumPy has them running slowest, so that values are copied once on the way in and once on the
/// way out.
pub(crate) fn on_tiles(
    x: ndarray::ArrayView2<'_, f64>,
    width: usize,
    evaluate: impl Fn(&[f64], &mut [f64]),
) -> Vec<f64> {
    let dim = x.ncols();
    let mut out = vec![0.0; x.nrows() * width];
    let (mut states, mut values) = (vec![0.0; dim * TILE], vec![0.0; width * TILE]);
    let tiles = x.axis_chunks_iter(ndarray::Axis(0), TILE);
    for (tile, out) in tiles.zip(out.chunks_mut(width * TILE)) {
        let n = tile.nrows();
        for (s, state) in tile.rows().into_iter().enumerate() {
            for (i, value) in state.iter().enumerate() {
                states[i * n + s] = *value;
            }
        }
        evaluate(&states[..dim * n], &mut values[..width * n]);
        for (s, out) in out.chunks_exact_mut(width).enumerate() {
            for (k, out) in out.iter_mut().enumerate() {
                *out = values[k * n + s];
            }
        }
    }
    out
}
