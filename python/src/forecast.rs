//! Forecasts, and the way between record and state.

use ergode::forecast::{ForecastConfig, ForecastStart, SkillConfig, forecast_skill};
use ergode::observe::TrendAhead;
use ergode::{simulate_model_from, simulation_protocol};
use ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyArray4, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::json;

use crate::ensemble::Ensemble;
use crate::error::{InputError, raised};
use crate::model::Fitted;
use crate::work::watched;

/// Values (start, member, lead, coordinate), leads, starts (trajectory, row, time), the fraction of values outside the
/// support, and the members that diverged.
type Ahead<'py> = (
    Bound<'py, PyArray4<f64>>,
    Vec<f64>,
    Vec<(usize, usize, f64)>,
    f64,
    usize,
);

/// Forecast a record; the configuration is JSON.
#[pyfunction]
pub(crate) fn forecast<'py>(
    py: Python<'py>,
    fitted: &Bound<'py, Fitted>,
    ensemble: &Bound<'py, Ensemble>,
    config: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<Ahead<'py>> {
    let config: ForecastConfig =
        serde_json::from_str(config).map_err(|error| InputError::new_err(error.to_string()))?;
    let (model, record) = (&fitted.get().inner.model, &ensemble.get().inner);
    let found = watched(py, "forecasting", progress, |control| {
        ergode::forecast::forecast(model, record, &config, control)
    })?;
    let start = |start: &ForecastStart| (start.trajectory, start.row, start.time);
    Ok((
        found.members.into_pyarray(py),
        found.leads,
        found.starts.iter().map(start).collect(),
        found.out_of_support,
        found.failures,
    ))
}

/// Skill of forecasts of other data, as JSON.
#[pyfunction]
pub(crate) fn skill(
    py: Python<'_>,
    fitted: &Bound<'_, Fitted>,
    ensemble: &Bound<'_, Ensemble>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (fitted, record) = (&fitted.get().inner, &ensemble.get().inner);
    let kept = fitted.record.evidence.skill.as_ref();
    let Some(kept) = kept.and_then(ergode::report::Part::done) else {
        return Err(InputError::new_err(
            "the fit has no forecast skill to compare with; its report says why",
        ));
    };
    let found = watched(py, "forecasting", progress, |control| {
        let observation = fitted.model.observation();
        let states = observation.states(observation.stationary(record)?)?;
        let config = SkillConfig {
            leads: kept.skill.leads.clone(),
            ..SkillConfig::default()
        };
        forecast_skill(&fitted.model, &states, &kept.references, &config, control)
    })?;
    Ok(json!(found).to_string())
}

/// The record without trend and cycle.
#[pyfunction]
pub(crate) fn anomaly(
    py: Python<'_>,
    fitted: &Bound<'_, Fitted>,
    ensemble: &Bound<'_, Ensemble>,
) -> PyResult<Ensemble> {
    let (observation, record) = (
        fitted.get().inner.model.observation(),
        &ensemble.get().inner,
    );
    let found = py.detach(|| {
        observation
            .stationary(record)
            .map(|found| found.into_owned())
    });
    Ok(found.map_err(raised)?.into())
}

/// Rows of the record (row, coordinate) at their times, without trend and cycle.
#[pyfunction]
pub(crate) fn anomaly_at<'py>(
    py: Python<'py>,
    fitted: &Bound<'py, Fitted>,
    x: PyReadonlyArray2<'py, f64>,
    t: PyReadonlyArray1<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let observation = fitted.get().inner.model.observation();
    let mut rows = x.as_array().as_standard_layout().into_owned();
    let times = t.as_array();
    if rows.nrows() != times.len() || rows.ncols() != observation.observed() {
        return Err(InputError::new_err(format!(
            "rows of shape {:?} at {} times; give one time for each row of {} coordinates",
            rows.dim(),
            times.len(),
            observation.observed()
        )));
    }
    for (mut row, t) in rows.rows_mut().into_iter().zip(times) {
        observation.anomaly_at(*t, row.as_slice_mut().expect("row-major"));
    }
    Ok(rows.into_pyarray(py))
}

/// Anomalies with trend and cycle; `hold` keeps the trend after the end of the fitted record.
#[pyfunction]
pub(crate) fn record(
    py: Python<'_>,
    fitted: &Bound<'_, Fitted>,
    ensemble: &Bound<'_, Ensemble>,
    hold: bool,
) -> PyResult<Ensemble> {
    let (observation, anomaly) = (
        fitted.get().inner.model.observation(),
        &ensemble.get().inner,
    );
    let trend = if hold {
        TrendAhead::Hold
    } else {
        TrendAhead::Continue
    };
    let found = py.detach(|| observation.record(anomaly, trend));
    Ok(found.map_err(raised)?.into())
}

/// Trajectories from given states, as `Fitted.simulate` otherwise.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "the arguments of the Python method"
)]
pub(crate) fn simulate_from(
    py: Python<'_>,
    fitted: &Bound<'_, Fitted>,
    states: PyReadonlyArray2<'_, f64>,
    time: f64,
    dt: Option<f64>,
    save_every: Option<f64>,
    seed: u64,
    start: Option<f64>,
    state: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Ensemble, String, Vec<String>)> {
    let model = &fitted.get().inner.model;
    let states: Array2<f64> = states.as_array().to_owned();
    if states.ncols() != model.dim() {
        return Err(InputError::new_err(format!(
            "the start states have {} coordinates, the state of the model has {} ({})",
            states.ncols(),
            model.dim(),
            model.names().join(", ")
        )));
    }
    let (run, protocol) = watched(py, "choosing a step", progress, |control| {
        let count = states.nrows();
        let protocol = simulation_protocol(model, time, dt, save_every, count, seed, control)?;
        control.stage("simulating");
        let mut run = simulate_model_from(model, states, &protocol, control)?;
        if !state {
            let states = &run.simulation.ensemble;
            run.simulation.ensemble = match start {
                None => model.observation().observe(states, start, seed)?,
                Some(start) => {
                    let seen = model.observation().seen(states, &|_| start, seed)?;
                    model.observation().record(&seen, TrendAhead::Continue)?
                }
            };
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
