//! The compiled part of the Python package `ergode`: one file per module of the library.
//! The public interface and the interpretation of input are in Python.

mod check;
mod ensemble;
mod error;
mod forecast;
mod model;
mod physics;
mod reproduce;
mod sums;
mod systems;
mod work;

use pyo3::prelude::*;

/// The compiled part of ergode.
#[pymodule]
mod _core {
    #[pymodule_export]
    use crate::check::check;
    #[pymodule_export]
    use crate::ensemble::Ensemble;
    #[pymodule_export]
    use crate::error::{InputError, NumericalError};
    #[pymodule_export]
    use crate::forecast::{anomaly, anomaly_at, forecast, record, simulate_from, skill};
    #[pymodule_export]
    use crate::model::{Fitted, configuration_keys, configure, fit, load};
    #[pymodule_export]
    use crate::physics::{committor, first_passage, landscape, response};
    #[pymodule_export]
    use crate::reproduce::reproduce;
    #[pymodule_export]
    use crate::sums::{Sums, SumsDraft, SumsPlan, fit_sums, survey_excerpt};
    #[pymodule_export]
    use crate::systems::{System, system_names};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
