//! Memory that the process may still take, and requests that are checked before they are made.

use std::fs;

use crate::error::{Error, Result};

/// Free memory where the system does not say how much there is: 8 GiB.
const ASSUMED: u64 = 8 << 30;

/// Largest count that is a whole number in `f64` as well: 2⁵³.
pub(crate) const COUNTABLE: u64 = 1 << 53;

/// Bytes that one request for memory may take: half of what is free, since results are copied once on their way.
pub fn budget() -> u64 {
    free() / 2
}

/// Free bytes: those of the machine, less where the process or its control group is limited to less.
fn free() -> u64 {
    let status = read("/proc/self/status");
    let used = kilobytes(&status, "VmSize:").unwrap_or(0);
    let machine = kilobytes(&read("/proc/meminfo"), "MemAvailable:").unwrap_or(ASSUMED);
    let space = address_space(&read("/proc/self/limits")).unwrap_or(u64::MAX);
    let group = number(&read("/sys/fs/cgroup/memory.max")).map_or(u64::MAX, |most| {
        most.saturating_sub(number(&read("/sys/fs/cgroup/memory.current")).unwrap_or(0))
    });
    machine.min(group).min(space.saturating_sub(used))
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// The bytes of a line such as `MemAvailable:   1024 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(1024 * number(line.trim().strip_suffix("kB")?)?)
}

/// The soft limit on addresses, which is a number unless it is unlimited.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    number(line.split_whitespace().next()?)
}

/// Refuses arrays of `factors[0] x factors[1] x ..` elements of some bytes each that exceed [`budget`].
///
/// The first factor is the one that the user is advised to change.
///
/// # Errors
/// When the arrays are too large; the message says how much they take and what would fit.
pub(crate) fn claim(what: &str, factors: &[(&str, u64)], bytes: u64) -> Result<()> {
    claim_from(what, factors, bytes, budget())
}

fn claim_from(what: &str, factors: &[(&str, u64)], bytes: u64, budget: u64) -> Result<()> {
    let product = |factors: &[(&str, u64)]| {
        let all = factors.iter().map(|&(_, n)| u128::from(n));
        all.fold(u128::from(bytes), u128::saturating_mul)
    };
    let wanted = product(factors);
    if wanted <= u128::from(budget) {
        return Ok(());
    }
    let listed: Vec<String> = factors
        .iter()
        .map(|(name, n)| format!("{name} = {n}"))
        .collect();
    let (first, others) = factors.split_first().expect("a size has a factor");
    let most = u128::from(budget) / product(others).max(1);
    let advice = match most {
        0 => "reduce them, or use a machine with more memory".to_owned(),
        _ => format!("{} = {most} would fit", first.0),
    };
    Err(Error::input(format!(
        "{what} would take {} of memory, more than the {} that may be used ({}); {advice}",
        size(wanted),
        size(u128::from(budget)),
        listed.join(", ")
    )))
}

/// A number of bytes in words.
pub(crate) fn size(bytes: u128) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let (mut value, mut unit) = (bytes as f64, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        (value, unit) = (value / 1024.0, unit + 1);
    }
    match value {
        _ if unit == 0 => format!("{bytes} bytes"),
        _ if value < 1e4 => format!("{value:.1} {}", units[unit]),
        _ => format!("{value:.1e} {}", units[unit]),
    }
}

/// A length in steps as a count, where it is one.
pub(crate) fn countable(value: f64) -> Option<usize> {
    (value >= 0.0 && value <= COUNTABLE as f64).then_some(value as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_in_the_words_of_the_kernel() {
        assert_eq!(
            kilobytes("A: 1 kB\nMemAvailable:   12 kB\n", "MemAvailable:"),
            Some(12288)
        );
        let line = "Max address space         8192000000           unlimited            bytes";
        assert_eq!(address_space(line), Some(8_192_000_000));
        let line = "Max address space         unlimited            unlimited            bytes";
        assert_eq!(address_space(line), None);
        assert!(budget() > 1 << 20);
    }

    #[test]
    fn a_request_is_multiplied_out_without_overflow() {
        let factors = [
            ("trajectories", u64::MAX),
            ("samples", u64::MAX),
            ("coordinates", 4),
        ];
        let message = claim_from("the samples", &factors, 8, 1 << 30)
            .unwrap_err()
            .to_string();
        assert!(message.contains("reduce"), "{message}");
        let factors = [("trajectories", 1_000_000_000_000), ("samples", 2)];
        let error = claim_from("the samples", &factors, 8, 1 << 30).unwrap_err();
        assert!(error.is_bad_input());
        let message = error.to_string();
        assert!(message.contains("14.6 TiB"), "{message}");
        assert!(message.contains("1.0 GiB"), "{message}");
        assert!(
            message.contains("trajectories = 67108864 would fit"),
            "{message}"
        );
        assert!(
            claim_from(
                "the samples",
                &[("trajectories", 67_108_864), ("samples", 2)],
                8,
                1 << 30
            )
            .is_ok()
        );
    }

    #[test]
    fn sizes_are_in_words() {
        assert_eq!(size(12), "12 bytes");
        assert_eq!(size(3 << 29), "1.5 GiB");
        assert_eq!(size(u128::MAX), "3.0e20 EiB");
    }
}
