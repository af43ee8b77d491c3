//! Libraries of observables against direct formulas and finite differences.

mod expressions;
mod spins;

use ergode::observable::{Centred, Functions, LatticePotential, Library, Monomials};
use ergode::random::{Purpose, Stream};

fn names(list: &[&str]) -> Vec<String> {
    list.iter().map(|&name| name.to_owned()).collect()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
}

fn random_state(stream: &mut Stream, dim: usize) -> Vec<f64> {
    (0..dim).map(|_| stream.normal()).collect()
}

/// Gradients against differences of values, Hessians against differences of gradients.
fn check_derivatives(library: &dyn Library, x: &[f64]) {
    let (dim, len) = (library.dim(), library.len());
    let mut gradient = vec![f64::NAN; len * dim];
    let mut hessian = vec![f64::NAN; len * dim * dim];
    library.gradients(x, &mut gradient);
    library.hessians(x, &mut hessian);
    let slopes_at = |x: &[f64]| {
        let mut out = vec![f64::NAN; len * dim];
        library.gradients(x, &mut out);
        out
    };
    for j in 0..dim {
        let h = 1e-5 * (1.0 + x[j].abs());
        let (mut up, mut down) = (x.to_vec(), x.to_vec());
        up[j] += h;
        down[j] -= h;
        let step = up[j] - down[j];
        let (values_up, values_down) = (library.values_at(&up), library.values_at(&down));
        let (slopes_up, slopes_down) = (slopes_at(&up), slopes_at(&down));
        for k in 0..len {
            let label = &library.labels()[k];
            let (exact, slope) = (
                gradient[k * dim + j],
                (values_up[k] - values_down[k]) / step,
            );
            assert!(
                close(exact, slope, 1e-6),
                "{label} along {j}: {exact} {slope}"
            );
            for i in 0..dim {
                let exact = hessian[(k * dim + i) * dim + j];
                let slope = (slopes_up[k * dim + i] - slopes_down[k * dim + i]) / step;
                assert!(
                    close(exact, slope, 1e-6),
                    "{label} along {i} {j}: {exact} {slope}"
                );
                let mirrored = hessian[(k * dim + j) * dim + i];
                assert!(close(exact, mirrored, 1e-13), "{label} {i} {j} symmetric");
            }
        }
    }
}

/// Values of tiles of many widths are the values state by state.
fn check_tiles(library: &dyn Library, stream: &mut Stream) {
    let (dim, len) = (library.dim(), library.len());
    for n in [0, 1, 2, 7, 8, 13, 300] {
        let states: Vec<Vec<f64>> = (0..n).map(|_| random_state(stream, dim)).collect();
        let x: Vec<f64> = (0..dim * n).map(|k| states[k % n][k / n]).collect();
        let mut out = vec![f64::NAN; len * n];
        library.values(&x, &mut out);
        for (s, state) in states.iter().enumerate() {
            for (k, value) in library.values_at(state).into_iter().enumerate() {
                let tile = out[k * n + s];
                let label = &library.labels()[k];
                assert_eq!(
                    tile.to_bits(),
                    value.to_bits(),
                    "{label} {n} {tile} {value}"
                );
            }
        }
    }
}

#[test]
fn observable_monomials_come_in_graded_order() {
    let library = Monomials::new(&names(&["x", "y"]), 1..=3).unwrap();
    let expected = [
        "x", "y", "x^2", "x*y", "y^2", "x^3", "x^2*y", "x*y^2", "y^3",
    ];
    assert_eq!(library.labels(), expected);
    assert_eq!(library.exponents()[6], [2, 1]);
    let library = Monomials::new(&names(&["a", "b", "c"]), 0..=2).unwrap();
    let expected = ["1", "a", "b", "c", "a^2", "a*b", "a*c", "b^2", "b*c", "c^2"];
    assert_eq!(library.labels(), expected);
    assert_eq!(library.len(), 10);
    assert!(!library.is_empty());
    let library = Monomials::coordinates(&names(&["u", "v"])).unwrap();
    assert_eq!(library.labels(), ["u", "v"]);
    assert_eq!(library.values_at(&[3.0, -4.0]), [3.0, -4.0]);
    let library = Monomials::new(&names(&["x"]), 0..=0).unwrap();
    assert_eq!(library.values_at(&[f64::INFINITY]), [1.0]);
}

#[test]
fn observable_monomials_have_their_values_and_derivatives() {
    let mut stream = Stream::new(1, Purpose::Initial, 0);
    let gaps = vec![
        vec![0, 9, 2],
        vec![4, 0, 0],
        vec![1, 9, 2],
        vec![0, 0, 0],
        vec![3, 0, 0],
        vec![0, 5, 13],
    ];
    let three = names(&["x", "y", "z"]);
    let libraries = [
        Monomials::new(&three, 0..=5).unwrap(),
        Monomials::new(&three, 3..=4).unwrap(),
        Monomials::from_exponents(&three, gaps.clone()).unwrap(),
    ];
    assert_eq!(libraries[2].exponents(), gaps);
    assert_eq!(libraries[2].labels()[2], "x*y^9*z^2");
    for library in &libraries {
        check_tiles(library, &mut stream);
        for _ in 0..5 {
            let x = random_state(&mut stream, 3);
            let values = library.values_at(&x);
            for (value, exponents) in values.iter().zip(library.exponents()) {
                let direct: f64 = (0..3).map(|i| x[i].powi(exponents[i] as i32)).product();
                assert!((value - direct).abs() <= 1e-14 * direct.abs());
            }
            let x: Vec<f64> = x.iter().map(|v| v.tanh()).collect();
            check_derivatives(library, &x);
        }
        check_derivatives(library, &[0.0; 3]);
    }
}

#[test]
fn observable_monomials_refuse_absurd_requests() {
    let two = names(&["x", "y"]);
    #[expect(clippy::reversed_empty_ranges)]
    let empty = Monomials::new(&two, 3..=2);
    let many = names(&["x"; 1000]);
    let cases = [
        (empty, "empty"),
        (Monomials::new(&[], 1..=2), "at least one coordinate"),
        (Monomials::new(&two, 1..=usize::MAX), "too many"),
        (Monomials::new(&two, 0..=1000), ""),
        (Monomials::new(&many, 1..=3), "too many"),
        (
            Monomials::from_exponents(&two, vec![vec![1]]),
            "1 exponents",
        ),
        (
            Monomials::from_exponents(&two, vec![vec![1, u32::MAX]]),
            "largest",
        ),
        (
            Monomials::from_exponents(&two, vec![vec![1, 0], vec![1, 0]]),
            "both x",
        ),
    ];
    for (case, part) in cases {
        if part.is_empty() {
            assert_eq!(case.unwrap().len(), 501_501);
            continue;
        }
        let error = case.unwrap_err();
        assert!(error.is_bad_input());
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn observable_centred_subtracts_constants_only() {
    let mut stream = Stream::new(2, Purpose::Initial, 0);
    let plain = Monomials::new(&names(&["x", "y"]), 1..=3).unwrap();
    let means: Vec<f64> = (0..plain.len()).map(|k| k as f64 - 0.5).collect();
    let centred = Centred::new(Box::new(plain.clone()), means.clone()).unwrap();
    assert_eq!(centred.labels(), plain.labels());
    assert_eq!(centred.means(), means);
    let x = random_state(&mut stream, 2);
    let values = plain.values_at(&x).into_iter().zip(&means);
    let expected: Vec<f64> = values.map(|(value, mean)| value - mean).collect();
    assert_eq!(centred.values_at(&x), expected);
    check_tiles(&centred, &mut stream);
    check_derivatives(&centred, &x);

    let few = Centred::new(Box::new(plain.clone()), vec![0.0]).unwrap_err();
    assert!(few.to_string().contains("1 means"), "{few}");
    let mut bad = means;
    bad[3] = f64::NAN;
    let bad = Centred::new(Box::new(plain), bad).unwrap_err();
    assert!(bad.to_string().contains("\"x*y\" is NaN"), "{bad}");
}

#[test]
fn lattice_potentials_have_their_derivatives_and_their_symmetry() {
    let onsite = Monomials::new(&names(&["x", "y"]), 1..=3).unwrap();
    let library = LatticePotential::new(5, onsite, &[1, 2]).unwrap();
    let mut stream = Stream::new(4, Purpose::Analysis, 9);
    let x: Vec<f64> = (0..10).map(|_| stream.normal()).collect();
    check_derivatives(&library, &x);
    check_tiles(&library, &mut stream);
    let (mut laplacians, mut hessians) = (vec![0.0; library.len()], vec![0.0; library.len() * 100]);
    library.laplacians(&x, &mut laplacians);
    library.hessians(&x, &mut hessians);
    for (k, laplacian) in laplacians.iter().enumerate() {
        let trace: f64 = (0..10).map(|i| hessians[(k * 10 + i) * 10 + i]).sum();
        assert!(close(*laplacian, trace, 1e-12));
    }
    let shifted = [&x[4..], &x[..4]].concat();
    for (a, b) in library
        .values_at(&x)
        .into_iter()
        .zip(library.values_at(&shifted))
    {
        assert!(close(a, b, 1e-12));
    }
    assert!(
        LatticePotential::new(
            4,
            Monomials::coordinates(&names(&["x", "y"])).unwrap(),
            &[2]
        )
        .is_err()
    );
}
