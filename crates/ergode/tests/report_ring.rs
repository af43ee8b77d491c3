//! Figures of a ring of spins: maps and errors of closures, contours, colours that can be compared.

use ergode::mobility::{HomogeneousSlice, LinearMobility, Mobility, TensorBasis};
use ergode::report::{
    Colours, Heatmap, Lines, NetworkResiduals, Page, Panel, PanelContent, ResidualLines, Role,
    SpinClosure, SpinMaps, residual_section, ring_sections, spin_section,
};
use ergode::systems::SoftSpin;
use ergode::validate::{RingCompareConfig, RingComparison, Rollout, RolloutRole, compare_rings};
use ergode::{Control, Ensemble};
use ndarray::{Array3, array};

use crate::mobility_neural::moved_ring_fit;
use crate::report::{panels_of, xml_fault};
use crate::support::sample;

/// Blocks that depend on the neighbours of their site:
/// B_i = (1 + m_{i−1}·m_{i+1}) + x_{i+1} y_i e_x e_yᵀ.
struct Neighbourly {
    sites: usize,
}

impl Mobility for Neighbourly {
    fn dim(&self) -> usize {
        3 * self.sites
    }
    fn mobility(&self, x: &[f64], out: &mut [f64]) {
        let dim = self.dim();
        let n = x.len() / dim;
        out.fill(0.0);
        for s in 0..n {
            let m = |site: usize, c: usize| x[(site % self.sites * 3 + c) * n + s];
            for i in 0..self.sites {
                let (before, after) = (i + self.sites - 1, i + 1);
                let overlap: f64 = (0..3).map(|c| m(before, c) * m(after, c)).sum();
                let mut put = |a: usize, b: usize, value: f64| {
                    out[((3 * i + a) * dim + 3 * i + b) * n + s] += value;
                };
                (0..3).for_each(|a| put(a, a, 1.0 + overlap));
                put(0, 1, m(after, 0) * m(i, 1));
            }
        }
    }
    fn div_mobility(&self, _: &[f64], _: &mut [f64]) {
        unreachable!("a slice differences the blocks")
    }
    fn div_transpose(&self, _: &[f64], _: &mut [f64]) {
        unreachable!("a slice differences the blocks")
    }
}

#[test]
fn a_slice_is_the_block_of_equal_spins() {
    let field = Neighbourly { sites: 12 };
    let slice = HomogeneousSlice::new(&field, 12).unwrap();
    // More states than the slice takes at once.
    let n = 700;
    let x: Vec<f64> = (0..3 * n).map(|k| (0.37 * k as f64).sin()).collect();
    let [mut m, mut div, mut transposed] = [vec![0.0; 9 * n], vec![0.0; 3 * n], vec![0.0; 3 * n]];
    slice.mobility(&x, &mut m);
    slice.div_mobility(&x, &mut div);
    slice.div_transpose(&x, &mut transposed);
    for s in 0..n {
        let v: [f64; 3] = std::array::from_fn(|c| x[c * n + s]);
        let square: f64 = v.iter().map(|c| c * c).sum();
        for a in 0..3 {
            for b in 0..3 {
                let unit = if a == b { 1.0 + square } else { 0.0 };
                let mixed = if (a, b) == (0, 1) { v[0] * v[1] } else { 0.0 };
                assert!((m[(a * 3 + b) * n + s] - unit - mixed).abs() < 1e-14);
            }
            let more = [v[0], 0.0, 0.0][a];
            assert!((div[a * n + s] - 2.0 * v[a] - more).abs() < 1e-9);
            let more = [0.0, v[1], 0.0][a];
            assert!((transposed[a * n + s] - 2.0 * v[a] - more).abs() < 1e-9);
        }
    }
    assert!(HomogeneousSlice::new(&field, 5).is_err());
}

fn heatmap(panel: &Panel) -> &Heatmap {
    match &panel.content {
        PanelContent::Heatmap(map) => map,
        other => panic!("a heatmap: {other:?}"),
    }
}

fn lines(panel: &Panel) -> &Lines {
    match &panel.content {
        PanelContent::Lines(lines) => lines,
        other => panic!("lines: {other:?}"),
    }
}

#[test]
fn closures_are_shown_beside_the_exact_block_with_their_errors() {
    let block = |factor: f64, turn: f64| {
        let coefficients = array![0.002 * factor, 0.05 * factor, 0.006 * factor, -0.8 * turn];
        LinearMobility::new(TensorBasis::spin(), coefficients).unwrap()
    };
    let (exact, strong, slow) = (block(1.0, 1.0), block(1.3, 1.0), block(1.0, 0.9));
    let closure = |name, role, block| SpinClosure { name, role, block };
    let values = Array3::from_shape_fn((2, 3000, 6), |(n, t, c)| {
        ((7 * t + 13 * c + n) as f64).sin()
    });
    let data = Ensemble::from_array3(values.into(), 0.1).unwrap();
    let shown = [
        closure("true", Role::Exact, &exact as &dyn Mobility),
        closure("strong", Role::Model, &strong),
        closure("slow", Role::Other, &slow),
    ];
    let section = spin_section(&SpinMaps::new(&shown, &data).unwrap());
    let panels = panels_of(&section, "spin-mobility");
    assert_eq!(panels.len(), 12);
    for k in 0..3 {
        let colours: Vec<Colours> = (0..3)
            .map(|c| heatmap(&panels[3 * c + k]).colours)
            .collect();
        assert!(
            colours
                .iter()
                .all(|c| c.range.is_some() && *c == colours[0])
        );
        // A factor on a scalar is its relative error at every size.
        let errors = &lines(&panels[9 + k]).series;
        let expected = if k < 2 { [0.3, 0.0] } else { [0.0, 0.1] };
        assert_eq!(errors.len(), 2);
        for (series, expected) in errors.iter().zip(expected) {
            let known: Vec<f64> = series.y.iter().copied().filter(|e| e.is_finite()).collect();
            assert!(known.len() > 15);
            assert!(
                known.iter().all(|e| (e - expected).abs() < 1e-9),
                "{known:?}"
            );
        }
    }
}

fn ring() -> RingComparison {
    let chain = SoftSpin {
        sites: 4,
        ..SoftSpin::default()
    };
    let reversed = SoftSpin {
        gamma: -chain.gamma,
        ..chain
    };
    let run = |name: &str, role: RolloutRole, system: &SoftSpin, seed: u64| Rollout {
        name: name.into(),
        role,
        ensemble: sample(system, 8.0, 0.04, 16, seed),
    };
    let rollouts = [
        run("constant", RolloutRole::Constant, &reversed, 2),
        run("data only", RolloutRole::Learned, &chain, 3),
        run("physics-informed", RolloutRole::Learned, &chain, 4),
        run("reference", RolloutRole::Reference, &chain, 5),
    ];
    let config = RingCompareConfig {
        sites: 4,
        longest_lag: 1.0,
        lags: 11,
        ..Default::default()
    };
    let data = sample(&chain, 8.0, 0.04, 16, 1);
    compare_rings(&data, &rollouts, &config, &Control::new()).unwrap()
}

#[test]
fn every_closure_of_a_ring_is_drawn_in_colours_that_can_be_compared() {
    let ring = ring();
    let mut page = Page::new("A ring", "");
    page.sections = ring_sections(&ring);
    let figures = page.figures();
    let names: Vec<&str> = figures.iter().map(|f| f.name.as_str()).collect();
    let expected = [
        "ring-same-site",
        "ring-neighbours",
        "ring-matrices",
        "ring-errors",
        "ring-densities",
        "ring-joints",
        "ring-neighbour-densities",
        "hovmoeller-0",
        "hovmoeller-1",
        "hovmoeller-2",
    ];
    assert_eq!(names, expected);
    let counts: Vec<usize> = figures.iter().map(|f| f.panels.len()).collect();
    assert_eq!(counts, [5, 5, 5, 2, 3, 3, 6, 4, 4, 4]);
    // Data and four rollouts, of which one is the model, and the right curve of it.
    let same = lines(&figures[0].panels[3]);
    let roles: Vec<Role> = same.series.iter().map(|s| s.role).collect();
    let wanted = [
        Role::Data,
        Role::Constant,
        Role::Model,
        Role::Other,
        Role::Exact,
    ];
    assert_eq!(roles, wanted);
    assert_eq!(figures[0].panels[3].title, "m_x, m_y");
    assert_eq!(
        same.series[2].y[4],
        ring.rollouts[1].correlations[[4, 0, 1, 0]]
    );
    // Equal windows and one colour scale for each component.
    for figure in &figures[7..] {
        let maps: Vec<&Heatmap> = figure.panels.iter().map(heatmap).collect();
        assert!(
            maps.iter()
                .all(|map| map.colours == maps[0].colours && map.x == maps[0].x)
        );
        assert_eq!(maps[0].values.dim(), (201, 4));
    }
    assert_eq!(
        heatmap(&figures[9].panels[1]).values[[7, 2]],
        ring.rollouts[0].window[[7, 8]]
    );
    for figure in figures {
        assert_eq!(xml_fault(&figure.svg()), None, "{}", figure.name);
    }
}

#[test]
fn contours_lie_where_the_density_has_their_level() {
    let mut ring = ring();
    ring.joints.curves.truncate(1);
    let curve = &mut ring.joints.curves[0];
    let [x, y] = [0, 1].map(|k| curve.axes[k].at.clone());
    // Two hills, one for the data and one for the model.
    let hill = |centre: f64| {
        let value = move |x: f64, y: f64| (-((x - centre).powi(2) + y * y) / 0.08).exp();
        let points = x.iter().flat_map(|x| y.iter().map(move |y| (*x, *y)));
        points.map(|(x, y)| value(x, y)).collect::<Vec<f64>>()
    };
    curve.data = hill(-0.2);
    curve.rollouts[1].values = hill(0.2);
    let sections = ring_sections(&ring);
    let panels = panels_of(&sections[2], "ring-joints");
    let series = &lines(&panels[0]).series;
    for (series, centre) in series.iter().zip([-0.2, 0.2]) {
        let most = ring.joints.curves[0]
            .data
            .iter()
            .copied()
            .fold(0.0, f64::max);
        let radii =
            [0.05, 0.2, 0.4, 0.6, 0.8].map(|level: f64| (-0.08 * (level * most).ln()).sqrt());
        let points: Vec<(f64, f64)> = series.x.iter().copied().zip(series.y.clone()).collect();
        let rings: Vec<_> = points
            .split(|(x, _)| x.is_nan())
            .filter(|ring| !ring.is_empty())
            .collect();
        assert_eq!(rings.len(), 5);
        for (ring, radius) in rings.iter().zip(radii) {
            // Closed, and where the formula says, up to the curvature within a bin.
            assert_eq!(ring.first(), ring.last());
            for (x, y) in *ring {
                let found = (x - centre).hypot(*y);
                assert!((found - radius).abs() < 0.03, "{found} {radius}");
            }
        }
    }
}

#[test]
fn the_largest_residuals_are_drawn_with_those_of_other_mobilities() {
    let (_, fit) = moved_ring_fit();
    assert_eq!(fit.curves.len(), 144);
    let exact: Vec<Vec<f64>> = fit.curves.iter().map(|c| c.target().collect()).collect();
    let other = |values| ResidualLines {
        name: "true",
        role: Role::Exact,
        values,
    };
    let section = residual_section(&NetworkResiduals::from(&fit), &[other(&exact)]).unwrap();
    let panels = panels_of(&section, "residuals");
    assert_eq!(panels.len(), 12);
    let signal = |k: usize| {
        let curve = &fit.curves[k];
        let norm = |values: &[f64]| values.iter().map(|v| v * v).sum::<f64>();
        norm(&exact[k]) / norm(&curve.target_error)
    };
    let mut signals: Vec<f64> = (0..144).map(signal).collect();
    signals.sort_by(|a, b| b.total_cmp(a));
    for (panel, wanted) in panels.iter().zip(signals) {
        let series = &lines(panel).series;
        // Here the other mobility meets the target, so that the two curves are one.
        assert_eq!(series[0].y, series[2].y);
        let k = exact
            .iter()
            .position(|curve| *curve == series[0].y)
            .unwrap();
        assert_eq!(signal(k), wanted);
    }
    assert!(residual_section(&NetworkResiduals::from(&fit), &[other(&exact[1..])]).is_err());
}
