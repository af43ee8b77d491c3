//! HDF5 files, NetCDF-4 among them.

mod write;

use std::path::Path;

use hdf5_reader::{
    Attribute, ByteOrder, Dataset, Datatype, Hdf5File, OpenOptions, SliceInfo, SliceInfoElem,
    error::Error as Hdf5Error, group::Group,
};

use crate::data::{Dtype, Element};
use crate::error::Result;
use crate::io::array::{ArrayHeader, NumberArray};
use crate::io::fault::Fault;
use crate::io::format::Format;
use crate::io::grid::{Content, Grid, GridSource, Note, Variable, text_of};
use crate::io::kind::{Kind, open};
use crate::io::layout::Layout;
use crate::io::options::ReadOptions;
use crate::io::rows::{Sink, Source};

/// No deflated data unpack to more than this many times their size.
const DEFLATE_LIMIT: u64 = 1040;

/// Groups inside groups that are looked at.
const DEEPEST: usize = 8;

/// HDF5: named arrays in groups.
///
/// Read: as for NetCDF; arrays inside groups have names such as `group/x`. Contiguous, compact and
/// chunked arrays, with the filters that come with HDF5 (deflate, shuffle, Fletcher32). Written:
/// `x(trajectory, time, dimension)` and `t`, contiguous, with `names`.
pub(crate) struct Hdf5;

impl Format for Hdf5 {
    fn extensions(&self) -> &'static [&'static str] {
        &["h5", "hdf5"]
    }

    fn open(&self, path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
        open(path, &[Kind::Hdf5])?;
        open_file(path, options)
    }

    fn create(&self, path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
        write::create(path, layout)
    }
}

/// Opens a file that is known to be HDF5.
pub(crate) fn open_file(path: &Path, options: &ReadOptions) -> Result<Box<dyn Source>> {
    let grid = Hdf5Grid::open(path).map_err(|fault| fault.at(path, ""))?;
    Ok(Box::new(GridSource::new(path, grid, options)?))
}

/// An open file.
struct Hdf5Grid {
    variables: Vec<Variable>,
    datasets: Vec<Dataset>,
    size: u64,
}

impl Hdf5Grid {
    fn open(path: &Path) -> std::result::Result<Self, Fault> {
        let size = std::fs::metadata(path)?.len();
        let capacity = usize::try_from(size.saturating_mul(DEFLATE_LIMIT)).unwrap_or(usize::MAX);
        let limits = OpenOptions::default();
        let options = OpenOptions {
            max_chunk_bytes: limits.max_chunk_bytes.min(capacity),
            max_read_bytes: limits.max_read_bytes.min(capacity),
            max_object_header_bytes: limits.max_object_header_bytes.min(size as usize),
            ..limits
        };
        let file = Hdf5File::open_with_options(path, options).map_err(unreadable)?;
        let mut found = Vec::new();
        gather(
            &file.root_group().map_err(unreadable)?,
            "",
            DEEPEST,
            &mut found,
        )?;
        let axes = axes_of(&found);
        let mut grid = Self {
            variables: Vec::new(),
            datasets: Vec::new(),
            size,
        };
        for ((name, dataset, attributes), mut axes) in found.into_iter().zip(axes) {
            if is_bare_axis(&attributes) {
                continue;
            }
            let length = |&n: &u64| usize::try_from(n).unwrap_or(usize::MAX);
            let mut shape: Vec<usize> = dataset.shape().iter().map(length).collect();
            if holds_characters(&dataset) {
                axes.pop();
                shape.pop();
            }
            grid.variables.push(Variable {
                name,
                axes,
                shape,
                content: content(dataset.dtype()),
                notes: attributes.iter().filter_map(note).collect(),
            });
            grid.datasets.push(dataset);
        }
        Ok(grid)
    }
}

/// An array of single characters, whose last axis counts those of a text.
fn holds_characters(dataset: &Dataset) -> bool {
    dataset.ndim() > 1
        && matches!(dataset.dtype(), Datatype::String { .. })
        && dataset.raw_element_size().is_ok_and(|size| size == 1)
}

type Found = (String, Dataset, Vec<Attribute>);

/// Finds the arrays of a group and of the groups in it.
fn gather(
    group: &Group,
    prefix: &str,
    deepest: usize,
    found: &mut Vec<Found>,
) -> std::result::Result<(), Fault> {
    let (groups, datasets) = group.members().map_err(unreadable)?;
    for dataset in datasets {
        let (name, attributes) = (format!("{prefix}{}", dataset.name()), dataset.attributes());
        found.push((name, dataset, attributes));
    }
    if deepest > 0 {
        for inner in groups {
            let prefix = format!("{prefix}{}/", inner.name());
            gather(&inner, &prefix, deepest - 1, found)?;
        }
    }
    Ok(())
}

/// The names of the axes of every array, from the arrays that are scales of axes.
///
/// A scale lists the arrays it belongs to, each as the address of the array and the axis.
fn axes_of(found: &[Found]) -> Vec<Vec<String>> {
    let mut axes: Vec<Vec<String>> = found
        .iter()
        .map(|(_, dataset, _)| vec![String::new(); dataset.ndim()])
        .collect();
    for (k, (name, dataset, attributes)) in found.iter().enumerate() {
        let is_scale = text(attributes, "CLASS").is_some_and(|text| text == "DIMENSION_SCALE");
        if !is_scale {
            continue;
        }
        if dataset.ndim() == 1 {
            axes[k][0].clone_from(name);
        }
        let Some(list) = attributes.iter().find(|a| a.name == "REFERENCE_LIST") else {
            continue;
        };
        let Datatype::Compound { size, .. } = &list.datatype else {
            continue;
        };
        for entry in list.raw_data.chunks_exact((*size as usize).max(12)) {
            let (Ok(address), Ok(axis)) = (entry[..8].try_into(), entry[8..12].try_into()) else {
                continue;
            };
            let (address, axis) = (u64::from_le_bytes(address), u32::from_le_bytes(axis));
            let owner = found.iter().position(|(_, d, _)| d.address() == address);
            if let Some(place) = owner.and_then(|k| axes[k].get_mut(axis as usize)) {
                place.clone_from(name);
            }
        }
    }
    axes
}

/// The strings of an attribute of text.
fn texts(attribute: &Attribute) -> Option<Vec<String>> {
    let is_text = content(&attribute.datatype) == Content::Text;
    is_text.then(|| attribute.read_strings().ok()).flatten()
}

fn text(attributes: &[Attribute], name: &str) -> Option<String> {
    let attribute = attributes.iter().find(|a| a.name == name)?;
    texts(attribute)?.into_iter().next()
}

/// An axis that is stored as an array although it has no positions.
fn is_bare_axis(attributes: &[Attribute]) -> bool {
    text(attributes, "NAME").is_some_and(|name| {
        name.starts_with("This is a netCDF dimension but not a netCDF variable")
    })
}

/// The type of numbers in the terms of NumPy.
fn dtype(datatype: &Datatype) -> Option<Dtype> {
    let (element, order) = match datatype {
        Datatype::FloatingPoint {
            size: 4,
            byte_order,
        } => (Element::F4, byte_order),
        Datatype::FloatingPoint {
            size: 8,
            byte_order,
        } => (Element::F8, byte_order),
        Datatype::FixedPoint {
            size,
            signed,
            byte_order,
        } => {
            let element = match (size, signed) {
                (1, true) => Element::I1,
                (1, false) => Element::U1,
                (2, true) => Element::I2,
                (2, false) => Element::U2,
                (4, true) => Element::I4,
                (4, false) => Element::U4,
                (8, true) => Element::I8,
                (8, false) => Element::U8,
                _ => return None,
            };
            (element, byte_order)
        }
        _ => return None,
    };
    Some(Dtype {
        element,
        big_endian: *order == ByteOrder::BigEndian,
    })
}

fn content(datatype: &Datatype) -> Content {
    match (datatype, dtype(datatype)) {
        (_, Some(dtype)) => dtype.into(),
        (Datatype::String { .. } | Datatype::VarLen { .. }, None) => Content::Text,
        (Datatype::Compound { .. }, None) => Content::Other("records with named fields".to_owned()),
        (Datatype::FloatingPoint { size, .. }, None) => {
            Content::Other(format!("floating-point numbers of {size} bytes"))
        }
        _ => Content::Other("elements that are not numbers".to_owned()),
    }
}

fn note(attribute: &Attribute) -> Option<(String, Note)> {
    let note = match (texts(attribute), dtype(&attribute.datatype)) {
        (Some(texts), _) => Note::Text(texts),
        (None, Some(dtype)) => {
            let header = ArrayHeader {
                dtype,
                fortran: false,
                shape: vec![attribute.raw_data.len() / dtype.size()],
                offset: 0,
            };
            let array = NumberArray::read(&mut attribute.raw_data.as_slice(), &header).ok()?;
            Note::Numbers(array.into_f64())
        }
        (None, None) => return None,
    };
    Some((attribute.name.clone(), note))
}

fn unreadable(error: Hdf5Error) -> Fault {
    match error {
        Hdf5Error::Io(source) => Fault::Io(source),
        other => Fault::Content(format!(
            "{other}; the file is damaged or uses an unsupported feature of HDF5; write it again, for \
             example with h5py"
        )),
    }
}

impl Grid for Hdf5Grid {
    fn variables(&self) -> &[Variable] {
        &self.variables
    }

    fn numbers(
        &mut self,
        variable: usize,
        start: &[usize],
        count: &[usize],
    ) -> std::result::Result<Vec<f64>, Fault> {
        let dataset = &self.datasets[variable];
        let axis = |(&start, &count): (&usize, &usize)| SliceInfoElem::Slice {
            start: start as u64,
            end: (start + count) as u64,
            step: 1,
        };
        let selection = SliceInfo {
            selections: start.iter().zip(count).map(axis).collect(),
        };
        /// Reads numbers of this type and widens them.
        macro_rules! numbers {
            ($from:ty) => {{
                let array = dataset
                    .read_slice::<$from>(&selection)
                    .map_err(unreadable)?;
                array.iter().map(|&v| v as f64).collect()
            }};
        }
        let numbers: Vec<f64> = match dtype(dataset.dtype()).map(|dtype| dtype.element) {
            Some(Element::F4) => numbers!(f32),
            Some(Element::F8) => numbers!(f64),
            Some(Element::I1) => numbers!(i8),
            Some(Element::I2) => numbers!(i16),
            Some(Element::I4) => numbers!(i32),
            Some(Element::I8) => numbers!(i64),
            Some(Element::U1) => numbers!(u8),
            Some(Element::U2) => numbers!(u16),
            Some(Element::U4) => numbers!(u32),
            Some(Element::U8) => numbers!(u64),
            Some(Element::Text(_)) | None => Vec::new(),
        };
        if numbers.len() == count.iter().product::<usize>() {
            Ok(numbers)
        } else {
            Err(Fault::Content(
                "the data end too early; the file is damaged, write it again".to_owned(),
            ))
        }
    }

    fn texts(&mut self, variable: usize) -> std::result::Result<Vec<String>, Fault> {
        let dataset = &self.datasets[variable];
        if !holds_characters(dataset) {
            return dataset.read_strings().map_err(unreadable);
        }
        let bytes = dataset.read_raw_bytes().map_err(unreadable)?;
        let width = dataset.shape().last().map_or(1, |&width| width.max(1));
        Ok(bytes
            .chunks_exact(usize::try_from(width).unwrap_or(usize::MAX))
            .map(text_of)
            .collect())
    }

    fn chunk(&self, variable: usize, axis: usize) -> usize {
        let chunks = self.datasets[variable].chunks();
        chunks.and_then(|c| c.get(axis).copied()).unwrap_or(1) as usize
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn capacity(&self) -> u64 {
        self.size.saturating_mul(DEFLATE_LIMIT)
    }
}
