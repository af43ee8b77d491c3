//! Exact first and second derivatives of expressions, carried forwards through the instructions.

use super::program::{Binary, Instruction, Operand, Program, Unary, power};

impl Unary {
    /// f, f′, f″ at v.
    fn partials(self, v: f64) -> [f64; 3] {
        let f = self.value(v);
        match self {
            Self::Negate => [f, -1.0, 0.0],
            Self::Power(exponent) => {
                let slope = |order: i32| {
                    let factor: f64 = (0..order).map(|k| f64::from(exponent - k)).product();
                    if factor == 0.0 {
                        0.0
                    } else {
                        factor * power(v, exponent - order)
                    }
                };
                [f, slope(1), slope(2)]
            }
            Self::Sin => [f, v.cos(), -f],
            Self::Cos => [f, -v.sin(), -f],
            Self::Tan => [f, 1.0 + f * f, 2.0 * f * (1.0 + f * f)],
            Self::Exp => [f, f, f],
            Self::Log => [f, 1.0 / v, -1.0 / (v * v)],
            Self::Sqrt => [f, 0.5 / f, -0.25 / (v * f)],
            Self::Abs => [f, if v == 0.0 { 0.0 } else { v.signum() }, 0.0],
            Self::Tanh => {
                // 1 − tanh² without cancellation.
                let slope = v.cosh().recip().powi(2);
                [f, slope, -2.0 * f * slope]
            }
            Self::Sinh => [f, v.cosh(), f],
            Self::Cosh => [f, v.sinh(), f],
            Self::Atan => {
                let slope = 1.0 / (1.0 + v * v);
                [f, slope, -2.0 * v * slope * slope]
            }
        }
    }
}

/// f and its derivatives along a, b, aa, ab, bb.
struct Partials {
    f: f64,
    a: f64,
    b: f64,
    aa: f64,
    ab: f64,
    bb: f64,
}

impl Partials {
    fn new(operator: Binary, a: f64, b: f64) -> Self {
        let f = operator.value(a, b);
        let list = match operator {
            Binary::Add => [1.0, 1.0, 0.0, 0.0, 0.0],
            Binary::Subtract => [1.0, -1.0, 0.0, 0.0, 0.0],
            Binary::Multiply => [b, a, 0.0, 1.0, 0.0],
            Binary::Divide => {
                let inverse = 1.0 / b;
                let slope = -f * inverse;
                let cross = -inverse * inverse;
                [inverse, slope, 0.0, cross, -2.0 * slope * inverse]
            }
            Binary::Power => {
                let (log, lower) = (a.ln(), a.powf(b - 1.0));
                [
                    b * lower,
                    f * log,
                    b * (b - 1.0) * a.powf(b - 2.0),
                    lower * (1.0 + b * log),
                    f * log * log,
                ]
            }
        };
        let [fa, fb, aa, ab, bb] = list;
        Self {
            f,
            a: fa,
            b: fb,
            aa,
            ab,
            bb,
        }
    }

    /// The same with the arguments exchanged.
    fn exchanged(self) -> Self {
        Self {
            a: self.b,
            b: self.a,
            aa: self.bb,
            bb: self.aa,
            ..self
        }
    }
}

/// A stack of jets: value, gradient, and where `second` is set the Hessian.
struct JetStack<'a> {
    rows: &'a mut [f64],
    x: &'a [f64],
    width: usize,
    top: usize,
}

/// Numbers in one jet.
fn width(dim: usize, second: bool) -> usize {
    1 + dim + if second { dim * dim } else { 0 }
}

/// Places that [`Program::jet`] needs.
pub(super) fn scratch(depth: usize, dim: usize, second: bool) -> usize {
    (depth + 1) * width(dim, second)
}

impl JetStack<'_> {
    /// Put a coordinate or a constant into place `row`.
    fn load(&mut self, row: usize, operand: Operand) {
        let row = &mut self.rows[row * self.width..(row + 1) * self.width];
        row.fill(0.0);
        match operand {
            Operand::Coordinate(i) => {
                row[0] = self.x[i];
                row[1 + i] = 1.0;
            }
            Operand::Constant(value) => row[0] = value,
            Operand::Stack => unreachable!("already on the stack"),
        }
    }

    fn push(&mut self, operand: Operand) {
        if operand != Operand::Stack {
            self.load(self.top, operand);
            self.top += 1;
        }
    }

    fn value(&self) -> f64 {
        self.rows[(self.top - 1) * self.width]
    }

    /// Chain rule for a function of the jet on top.
    fn chain(&mut self, [f, first, second]: [f64; 3]) {
        let dim = self.x.len();
        let row = &mut self.rows[(self.top - 1) * self.width..self.top * self.width];
        let (head, hessian) = row.split_at_mut(1 + dim);
        let gradient = &mut head[1..];
        for (i, row) in hessian.chunks_exact_mut(dim).enumerate() {
            for (j, h) in row.iter_mut().enumerate() {
                *h = first * *h + second * gradient[i] * gradient[j];
            }
        }
        gradient.iter_mut().for_each(|g| *g *= first);
        head[0] = f;
    }

    /// Chain rule for a function of the jet on top (a) and the one just above the top (b).
    fn chain_two(&mut self, p: &Partials) {
        let dim = self.x.len();
        let (below, above) = self.rows.split_at_mut(self.top * self.width);
        let row = &mut below[(self.top - 1) * self.width..];
        let (head, hessian) = row.split_at_mut(1 + dim);
        let ga = &mut head[1..];
        let gb = &above[1..=dim];
        let other = above[1 + dim..].chunks_exact(dim);
        for (i, (row, other)) in hessian.chunks_exact_mut(dim).zip(other).enumerate() {
            for j in 0..dim {
                row[j] = p.a * row[j]
                    + p.b * other[j]
                    + p.aa * ga[i] * ga[j]
                    + p.ab * (ga[i] * gb[j] + gb[i] * ga[j])
                    + p.bb * gb[i] * gb[j];
            }
        }
        for (a, b) in ga.iter_mut().zip(gb) {
            *a = p.a * *a + p.b * b;
        }
        head[0] = p.f;
    }

    fn binary(&mut self, operator: Binary, left: Operand, right: Operand) {
        use Operand::{Constant, Stack};
        match (left, right) {
            (left, Constant(c)) => {
                self.push(left);
                let p = Partials::new(operator, self.value(), c);
                self.chain([p.f, p.a, p.aa]);
            }
            (Constant(c), right) => {
                self.push(right);
                let p = Partials::new(operator, c, self.value());
                self.chain([p.f, p.b, p.bb]);
            }
            (left, Stack) if left != Stack => {
                self.load(self.top, left);
                let other = self.rows[self.top * self.width];
                let p = Partials::new(operator, other, self.value());
                self.chain_two(&p.exchanged());
            }
            (left, right) => {
                self.push(left);
                match right {
                    Stack => self.top -= 1,
                    right => self.load(self.top, right),
                }
                let other = self.rows[self.top * self.width];
                let p = Partials::new(operator, self.value(), other);
                self.chain_two(&p);
            }
        }
    }
}

impl Program {
    /// The jet at state `x`: value, gradient, and with `second` the Hessian, at the start of
    /// `rows`, which has [`scratch`] places.
    pub(super) fn jet<'a>(&self, x: &[f64], rows: &'a mut [f64], second: bool) -> &'a [f64] {
        let width = width(x.len(), second);
        let mut stack = JetStack {
            rows: &mut *rows,
            x,
            width,
            top: 0,
        };
        for &instruction in &self.code {
            match instruction {
                Instruction::Unary(function, operand) => {
                    stack.push(operand);
                    stack.chain(function.partials(stack.value()));
                }
                Instruction::Binary(operator, left, right) => {
                    stack.binary(operator, left, right);
                }
            }
        }
        stack.push(self.result);
        &rows[..width]
    }
}
