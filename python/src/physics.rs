//! What follows from a fitted equation.

use ergode::physics::{Landscape, PassageConfig, Region, respond};
use numpy::{IntoPyArray, PyArray1, PyArrayDyn, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::json;

use crate::error::{InputError, raised};
use crate::model::{Fitted, on_tiles};
use crate::work::watched;

/// A set of states: a box, a ball, or a function of a state.
#[derive(FromPyObject)]
pub(crate) enum States {
    Box(Vec<f64>, Vec<f64>),
    Ball(Vec<f64>, f64),
    Where(Py<PyAny>),
}

/// A function that tells whether a state is in a set.
type Test<'a> = Box<dyn Fn(&[f64]) -> bool + Sync + 'a>;

impl States {
    /// The test of a set that is a function; one that fails is false, and leaves its error.
    fn test<'a>(&'a self, failed: &'a std::sync::Mutex<Option<PyErr>>) -> Test<'a> {
        match self {
            Self::Where(function) => Box::new(move |x: &[f64]| {
                Python::attach(|py| {
                    let state = PyArray1::from_slice(py, x);
                    let answer = function
                        .bind(py)
                        .call1((state,))
                        .and_then(|a| a.is_truthy());
                    answer.unwrap_or_else(|error| {
                        if let Ok(mut place) = failed.lock() {
                            place.get_or_insert(error);
                        }
                        false
                    })
                })
            }),
            _ => Box::new(|_| false),
        }
    }

    fn region<'a>(&self, test: &'a (dyn Fn(&[f64]) -> bool + Sync)) -> Region<'a> {
        match self {
            Self::Box(low, high) => Region::Box {
                low: low.clone(),
                high: high.clone(),
            },
            Self::Ball(centre, radius) => Region::Ball {
                centre: centre.clone(),
                radius: *radius,
            },
            Self::Where(_) => Region::Where(test),
        }
    }
}

/// Do `work` with two sets of states.
fn between<T: Send>(
    (a, b): (&States, &States),
    work: impl FnOnce(&Region, &Region) -> PyResult<T>,
) -> PyResult<T> {
    let failed = std::sync::Mutex::new(None);
    let (of_a, of_b) = (a.test(&failed), b.test(&failed));
    let outcome = work(&a.region(&*of_a), &b.region(&*of_b));
    drop((of_a, of_b));
    match failed.into_inner().ok().flatten() {
        Some(error) => Err(error),
        None => outcome,
    }
}

fn parsed(config: &str) -> PyResult<PassageConfig> {
    serde_json::from_str(config).map_err(|error| InputError::new_err(error.to_string()))
}

/// "potential", "density", "current", "velocity" or "path_difference" at states (state, coordinate).
#[pyfunction]
pub(crate) fn landscape<'py>(
    py: Python<'py>,
    fitted: &Bound<'py, Fitted>,
    what: &str,
    x: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
    let model = &fitted.get().inner.model;
    let (x, dim) = (x.as_array(), model.dim());
    let vector = ["current", "velocity"].contains(&what);
    let found = py.detach(|| {
        let landscape = Landscape::new(model)?;
        if ["current", "density"].contains(&what) {
            // No states, to learn whether the density is known.
            landscape.density(&[], &mut [])?;
        }
        Ok(on_tiles(x, if vector { dim } else { 1 }, |x, out| {
            match what {
                // That the density is known was seen above.
                "density" => landscape.density(x, out).unwrap_or_default(),
                "current" => landscape.current(x, out).unwrap_or_default(),
                "velocity" => landscape.velocity(x, out),
                "path_difference" => landscape.path_difference(x, out),
                _ => landscape.potential(x, out),
            }
        }))
    });
    let shape = if vector {
        vec![x.nrows(), dim]
    } else {
        vec![x.nrows()]
    };
    let found = ndarray::ArrayD::from_shape_vec(shape, found.map_err(raised)?);
    Ok(found.expect("a row per state").into_pyarray(py))
}

/// The mean first passage from one set to another, as JSON.
#[pyfunction]
pub(crate) fn first_passage(
    py: Python<'_>,
    fitted: &Bound<'_, Fitted>,
    a: States,
    b: States,
    config: &str,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (model, config) = (&fitted.get().inner.model, parsed(config)?);
    between((&a, &b), |a, b| {
        let found = watched(py, "first passages", progress, |control| {
            ergode::physics::first_passage(model, a, b, &config, control)
        })?;
        Ok(json!(found).to_string())
    })
}

/// The committor at states (state, coordinate), as JSON.
#[pyfunction]
pub(crate) fn committor(
    py: Python<'_>,
    fitted: &Bound<'_, Fitted>,
    a: States,
    b: States,
    x: PyReadonlyArray2<'_, f64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let model = &fitted.get().inner.model;
    let tile: Vec<f64> = x.as_array().t().iter().copied().collect();
    between((&a, &b), |a, b| {
        let config = PassageConfig::default();
        let found = watched(py, "committor", progress, |control| {
            ergode::physics::committor(model, a, b, &tile, &config, control)
        })?;
        Ok(json!(found).to_string())
    })
}

/// The response to a kick, as JSON.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "the arguments of the Python method"
)]
pub(crate) fn response(
    py: Python<'_>,
    fitted: &Bound<'_, Fitted>,
    kick: Vec<f64>,
    time: f64,
    save_every: Option<f64>,
    trajectories: usize,
    seed: u64,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let model = &fitted.get().inner.model;
    let found = watched(py, "simulating", progress, |control| {
        let span = (time, save_every);
        respond(model, &kick, span, trajectories, seed, control)
    })?;
    Ok(json!({
        "times": found.times,
        "mean": found.mean.outer_iter().map(|row| row.to_vec()).collect::<Vec<_>>(),
        "stderr": found.stderr.outer_iter().map(|row| row.to_vec()).collect::<Vec<_>>(),
    })
    .to_string())
}
