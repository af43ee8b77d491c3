//! Trajectories that share the memory of NumPy arrays if their layout allows it.

use std::path::PathBuf;
use std::sync::Arc;

use ergode::data::Units;
use ergode::{BurnIn, Control, ReadOptions, SharedRows, Times, Trajectory, Values};
use numpy::{
    PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::prelude::*;

use crate::error::{InputError, raised};

/// Checked trajectories.
#[pyclass(frozen, module = "ergode._core")]
pub(crate) struct Ensemble {
    pub(crate) inner: ergode::Ensemble,
}

impl From<ergode::Ensemble> for Ensemble {
    fn from(inner: ergode::Ensemble) -> Self {
        Self { inner }
    }
}

/// The values of one trajectory.
#[derive(FromPyObject)]
enum Rows<'py> {
    Double(Bound<'py, PyArray2<f64>>),
    Single(PyReadonlyArray2<'py, f32>),
}

/// The times of one trajectory: start and step, or one for each row.
#[derive(FromPyObject)]
enum RowTimes<'py> {
    Even(f64, f64),
    Uneven(PyReadonlyArray1<'py, f64>),
}

/// The memory of a NumPy array, which lives as long as this.
struct Numbers {
    _array: Py<PyArray2<f64>>,
    first: *const f64,
    length: usize,
}

// SAFETY: the numbers are read only, at an address that stays while the array is referred to.
unsafe impl Send for Numbers {}
// SAFETY: as above.
unsafe impl Sync for Numbers {}

impl AsRef<[f64]> for Numbers {
    fn as_ref(&self) -> &[f64] {
        // SAFETY: `shared` found that the array spans these numbers; the package asks that they are not
        // written to while an ensemble shares them.
        unsafe { std::slice::from_raw_parts(self.first, self.length) }
    }
}

/// The rows of `array` without a copy, if coordinates and rows are in order in memory.
fn shared(array: &Bound<'_, PyArray2<f64>>) -> Option<Values> {
    const SIZE: isize = size_of::<f64>() as isize;
    let (rows, dim) = (array.shape()[0], array.shape()[1]);
    let (along_time, along_row) = (array.strides()[0], array.strides()[1]);
    let adjacent = dim == 1 || along_row == SIZE;
    let whole = along_time > 0 && along_time % SIZE == 0;
    if rows == 0 || dim == 0 || !adjacent || !(whole || rows == 1) || !array.data().is_aligned() {
        return None;
    }
    let stride = if rows == 1 {
        dim
    } else {
        (along_time / SIZE) as usize
    };
    let owner = Numbers {
        _array: array.clone().unbind(),
        first: array.data(),
        length: (rows - 1) * stride + dim,
    };
    let rows = SharedRows::new(Arc::new(owner), rows, dim, stride).ok()?;
    Some(rows.into())
}

impl Rows<'_> {
    fn values(&self, copy: bool) -> Values {
        match self {
            Self::Single(array) => array.as_array().to_owned().into(),
            Self::Double(array) => {
                let whole = if copy { None } else { shared(array) };
                whole.unwrap_or_else(|| array.to_owned_array().into())
            }
        }
    }
}

impl From<RowTimes<'_>> for Times {
    fn from(times: RowTimes<'_>) -> Self {
        match times {
            RowTimes::Even(start, step) => Times::Even { start, step },
            RowTimes::Uneven(times) => Times::Uneven(times.as_array().iter().copied().collect()),
        }
    }
}

#[pymethods]
impl Ensemble {
    /// Trajectories from arrays (time, dimension) and their times; memory is shared unless `copy`.
    #[new]
    fn new(
        py: Python<'_>,
        values: Vec<Rows<'_>>,
        times: Vec<RowTimes<'_>>,
        names: Option<Vec<String>>,
        copy: bool,
    ) -> PyResult<Self> {
        if values.len() != times.len() {
            return Err(InputError::new_err(
                "expected one set of times per trajectory",
            ));
        }
        let trajectories: Vec<Trajectory> = values
            .into_iter()
            .zip(times)
            .map(|(values, times)| Trajectory::new(values.values(copy), times.into()))
            .collect();
        let checked = py.detach(|| {
            let ensemble = ergode::Ensemble::new(trajectories)?;
            match names {
                Some(names) => ensemble.with_names(names),
                None => Ok(ensemble),
            }
        });
        Ok(checked.map_err(raised)?.into())
    }

    /// From a file, by its extension.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        dt: Option<f64>,
        columns: Vec<String>,
        time: Option<String>,
        trajectory: Option<String>,
        array: Option<String>,
    ) -> PyResult<Self> {
        let options = ReadOptions {
            dt,
            trajectory,
            time,
            columns,
            array,
            ..ReadOptions::default()
        };
        let read = py.detach(|| ergode::read_ensemble(&path, &options, &Control::new()));
        Ok(read.map_err(raised)?.into())
    }

    /// To a file.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| ergode::write_ensemble(&path, &self.inner))
            .map_err(raised)
    }

    /// The same with units of the coordinates (one each, or none) and of time, which files keep.
    fn with_units(&self, coordinates: Vec<String>, time: String) -> PyResult<Self> {
        let all: Vec<usize> = (0..self.inner.len()).collect();
        let units = Units { coordinates, time };
        let found = self
            .inner
            .select(&all)
            .and_then(|all| all.with_units(units));
        Ok(found.map_err(raised)?.into())
    }

    /// Units of the coordinates and of time, as the file has them.
    #[getter]
    fn units(&self) -> Option<(Vec<String>, String)> {
        let units = self.inner.units()?;
        Some((units.coordinates.clone(), units.time.clone()))
    }

    /// Number of trajectories.
    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Number of coordinates.
    #[getter]
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    /// Number of complete rows.
    #[getter]
    fn samples(&self) -> usize {
        self.inner.samples()
    }

    /// Names of the coordinates.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.inner.names().to_vec()
    }

    /// Time between rows, if it is the same everywhere.
    #[getter]
    fn sampling_interval(&self) -> Option<f64> {
        self.inner.sampling_interval()
    }

    /// Trajectory, first row and row after the last of every stretch without gaps.
    #[getter]
    fn segments(&self) -> Vec<(usize, usize, usize)> {
        let segments = self.inner.segments().iter();
        segments
            .map(|s| (s.trajectory, s.rows.start, s.rows.end))
            .collect()
    }

    /// Possible problems with the data that do not prevent their use.
    #[getter]
    fn warnings(&self, py: Python<'_>) -> Vec<String> {
        py.detach(|| self.inner.warnings())
    }

    /// A hash of names, times and values.
    fn fingerprint(&self, py: Python<'_>) -> String {
        format!("{:016x}", py.detach(|| self.inner.fingerprint()))
    }

    /// Number of trajectories whose values are in memory of NumPy.
    #[getter]
    fn shared(&self) -> usize {
        let trajectories = self.inner.trajectories().iter();
        trajectories
            .filter(|t| matches!(t.values(), Values::Shared(_)))
            .count()
    }

    /// The values of trajectory `k`, (time, dimension), without a copy; values in a file are copied.
    fn values<'py>(this: &Bound<'py, Self>, k: usize) -> PyResult<Bound<'py, PyAny>> {
        let trajectory = this.get().trajectory(k)?;
        let owner = this.clone().into_any();
        if let Values::Stored(rows) = trajectory.values() {
            let copy = this.py().detach(|| rows.to_array()).map_err(raised)?;
            let array = PyArray2::from_owned_array(this.py(), copy).into_any();
            array.call_method1("setflags", (false,))?;
            return Ok(array);
        }
        // SAFETY: the values are never moved or changed, and live as long as `owner`, which the array keeps.
        let array = unsafe {
            match trajectory.values() {
                Values::F32(a) => PyArray2::borrow_from_array(a, owner).into_any(),
                Values::F64(a) => PyArray2::borrow_from_array(a, owner).into_any(),
                Values::Shared(a) => PyArray2::borrow_from_array(&a.view(), owner).into_any(),
                Values::Stored(_) => unreachable!("copied above"),
            }
        };
        array.call_method1("setflags", (false,))?;
        Ok(array)
    }

    /// Start and step of trajectory `k` if its times are even, else one time per row.
    fn times<'py>(&self, py: Python<'py>, k: usize) -> PyResult<Bound<'py, PyAny>> {
        match self.trajectory(k)?.times() {
            &Times::Even { start, step } => Ok((start, step).into_pyobject(py)?.into_any()),
            Times::Uneven(times) => Ok(PyArray1::from_slice(py, times).into_any()),
        }
    }

    /// Drop the start of each trajectory: a fraction of its rows, or a time.
    fn burn_in(&self, fraction: Option<f64>, time: Option<f64>) -> PyResult<Self> {
        let amount = match (fraction, time) {
            (Some(fraction), None) => BurnIn::Fraction(fraction),
            (None, Some(time)) => BurnIn::Time(time),
            _ => return Err(InputError::new_err("pass either a fraction or a time")),
        };
        Ok(self.inner.burn_in(amount).map_err(raised)?.into())
    }

    /// Every `every`-th row.
    fn thin(&self, every: usize) -> PyResult<Self> {
        Ok(self.inner.thin(every).map_err(raised)?.into())
    }

    /// Some of the trajectories.
    fn select(&self, indices: Vec<usize>) -> PyResult<Self> {
        Ok(self.inner.select(&indices).map_err(raised)?.into())
    }

    /// Data for a fit, and data held out for its validation.
    fn split(&self, fraction: f64, gap: f64) -> PyResult<(Self, Self)> {
        let (fit, test) = self.inner.split(fraction, gap).map_err(raised)?;
        Ok((fit.into(), test.into()))
    }
}

impl Ensemble {
    fn trajectory(&self, k: usize) -> PyResult<&Trajectory> {
        let trajectories = self.inner.trajectories();
        trajectories.get(k).ok_or_else(|| {
            InputError::new_err(format!(
                "no trajectory {k}; the {} trajectories are numbered from 0",
                trajectories.len()
            ))
        })
    }
}
