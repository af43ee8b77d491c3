//! Equations taken together with their time-reversed partners.

use ndarray::{Array2, Array3, ArrayView2, ArrayView3, Axis, s};

/// Sums and differences of equations that time reversal exchanges.
///
/// ⟨φ_m(x_t at i + r) φ_n(x_0 at i)⟩ and ⟨φ_n(x_t at i − r) φ_m(x_0 at i)⟩ are each other's reverse. Over a
/// record without breaks the increments of their sum are, up to its ends, averages of products of
/// increments: their noise is far smaller than that of either alone, and they carry most of the information
/// on D. The differences carry the information on R. Equations that are weighted one by one must therefore be
/// these.
#[derive(Debug)]
pub(super) struct Reversal {
    /// The test functions in the monomials that the record has, (n, α), the constant left out.
    tests: Array2<f64>,
    /// For each separation r the place of −r, where it was collected.
    partners: Vec<Option<usize>>,
}

impl Reversal {
    /// `tests` are in monomials from the constant on.
    pub(super) fn new(tests: ArrayView2<f64>, separations: &[isize]) -> Self {
        let place = |r: &isize| separations.iter().position(|other| *other == -*r);
        Self {
            tests: tests.slice(s![.., 1..]).to_owned(),
            partners: separations.iter().map(place).collect(),
        }
    }

    /// From curves (lag, m, n), where at each separation the monomials come first and other functions
    /// follow, those with the test functions in place of the monomials, paired with their partners.
    pub(super) fn apply(&self, curves: ArrayView3<f64>) -> Array3<f64> {
        let mut out = curves.to_owned();
        let (rows, count) = (
            curves.len_of(Axis(1)) / self.partners.len(),
            self.tests.nrows(),
        );
        let own = |place: usize| place * rows..place * rows + count;
        for (mut out, curve) in out.outer_iter_mut().zip(curves.outer_iter()) {
            let blocks: Vec<Array2<f64>> = (0..self.partners.len())
                .map(|place| self.tests.dot(&curve.slice(s![own(place), ..])))
                .collect();
            for (place, partner) in self.partners.iter().enumerate() {
                let block = match partner {
                    None => blocks[place].clone(),
                    Some(other) => paired(&blocks[place], &blocks[*other], place.cmp(other)),
                };
                out.slice_mut(s![own(place), ..]).assign(&block);
            }
        }
        out
    }
}

/// (E_mn + F_nm)/√2 for the first of two blocks, (E_mn − F_nm)/√2 for the second; a block that is its
/// own partner has the sums in its upper and the differences in its lower half.
fn paired(e: &Array2<f64>, f: &Array2<f64>, order: std::cmp::Ordering) -> Array2<f64> {
    Array2::from_shape_fn(e.dim(), |(m, n)| {
        let (own, other) = (e[[m, n]], f[[n, m]]);
        match order.then(m.cmp(&n)) {
            std::cmp::Ordering::Less => (own + other) * std::f64::consts::FRAC_1_SQRT_2,
            std::cmp::Ordering::Equal => own,
            std::cmp::Ordering::Greater => (own - other) * std::f64::consts::FRAC_1_SQRT_2,
        }
    })
}
