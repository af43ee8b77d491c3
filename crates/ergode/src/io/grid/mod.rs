//! Files of named arrays: which of them hold values, times and names, and how rows are read and written.

use crate::data::{Dtype, Element};
use crate::io::fault::Fault;

mod roles;
mod source;
mod write;

pub(crate) use source::GridSource;
pub(crate) use write::{Array, FileStore, GridSink, Region, Store};

/// The type of the elements of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// Single precision.
    Single,
    /// Double precision.
    Double,
    /// Whole numbers.
    Integer,
    /// Text, one string per element.
    Text,
    /// Something that cannot be used, in words.
    Other(String),
}

impl From<Dtype> for Content {
    fn from(dtype: Dtype) -> Self {
        match dtype.element {
            Element::F4 => Self::Single,
            Element::F8 => Self::Double,
            Element::Text(_) => Self::Text,
            _ => Self::Integer,
        }
    }
}

/// A note on an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Note {
    /// One or several strings.
    Text(Vec<String>),
    /// One or several numbers.
    Numbers(Vec<f64>),
}

/// An array of a file.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    /// The names of its axes, or empty where the file has none.
    pub(crate) axes: Vec<String>,
    pub(crate) shape: Vec<usize>,
    pub(crate) content: Content,
    pub(crate) notes: Vec<(String, Note)>,
}

impl Variable {
    /// The texts of a note.
    pub(crate) fn texts(&self, name: &str) -> Option<&[String]> {
        match self.notes.iter().find(|(n, _)| n == name) {
            Some((_, Note::Text(texts))) => Some(texts),
            _ => None,
        }
    }

    /// The number of a note.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        match self.notes.iter().find(|(n, _)| n == name) {
            Some((_, Note::Numbers(numbers))) => numbers.first().copied(),
            _ => None,
        }
    }
}

/// An open file of named arrays.
pub(crate) trait Grid {
    /// The arrays.
    fn variables(&self) -> &[Variable];

    /// The numbers of a box of an array in C order; `start` and `count` lie inside its shape.
    fn numbers(
        &mut self,
        variable: usize,
        start: &[usize],
        count: &[usize],
    ) -> std::result::Result<Vec<f64>, Fault>;

    /// The strings of an array of text.
    fn texts(&mut self, variable: usize) -> std::result::Result<Vec<String>, Fault>;

    /// Rows along an axis that are stored together.
    fn chunk(&self, variable: usize, axis: usize) -> usize;

    /// Bytes of the file.
    fn size(&self) -> u64;

    /// The most bytes that the file can stand for once it is unpacked.
    fn capacity(&self) -> u64 {
        self.size()
    }
}

/// The text of characters that are filled up with zeros or blanks.
pub(crate) fn text_of(characters: &[u8]) -> String {
    let text = String::from_utf8_lossy(characters);
    text.trim_end_matches(['\0', ' ']).to_owned()
}
