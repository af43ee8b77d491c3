//! The onsite block of a mobility of spins, by closure.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::grid::Cells;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::mobility::Mobility;
use crate::report::gaps;
use crate::report::{Axis, Colours, Figure, Lines, Palette, Panel, Role, Section, Series};

/// Components of a spin.
const SPIN: usize = 3;
/// Names of the projections.
const SYMBOLS: [&str; 3] = ["λ⊥", "λ∥", "c×"];
/// Cells along m_z and m_⊥.
const CELLS: (usize, usize) = (80, 80);

/// Shells of |m| over which errors are averaged.
const SHELLS: usize = 24;

/// The onsite block of one closure.
#[derive(Clone, Copy)]
pub struct SpinClosure<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub role: Role,
    /// The block, a mobility of three coordinates; [`HomogeneousSlice`](crate::mobility::HomogeneousSlice) makes
    /// one of a field in which sites depend on their neighbours.
    pub block: &'a dyn Mobility,
}

/// λ_⊥, λ_∥ and c_× of a block at m = (m_⊥, 0, m_z): the parts of D across and along m, and R = c_× \[m\]_×.
fn projections(block: &dyn Mobility, centres: &[[f64; 2]]) -> Array2<f64> {
    let n = centres.len();
    let mut x = vec![0.0; SPIN * n];
    for (s, [along, across]) in centres.iter().enumerate() {
        x[s] = *across;
        x[2 * n + s] = *along;
    }
    let mut tensor = vec![0.0; SPIN * SPIN * n];
    block.mobility(&x, &mut tensor);
    let mut out = Array2::zeros((SPIN, n));
    for s in 0..n {
        let m: [f64; SPIN] = std::array::from_fn(|c| x[c * n + s]);
        let at = |a: usize, b: usize| tensor[(a * SPIN + b) * n + s];
        let square: f64 = m.iter().map(|v| v * v).sum();
        let trace: f64 = (0..SPIN).map(|a| at(a, a)).sum();
        let pairs = (0..SPIN * SPIN).map(|k| (k / SPIN, k % SPIN));
        let along: f64 = pairs.map(|(a, b)| m[a] * at(a, b) * m[b]).sum::<f64>() / square;
        // ([m]×)_ab = −ε_abc m_c, so that r_c = ½(R_ba − R_ab) over the cyclic pairs is c_× m_c.
        let turn = |c: usize| {
            0.5 * (at((c + 2) % SPIN, (c + 1) % SPIN) - at((c + 1) % SPIN, (c + 2) % SPIN))
        };
        let cross: f64 = (0..SPIN).map(|c| turn(c) * m[c]).sum();
        out[[0, s]] = 0.5 * (trace - along);
        out[[1, s]] = along;
        out[[2, s]] = cross / square;
    }
    out
}

/// The onsite blocks of closures on the plane (m_z, m_⊥), on the support of the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpinMaps {
    cells: Cells,
    closures: Vec<SpinMap>,
}

/// λ_⊥, λ_∥ and c_× of one closure, (scalar, cell).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct SpinMap {
    name: String,
    role: Role,
    #[serde(with = "gaps::matrix")]
    values: Array2<f64>,
}

impl SpinMaps {
    /// Evaluate the blocks of `closures` where `data` has spins.
    ///
    /// # Errors
    /// When the blocks do not have three components, or the data are not whole spins.
    pub fn new(closures: &[SpinClosure], data: &Ensemble) -> Result<Self> {
        let odd = closures.iter().find(|closure| closure.block.dim() != SPIN);
        if !data.dim().is_multiple_of(SPIN) || odd.is_some() {
            return Err(Error::input(format!(
                "{} coordinates and a block of {} do not match spins of three components",
                data.dim(),
                odd.map_or(SPIN, |closure| closure.block.dim())
            )));
        }
        let cells = Cells::of(data, spread(data), CELLS, |state, visit| {
            for m in state.chunks_exact(SPIN) {
                visit([m[2], m[0].hypot(m[1])]);
            }
        });
        let centres = cells.centres();
        let map = |closure: &SpinClosure| SpinMap {
            name: closure.name.to_owned(),
            role: closure.role,
            values: projections(closure.block, &centres),
        };
        Ok(Self {
            closures: closures.iter().map(map).collect(),
            cells,
        })
    }
}

/// Maps of the onsite blocks of spins.
///
/// One row of maps for each closure; where one of them is [`Role::Exact`], the last row shows the relative
/// errors of the others against |m|, (⟨(q − q_exact)²⟩ / ⟨q_exact²⟩)^½ over the spins of that size.
pub fn spin_section(spins: &SpinMaps) -> Section {
    let (cells, closures) = (&spins.cells, &spins.closures);
    let masked = |map: &SpinMap| -> [Array2<f64>; 3] {
        std::array::from_fn(|k| cells.masked(map.values.row(k).to_vec()))
    };
    let maps: Vec<[Array2<f64>; 3]> = closures.iter().map(masked).collect();
    let colours: [Colours; 3] = std::array::from_fn(|k| {
        let palette = if k == 2 {
            Palette::Diverging
        } else {
            Palette::Sequential
        };
        Colours::common(palette, maps.iter().map(|all| &all[k]))
    });
    let mut panels = Vec::new();
    for (closure, all) in closures.iter().zip(maps) {
        for (k, map) in all.into_iter().enumerate() {
            let map = cells.heatmap(map, colours[k]);
            let title = format!("{}, {}", SYMBOLS[k], closure.name);
            panels.push(Panel::new("m_z", "m⊥", map).titled(title));
        }
    }
    let mut caption =
        "Diffusion across the spin (λ⊥) and along it (λ∥), and the rate of precession (c×), on the \
         support of the data. Each has one colour scale."
            .to_owned();
    let exact = closures.iter().position(|c| c.role == Role::Exact);
    if let Some(exact) = exact.filter(|_| closures.len() > 1) {
        panels.extend((0..3).map(|k| shell_errors(spins, exact, k)));
        caption += " Last row: relative errors over the spins of each size.";
    }
    Section::new("spins", "Onsite mobility of the spins").with(Figure::grid(
        "spin-mobility",
        "Onsite block on the plane of m_z and m⊥",
        &caption,
        3,
        panels,
    ))
}

/// The relative error of scalar `k` of every closure against |m|.
fn shell_errors(spins: &SpinMaps, exact: usize, k: usize) -> Panel {
    let (cells, closures) = (&spins.cells, &spins.closures);
    let sizes: Vec<f64> = cells.centres().iter().map(|[z, m]| z.hypot(*m)).collect();
    let weights: Vec<f64> = cells.density.iter().copied().collect();
    let observed = sizes.iter().zip(&weights).filter(|(_, w)| **w > 0.0);
    let most = observed.map(|(size, _)| *size).fold(0.0, f64::max);
    let shell = |size: f64| ((size / most * SHELLS as f64) as usize).min(SHELLS - 1);
    let middles: Vec<f64> = (0..SHELLS)
        .map(|s| (s as f64 + 0.5) * most / SHELLS as f64)
        .collect();
    let others = (0..closures.len()).filter(|c| *c != exact);
    let series = others.map(|c| {
        let mut sums = [[0.0; 2]; SHELLS];
        let [found, truth] = [c, exact].map(|closure| closures[closure].values.row(k));
        for (cell, weight) in weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let [off, size] = &mut sums[shell(sizes[cell])];
            *off += weight * (found[cell] - truth[cell]).powi(2);
            *size += weight * truth[cell] * truth[cell];
        }
        // Not a number where no spin is of that size.
        let errors: Vec<f64> = sums.iter().map(|[off, size]| (off / size).sqrt()).collect();
        Series::new(closures[c].role, middles.clone(), errors).named(closures[c].name.as_str())
    });
    let lines = Lines::new(series.collect());
    Panel::new("|m|", Axis::log("relative error"), lines).titled(format!("{}, error", SYMBOLS[k]))
}

/// Mean and standard deviation of m_z and m_⊥ that cover every spin: |m| is bounded in practice.
fn spread(data: &Ensemble) -> [[f64; 2]; 2] {
    let (mut most, mut state) = (0.0f64, vec![0.0; data.dim()]);
    for segment in data.segments() {
        for row in segment.rows.clone() {
            data.trajectories()[segment.trajectory].row(row, &mut state);
            let spins = state.chunks_exact(SPIN);
            let sizes = spins.map(|m| m.iter().map(|v| v * v).sum::<f64>());
            most = sizes.fold(most, f64::max);
        }
    }
    let scale = most.sqrt() / super::grid::REACH;
    [[0.0, 0.0], [scale, scale]]
}
