//! Lines of equal value of a function on a grid.

use std::collections::BTreeMap;

use ndarray::Array2;

/// A point between two neighbouring nodes of the grid: (i, j, along y).
type Edge = (usize, usize, bool);

/// The lines on which a function has one of the `levels`, as one curve that is broken between lines.
///
/// `values` are at the nodes (x_i, y_j); between them the function is taken as linear along the edges
/// of the grid, and lines end at its border.
pub(super) fn contour_lines(
    x: &[f64],
    y: &[f64],
    values: &Array2<f64>,
    levels: &[f64],
) -> (Vec<f64>, Vec<f64>) {
    let mut curve = (Vec::new(), Vec::new());
    for level in levels {
        for line in lines(&links(values, *level)) {
            for (i, j, up) in line {
                let (k, l) = if up { (i, j + 1) } else { (i + 1, j) };
                let (a, b) = (values[[i, j]], values[[k, l]]);
                let part = (level - a) / (b - a);
                curve.0.push(x[i] + part * (x[k] - x[i]));
                curve.1.push(y[j] + part * (y[l] - y[j]));
            }
            curve.0.push(f64::NAN);
            curve.1.push(f64::NAN);
        }
    }
    curve
}

/// The one or two edges that follow each edge on its line, across the cells of the grid.
fn links(values: &Array2<f64>, level: f64) -> BTreeMap<Edge, Vec<Edge>> {
    let (nx, ny) = values.dim();
    let mut links: BTreeMap<Edge, Vec<Edge>> = BTreeMap::new();
    for i in 0..nx.saturating_sub(1) {
        for j in 0..ny.saturating_sub(1) {
            // Corners and edges around the cell; edge k is between the corners k and k + 1.
            let corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)];
            let edges = [
                (i, j, false),
                (i + 1, j, true),
                (i, j + 1, false),
                (i, j, true),
            ];
            let above = corners.map(|(i, j)| values[[i, j]] > level);
            let mut crossed: Vec<Edge> = (0..4)
                .filter(|k| above[*k] != above[(k + 1) % 4])
                .map(|k| edges[k])
                .collect();
            // At a saddle the mean of the corners decides which of them are joined.
            let mean = corners.iter().map(|(i, j)| values[[*i, *j]]).sum::<f64>() / 4.0;
            if crossed.len() == 4 && above[0] != (mean > level) {
                crossed.rotate_left(1);
            }
            for pair in crossed.chunks_exact(2) {
                links.entry(pair[0]).or_default().push(pair[1]);
                links.entry(pair[1]).or_default().push(pair[0]);
            }
        }
    }
    links
}

/// The edges along each line; those of a closed one end where they began.
fn lines(links: &BTreeMap<Edge, Vec<Edge>>) -> Vec<Vec<Edge>> {
    let mut seen = std::collections::BTreeSet::new();
    let mut lines = Vec::new();
    // Lines that end at the border first, from one of their ends.
    let ends = links.iter().filter(|(_, next)| next.len() == 1);
    for (start, _) in ends.chain(links.iter()) {
        if !seen.insert(*start) {
            continue;
        }
        let mut line = vec![*start];
        let mut at = *start;
        while let Some(next) = links[&at].iter().find(|next| !seen.contains(*next)) {
            seen.insert(*next);
            line.push(*next);
            at = *next;
        }
        if line.len() > 2 && links[&at].contains(start) {
            line.push(*start);
        }
        lines.push(line);
    }
    lines
}
