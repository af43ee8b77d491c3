//! Numbers one after the other, as bytes.

use ndarray::{Array, Array1, Array2, Array3, Dimension, IntoDimension};

use crate::error::{Error, Result};

/// Numbers that are taken from the front; no more are allocated than there are.
#[derive(Debug)]
pub(crate) struct Packed<'a> {
    bytes: &'a [[u8; 8]],
}

impl<'a> Packed<'a> {
    /// # Errors
    /// When the bytes are not whole numbers.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self> {
        match bytes.as_chunks::<8>() {
            (bytes, []) => Ok(Self { bytes }),
            _ => Err(missing()),
        }
    }

    /// Numbers that are left.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The next numbers, in an array of this shape.
    ///
    /// # Errors
    /// When there are not so many.
    fn array<D: Dimension>(&mut self, shape: impl IntoDimension<Dim = D>) -> Result<Array<f64, D>> {
        let shape = shape.into_dimension();
        let count = shape
            .slice()
            .iter()
            .try_fold(1usize, |n, k| n.checked_mul(*k));
        let split = count.and_then(|count| self.bytes.split_at_checked(count));
        let (taken, rest) = split.ok_or_else(missing)?;
        self.bytes = rest;
        let values = taken.iter().map(|bytes| f64::from_le_bytes(*bytes));
        Ok(Array::from_shape_vec(shape, values.collect()).expect("as many as the shape says"))
    }

    pub(crate) fn vector(&mut self, n: usize) -> Result<Array1<f64>> {
        self.array(n)
    }

    pub(crate) fn matrix(&mut self, shape: (usize, usize)) -> Result<Array2<f64>> {
        self.array(shape)
    }

    pub(crate) fn cube(&mut self, shape: (usize, usize, usize)) -> Result<Array3<f64>> {
        self.array(shape)
    }
}

fn missing() -> Error {
    Error::input("there are fewer numbers than the description says")
}

/// Appends numbers.
pub(crate) fn pack<'a>(values: impl IntoIterator<Item = &'a f64>, out: &mut Vec<u8>) {
    values
        .into_iter()
        .for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
}
