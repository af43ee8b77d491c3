//! Arrays in the safetensors layout: the length of a JSON header as 8 bytes, the header, the raw numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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

/// What the header says of a tensor.
#[derive(Serialize, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

/// The header is padded to a multiple of this, so that the numbers are aligned.
const ALIGNMENT: usize = 8;

impl Numbers {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::I64(values) => values.len(),
        }
    }

    fn dtype(&self) -> &'static str {
        match self {
            Self::F32(_) => "F32",
            Self::F64(_) => "F64",
            Self::I64(_) => "I64",
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::F32(values) => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
            Self::F64(values) => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
            Self::I64(values) => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
        }
    }

    fn read(dtype: &str, bytes: &[u8]) -> Option<Self> {
        Some(match dtype {
            "F32" => Self::F32(words(bytes)?.map(f32::from_le_bytes).collect()),
            "F64" => Self::F64(words(bytes)?.map(f64::from_le_bytes).collect()),
            "I64" => Self::I64(words(bytes)?.map(i64::from_le_bytes).collect()),
            _ => return None,
        })
    }
}

/// The bytes in words of N, unless some are left over.
fn words<const N: usize>(bytes: &[u8]) -> Option<impl Iterator<Item = [u8; N]>> {
    let (words, rest) = bytes.as_chunks::<N>();
    rest.is_empty().then(|| words.iter().copied())
}

/// The file that holds `tensors`, those of wide numbers first so that all are aligned.
pub(super) fn encode(tensors: &BTreeMap<String, Tensor>) -> Vec<u8> {
    let mut order: Vec<(&String, &Tensor)> = tensors.iter().collect();
    order.sort_by_key(|(_, tensor)| matches!(tensor.numbers, Numbers::F32(_)));
    let (mut data, mut header) = (Vec::new(), BTreeMap::new());
    for (name, tensor) in order {
        let start = data.len();
        tensor.numbers.write(&mut data);
        let entry = Entry {
            dtype: tensor.numbers.dtype().to_owned(),
            shape: tensor.shape.clone(),
            data_offsets: [start, data.len()],
        };
        header.insert(name, entry);
    }
    let mut header = serde_json::to_vec(&header).expect("a header is plain");
    header.resize(header.len().next_multiple_of(ALIGNMENT), b' ');
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(data);
    file
}

/// The tensors of a file, or what is wrong with it.
pub(super) fn decode(file: &[u8]) -> Result<BTreeMap<String, Tensor>, String> {
    let cut = || "is cut short".to_owned();
    let (length, rest) = file.split_first_chunk::<8>().ok_or_else(cut)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(cut)?;
    let header: BTreeMap<String, Entry> = serde_json::from_slice(header)
        .map_err(|error| format!("has a damaged header ({error})"))?;
    let read = |(name, entry): (String, Entry)| {
        let [start, end] = entry.data_offsets;
        let numbers = data
            .get(start..end)
            .and_then(|bytes| Numbers::read(&entry.dtype, bytes))
            .filter(|numbers| entry.shape.iter().product::<usize>() == numbers.len())
            .ok_or_else(|| format!("has a damaged tensor \"{name}\""))?;
        let shape = entry.shape;
        Ok((name, Tensor { shape, numbers }))
    };
    header.into_iter().map(read).collect()
}
