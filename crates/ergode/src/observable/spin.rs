//! Vector families of soft spins on a ring.

use pulp::{Arch, Simd, WithSimd};

use super::dual::{First, Ring, Second};
use super::{Functions, Library, MAX_FUNCTIONS, check_derivatives, tile_width};
use crate::data::Ensemble;
use crate::error::{Error, Result};
use crate::simd::Lanes;

const FAMILIES: [&str; 11] = [
    "b0 m", "b1 m", "b2 m", "u", "T u", "P u", "C u", "a", "T a", "P a", "C a",
];
const COMPONENTS: [&str; 3] = ["x", "y", "z"];

/// Coordinates that the functions of a site depend on: its own and its neighbours'.
const LOCAL: usize = 9;

type Vector<T> = [T; 3];

/// Polynomials b_0, b_1, b_2 in r² = |m|², of degree 0, 1, 2, orthonormal under the observed
/// radial distribution: ⟨b_a b_b⟩ = δ_ab.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadialBasis {
    /// b_a = Σ_k coefficients[a][k] r²ᵏ.
    coefficients: [[f64; 3]; 3],
}

impl RadialBasis {
    /// Gram-Schmidt orthonormalisation of 1, r², r⁴, from the moments ⟨r²ᵏ⟩, k = 0 to 4.
    ///
    /// # Errors
    /// When the moments are not those of a law.
    pub fn from_moments(moments: [f64; 5]) -> Result<Self> {
        if moments.iter().any(|m| !m.is_finite()) || (moments[0] - 1.0).abs() > 1e-9 {
            return Err(Error::input(format!(
                "the radial moments {moments:?} are not valid averages; give finite means of 1, r^2, \
                 r^4, r^6, r^8, the first of them 1"
            )));
        }
        let inner = |p: &[f64; 3], q: &[f64; 3]| -> f64 {
            let term = |j: usize, k: usize| p[j] * q[k] * moments[j + k];
            (0..9).map(|jk| term(jk / 3, jk % 3)).sum()
        };
        let mut basis = [[0.0; 3]; 3];
        for degree in 0..3 {
            let mut next = [0.0; 3];
            next[degree] = 1.0;
            let scale = inner(&next, &next);
            // The second pass removes what rounding left of the lower degrees.
            for _ in 0..2 {
                for lower in &basis[..degree] {
                    let overlap = inner(&next, lower);
                    for k in 0..3 {
                        next[k] -= overlap * lower[k];
                    }
                }
            }
            let square = inner(&next, &next);
            if square.is_nan() || square <= 1e-12 * scale {
                return Err(Error::input(format!(
                    "the radial moments {moments:?} leave no spread for degree {degree} in r^2; \
                     |m| must take at least three different values, so use more data"
                )));
            }
            basis[degree] = next.map(|c| c / square.sqrt());
        }
        Ok(Self {
            coefficients: basis,
        })
    }

    /// Orthonormal over the sites of an ensemble.
    ///
    /// # Errors
    /// When the coordinates are not sites of three components, or |m| hardly varies.
    pub fn from_ensemble(ensemble: &Ensemble) -> Result<Self> {
        let dim = ensemble.dim();
        if !dim.is_multiple_of(COMPONENTS.len()) {
            return Err(Error::input(format!(
                "{dim} coordinates are not a ring of spins; each site has three"
            )));
        }
        let mut state = vec![0.0; dim];
        let mut sums = [0.0; 5];
        for segment in ensemble.segments() {
            for row in segment.rows.clone() {
                ensemble.trajectories()[segment.trajectory].row(row, &mut state);
                for m in state.chunks_exact(COMPONENTS.len()) {
                    let square: f64 = m.iter().map(|m| m * m).sum();
                    let mut power = 1.0;
                    for sum in &mut sums {
                        *sum += power;
                        power *= square;
                    }
                }
            }
        }
        Self::from_moments(sums.map(|sum| sum / sums[0]))
    }

    /// b_0, b_1, b_2 at r².
    pub fn evaluate(&self, square: f64) -> [f64; 3] {
        self.polynomials(square)
    }

    #[inline(always)]
    fn polynomials<T: Ring>(&self, square: T) -> [T; 3] {
        let [b0, b1, b2] = self.coefficients;
        [
            polynomial(b0, square),
            polynomial(b1, square),
            polynomial(b2, square),
        ]
    }
}

// The functions below are written without closures: passed through the standard library, these
// would not be compiled for the vector instructions of the caller.

#[inline(always)]
fn polynomial<T: Ring>(c: [f64; 3], square: T) -> T {
    (square * c[2] + c[1]) * square + c[0]
}

#[inline(always)]
fn scale<T: Ring>(v: Vector<T>, factor: T) -> Vector<T> {
    [v[0] * factor, v[1] * factor, v[2] * factor]
}

#[inline(always)]
fn subtract<T: Ring>(a: Vector<T>, b: Vector<T>) -> Vector<T> {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

#[inline(always)]
fn dot<T: Ring>(a: Vector<T>, b: Vector<T>) -> T {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
fn cross<T: Ring>(a: Vector<T>, b: Vector<T>) -> Vector<T> {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// v, T v, P v, C v.
#[inline(always)]
fn turned<T: Ring>(m: Vector<T>, square: T, v: Vector<T>) -> [Vector<T>; 4] {
    let parallel = scale(m, dot(m, v));
    let across = subtract(scale(v, square), parallel);
    [v, across, parallel, cross(m, v)]
}

/// The eleven families at a site.
#[inline(always)]
fn families<T: Ring>(
    radial: &RadialBasis,
    [before, m, after]: [Vector<T>; 3],
) -> [Vector<T>; FAMILIES.len()] {
    let square = dot(m, m);
    let [b0, b1, b2] = radial.polynomials(square);
    let bend = [
        before[0] + after[0] - m[0] * 2.0,
        before[1] + after[1] - m[1] * 2.0,
        before[2] + after[2] - m[2] * 2.0,
    ];
    let zero = m[2] * 0.0;
    let [u, tu, pu, cu] = turned(m, square, bend);
    let [a, ta, pa, ca] = turned(m, square, [zero, zero, m[2]]);
    [
        scale(m, b0),
        scale(m, b1),
        scale(m, b2),
        u,
        tu,
        pu,
        cu,
        a,
        ta,
        pa,
        ca,
    ]
}

/// The eleven vector families of soft spins on a ring of N sites; the state is (m_1x, m_1y, m_1z, m_2x, ...).
///
/// With m = m_i, u = m_{i−1} + m_{i+1} − 2m_i, a = m_iz e_z, T v = (|m|² − m mᵀ) v, P v = m (m·v),
/// C v = m × v, they are b_0 m, b_1 m, b_2 m, u, T u, P u, C u, a, T a, P a, C a at each site. The
/// function of a family, site and component has the index (family·N + site)·3 + component, with
/// sites counted from 0; labels count them from 1, like the coordinates.
#[derive(Clone, Debug)]
pub struct SpinFamilies {
    sites: usize,
    radial: RadialBasis,
    labels: Vec<String>,
}

impl SpinFamilies {
    /// The families on a ring of `sites`.
    ///
    /// # Errors
    /// When the ring has no sites.
    pub fn new(sites: usize, radial: RadialBasis) -> Result<Self> {
        let most = MAX_FUNCTIONS / (3 * FAMILIES.len());
        if sites == 0 || sites > most {
            return Err(Error::input(format!(
                "a ring of {sites} sites is out of range; give between 1 and {most} sites"
            )));
        }
        let labels = FAMILIES.iter().flat_map(|family| {
            (1..=sites).flat_map(move |site| COMPONENTS.map(|c| format!("{family}[{site}].{c}")))
        });
        Ok(Self {
            sites,
            radial,
            labels: labels.collect(),
        })
    }

    /// Number N of sites.
    pub fn sites(&self) -> usize {
        self.sites
    }

    /// The names of the families, in order.
    pub fn families(&self) -> &[&'static str] {
        &FAMILIES
    }

    /// The radial polynomials.
    pub fn radial(&self) -> &RadialBasis {
        &self.radial
    }

    /// The names of the coordinates: m1x, m1y, m1z, m2x, ...
    pub fn coordinates(&self) -> Vec<String> {
        (1..=self.sites)
            .flat_map(|site| COMPONENTS.map(|c| format!("m{site}{c}")))
            .collect()
    }

    /// A site with its neighbours: i − 1, i, i + 1 around the ring.
    fn neighbours(&self, site: usize) -> [usize; 3] {
        let n = self.sites;
        [(site + n - 1) % n, site, (site + 1) % n]
    }

    /// The state's index of a local coordinate.
    fn place(neighbours: [usize; 3], local: usize) -> usize {
        3 * neighbours[local / 3] + local % 3
    }

    /// Families at each site in numbers that carry derivatives; `take(function, neighbours, value)`
    /// receives them.
    fn differentiate<T: Ring>(
        &self,
        x: &[f64],
        variable: impl Fn(f64, usize) -> T,
        mut take: impl FnMut(usize, [usize; 3], &T),
    ) {
        for site in 0..self.sites {
            let around = self.neighbours(site);
            let local = std::array::from_fn(|s| {
                std::array::from_fn(|c| variable(x[3 * around[s] + c], 3 * s + c))
            });
            for (family, vector) in families(&self.radial, local).iter().enumerate() {
                for (c, value) in vector.iter().enumerate() {
                    take((family * self.sites + site) * 3 + c, around, value);
                }
            }
        }
    }
}

/// A register from a slice that is at most as long.
#[inline(always)]
fn load<S: Simd>(simd: S, from: &[f64]) -> S::f64s {
    match S::as_simd_f64s(from).0 {
        [whole] => *whole,
        _ => simd.partial_load_f64s(from),
    }
}

/// A register into a slice that is at most as long.
#[inline(always)]
fn store<S: Simd>(simd: S, to: &mut [f64], value: S::f64s) {
    match S::as_mut_simd_f64s(to).0 {
        [whole] => *whole = value,
        _ => simd.partial_store_f64s(to, value),
    }
}

/// The values of a tile of n states, in vector registers.
struct Fill<'a> {
    library: &'a SpinFamilies,
    x: &'a [f64],
    out: &'a mut [f64],
    n: usize,
}

impl WithSimd for Fill<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { library, x, out, n } = self;
        for site in 0..library.sites {
            let around = library.neighbours(site);
            let width = S::F64_LANES;
            for start in (0..n).step_by(width) {
                let end = n.min(start + width);
                let mut local = [[Lanes::splat(simd, 0.0); 3]; 3];
                for s in 0..3 {
                    for c in 0..3 {
                        let row = (3 * around[s] + c) * n;
                        local[s][c] = Lanes::new(simd, load(simd, &x[row + start..row + end]));
                    }
                }
                let vectors = families(&library.radial, local);
                for family in 0..FAMILIES.len() {
                    for c in 0..3 {
                        let row = ((family * library.sites + site) * 3 + c) * n;
                        let to = &mut out[row + start..row + end];
                        store(simd, to, vectors[family][c].value());
                    }
                }
            }
        }
    }
}

impl Functions for SpinFamilies {
    fn dim(&self) -> usize {
        3 * self.sites
    }
    fn labels(&self) -> &[String] {
        &self.labels
    }
    fn values(&self, x: &[f64], out: &mut [f64]) {
        let n = tile_width(self, x, out);
        Arch::new().dispatch(Fill {
            library: self,
            x,
            out,
            n,
        });
    }
}

impl Library for SpinFamilies {
    fn gradients(&self, x: &[f64], out: &mut [f64]) {
        check_derivatives(self, x, out, 1);
        out.fill(0.0);
        let dim = self.dim();
        self.differentiate(x, First::<LOCAL>::variable, |k, around, value| {
            // Sums, for on a ring of one or two sites the neighbours coincide.
            for (i, slope) in value.slope.iter().enumerate() {
                out[k * dim + Self::place(around, i)] += slope;
            }
        });
    }
    fn hessians(&self, x: &[f64], out: &mut [f64]) {
        check_derivatives(self, x, out, 2);
        out.fill(0.0);
        let dim = self.dim();
        self.differentiate(x, Second::<LOCAL>::variable, |k, around, value| {
            for (i, slope) in value.slope.iter().enumerate() {
                for (j, second) in slope.slope.iter().enumerate() {
                    let row = k * dim + Self::place(around, i);
                    out[row * dim + Self::place(around, j)] += second;
                }
            }
        });
    }
}
