//! Expressions written out as polynomials, where they are such.

use super::polynomial::Polynomial;
use super::program::{Binary, Instruction, Operand, Program, Unary};

/// Largest power that is multiplied out.
const MOST: i32 = 20;

/// The polynomial of `dim` coordinates that an expression is; none if it is no polynomial.
pub(super) fn polynomial(program: &Program, dim: usize) -> Option<Polynomial> {
    let mut stack: Vec<Polynomial> = Vec::new();
    for instruction in &program.code {
        let value = match *instruction {
            Instruction::Unary(unary, of) => {
                let value = take(of, &mut stack, dim)?;
                match unary {
                    Unary::Negate => scaled(-1.0, &value),
                    Unary::Power(exponent) => power(&value, exponent, dim)?,
                    other => constant(other.value(number(&value)?), dim),
                }
            }
            Instruction::Binary(binary, left, right) => {
                // The right argument is on top.
                let right = take(right, &mut stack, dim)?;
                let left = take(left, &mut stack, dim)?;
                match binary {
                    Binary::Add => sum(&left, 1.0, &right),
                    Binary::Subtract => sum(&left, -1.0, &right),
                    Binary::Multiply => left.product(&right),
                    Binary::Divide => scaled(1.0 / number(&right)?, &left),
                    Binary::Power => {
                        let exponent = number(&right)?;
                        if exponent.fract() != 0.0 || exponent.abs() > f64::from(MOST) {
                            return None;
                        }
                        power(&left, exponent as i32, dim)?
                    }
                }
            }
        };
        stack.push(value);
    }
    let whole = take(program.result, &mut stack, dim)?;
    let finite = whole.terms().all(|(_, c)| c.is_finite());
    finite.then_some(whole)
}

fn take(operand: Operand, stack: &mut Vec<Polynomial>, dim: usize) -> Option<Polynomial> {
    match operand {
        Operand::Stack => stack.pop(),
        Operand::Constant(value) => Some(constant(value, dim)),
        Operand::Coordinate(i) => {
            let mut exponents = vec![0; dim];
            exponents[i] = 1;
            Some(Polynomial::monomial(exponents, 1.0))
        }
    }
}

fn constant(value: f64, dim: usize) -> Polynomial {
    Polynomial::monomial(vec![0; dim], value)
}

/// The value of a polynomial that is constant.
fn number(polynomial: &Polynomial) -> Option<f64> {
    let varies = polynomial
        .terms()
        .any(|(exponents, c)| c != 0.0 && exponents.iter().any(|e| *e > 0));
    (!varies).then(|| polynomial.terms().map(|(_, c)| c).sum())
}

fn scaled(factor: f64, of: &Polynomial) -> Polynomial {
    let mut out = Polynomial::default();
    out.add_scaled(factor, of);
    out
}

fn sum(left: &Polynomial, sign: f64, right: &Polynomial) -> Polynomial {
    let mut out = left.clone();
    out.add_scaled(sign, right);
    out
}

fn power(base: &Polynomial, exponent: i32, dim: usize) -> Option<Polynomial> {
    if let Some(value) = number(base) {
        return Some(constant(value.powi(exponent), dim));
    }
    if !(0..=MOST).contains(&exponent) {
        return None;
    }
    let one = constant(1.0, dim);
    Some((0..exponent).fold(one, |product, _| product.product(base)))
}

#[cfg(test)]
mod tests {
    use crate::observable::Expressions;

    #[test]
    fn polynomials_are_multiplied_out_and_other_functions_refused() {
        let names = ["x".to_owned(), "y".to_owned()];
        let texts = ["-x*(1 - y/2)^2 + sqrt(4)", "sin(x)", "1/y", "x^-1", "2^3*y"];
        let read = Expressions::parse(&texts, &names, &[])
            .unwrap()
            .polynomials();
        let (x, y) = (0.7, -1.3f64);
        let first = read[0].as_ref().unwrap().value(&[x, y]);
        assert!((first - (-x * (1.0 - y / 2.0).powi(2) + 2.0)).abs() < 1e-14);
        assert!(read[1..4].iter().all(Option::is_none));
        assert!((read[4].as_ref().unwrap().value(&[x, y]) - 8.0 * y).abs() < 1e-14);
    }
}
