//! Curves of the held-out data and of the rollouts.

use serde::{Deserialize, Serialize};

use super::floor::{Distance, Distances, Lengths, Norm, measure};
use crate::lagged::Jackknife;

/// Points along one argument of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurveAxis {
    /// Name of the quantity along the axis.
    pub name: String,
    /// The points.
    pub at: Vec<f64>,
}

/// One curve: a correlation, a density, a spectrum; with two axes a joint density, with none a number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// Label of the curve.
    pub label: String,
    /// Its arguments; values run over the last one first.
    pub axes: Vec<CurveAxis>,
    /// The held-out data.
    pub data: Vec<f64>,
    /// Their standard errors.
    pub error: Vec<f64>,
    /// Every rollout, in the order in which they were given.
    pub rollouts: Vec<RolloutCurve>,
}

/// A curve of a rollout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RolloutCurve {
    /// Its values.
    pub values: Vec<f64>,
    /// Their standard errors.
    pub error: Vec<f64>,
    /// Its distance from the curve of the data.
    pub distance: Distance,
}

/// The curve with the largest error, in units of its floor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    /// Label of the curve.
    pub label: String,
    /// Its distance; `z` and `probability` are those of the largest distance of all curves.
    pub distance: Distance,
}

/// The point of a curve that is off by most, in standard errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorstPoint {
    /// Label of the curve.
    pub label: String,
    /// Where on its axes.
    pub at: Vec<f64>,
    /// The difference there; `z` is its own, `probability` that of the largest of all points.
    pub distance: Distance,
}

/// A family of curves, compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// The curves.
    pub curves: Vec<Curve>,
    /// The mean distance over all curves, one per rollout.
    pub overall: Vec<Distance>,
    /// The curve that is off by most, one per rollout.
    pub worst: Vec<Worst>,
    /// The point that is off by most, one per rollout: it sees what a slow motion hides in the noise
    /// of whole curves.
    pub worst_point: Vec<WorstPoint>,
}

/// Description of a curve without its values.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) label: String,
    pub(super) axes: Vec<CurveAxis>,
}

impl Shape {
    pub(super) fn len(&self) -> usize {
        self.axes.iter().map(|axis| axis.at.len()).product()
    }
}

impl Curve {
    /// The arguments of value `k`.
    fn at(&self, mut k: usize) -> Vec<f64> {
        let last_first = self.axes.iter().rev().map(|axis| {
            let place = k % axis.at.len();
            k /= axis.at.len();
            axis.at[place]
        });
        let mut at: Vec<f64> = last_first.collect();
        at.reverse();
        at
    }
}

/// Compare the values of the curves, given one after the other; `records` are the lengths of each rollout.
pub(super) fn compare(
    shapes: Vec<Shape>,
    data: &Jackknife,
    rollouts: &[Jackknife],
    records: &[Lengths],
    norm: Norm,
    draws: usize,
    seed: u64,
) -> Comparison {
    if shapes.is_empty() {
        return Comparison::default();
    }
    let lengths: Vec<usize> = shapes.iter().map(Shape::len).collect();
    let measured: Vec<_> = rollouts
        .iter()
        .zip(records)
        .map(|(model, records)| measure(data, model, &lengths, *records, norm, draws, seed))
        .collect();
    let data_errors = data.errors();
    let errors: Vec<_> = rollouts.iter().map(Jackknife::errors).collect();
    let mut start = 0;
    let mut curves = Vec::with_capacity(shapes.len());
    for (c, shape) in shapes.into_iter().enumerate() {
        let cut = start..start + lengths[c];
        start = cut.end;
        let part = |values: &ndarray::Array1<f64>| values.slice(ndarray::s![cut.clone()]).to_vec();
        let of_rollout = |k: usize| RolloutCurve {
            values: part(&rollouts[k].values),
            error: part(&errors[k]),
            distance: measured[k].curves[c],
        };
        curves.push(Curve {
            label: shape.label,
            axes: shape.axes,
            data: part(&data.values),
            error: part(&data_errors),
            rollouts: (0..rollouts.len()).map(of_rollout).collect(),
        });
    }
    let point = |m: &Distances| {
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        let ends: Vec<usize> = ends.collect();
        let c = ends.partition_point(|end| *end <= m.point.0);
        WorstPoint {
            label: curves[c].label.clone(),
            at: curves[c].at(m.point.0 + lengths[c] - ends[c]),
            distance: m.point.1,
        }
    };
    Comparison {
        worst_point: measured.iter().map(point).collect(),
        overall: measured.iter().map(|m| m.overall).collect(),
        worst: measured
            .iter()
            .map(|m| Worst {
                label: curves[m.worst.0].label.clone(),
                distance: m.worst.1,
            })
            .collect(),
        curves,
    }
}
