//! Arrays in a file of safetensors.

use std::collections::BTreeMap;

use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};

/// An array of numbers with its shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tensor {
    pub(super) shape: Vec<usize>,
    pub(super) numbers: Numbers,
}

/// The kinds of numbers that models are made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Numbers {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
}

impl Numbers {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::I64(values) => values.len(),
        }
    }

    fn dtype(&self) -> Dtype {
        match self {
            Self::F32(_) => Dtype::F32,
            Self::F64(_) => Dtype::F64,
            Self::I64(_) => Dtype::I64,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::F32(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::F64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
            Self::I64(values) => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        }
    }

    fn read(dtype: Dtype, bytes: &[u8]) -> Option<Self> {
        Some(match dtype {
            Dtype::F32 => Self::F32(words(bytes).map(f32::from_le_bytes).collect()),
            Dtype::F64 => Self::F64(words(bytes).map(f64::from_le_bytes).collect()),
            Dtype::I64 => Self::I64(words(bytes).map(i64::from_le_bytes).collect()),
            _ => return None,
        })
    }
}

/// The bytes in words of N, whose number the library has checked.
fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}

/// The file that holds `tensors`.
pub(super) fn encode(tensors: &BTreeMap<String, Tensor>) -> Vec<u8> {
    let bytes: Vec<Vec<u8>> = tensors.values().map(|t| t.numbers.bytes()).collect();
    let views = tensors.iter().zip(&bytes).map(|((name, tensor), bytes)| {
        let view = TensorView::new(tensor.numbers.dtype(), tensor.shape.clone(), bytes);
        (
            name,
            view.expect("a tensor has as many numbers as its shape says"),
        )
    });
    serialize(views, None).expect("a header of names and shapes is plain")
}

/// The tensors of a file, or what is wrong with it.
pub(super) fn decode(file: &[u8]) -> Result<BTreeMap<String, Tensor>, String> {
    let found = SafeTensors::deserialize(file).map_err(|error| format!("is damaged ({error})"))?;
    let read = |(name, view): (&str, TensorView<'_>)| {
        let numbers = Numbers::read(view.dtype(), view.data()).ok_or_else(|| {
            format!(
                "has a tensor \"{name}\" of the unsupported type {}",
                view.dtype()
            )
        })?;
        let shape = view.shape().to_vec();
        Ok((name.to_owned(), Tensor { shape, numbers }))
    };
    found.iter().map(read).collect()
}
