//! Records with angles among their coordinates.

use super::circle::Circle;
use super::ensemble::Ensemble;
use crate::error::Result;

impl Ensemble {
    /// The same record with angles as some of its coordinates, wrapped.
    ///
    /// # Panics
    /// If there is not one entry per coordinate.
    pub(crate) fn with_circles(&self, circles: &[Option<Circle>]) -> Result<Self> {
        assert_eq!(circles.len(), self.dim(), "one entry per coordinate");
        if circles.iter().all(Option::is_none) {
            return Ok(self.clone().marked(Vec::new()));
        }
        let each = circles.to_vec();
        let wrapped = self.mapped(move |_, j, x| each[j].map_or(x, |circle| circle.wrap(x)))?;
        Ok(wrapped.marked(circles.to_vec()))
    }

    /// The circle of every coordinate that is an angle.
    pub(crate) fn circles(&self) -> impl Iterator<Item = Option<Circle>> {
        (0..self.dim()).map(|j| self.circle(j))
    }

    /// True where a coordinate is an angle.
    pub(crate) fn has_circles(&self) -> bool {
        self.circles().any(|circle| circle.is_some())
    }

    /// The record with the cosine and the sine of every angle in its place, and for each of these coordinates
    /// the one that it comes from.
    pub(crate) fn lifted(&self) -> Result<(Self, Vec<usize>)> {
        let mut sources = Vec::new();
        let (mut names, mut waves) = (Vec::new(), Vec::new());
        for (j, (circle, name)) in self.circles().zip(self.names()).enumerate() {
            match circle {
                None => {
                    sources.push(j);
                    names.push(name.clone());
                    waves.push(None);
                }
                Some(circle) => {
                    sources.extend([j, j]);
                    names.extend([format!("cos({name})"), format!("sin({name})")]);
                    waves.extend([Some((circle, true)), Some((circle, false))]);
                }
            }
        }
        let wave = move |_, k: usize, x: f64| match waves[k] {
            None => x,
            Some((circle, true)) => circle.radians(x).cos(),
            Some((circle, false)) => circle.radians(x).sin(),
        };
        let twice = self.columns_called(&sources, names)?;
        Ok((twice.mapped(wave)?.marked(Vec::new()), sources))
    }

    /// The change of coordinate j from one value to another, the shortest way round where it is an angle.
    pub(crate) fn step(&self, j: usize, from: f64, to: f64) -> f64 {
        self.circle(j)
            .map_or(to - from, |circle| circle.step(from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    #[test]
    fn angles_stay_angles_in_parts_of_a_record() {
        let rows = array![[0.0, 1.0], [0.5, 1.0], [0.9, 2.0], [1.3, 2.0]];
        let record = Ensemble::from_array(rows, 1.0).unwrap();
        let circle = Circle {
            low: 0.0,
            period: 1.0,
        };
        let record = record.with_circles(&[Some(circle), None]).unwrap();
        let mut row = [0.0; 2];
        record.trajectories()[0].row(3, &mut row);
        assert!((row[0] - 0.3).abs() < 1e-15);
        assert!((record.step(0, 0.9, row[0]) - 0.4).abs() < 1e-15);
        assert_eq!(record.step(1, 1.0, 3.0), 2.0);
        let part = record.cut(&[(0, 1..4, 1)]).unwrap();
        assert_eq!(part.circle(0), Some(circle));
        assert_eq!(part.columns(&[1, 0]).unwrap().circle(1), Some(circle));
        assert!(!part.columns(&[1]).unwrap().has_circles());
    }
}
