//! `ergode eval`: the fields of a fitted model at given states.

use ergode::{Control, LangevinModel, ReadOptions, read_ensemble, write_arrays};
use ndarray::{Array2, ArrayD, Axis};
use serde_json::json;

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
    // States need no times: if the file has none, any interval will do.
    let even = ReadOptions {
        dt: Some(1.0),
        ..ReadOptions::default()
    };
    let control = Control::new();
    let points = read_ensemble(&arguments.points, &ReadOptions::default(), &control)
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
    let vector = |evaluate: &dyn Fn(&[f64], &mut [f64])| -> ArrayD<f64> {
        let mut out = vec![0.0; dim * n];
        evaluate(&tile, &mut out);
        let out = Array2::from_shape_vec((dim, n), out).expect("a tile");
        out.reversed_axes().into_dyn()
    };
    let tensor = |evaluate: &dyn Fn(&[f64], &mut [f64])| -> ArrayD<f64> {
        let mut out = vec![0.0; dim * dim * n];
        evaluate(&tile, &mut out);
        let out = ndarray::Array3::from_shape_vec((dim, dim, n), out).expect("a tile");
        out.permuted_axes([2, 0, 1]).into_dyn()
    };
    let arrays = [
        ("x", x.clone().into_dyn()),
        ("score", vector(&|x, out| model.score().score(x, out))),
        ("drift", vector(&|x, out| model.drift(x, out))),
        (
            "mobility",
            tensor(&|x, out| model.mobility().mobility(x, out)),
        ),
        ("diffusion", tensor(&|x, out| model.diffusion(x, out))),
        ("div_mobility", vector(&|x, out| model.div_mobility(x, out))),
    ];
    let views: Vec<_> = arrays
        .iter()
        .map(|(name, array)| (*name, array.view()))
        .collect();
    write_arrays(&arguments.output, &views)?;
    let names: Vec<&str> = views.iter().map(|(name, _)| *name).collect();
    let result = json!({
        "file": shown(&arguments.output), "states": x.len_of(Axis(0)), "arrays": names,
    });
    let sentence = format!(
        "{}: {} at {} states",
        shown(&arguments.output),
        names.join(", "),
        grouped(n)
    );
    report(json, &result, &sentence);
    Ok(())
}
