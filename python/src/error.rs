//! Errors of the library as Python exceptions.

use std::error::Error as _;

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::{PyKeyboardInterrupt, PyOSError, PyRuntimeError, PyValueError};

create_exception!(
    ergode,
    InputError,
    PyValueError,
    "Invalid input; the message says what is wrong and what to change."
);
create_exception!(
    ergode,
    NumericalError,
    PyRuntimeError,
    "A computation failed; the message gives the reason."
);

/// The exception for an error of the library.
pub(crate) fn raised(error: ergode::Error) -> PyErr {
    let message = error.to_string();
    if error.is_interrupted() {
        PyKeyboardInterrupt::new_err(message)
    } else if error.is_bad_input() {
        InputError::new_err(message)
    } else if error
        .source()
        .is_some_and(|source| source.is::<std::io::Error>())
    {
        PyOSError::new_err(message)
    } else {
        NumericalError::new_err(message)
    }
}
