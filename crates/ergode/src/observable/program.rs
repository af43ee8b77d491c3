//! Expressions as instructions for a machine with a stack, run over many states at a time.

/// Functions of one argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unary {
    Negate,
    Power(i32),
    Sin,
    Cos,
    Tan,
    Exp,
    Log,
    Sqrt,
    Abs,
    Tanh,
    Sinh,
    Cosh,
    Atan,
}

/// The functions that can be called, by name.
pub(super) const FUNCTIONS: [(&str, Unary); 12] = [
    ("sin", Unary::Sin),
    ("cos", Unary::Cos),
    ("tan", Unary::Tan),
    ("exp", Unary::Exp),
    ("log", Unary::Log),
    ("ln", Unary::Log),
    ("sqrt", Unary::Sqrt),
    ("abs", Unary::Abs),
    ("tanh", Unary::Tanh),
    ("sinh", Unary::Sinh),
    ("cosh", Unary::Cosh),
    ("atan", Unary::Atan),
];

/// Functions of two arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
}

/// Where an argument comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operand {
    /// The top of the stack, which it leaves.
    Stack,
    Coordinate(usize),
    Constant(f64),
}

/// Takes its arguments, and leaves its result on the stack.
///
/// Where both arguments come from the stack, the right one is on top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Instruction {
    Unary(Unary, Operand),
    Binary(Binary, Operand, Operand),
}

/// One expression.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) code: Vec<Instruction>,
    pub(super) result: Operand,
    /// The largest number of values on the stack.
    pub(super) depth: usize,
}

/// base^exponent in every lane, by repeated squaring.
#[inline(always)]
fn powers<const N: usize>(base: [f64; N], exponent: i32) -> [f64; N] {
    let (mut square, mut result) = (base, [1.0; N]);
    let mut bits = exponent.unsigned_abs();
    while bits > 0 {
        if bits & 1 == 1 {
            for l in 0..N {
                result[l] *= square[l];
            }
        }
        bits >>= 1;
        if bits > 0 {
            for l in 0..N {
                square[l] *= square[l];
            }
        }
    }
    if exponent < 0 {
        for value in &mut result {
            *value = 1.0 / *value;
        }
    }
    result
}

/// base^exponent for one number.
pub(super) fn power(base: f64, exponent: i32) -> f64 {
    powers([base], exponent)[0]
}

impl Unary {
    pub(super) fn value(self, v: f64) -> f64 {
        match self {
            Self::Negate => -v,
            Self::Power(exponent) => power(v, exponent),
            Self::Sin => v.sin(),
            Self::Cos => v.cos(),
            Self::Tan => v.tan(),
            Self::Exp => v.exp(),
            Self::Log => v.ln(),
            Self::Sqrt => v.sqrt(),
            Self::Abs => v.abs(),
            Self::Tanh => v.tanh(),
            Self::Sinh => v.sinh(),
            Self::Cosh => v.cosh(),
            Self::Atan => v.atan(),
        }
    }

    #[inline(always)]
    fn apply(self, row: &mut [f64]) {
        match self {
            Self::Negate => {
                for v in row {
                    *v = -*v;
                }
            }
            Self::Abs => {
                for v in row {
                    *v = v.abs();
                }
            }
            Self::Sqrt => {
                for v in row {
                    *v = v.sqrt();
                }
            }
            Self::Power(exponent) => {
                let (blocks, rest) = row.as_chunks_mut::<8>();
                for block in blocks {
                    *block = powers(*block, exponent);
                }
                for v in rest {
                    *v = power(*v, exponent);
                }
            }
            _ => {
                for v in row {
                    *v = self.value(*v);
                }
            }
        }
    }
}

impl Binary {
    pub(super) fn value(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            Self::Power => a.powf(b),
        }
    }
}

/// The stack for a chunk of `width` states: one row of values per place.
struct TileStack<'a> {
    rows: &'a mut [f64],
    width: usize,
    top: usize,
}

impl TileStack<'_> {
    #[inline(always)]
    fn row(&mut self, row: usize) -> &mut [f64] {
        &mut self.rows[row * self.width..(row + 1) * self.width]
    }

    #[inline(always)]
    fn push<'x>(&mut self, operand: Operand, x: &impl Fn(usize) -> &'x [f64]) {
        self.top += 1;
        let row = self.row(self.top - 1);
        match operand {
            Operand::Coordinate(i) => row.copy_from_slice(x(i)),
            Operand::Constant(value) => row.fill(value),
            Operand::Stack => unreachable!("already on the stack"),
        }
    }

    #[inline(always)]
    fn combine<'x>(
        &mut self,
        mut left: Operand,
        right: Operand,
        x: &impl Fn(usize) -> &'x [f64],
        f: impl Fn(f64, f64) -> f64,
    ) {
        use Operand::{Constant, Coordinate, Stack};
        if left != Stack && right != Stack {
            self.push(left, x);
            left = Stack;
        }
        if left == Stack && right == Stack {
            self.top -= 1;
        }
        let (below, above) = self.rows.split_at_mut(self.top * self.width);
        let row = &mut below[(self.top - 1) * self.width..];
        match (left, right) {
            (Stack, Stack) => {
                for (v, &other) in row.iter_mut().zip(&above[..self.width]) {
                    *v = f(*v, other);
                }
            }
            (Stack, Coordinate(i)) => {
                for (v, &other) in row.iter_mut().zip(x(i)) {
                    *v = f(*v, other);
                }
            }
            (Coordinate(i), _) => {
                for (v, &other) in row.iter_mut().zip(x(i)) {
                    *v = f(other, *v);
                }
            }
            (Stack, Constant(c)) => {
                for v in row {
                    *v = f(*v, c);
                }
            }
            (Constant(c), _) => {
                for v in row {
                    *v = f(c, *v);
                }
            }
        }
    }

    #[inline(always)]
    fn step<'x>(&mut self, instruction: Instruction, x: &impl Fn(usize) -> &'x [f64]) {
        match instruction {
            Instruction::Unary(function, operand) => {
                if operand != Operand::Stack {
                    self.push(operand, x);
                }
                function.apply(self.row(self.top - 1));
            }
            Instruction::Binary(operator, left, right) => match operator {
                Binary::Add => self.combine(left, right, x, |a, b| a + b),
                Binary::Subtract => self.combine(left, right, x, |a, b| a - b),
                Binary::Multiply => self.combine(left, right, x, |a, b| a * b),
                Binary::Divide => self.combine(left, right, x, |a, b| a / b),
                Binary::Power => self.combine(left, right, x, f64::powf),
            },
        }
    }
}

impl Program {
    /// Values for the states of a chunk; `x(i)` is their coordinate i, `rows` has
    /// `depth.max(1) * out.len()` places.
    #[inline(always)]
    pub(super) fn values<'x>(
        &self,
        x: impl Fn(usize) -> &'x [f64],
        rows: &mut [f64],
        out: &mut [f64],
    ) {
        let mut stack = TileStack {
            rows,
            width: out.len(),
            top: 0,
        };
        for &instruction in &self.code {
            stack.step(instruction, &x);
        }
        if self.result != Operand::Stack {
            stack.push(self.result, &x);
        }
        out.copy_from_slice(stack.row(0));
    }
}
