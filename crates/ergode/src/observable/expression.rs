//! Functions that the user writes as text.

use pulp::{Arch, Simd, WithSimd};

use super::expanded;
use super::jet::scratch;
use super::parse::{Scope, compile};
use super::polynomial::Polynomial;
use super::program::Program;
use super::{Functions, Library, MAX_FUNCTIONS, check_derivatives, tile_width};
use crate::error::{Error, Result};

/// States evaluated together, so that the intermediate values stay in the nearest cache.
const CHUNK: usize = 256;

/// Functions given as text, such as `x^2*y` or `sin(2*pi*x/L)`.
///
/// Operators are + - * / and ^ (to the right: x^y^z is x^(y^z), and -x^2 is -(x^2)); functions are
/// sin, cos, tan, exp, log (natural, also ln), sqrt, abs, tanh, sinh, cosh, atan; pi and e are known
/// unless a coordinate or a constant has that name. Derivatives are exact to rounding.
#[derive(Clone, Debug)]
pub struct Expressions {
    dim: usize,
    labels: Vec<String>,
    programs: Vec<Program>,
    depth: usize,
}

impl Expressions {
    /// Read `texts`, which may use the coordinate `names` and the `constants`.
    ///
    /// # Errors
    /// When a text is not an expression of these names; the message shows the place.
    pub fn parse(texts: &[&str], names: &[String], constants: &[(String, f64)]) -> Result<Self> {
        if texts.len() > MAX_FUNCTIONS {
            return Err(Error::input(format!(
                "{} expressions are too many; give at most {MAX_FUNCTIONS}",
                texts.len()
            )));
        }
        let scope = Scope::new(names, constants)?;
        let programs = texts
            .iter()
            .map(|text| compile(text, &scope))
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            dim: names.len(),
            labels: texts.iter().map(|&text| text.to_owned()).collect(),
            depth: programs.iter().map(|p| p.depth).max().unwrap_or(0).max(1),
            programs,
        })
    }

    /// The functions written out; none in the place of those that are not polynomials.
    pub(crate) fn polynomials(&self) -> Vec<Option<Polynomial>> {
        let programs = self.programs.iter();
        programs
            .map(|program| expanded::polynomial(program, self.dim))
            .collect()
    }

    #[inline(always)]
    fn fill(&self, x: &[f64], out: &mut [f64], n: usize, rows: &mut [f64]) {
        for start in (0..n).step_by(CHUNK) {
            let end = n.min(start + CHUNK);
            let coordinate = |i: usize| &x[i * n + start..i * n + end];
            for (k, program) in self.programs.iter().enumerate() {
                program.values(coordinate, rows, &mut out[k * n + start..k * n + end]);
            }
        }
    }

    /// The part of each jet from `offset` on, which is the gradient or the Hessian.
    fn derivatives(&self, x: &[f64], out: &mut [f64], offset: usize, second: bool) {
        let mut rows = vec![0.0; scratch(self.depth, self.dim, second)];
        let size = if second {
            self.dim * self.dim
        } else {
            self.dim
        };
        for (program, out) in self.programs.iter().zip(out.chunks_exact_mut(size)) {
            out.copy_from_slice(&program.jet(x, &mut rows, second)[offset..]);
        }
    }
}

/// The values of a tile of n states, with the vector instructions of the machine.
struct Fill<'a> {
    library: &'a Expressions,
    x: &'a [f64],
    out: &'a mut [f64],
    n: usize,
    rows: Vec<f64>,
}

impl WithSimd for Fill<'_> {
    type Output = ();
    #[inline(always)]
    fn with_simd<S: Simd>(mut self, _: S) {
        self.library.fill(self.x, self.out, self.n, &mut self.rows);
    }
}

impl Functions for Expressions {
    fn dim(&self) -> usize {
        self.dim
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
            rows: vec![0.0; self.depth * n.min(CHUNK)],
        });
    }
}

impl Library for Expressions {
    fn gradients(&self, x: &[f64], out: &mut [f64]) {
        check_derivatives(self, x, out, 1);
        self.derivatives(x, out, 1, false);
    }
    fn hessians(&self, x: &[f64], out: &mut [f64]) {
        check_derivatives(self, x, out, 2);
        self.derivatives(x, out, 1 + self.dim, true);
    }
}
