//! Functions and fields on tiles, and their derivatives.

use ergode::observable::{Expressions, LatticePotential, Library, Monomials};
use ergode::random::{Purpose, Stream};
use ergode::score::{Gradients, SpinFields, VectorFields};

use crate::support::names;

/// A tile of n positive states, (D, n).
fn tile(dim: usize, n: usize) -> Vec<f64> {
    let mut stream = Stream::new(2, Purpose::Analysis, dim as u64);
    (0..dim * n).map(|_| 0.2 + stream.uniform()).collect()
}

fn state(x: &[f64], n: usize, s: usize) -> Vec<f64> {
    x.iter().skip(s).step_by(n).copied().collect()
}

fn assert_close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!(
        (a - b).abs() <= tolerance * (1.0 + b.abs()),
        "{what}: {a} {b}"
    );
}

fn check_tiles(library: &dyn Library) {
    let (dim, len) = (library.dim(), library.len());
    for n in [0, 1, 7, 130] {
        let x = tile(dim, n);
        let (mut gradients, mut laplacians) = (vec![9.0; len * dim * n], vec![9.0; len * n]);
        library.gradient_tile(&x, &mut gradients);
        let ones = vec![1.0; dim];
        library.laplacian_tile(&x, &ones, &mut laplacians);
        let (mut gradient, mut laplacian) = (vec![0.0; len * dim], vec![0.0; len]);
        let (mut weighted, mut hessian) = (vec![9.0; len * n], vec![0.0; len * dim * dim]);
        let weights: Vec<f64> = (0..dim).map(|i| 0.5 + i as f64).collect();
        library.laplacian_tile(&x, &weights, &mut weighted);
        for s in 0..n {
            let at = state(&x, n, s);
            library.gradients(&at, &mut gradient);
            library.laplacians(&at, &mut laplacian);
            library.hessians(&at, &mut hessian);
            for (k, label) in library.labels().iter().enumerate() {
                assert_close(laplacians[k * n + s], laplacian[k], 1e-12, label);
                let diagonal = hessian[k * dim * dim..].iter().step_by(dim + 1);
                let sum: f64 = diagonal.zip(&weights).map(|(h, w)| h * w).sum();
                assert_close(weighted[k * n + s], sum, 1e-12, label);
                for i in 0..dim {
                    let place = k * dim + i;
                    assert_close(gradients[place * n + s], gradient[place], 1e-12, label);
                }
            }
        }
    }
}

#[test]
fn tiles_of_derivatives_equal_those_of_single_states() {
    check_tiles(&Monomials::new(&names(1), 0..=6).unwrap());
    check_tiles(&Monomials::new(&names(2), 1..=7).unwrap());
    check_tiles(&Monomials::new(&names(4), 0..=3).unwrap());
    check_tiles(&Expressions::parse(&["log(x0)*x1", "x1^3"], &names(2), &[]).unwrap());
    let onsite = Monomials::new(&names(3), 1..=4).unwrap();
    check_tiles(&LatticePotential::new(5, onsite, &[1, 2]).unwrap());
}

/// Jacobians against differences of the fields, divergences against their traces.
fn check_fields(fields: &dyn VectorFields) {
    let (dim, len) = (fields.dim(), fields.labels().len());
    let n = 3;
    let x = tile(dim, n);
    let mut divergences = vec![0.0; len * n];
    let weights: Vec<f64> = (0..dim).map(|i| 0.5 + i as f64).collect();
    fields.divergences(&x, &weights, &mut divergences);
    let mut jacobians = vec![0.0; len * dim * dim];
    let (mut up, mut down) = (vec![0.0; len * dim], vec![0.0; len * dim]);
    for s in 0..n {
        let mut at = state(&x, n, s);
        fields.jacobians(&at, &mut jacobians);
        for (k, label) in fields.labels().iter().enumerate() {
            let jacobian = &jacobians[k * dim * dim..(k + 1) * dim * dim];
            let diagonal = jacobian.iter().step_by(dim + 1);
            let trace: f64 = diagonal.zip(&weights).map(|(j, w)| j * w).sum();
            assert_close(divergences[k * n + s], trace, 1e-12, label);
        }
        for j in 0..dim {
            let middle = at[j];
            at[j] = middle + 1e-5;
            fields.fields(&at, &mut up);
            at[j] = middle - 1e-5;
            fields.fields(&at, &mut down);
            at[j] = middle;
            for (place, (up, down)) in up.iter().zip(&down).enumerate() {
                let slope = (up - down) / 2e-5;
                let label = &fields.labels()[place / dim];
                assert_close(jacobians[place * dim + j], slope, 1e-7, label);
            }
        }
    }
}

#[test]
fn jacobians_and_divergences_of_fields_match_differences() {
    check_fields(&SpinFields::new(4).unwrap());
    check_fields(&Gradients::new(Monomials::new(&names(2), 1..=5).unwrap()));
    assert!(SpinFields::new(2).is_err());
}

/// A tile of spin fields is that of its states.
#[test]
fn spin_fields_on_tiles() {
    let fields = SpinFields::new(5).unwrap();
    let (dim, n) = (fields.dim(), 11);
    let x = tile(dim, n);
    let mut all = vec![0.0; 4 * dim * n];
    fields.fields(&x, &mut all);
    let mut one = vec![0.0; 4 * dim];
    for s in 0..n {
        fields.fields(&state(&x, n, s), &mut one);
        assert_eq!(state(&all, n, s), one);
    }
}
