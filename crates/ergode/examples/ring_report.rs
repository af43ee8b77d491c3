//! A page that compares closures of the soft-spin chain with data. The closures share the stationary law
//! of the chain and are not learned: Φ in place of M, and two mobilities of the paper's span that are off.
//!
//!     cargo run --release -p ergode --example ring_report -- [TIME] [TRAJECTORIES] [PAGE]

use std::time::Instant;

use ergode::{
    Control, Ensemble, HomogeneousSlice, LatticeMobility, LinearMobility, Page, RingCompareConfig,
    Role, Rollout, RolloutRole, SoftSpin, SpinClosure, System, TensorBasis, compare_rings,
    generate, ring_sections, spin_section,
};
use ndarray::array;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |k: usize, default: &str| arguments.get(k).cloned().unwrap_or(default.into());
    let (time, count) = (argument(0, "100").parse()?, argument(1, "24").parse()?);
    let control = Control::new();
    let truth = SoftSpin::default();
    let clock = Instant::now();
    let data = run(&truth, time, count, 1, &control)?;
    let closures = [
        ("constant", RolloutRole::Constant, constant(&truth)),
        (
            "data only",
            RolloutRole::Learned,
            spin(&truth, 0.2, 0.05, 0.02, 3.8),
        ),
        (
            "physics-informed",
            RolloutRole::Other,
            spin(&truth, 0.3, 0.02, 0.005, 3.97),
        ),
        ("reference", RolloutRole::Reference, truth),
    ];
    let mut rollouts = Vec::new();
    for (seed, (name, role, system)) in (2..).zip(&closures) {
        rollouts.push(Rollout {
            name: (*name).into(),
            role: *role,
            ensemble: run(system, time, count, seed, &control)?,
        });
    }
    println!(
        "{} states each, {:.1} s",
        data.samples(),
        clock.elapsed().as_secs_f64()
    );
    let clock = Instant::now();
    let ring = compare_rings(&data, &rollouts, &RingCompareConfig::default(), &control)?;
    println!("compared in {:.2} s", clock.elapsed().as_secs_f64());
    for rollout in &ring.rollouts {
        println!(
            "{:18} error {:.4} +- {:.4}, over the floor {:6.2} +- {:.2}",
            rollout.name,
            rollout.error.total,
            rollout.standard_error.total,
            rollout.error_over_floor,
            rollout.error_over_floor_error
        );
    }
    println!(
        "{:18} error {:.4}",
        "floor from blocks", ring.block_floor.total
    );
    let mut page = Page::new("Closures of a ring of spins", "Made for its figures.");
    page.sections.push(mobility_section(&closures, &data)?);
    page.sections.extend(ring_sections(&ring));
    let path = argument(2, "ring.html");
    std::fs::write(&path, page.html())?;
    println!("{path}");
    Ok(())
}

/// The chain with other damping and precession, so that only M differs.
fn spin(chain: &SoftSpin, alpha_perp: f64, alpha_par: f64, epsilon: f64, gamma: f64) -> SoftSpin {
    SoftSpin {
        alpha_perp,
        alpha_par,
        epsilon,
        gamma,
        ..*chain
    }
}

/// The mean of M over components and states, the same everywhere.
fn constant(chain: &SoftSpin) -> SoftSpin {
    let (across, along) = chain.moments().mean_mobility();
    spin(
        chain,
        0.0,
        0.0,
        (2.0 * across + along) / 3.0 / chain.temperature,
        0.0,
    )
}

fn run(
    system: &SoftSpin,
    time: f64,
    count: usize,
    seed: u64,
    control: &Control,
) -> Outcome<Ensemble> {
    let mut protocol = system.protocol();
    protocol.simulate.time = time;
    protocol.simulate.trajectories = count;
    protocol.simulate.seed = seed;
    protocol.simulate.dt = 7.3e-4;
    Ok(generate(system, &protocol, control)?.ensemble)
}

/// The onsite blocks; one of them by way of the field of the whole ring.
fn mobility_section(
    closures: &[(&str, RolloutRole, SoftSpin)],
    data: &Ensemble,
) -> Outcome<ergode::Section> {
    let block = |s: &SoftSpin| {
        let coefficients = array![s.epsilon, s.alpha_perp, s.alpha_par, -s.gamma];
        LinearMobility::new(TensorBasis::spin(), coefficients * s.temperature)
    };
    let blocks: Vec<_> = closures
        .iter()
        .map(|c| block(&c.2))
        .collect::<Result<_, _>>()?;
    let ring = LatticeMobility::new(closures[1].2.sites, blocks[1].clone())?;
    let slice = HomogeneousSlice::new(&ring, ring.sites())?;
    let closure = |name, role, block| SpinClosure { name, role, block };
    let shown = [
        closure("true", Role::Exact, &blocks[3]),
        closure("Φ", Role::Constant, &blocks[0]),
        closure("data only", Role::Model, &slice),
        closure("physics-informed", Role::Other, &blocks[2]),
    ];
    Ok(spin_section(&shown, data)?)
}
