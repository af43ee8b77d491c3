//! Spins and other lattices: projections of the onsite block, and space-time panels.

use ndarray::Array2;

use super::grid::Cells;
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::mobility::Mobility;
use crate::report::{Colours, Figure, Heatmap, Palette, Panel, Section};

/// Components of a spin.
const SPIN: usize = 3;
/// Cells along m_z and m_⊥.
const CELLS: (usize, usize) = (80, 80);

/// λ_⊥, λ_∥ and c_× of a block at m = (m_⊥, 0, m_z): the parts of D across and along m, and R = c_× \[m\]_×.
fn projections(block: &dyn Mobility, centres: &[[f64; 2]]) -> [Vec<f64>; 3] {
    let n = centres.len();
    let mut x = vec![0.0; SPIN * n];
    for (s, [along, across]) in centres.iter().enumerate() {
        x[s] = *across;
        x[2 * n + s] = *along;
    }
    let mut tensor = vec![0.0; SPIN * SPIN * n];
    block.mobility(&x, &mut tensor);
    let mut out = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
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
        out[0][s] = 0.5 * (trace - along);
        out[1][s] = along;
        out[2][s] = cross / square;
    }
    out
}

/// The onsite block of a spin mobility on the plane (m_z, m_⊥), beside the exact block where it is known.
///
/// # Errors
/// When the blocks do not have three components, or the data are not whole spins.
pub fn spin_section(
    model: &dyn Mobility,
    exact: Option<&dyn Mobility>,
    data: &Ensemble,
) -> Result<Section> {
    let three = |block: &&dyn Mobility| block.dim() == SPIN;
    if !data.dim().is_multiple_of(SPIN) || !three(&model) || !exact.iter().all(three) {
        return Err(Error::input(format!(
            "{} coordinates and a block of {} are not spins of three components",
            data.dim(),
            model.dim()
        )));
    }
    let cells = Cells::of(data, spread(data), CELLS, |state, visit| {
        for m in state.chunks_exact(SPIN) {
            visit([m[2], m[0].hypot(m[1])]);
        }
    });
    let centres = cells.centres();
    let blocks: Vec<(&str, [Vec<f64>; 3])> = [Some(("model", model)), exact.map(|e| ("exact", e))]
        .into_iter()
        .flatten()
        .map(|(who, block)| (who, projections(block, &centres)))
        .collect();
    let mut panels = Vec::new();
    for (k, symbol) in ["λ⊥", "λ∥", "c×"].into_iter().enumerate() {
        let map = |all: &[Vec<f64>; 3]| cells.masked(all[k].clone());
        let maps: Vec<Array2<f64>> = blocks.iter().map(|(_, all)| map(all)).collect();
        let palette = if k == 2 {
            Palette::Diverging
        } else {
            Palette::Sequential
        };
        let colours = Colours::common(palette, &maps);
        for (map, (who, _)) in maps.into_iter().zip(&blocks) {
            let map = cells.heatmap(map, colours);
            panels.push(Panel::new("m_z", "m⊥", map).titled(format!("{symbol}, {who}")));
        }
    }
    let columns = if exact.is_some() { 2 } else { 3 };
    Ok(Section::new("spins", "Onsite mobility of the spins").with(Figure::grid(
        "spin-mobility",
        "Onsite block on the plane of m_z and m⊥",
        "Diffusion across the spin (λ⊥) and along it (λ∥), and the rate of precession (c×), where there are spins.",
        columns,
        panels,
    )))
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

/// One component of a lattice in space and time, one panel per record: data beside model.
///
/// Each panel shows the first `rows` states of the first trajectory, at their times.
///
/// # Errors
/// When a record does not have whole sites of `components`, or has no two states.
pub fn hovmoeller_figure(
    records: &[(&str, &Ensemble)],
    component: usize,
    components: usize,
    rows: usize,
) -> Result<Figure> {
    let mut maps = Vec::new();
    for (who, data) in records {
        let whole = components > 0 && data.dim().is_multiple_of(components);
        let trajectory = data.trajectories().first().filter(|t| t.len() > 1);
        let (true, Some(trajectory)) = (whole && component < components, trajectory) else {
            return Err(Error::input(format!(
                "{who}: {} coordinates are not sites of {components} components with number {component}",
                data.dim()
            )));
        };
        let rows = rows.clamp(2, trajectory.len());
        let sites = data.dim() / components;
        let mut values = Array2::zeros((rows, sites));
        let mut state = vec![0.0; data.dim()];
        for (row, mut out) in values.outer_iter_mut().enumerate() {
            trajectory.row(row, &mut state);
            for (site, value) in out.iter_mut().enumerate() {
                *value = state[site * components + component];
            }
        }
        maps.push((
            *who,
            [trajectory.time(0), trajectory.time(rows - 1)],
            values,
        ));
    }
    let colours = Colours::common(Palette::Diverging, maps.iter().map(|map| &map.2));
    let panels = maps.into_iter().map(|(who, x, values)| {
        let y = [0.5, values.ncols() as f64 + 0.5];
        let map = Heatmap {
            x,
            y,
            values,
            colours,
        };
        Panel::new("time", "site", map).titled(who)
    });
    Ok(Figure::grid(
        &format!("hovmoeller-{component}"),
        &format!("Component {} in space and time", component + 1),
        "The model makes patterns of the same size, duration and speed as the data, not the same ones.",
        records.len().min(2),
        panels.collect(),
    ))
}
