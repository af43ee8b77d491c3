//! The vector families of a ring of spins.

use ergode::observable::{Functions, LatticeAverage, RadialBasis, SpinFamilies};
use ergode::random::{Purpose, Stream};
use ergode::systems::{SoftSpin, System};
use ndarray::Array2;

use super::{check_derivatives, check_tiles, close, random_state};

fn moments(sample: &[f64]) -> [f64; 5] {
    std::array::from_fn(|k| {
        let sum: f64 = sample.iter().map(|r2| r2.powi(k as i32)).sum();
        sum / sample.len() as f64
    })
}

fn basis() -> RadialBasis {
    let mut stream = Stream::new(4, Purpose::Initial, 0);
    let sample: Vec<f64> = (0..1000).map(|_| stream.normal().powi(2)).collect();
    RadialBasis::from_moments(moments(&sample)).unwrap()
}

#[test]
fn observable_radial_basis_is_orthonormal() {
    let mut stream = Stream::new(3, Purpose::Initial, 0);
    for spread in [1.0, 0.3, 0.1] {
        let sample: Vec<f64> = (0..500)
            .map(|_| (1.0 + spread * stream.normal()).powi(2))
            .collect();
        let basis = RadialBasis::from_moments(moments(&sample)).unwrap();
        for a in 0..3 {
            for b in 0..3 {
                let product = |&r2: &f64| basis.evaluate(r2)[a] * basis.evaluate(r2)[b];
                let mean = sample.iter().map(product).sum::<f64>() / sample.len() as f64;
                let expected = if a == b { 1.0 } else { 0.0 };
                assert!((mean - expected).abs() < 1e-9, "{spread} {a} {b} {mean}");
            }
        }
        // Degrees 0, 1, 2: differences of one order more vanish, leading coefficients are positive.
        let [p, q, r, s] = [0.0, 1.0, 2.0, 3.0].map(|r2| basis.evaluate(r2));
        assert_eq!(p[0], 1.0);
        assert!(close(q[1] - p[1], r[1] - q[1], 1e-9) && q[1] > p[1]);
        let second = r[2] - 2.0 * q[2] + p[2];
        assert!(close(second, s[2] - 2.0 * r[2] + q[2], 1e-9) && second > 0.0);
    }
    for bad in [
        [1.0; 5],
        [2.0, 1.0, 1.0, 1.0, 2.0],
        [1.0, f64::NAN, 1.0, 1.0, 1.0],
        moments(&[1.0, 2.0]),
    ] {
        let error = RadialBasis::from_moments(bad).unwrap_err();
        assert!(error.to_string().contains("radial moments"), "{error}");
    }
}

/// The families at site `i`, written with matrices.
fn plain(basis: &RadialBasis, x: &[f64], i: usize) -> Vec<[f64; 3]> {
    let n = x.len() / 3;
    let at = |i: usize| [x[3 * i], x[3 * i + 1], x[3 * i + 2]];
    let (m, before, after) = (at(i), at((i + n - 1) % n), at((i + 1) % n));
    let r2 = m[0].powi(2) + m[1].powi(2) + m[2].powi(2);
    let apply = |matrix: [[f64; 3]; 3], v: [f64; 3]| -> [f64; 3] {
        std::array::from_fn(|c| (0..3).map(|d| matrix[c][d] * v[d]).sum())
    };
    let dyad = m.map(|a| m.map(|b| a * b));
    let mut across = dyad.map(|row| row.map(|entry| -entry));
    for c in 0..3 {
        across[c][c] += r2;
    }
    let curl = [[0.0, -m[2], m[1]], [m[2], 0.0, -m[0]], [-m[1], m[0], 0.0]];
    let u = std::array::from_fn(|c| before[c] + after[c] - 2.0 * m[c]);
    let a = [0.0, 0.0, m[2]];
    let mut out: Vec<[f64; 3]> = basis.evaluate(r2).map(|b| m.map(|v| b * v)).to_vec();
    for v in [u, a] {
        out.extend([v, apply(across, v), apply(dyad, v), apply(curl, v)]);
    }
    out
}

#[test]
fn observable_spin_families_follow_their_formulas() {
    let mut stream = Stream::new(6, Purpose::Initial, 0);
    let basis = basis();
    for sites in [1, 2, 3, 12] {
        let library = SpinFamilies::new(sites, basis).unwrap();
        assert_eq!(library.len(), 33 * sites);
        assert_eq!(library.dim(), 3 * sites);
        check_tiles(&library, &mut stream);
        let x = random_state(&mut stream, 3 * sites);
        let values = library.values_at(&x);
        for site in 0..sites {
            for (family, vector) in plain(&basis, &x, site).into_iter().enumerate() {
                for (c, expected) in vector.into_iter().enumerate() {
                    let k = (family * sites + site) * 3 + c;
                    let label = &library.labels()[k];
                    assert!(close(values[k], expected, 1e-12), "{label}");
                    let name = library.families()[family];
                    let component = ["x", "y", "z"][c];
                    assert_eq!(*label, format!("{name}[{}].{component}", site + 1));
                }
            }
        }
    }
    let library = SpinFamilies::new(12, basis).unwrap();
    assert_eq!(
        library.coordinates(),
        SoftSpin::default().coordinate_names()
    );
    assert_eq!(library.labels()[(6 * 12 + 2) * 3 + 1], "C u[3].y");
    assert_eq!((library.sites(), library.radial()), (12, &basis));
    assert!(SpinFamilies::new(0, basis).is_err());
    assert!(SpinFamilies::new(usize::MAX, basis).is_err());
}

#[test]
fn observable_spin_families_have_exact_derivatives() {
    let mut stream = Stream::new(7, Purpose::Initial, 0);
    for sites in [1, 2, 3, 5] {
        let library = SpinFamilies::new(sites, basis()).unwrap();
        for _ in 0..3 {
            let x: Vec<f64> = random_state(&mut stream, 3 * sites);
            let x: Vec<f64> = x.into_iter().map(f64::tanh).collect();
            check_derivatives(&library, &x);
        }
    }
}

#[test]
fn observable_lattice_average_counts_separation_towards_the_column() {
    let (sites, components, families) = (5, 2, 3);
    let average = LatticeAverage { sites, components };
    let entry = |a: usize, c: usize, d: usize, r: usize| (1000 * a + 100 * c + 10 * d + r) as f64;
    // Site i at the row, site i + r at the column, and a part that averages out.
    let mut matrix = Array2::zeros((families * sites * components, sites * components));
    for a in 0..families {
        for i in 0..sites {
            for (c, d) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                for r in 0..sites {
                    let wobble = i as f64 - 2.0;
                    matrix[[
                        (a * sites + i) * components + c,
                        (i + r) % sites * components + d,
                    ]] = entry(a, c, d, r) + wobble;
                }
            }
        }
    }
    let averaged = average.average(matrix.view()).unwrap();
    assert_eq!(averaged.dim(), (families, components, components, sites));
    for ((a, c, d, r), value) in averaged.indexed_iter() {
        assert!(close(*value, entry(a, c, d, r), 1e-13), "{a} {c} {d} {r}");
    }
    // One row at site 1, one column at site 2: the separation is +1, not −1.
    let mut single = Array2::zeros((10, 10));
    single[[2, 5]] = 1.0;
    let averaged = average.average(single.view()).unwrap();
    for ((a, c, d, r), value) in averaged.indexed_iter() {
        let expected = if (a, c, d, r) == (0, 0, 1, 1) {
            0.2
        } else {
            0.0
        };
        assert!(close(*value, expected, 1e-15));
    }
    for shape in [(10, 9), (11, 10)] {
        assert!(average.average(Array2::zeros(shape).view()).is_err());
    }
    let none = LatticeAverage {
        sites: 0,
        components,
    };
    assert!(none.average(Array2::zeros((0, 0)).view()).is_err());
}
