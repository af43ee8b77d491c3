//! Writing classic NetCDF files.

use std::io::Write;
use std::path::Path;

use super::header::{ATTRIBUTES, CHARACTERS, DIMENSIONS, DOUBLE, SINGLE, VARIABLES};
use crate::data::{Dtype, Element};
use crate::error::{Error, Result};
use crate::io::atomic::AtomicFile;
use crate::io::grid::{FileStore, GridSink, Region};
use crate::io::layout::Layout;
use crate::io::rows::Sink;

/// An array to be written.
struct Array {
    name: &'static str,
    axes: Vec<usize>,
    kind: u32,
    /// Bytes, filled up to a multiple of four.
    size: u64,
    notes: Vec<(&'static str, String)>,
}

/// Begins a file: CDF-2, or CDF-5 where an array is too large for that.
pub(crate) fn create(path: &Path, layout: &Layout) -> Result<Box<dyn Sink>> {
    let texts = Texts::of(layout);
    let axes = [
        ("trajectory", layout.lengths.len()),
        ("time", layout.longest()),
        ("dim", layout.dim),
        ("string", texts.width),
    ];
    let arrays = arrays(layout, &texts, &axes);
    let wide = arrays.iter().any(|array| array.size >= 1 << 31);
    // Names and lengths do not depend on the places of the arrays, so neither does the size.
    let header = write_header(&axes, &arrays, &[0; 4], wide);
    let mut places = Vec::with_capacity(arrays.len());
    let mut next = header.len() as u64;
    for array in &arrays {
        places.push(next);
        next += array.size;
    }
    let mut file = AtomicFile::create(path)?;
    let mut start = write_header(&axes, &arrays, &places, wide);
    start.extend_from_slice(&texts.bytes);
    file.write_all(&start)
        .and_then(|()| file.file().set_len(next))
        .map_err(|error| Error::io(path, error))?;
    let [.., times, values] = places[..] else {
        unreachable!("times and values are always written")
    };
    let region = |offset, single: bool| Region {
        offset,
        dtype: Dtype {
            element: if single { Element::F4 } else { Element::F8 },
            big_endian: true,
        },
    };
    let store = FileStore::new(
        file,
        region(values, layout.single),
        Some(region(times, false)),
    );
    Ok(Box::new(GridSink::new(path, store, layout)?))
}

/// Names and units as arrays of characters.
struct Texts {
    width: usize,
    bytes: Vec<u8>,
    units: bool,
}

impl Texts {
    fn of(layout: &Layout) -> Self {
        let mut texts: Vec<&str> = layout.names.iter().map(String::as_str).collect();
        let units: Vec<&str> = (0..layout.dim).map(|j| layout.unit(j)).collect();
        // Units that are all the same fit into a note.
        let several = units.iter().any(|unit| *unit != units[0]);
        if several {
            texts.extend(units);
        }
        let width = texts
            .iter()
            .map(|text| text.len())
            .max()
            .unwrap_or(0)
            .max(1);
        let mut bytes = Vec::new();
        for part in texts.chunks(layout.dim) {
            for text in part {
                bytes.extend_from_slice(text.as_bytes());
                bytes.resize(bytes.len() + width - text.len(), 0);
            }
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        Self {
            width,
            bytes,
            units: several,
        }
    }
}

fn arrays(layout: &Layout, texts: &Texts, axes: &[(&str, usize); 4]) -> Vec<Array> {
    let size = |axes_of: &[usize], width: u64| {
        let elements: u64 = axes_of.iter().map(|&axis| axes[axis].1 as u64).product();
        (elements * width).next_multiple_of(4)
    };
    let array = |name, axes: &[usize], kind, width, notes| Array {
        name,
        axes: axes.to_vec(),
        kind,
        size: size(axes, width),
        notes,
    };
    let encoding = || vec![("_Encoding", "utf-8".to_owned())];
    let unit = |unit: &str| match unit {
        "" => Vec::new(),
        unit => vec![("units", unit.to_owned())],
    };
    let mut arrays = vec![array("dim", &[2, 3], CHARACTERS, 1, encoding())];
    if texts.units {
        arrays.push(array("units", &[2, 3], CHARACTERS, 1, encoding()));
    }
    // An array of several axes must not be named like one of them.
    let times = unit(layout.time_unit());
    arrays.push(if layout.shared_times {
        array("time", &[1], DOUBLE, 8, times)
    } else {
        array("t", &[0, 1], DOUBLE, 8, times)
    });
    let (kind, width) = if layout.single {
        (SINGLE, 4)
    } else {
        (DOUBLE, 8)
    };
    let values = if texts.units {
        Vec::new()
    } else {
        unit(layout.unit(0))
    };
    arrays.push(array("x", &[0, 1, 2], kind, width, values));
    arrays
}

fn write_header(axes: &[(&str, usize)], arrays: &[Array], places: &[u64], wide: bool) -> Vec<u8> {
    let mut out = vec![b'C', b'D', b'F', if wide { 5 } else { 2 }];
    let word = |out: &mut Vec<u8>, n: u32| out.extend(n.to_be_bytes());
    // Counts fit into four bytes where CDF-2 was chosen.
    let count = |out: &mut Vec<u8>, n: usize| match wide {
        true => out.extend((n as u64).to_be_bytes()),
        false => out.extend((n as u32).to_be_bytes()),
    };
    let text = |out: &mut Vec<u8>, text: &str| {
        count(out, text.len());
        out.extend_from_slice(text.as_bytes());
        out.resize(out.len().next_multiple_of(4), 0);
    };
    count(&mut out, 0);
    word(&mut out, DIMENSIONS);
    count(&mut out, axes.len());
    for (name, length) in axes {
        text(&mut out, name);
        count(&mut out, *length);
    }
    word(&mut out, 0);
    count(&mut out, 0);
    word(&mut out, VARIABLES);
    count(&mut out, arrays.len());
    for (array, place) in arrays.iter().zip(places) {
        text(&mut out, array.name);
        count(&mut out, array.axes.len());
        array.axes.iter().for_each(|&axis| count(&mut out, axis));
        word(
            &mut out,
            if array.notes.is_empty() {
                0
            } else {
                ATTRIBUTES
            },
        );
        count(&mut out, array.notes.len());
        for (name, note) in &array.notes {
            text(&mut out, name);
            word(&mut out, CHARACTERS);
            text(&mut out, note);
        }
        word(&mut out, array.kind);
        count(&mut out, array.size as usize);
        out.extend(place.to_be_bytes());
    }
    out
}
