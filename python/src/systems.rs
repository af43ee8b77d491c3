//! Reference systems: their data and their exact answers.

use std::sync::OnceLock;

use ergode::Scheme;
use ergode::systems::{
    Affine2d, Affine2dReference, ExactFields, SYSTEMS, closed_fields, generate, system_by_name,
};
use numpy::{IntoPyArray, PyArrayDyn, PyReadonlyArray2};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::ensemble::Ensemble;
use crate::error::{InputError, raised};
use crate::work::watched;

/// Cells per side of the grid on which the affine system is solved, as in the demo.
const CELLS: usize = 280;

/// A reference system with its parameters.
#[pyclass(frozen, module = "ergode._core")]
pub(crate) struct System {
    name: String,
    changes: Map<String, Value>,
    /// Solved on first use.
    affine: OnceLock<Affine2dReference>,
}

/// Names of the systems, with descriptions.
#[pyfunction]
pub(crate) fn system_names() -> Vec<(&'static str, &'static str)> {
    let entries = SYSTEMS.iter();
    entries.map(|entry| (entry.name, entry.summary)).collect()
}

/// A field at one state.
type Evaluate<'a> = Box<dyn FnMut(&[f64], &mut [f64]) + 'a>;

/// The exact score and mobility of a system.
pub(crate) enum Fields<'a> {
    Affine(&'a Affine2dReference),
    Closed(Box<dyn ergode::systems::System>),
}

impl Fields<'_> {
    fn exact(&self) -> &dyn ExactFields {
        match self {
            Self::Affine(reference) => *reference,
            Self::Closed(system) => system.exact_fields().expect("looked for when made"),
        }
    }
}

impl ExactFields for Fields<'_> {
    fn score(&self, x: &[f64], out: &mut [f64]) {
        self.exact().score(x, out);
    }

    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        self.exact().mobility(x, out);
    }

    fn div_mobility(&self, x: &[f64], out: &mut [f64]) {
        self.exact().div_mobility(x, out);
    }
}

impl System {
    fn built(&self) -> ergode::Result<Box<dyn ergode::systems::System>> {
        system_by_name(&self.name, &self.changes)
    }

    /// The exact answers; those of the affine system come from a grid.
    pub(crate) fn fields(&self) -> ergode::Result<Fields<'_>> {
        let system = self.built()?;
        if self.name != "affine2d" {
            closed_fields(&*system, &self.name)?;
            return Ok(Fields::Closed(system));
        }
        if let Some(solved) = self.affine.get() {
            return Ok(Fields::Affine(solved));
        }
        let parameters: Affine2d =
            serde_json::from_value(system.parameters()).expect("its own parameters");
        let solved = Affine2dReference::solve(parameters, CELLS)?;
        Ok(Fields::Affine(self.affine.get_or_init(|| solved)))
    }
}

#[pymethods]
impl System {
    /// The system called `name`; `parameters` is a JSON object of changes to its defaults.
    #[new]
    fn new(name: &str, parameters: &str) -> PyResult<Self> {
        let changes = serde_json::from_str(parameters)
            .map_err(|error| InputError::new_err(format!("parameters: {error}")))?;
        system_by_name(name, &changes).map_err(raised)?;
        Ok(Self {
            name: name.to_owned(),
            changes,
            affine: OnceLock::new(),
        })
    }

    /// All parameters as JSON.
    fn parameters(&self) -> PyResult<String> {
        Ok(self.built().map_err(raised)?.parameters().to_string())
    }

    /// Names of the coordinates.
    fn names(&self) -> PyResult<Vec<String>> {
        Ok(self.built().map_err(raised)?.coordinate_names())
    }

    /// Default simulation settings, as JSON.
    fn protocol(&self) -> PyResult<String> {
        Ok(json!(self.built().map_err(raised)?.protocol()).to_string())
    }

    /// Reference data; the defaults are those of the paper.
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of the Python method"
    )]
    fn generate(
        &self,
        py: Python<'_>,
        time: Option<f64>,
        dt: Option<f64>,
        save_every: Option<f64>,
        trajectories: Option<usize>,
        burn_in: Option<f64>,
        seed: u64,
        scheme: Option<&str>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(Ensemble, Vec<String>)> {
        let mut protocol = self.built().map_err(raised)?.protocol();
        let config = &mut protocol.simulate;
        config.seed = seed;
        config.time = time.unwrap_or(config.time);
        config.dt = dt.unwrap_or(config.dt);
        config.save_every = save_every.unwrap_or(config.save_every);
        config.trajectories = trajectories.unwrap_or(config.trajectories);
        config.burn_in = burn_in.unwrap_or(config.burn_in);
        match scheme {
            None => {}
            Some("exact") => protocol.exact = true,
            Some("euler") => (config.scheme, protocol.exact) = (Scheme::Euler, false),
            Some("platen") => (config.scheme, protocol.exact) = (Scheme::Platen, false),
            Some(other) => {
                return Err(InputError::new_err(format!(
                    "no scheme '{other}'; choose euler, platen or exact"
                )));
            }
        }
        let run = watched(py, "simulating", progress, |control| {
            generate(&*self.built()?, &protocol, control)
        })?;
        let failures = run.failures.iter().map(|failure| failure.to_string());
        let failures = failures.collect();
        Ok((run.ensemble.into(), failures))
    }

    /// The exact "drift", "diffusion", "score", "mobility" or "div_mobility" at states (state, coordinate).
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        field: &str,
        x: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let rank = match field {
            "drift" | "score" | "div_mobility" => 1,
            "diffusion" | "mobility" => 2,
            other => return Err(InputError::new_err(format!("no field `{other}`"))),
        };
        let x = x.as_array();
        let (n, dim) = x.dim();
        let out = py.detach(|| {
            let system = self.built()?;
            let mut rest = vec![0.0; dim * dim];
            let mut evaluate: Evaluate = match field {
                "drift" => Box::new(move |x, out| system.exact_equation(x, out, &mut rest)),
                "diffusion" => {
                    Box::new(move |x, out| system.exact_equation(x, &mut rest[..dim], out))
                }
                _ => {
                    let exact = self.fields()?;
                    match field {
                        "score" => Box::new(move |x, out| exact.score(x, out)),
                        "mobility" => Box::new(move |x, out| exact.mobility(x, out)),
                        _ => Box::new(move |x, out| exact.div_mobility(x, out)),
                    }
                }
            };
            let width = dim.pow(rank as u32);
            let mut out = vec![0.0; n * width];
            let mut state = vec![0.0; dim];
            for (row, out) in x.rows().into_iter().zip(out.chunks_exact_mut(width)) {
                state.iter_mut().zip(row).for_each(|(to, from)| *to = *from);
                evaluate(&state, out);
            }
            Ok(out)
        });
        let out = out.map_err(raised)?;
        let shape = [&[n][..], &vec![dim; rank]].concat();
        let out = ndarray::ArrayD::from_shape_vec(shape, out).expect("a row per state");
        Ok(out.into_pyarray(py))
    }
}
