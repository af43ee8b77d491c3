//! The support: the region of state space that holds the samples.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::ensemble::Ensemble;
use super::scales::blocks;
use super::standardise::Standardiser;
use crate::control::Control;
use crate::error::{Error, Result};

/// Cells per axis at most, in one, two and three dimensions.
const MOST_CELLS: [usize; 3] = [64, 48, 20];

/// Samples that a cell would hold on average if they filled the box evenly.
const SAMPLES_PER_CELL: f64 = 8.0;

/// Points are put this fraction of a cell away from its walls, so that rounding cannot move them out.
const MARGIN: f64 = 1e-6;

/// The part of the space of standardised coordinates that holds samples.
///
/// In up to three dimensions the box that holds every sample is cut into cells, and a cell belongs
/// to the support when it or a neighbour holds a sample. Where samples end close to a wall, the box ends at the
/// wall. In more dimensions the support is the box;
/// on a ring ([`Support::lattice`]) it is the cells of one site, shared by all sites. Every cell knows the
/// nearest cell of the support, so that [`Support::nearest`] takes the same short time everywhere.
///
/// Every value of an angle is in the support: the cells are those of the other coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Support {
    dim: usize,
    /// Grids of consecutive coordinates, used in turn until the coordinates are spent.
    grids: Vec<Grid>,
}

/// Cells over some coordinates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Grid {
    low: Vec<f64>,
    high: Vec<f64>,
    cells: Vec<usize>,
    /// For every cell the nearest one of the support, itself if it belongs to it.
    nearest: Vec<usize>,
    /// Whether an axis is that of an angle, along which there is one cell without walls; empty where none is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    circles: Vec<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    dim: usize,
    grids: Vec<Grid>,
}

impl TryFrom<Unchecked> for Support {
    type Error = Error;

    fn try_from(Unchecked { dim, grids }: Unchecked) -> Result<Self> {
        let width: usize = grids.iter().map(Grid::dim).sum();
        if dim == 0 || width == 0 || !dim.is_multiple_of(width) || !grids.iter().all(Grid::is_sound)
        {
            return Err(Error::input(format!(
                "the support in dimension {dim} is damaged; compute it from the data again"
            )));
        }
        Ok(Self { dim, grids })
    }
}

impl Support {
    /// The support of all samples, in the coordinates of `standardiser`.
    ///
    /// # Panics
    /// If the standardiser is for another number of coordinates.
    ///
    /// # Errors
    /// When the samples are in a file that cannot be read any more.
    pub fn from_ensemble(ensemble: &Ensemble, standardiser: &Standardiser) -> Result<Self> {
        Self::watched(ensemble, standardiser, &Control::new())
    }

    /// [`Support::from_ensemble`] of a record that takes long to read.
    pub(crate) fn watched(
        ensemble: &Ensemble,
        standardiser: &Standardiser,
        control: &Control,
    ) -> Result<Self> {
        let dim = ensemble.dim();
        if dim <= MOST_CELLS.len() {
            return Self::shared(ensemble, standardiser, dim, control);
        }
        let (low, high) = sampled_box(ensemble, standardiser, control)?;
        let box_of = |i: usize| {
            let circles = [standardiser.is_circle(i)];
            Grid::new(vec![low[i]], vec![high[i]], 1).with_circles(&circles)
        };
        Ok(Self {
            dim,
            grids: (0..dim).map(box_of).collect(),
        })
    }

    /// The support of one site of a ring, from the samples of all sites.
    ///
    /// # Errors
    /// When the coordinates are not whole sites, or a site has more than three components.
    pub fn lattice(
        ensemble: &Ensemble,
        standardiser: &Standardiser,
        components: usize,
    ) -> Result<Self> {
        let dim = ensemble.dim();
        if !(1..=MOST_CELLS.len()).contains(&components) || !dim.is_multiple_of(components) {
            return Err(Error::input(format!(
                "{dim} coordinates cannot be divided into sites of {components} components; give 1, 2 \
                 or 3 components, a divisor of the number of coordinates"
            )));
        }
        Self::shared(ensemble, standardiser, components, &Control::new())
    }

    /// One grid for every group of `components` coordinates.
    fn shared(
        ensemble: &Ensemble,
        standardiser: &Standardiser,
        components: usize,
        control: &Control,
    ) -> Result<Self> {
        let dim = ensemble.dim();
        let (low, high) = sampled_box(ensemble, standardiser, control)?;
        let over_sites = |values: &[f64], pick: fn(f64, f64) -> f64| -> Vec<f64> {
            let of = |c: usize| values[c..].iter().step_by(components).copied();
            (0..components)
                .map(|c| of(c).reduce(pick).expect("there is a site"))
                .collect()
        };
        let points = ensemble.samples() * (dim / components);
        let circles: Vec<bool> = (0..components).map(|c| standardiser.is_circle(c)).collect();
        let (low, high) = (over_sites(&low, f64::min), over_sites(&high, f64::max));
        let mut grid = Grid::for_points(low, high, &circles, points);
        let count = grid.nearest.len();
        control.begin(ensemble.samples() as u64);
        let occupied = blocks(ensemble)
            .par_iter()
            .map_init(Vec::new, |rows: &mut Vec<f64>, (k, range)| {
                rows.resize(range.len() * dim, 0.0);
                ensemble.trajectories()[*k].copy_rows(range.clone(), rows);
                standardiser.forward(rows);
                let mut occupied = vec![false; count];
                grid.occupy(rows, &mut occupied);
                control.advance(range.len() as u64)?;
                Ok(occupied)
            })
            .try_reduce(|| vec![false; count], |a, b| Ok(either(a, b)));
        grid.keep(&ensemble.intact(occupied)?);
        Ok(Self {
            dim,
            grids: vec![grid],
        })
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The smallest box, in standardised coordinates, that holds the support.
    pub fn bounds(&self) -> (Vec<f64>, Vec<f64>) {
        let corner = |of: fn(&Grid) -> &Vec<f64>| {
            let all = self.grids.iter().flat_map(of).copied();
            all.cycle().take(self.dim).collect()
        };
        (corner(|grid| &grid.low), corner(|grid| &grid.high))
    }

    /// The cells per axis, and for each of them, the last axis fastest, whether it belongs to the
    /// support; none where the support is not one grid of all coordinates.
    pub(crate) fn cells(&self) -> Option<(&[usize], impl Iterator<Item = bool>)> {
        let [grid] = self.grids.as_slice() else {
            return None;
        };
        let inside = (grid.nearest.iter().enumerate()).map(|(cell, nearest)| cell == *nearest);
        (grid.dim() == self.dim).then_some((grid.cells.as_slice(), inside))
    }

    /// True where `z` is in the support.
    ///
    /// # Panics
    /// If `z` does not have one number per coordinate.
    pub fn contains(&self, z: &[f64]) -> bool {
        assert_eq!(z.len(), self.dim, "one coordinate per dimension");
        self.parts().all(|(grid, at)| grid.contains(&z[at]))
    }

    /// The states of a tile of standardised coordinates, (D, n), that are not in the support.
    pub(crate) fn outside(&self, z: &[f64]) -> Vec<usize> {
        let n = z.len() / self.dim;
        let (mut inside, mut cells) = (vec![true; n], vec![0; n]);
        for (grid, at) in self.parts() {
            grid.contain(&z[at.start * n..at.end * n], &mut cells, &mut inside);
        }
        (0..n).filter(|s| !inside[*s]).collect()
    }

    /// The point of the support that stands for `z`: `z` itself in the support, else the nearest
    /// point of the cell of the support that is nearest to the cell of `z`.
    ///
    /// # Panics
    /// If `z` or `out` does not have one number per coordinate.
    pub fn nearest(&self, z: &[f64], out: &mut [f64]) {
        assert_eq!(z.len(), self.dim, "one coordinate per dimension");
        out.copy_from_slice(z);
        for (grid, at) in self.parts() {
            grid.clamp(&mut out[at]);
        }
    }

    /// The grids with their coordinates.
    fn parts(&self) -> impl Iterator<Item = (&Grid, std::ops::Range<usize>)> {
        let mut start = 0;
        self.grids
            .iter()
            .cycle()
            .map(move |grid| {
                let at = start..start + grid.dim();
                start = at.end;
                (grid, at)
            })
            .take_while(|(_, at)| at.end <= self.dim)
    }
}

/// The box of a support, and which of its cells hold samples: what parts of a record add to.
///
/// In more than three dimensions the support is the box, and there are no cells.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SupportCells {
    grid: Option<Grid>,
    low: Vec<f64>,
    high: Vec<f64>,
    occupied: Vec<bool>,
}

impl SupportCells {
    /// Cells for so many samples in this box of standardised coordinates, none of which is an angle.
    pub(crate) fn new(low: &[f64], high: &[f64], samples: usize) -> Self {
        let (low, high, dim) = (low.to_vec(), high.to_vec(), low.len());
        let grid = (dim <= MOST_CELLS.len())
            .then(|| Grid::for_points(low.clone(), high.clone(), &vec![false; dim], samples));
        let count = grid.as_ref().map_or(0, |grid| grid.nearest.len());
        Self {
            grid,
            low,
            high,
            occupied: vec![false; count],
        }
    }

    /// Marks the cells of standardised points.
    pub(crate) fn add(&mut self, points: &[f64]) {
        if let Some(grid) = &self.grid {
            grid.occupy(points, &mut self.occupied);
        }
    }

    /// Which cells are occupied.
    pub(crate) fn occupied(&self) -> &[bool] {
        &self.occupied
    }

    /// Marks more cells.
    pub(crate) fn join(&mut self, occupied: &[bool]) {
        self.occupied = either(std::mem::take(&mut self.occupied), occupied.to_vec());
    }

    /// The support.
    ///
    /// # Errors
    /// When no cell is occupied.
    pub(crate) fn support(&self) -> Result<Support> {
        let grids = match &self.grid {
            Some(_) if !self.occupied.contains(&true) => {
                return Err(Error::input(
                    "there are no samples in the box of the support",
                ));
            }
            Some(grid) => {
                let mut grid = grid.clone();
                grid.keep(&self.occupied);
                vec![grid]
            }
            None => (self.low.iter().zip(&self.high))
                .map(|(low, high)| Grid::new(vec![*low], vec![*high], 1))
                .collect(),
        };
        Ok(Support {
            dim: self.low.len(),
            grids,
        })
    }
}

impl Grid {
    /// A box of which every cell belongs to the support.
    fn new(low: Vec<f64>, high: Vec<f64>, per_axis: usize) -> Self {
        let cells = vec![per_axis; low.len()];
        Self {
            nearest: (0..cells.iter().product()).collect(),
            low,
            high,
            cells,
            circles: Vec::new(),
        }
    }

    /// A box in cells for so many points, each with a few if they filled it evenly.
    fn for_points(low: Vec<f64>, high: Vec<f64>, circles: &[bool], points: usize) -> Self {
        let walled = circles.iter().filter(|circle| !**circle).count().max(1);
        let per_axis = (points as f64 / SAMPLES_PER_CELL).powf(1.0 / walled as f64);
        let cells = (per_axis as usize).clamp(1, MOST_CELLS[walled - 1]);
        Self::new(low, high, cells).with_circles(circles)
    }

    /// Marks the cells of standardised points.
    fn occupy(&self, points: &[f64], occupied: &mut [bool]) {
        for point in points.chunks_exact(self.dim()) {
            occupied[self.cell(point)] = true;
        }
    }

    /// The same box with these axes as those of angles.
    fn with_circles(mut self, circles: &[bool]) -> Self {
        if !circles.contains(&true) {
            return self;
        }
        for (cells, circle) in self.cells.iter_mut().zip(circles) {
            *cells = if *circle { 1 } else { *cells };
        }
        self.nearest = (0..self.cells.iter().product()).collect();
        self.circles = circles.to_vec();
        self
    }

    fn is_circle(&self, axis: usize) -> bool {
        self.circles.get(axis).copied().unwrap_or(false)
    }

    fn dim(&self) -> usize {
        self.low.len()
    }

    fn is_sound(&self) -> bool {
        let dim = self.dim();
        let ordered =
            |(low, high): (&f64, &f64)| low.is_finite() && high.is_finite() && low <= high;
        let count = self.cells.iter().try_fold(1usize, |n, c| n.checked_mul(*c));
        dim <= MOST_CELLS.len()
            && self.high.len() == dim
            && self.cells.len() == dim
            && (self.circles.is_empty() || self.circles.len() == dim)
            && (0..dim).all(|axis| !self.is_circle(axis) || self.cells[axis] == 1)
            && self.low.iter().zip(&self.high).all(ordered)
            && count == Some(self.nearest.len())
            && !self.nearest.is_empty()
            && (self.nearest.iter()).all(|k| self.nearest.get(*k) == Some(k))
    }

    /// Width of the cells along an axis.
    fn width(&self, axis: usize) -> f64 {
        (self.high[axis] - self.low[axis]) / self.cells[axis] as f64
    }

    /// The cell of a point, that of the nearest point of the box for one outside it.
    fn cell(&self, z: &[f64]) -> usize {
        let mut index = 0;
        for axis in 0..self.dim() {
            let place = ((z[axis] - self.low[axis]) / self.width(axis)) as usize;
            index = index * self.cells[axis] + place.min(self.cells[axis] - 1);
        }
        index
    }

    /// Place of a cell along every axis, unused axes zero.
    fn places(&self, mut index: usize) -> [usize; MOST_CELLS.len()] {
        let mut places = [0; MOST_CELLS.len()];
        for axis in (0..self.dim()).rev() {
            places[axis] = index % self.cells[axis];
            index /= self.cells[axis];
        }
        places
    }

    /// The cell that the base-3 digits of `offset`, less one, lead to, unless it is beyond the box.
    fn neighbour(&self, places: [usize; MOST_CELLS.len()], mut offset: usize) -> Option<usize> {
        let mut index = 0;
        for axis in 0..self.dim() {
            let place = (places[axis] + offset % 3).checked_sub(1)?;
            if place >= self.cells[axis] {
                return None;
            }
            index = index * self.cells[axis] + place;
            offset /= 3;
        }
        Some(index)
    }

    fn contains(&self, z: &[f64]) -> bool {
        let within = |a: usize| self.is_circle(a) || z[a] >= self.low[a] && z[a] <= self.high[a];
        let in_box = (0..self.dim()).all(within);
        let cell = self.cell(z);
        in_box && self.nearest[cell] == cell
    }

    /// [`Grid::contains`] for a tile, (D, n), of those that are `inside`; `cells` is a place for their cells.
    fn contain(&self, z: &[f64], cells: &mut [usize], inside: &mut [bool]) {
        let n = cells.len();
        cells.fill(0);
        for (axis, row) in z.chunks_exact(n.max(1)).enumerate() {
            let (low, high, width) = (self.low[axis], self.high[axis], self.width(axis));
            let (count, is_circle) = (self.cells[axis], self.is_circle(axis));
            for ((z, cell), inside) in row.iter().zip(&mut *cells).zip(&mut *inside) {
                *inside &= is_circle || *z >= low && *z <= high;
                *cell = *cell * count + (((z - low) / width) as usize).min(count - 1);
            }
        }
        for (cell, inside) in cells.iter().zip(inside) {
            *inside &= self.nearest[*cell] == *cell;
        }
    }

    /// Move a point outside to the nearest one of its cell of the support.
    fn clamp(&self, z: &mut [f64]) {
        if self.contains(z) {
            return;
        }
        let places = self.places(self.nearest[self.cell(z)]);
        for (axis, z) in z.iter_mut().enumerate() {
            if self.is_circle(axis) {
                continue;
            }
            let width = self.width(axis);
            let wall = self.low[axis] + places[axis] as f64 * width;
            *z = z.clamp(wall + MARGIN * width, wall + (1.0 - MARGIN) * width);
        }
    }

    /// Keep the occupied cells and their neighbours, and find the nearest of them for all others.
    fn keep(&mut self, occupied: &[bool]) {
        let count = occupied.len();
        let mut inside = vec![false; count];
        for c in (0..count).filter(|c| occupied[*c]) {
            let here = self.places(c);
            for offset in 0..3usize.pow(self.dim() as u32) {
                if let Some(neighbour) = self.neighbour(here, offset) {
                    inside[neighbour] = true;
                }
            }
        }
        let kept: Vec<(usize, [usize; 3])> = (0..count)
            .filter(|c| inside[*c])
            .map(|c| (c, self.places(c)))
            .collect();
        let widths: Vec<f64> = (0..self.dim()).map(|axis| self.width(axis)).collect();
        self.nearest = (0..count)
            .into_par_iter()
            .map(|c| {
                if inside[c] {
                    return c;
                }
                let here = self.places(c);
                let distance = |there: &[usize; 3]| -> f64 {
                    let along = |a: usize| here[a].abs_diff(there[a]) as f64 * widths[a];
                    (0..widths.len()).map(|a| along(a).powi(2)).sum()
                };
                let nearest = kept
                    .iter()
                    .min_by(|a, b| distance(&a.1).total_cmp(&distance(&b.1)));
                nearest.expect("samples occupy a cell").0
            })
            .collect();
    }
}

fn either(mut a: Vec<bool>, b: Vec<bool>) -> Vec<bool> {
    for (a, b) in a.iter_mut().zip(b) {
        *a |= b;
    }
    a
}

/// The smallest box of standardised coordinates that holds every sample, and reaches to the walls that are
/// close to them.
fn sampled_box(
    ensemble: &Ensemble,
    standardiser: &Standardiser,
    control: &Control,
) -> Result<(Vec<f64>, Vec<f64>)> {
    /// Distance of a wall from the nearest sample, as a fraction of the range.
    const CLOSE: f64 = 0.05;
    let (mut low, mut high) = ensemble.bounds(control)?;
    for j in 0..ensemble.dim() {
        let close = CLOSE * (high[j] - low[j]);
        let [floor, ceiling] = ensemble.walls(j);
        low[j] = floor.filter(|wall| low[j] - wall < close).unwrap_or(low[j]);
        high[j] = ceiling
            .filter(|wall| wall - high[j] < close)
            .unwrap_or(high[j]);
    }
    standardiser.forward(&mut low);
    standardiser.forward(&mut high);
    Ok((low, high))
}
