//! `ergode eval`: the fields of a fitted model at given states.

use ergode::io::{RepeatedTimes, write_arrays};
use ergode::{Control, LangevinModel, ModelField, ReadOptions, read_ensemble};
use ndarray::{Array2, ArrayD};
use serde_json::{Map, json};

use crate::args::Eval;
use crate::output::{Failed, grouped, report, shown};

pub(crate) fn run(arguments: &Eval, json: bool) -> Result<(), Failed> {
    if arguments
        .output
        .extension()
        .is_none_or(|extension| extension != "npz")
    {
        return Err(Failed::input(format!(
            "{}: eval writes several arrays; choose an output file that ends in .npz",
            shown(&arguments.output)
        )));
    }
    let model = LangevinModel::load(&arguments.run)?;
    // States need no times: if the file has none, any interval will do. None may be put together.
    let timed = ReadOptions {
        repeated: RepeatedTimes::Error,
        ..ReadOptions::default()
    };
    let even = ReadOptions {
        dt: Some(1.0),
        ..timed.clone()
    };
    let control = Control::new();
    let points = read_ensemble(&arguments.points, &timed, &control)
        .or_else(|_| read_ensemble(&arguments.points, &even, &control))?;
    if points.dim() != model.dim() {
        return Err(Failed::input(format!(
            "{}: the states have {} coordinates, the model has {} ({})",
            shown(&arguments.points),
            points.dim(),
            model.dim(),
            model.names().join(", ")
        )));
    }
    let (dim, n) = (model.dim(), points.samples());
    let mut rows = Vec::with_capacity(n * dim);
    let mut row = vec![0.0; dim];
    for segment in points.segments() {
        for i in segment.rows.clone() {
            points.trajectories()[segment.trajectory].row(i, &mut row);
            rows.extend_from_slice(&row);
        }
    }
    let x = Array2::from_shape_vec((n, dim), rows).expect("rows are complete");
    let tile: Vec<f64> = x.t().iter().copied().collect();
    let mut arrays = vec![("x".to_owned(), x.into_dyn())];
    let (mut errors, mut missing) = (Vec::new(), Map::new());
    for field in ModelField::ALL {
        let values = |evaluate: &dyn Fn(&mut [f64])| {
            let mut out = vec![0.0; n * dim.pow(field.rank() as u32)];
            evaluate(&mut out);
            states_first(field.rank(), dim, out)
        };
        let name = field.name();
        arrays.push((
            name.to_owned(),
            values(&|out| model.field(field, &tile, out)),
        ));
        if let Some(reason) = model.without_error(field) {
            missing.insert(name.to_owned(), json!(reason));
            continue;
        }
        let error = values(&|out| {
            let known = model.field_error(field, &tile, out);
            known.expect("there is no reason why it should not be known");
        });
        errors.push((format!("{name}_stderr"), error));
    }
    arrays.extend(errors);
    let views: Vec<_> = arrays
        .iter()
        .map(|(name, array)| (name.as_str(), array.view()))
        .collect();
    write_arrays(&arguments.output, &views)?;
    let names: Vec<&str> = views.iter().map(|(name, _)| *name).collect();
    let mut sentence = format!(
        "{}: {} at {} states",
        shown(&arguments.output),
        names.join(", "),
        grouped(n)
    );
    for (field, reason) in &missing {
        let reason = reason.as_str().unwrap_or_default();
        sentence += &format!("\n  no {field}_stderr: {reason}");
    }
    let result = json!({
        "file": shown(&arguments.output), "states": n, "arrays": names,
        "without_stderr": missing,
    });
    report(json, &result, &sentence)
}

/// A tile, whose last axis are the states, as an array whose first axis they are.
fn states_first(rank: usize, dim: usize, tile: Vec<f64>) -> ArrayD<f64> {
    let states = tile.len() / dim.pow(rank as u32);
    let mut shape = vec![dim; rank];
    shape.push(states);
    let tile = ArrayD::from_shape_vec(shape, tile).expect("a tile");
    let axes: Vec<usize> = std::iter::once(rank).chain(0..rank).collect();
    tile.permuted_axes(axes)
}
