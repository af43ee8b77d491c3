//! Colours of roles and of numbers.

use crate::report::figure::{Palette, Role};

/// Colours of series (Okabe and Ito's, which colour-blind readers can distinguish), and their dashes.
pub(super) fn of_role(role: Role, turn: usize) -> (&'static str, &'static str) {
    const OTHERS: [&str; 6] = [
        "#cc79a7", "#e69f00", "#56b4e9", "#8c7a00", "#7f3c8d", "#8a8a8a",
    ];
    match role {
        Role::Data => ("#0072b2", ""),
        Role::Model => ("#d55e00", ""),
        Role::Constant => ("#009e73", "6 3"),
        Role::Exact => ("#444444", "2 2"),
        Role::Other => (OTHERS[turn % OTHERS.len()], ""),
    }
}

/// Steps between the first and the last colour of a palette: more than an eye distinguishes, few enough
/// that cells of one colour share one path.
pub(super) const STEPS: usize = 128;

/// The colour of a number from 0 (first) to 1 (last) in steps.
pub(super) fn of_step(palette: Palette, step: usize) -> String {
    let stops: &[u32] = match palette {
        Palette::Diverging => &[
            0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7, 0xfddbc7, 0xf4a582, 0xd6604d,
            0xb2182b,
        ],
        Palette::Sequential => &[
            0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c, 0x28ae80, 0x5ec962, 0xaddc30,
            0xfde725,
        ],
        Palette::Density => &[0xffffff, 0xdce9f5, 0xb5d0e8, 0x86b5d9],
    };
    let place = step as f64 / (STEPS - 1) as f64 * (stops.len() - 1) as f64;
    let first = (place as usize).min(stops.len() - 2);
    let part = place - first as f64;
    let channel = |shift: u32| {
        let of = |stop: u32| f64::from(stop >> shift & 0xff);
        (of(stops[first]) * (1.0 - part) + of(stops[first + 1]) * part).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(16), channel(8), channel(0))
}

/// The step of a number, none where it is not a number; beyond the range it is the last one.
pub(super) fn step(value: f64, [low, high]: [f64; 2]) -> Option<usize> {
    if value.is_nan() {
        return None;
    }
    let place = ((value - low) / (high - low)).clamp(0.0, 1.0);
    Some((place * (STEPS - 1) as f64).round() as usize)
}

/// Whether text on a colour should be white.
pub(super) fn is_dark(colour: &str) -> bool {
    let channel = |at: usize| u32::from_str_radix(&colour[at..at + 2], 16).unwrap_or(0);
    299 * channel(1) + 587 * channel(3) + 114 * channel(5) < 140_000
}
