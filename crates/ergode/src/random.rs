//! Random streams: one `u64` seed, one stream per purpose and per trajectory.
//!
//! A stream is xoshiro256++ (Blackman and Vigna, 2021) whose 256-bit state is drawn by SplitMix64
//! from (seed, purpose, index). Trajectories occupy SIMD lanes, but what a trajectory sees depends
//! on its index alone: not on the number of threads, the lane it sits in, or the block length.

use pulp::{Arch, Simd, WithSimd};

use crate::simd::GROUP;

/// The purpose of a random stream; streams of different purpose never share numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Initial states.
    Initial = 1,
    /// Brownian increments.
    Noise = 2,
    /// Exact transition sampling.
    Transition = 3,
    /// Choices made by an analysis (sub-sampling, splits).
    Analysis = 4,
    /// Initial weights of a network.
    Weights = 5,
    /// Batches and noise of a training step.
    Training = 6,
    /// Errors of measurement.
    Measurement = 7,
    /// Seeds of the simulations of models, whose streams differ from those of reference data of the same seed.
    Rollout = 8,
}

/// One scalar random stream.
#[derive(Clone, Debug)]
pub struct Stream {
    state: [u64; 4],
    spare: Option<f64>,
}

impl Stream {
    /// The stream of `purpose` and `index` under `seed`.
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        let mut key = seed;
        for word in [purpose as u64, index] {
            key = split_mix(&mut key) ^ word.wrapping_mul(0xd6e8_feb8_6659_fd93);
        }
        let mut state = [0; 4];
        for word in &mut state {
            *word = split_mix(&mut key);
        }
        Self { state, spare: None }
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let (bits, state) = xoshiro(s0, s1, s2, s3);
        self.state = state;
        bits
    }

    /// Uniform on the open interval (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) * (-52f64).exp2()
    }

    /// A uniform integer below `bound` (by multiplication; the bias is below 2⁻⁶⁴ `bound`).
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A standard normal number.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let (first, second) = normal_pair(self.next_u64());
        self.spare = Some(second);
        first
    }

    /// A Gamma(shape, 1) number, by the squeeze of Marsaglia and Tsang (2000).
    pub fn gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            // Γ(a) = Γ(a+1) U^{1/a}
            let boost = self.uniform().powf(1.0 / shape);
            return boost * self.gamma(shape + 1.0);
        }
        let d = shape - 1.0 / 3.0;
        let c = 1.0 / (9.0 * d).sqrt();
        loop {
            let x = self.normal();
            let v = (1.0 + c * x).powi(3);
            if v > 0.0 && self.uniform().ln() < 0.5 * x * x + d - d * v + d * v.ln() {
                return d * v;
            }
        }
    }

    /// A Poisson number: by inversion for small means, by splitting off Gamma waiting times
    /// (Ahrens and Dieter, 1974) for large ones.
    pub fn poisson(&mut self, mut mean: f64) -> u64 {
        let mut count = 0;
        while mean > 24.0 {
            let m = (mean * 7.0 / 8.0).floor();
            let waiting = self.gamma(m);
            if waiting > mean {
                // m−1 of the events that precede `waiting` are uniform on it.
                return count + self.binomial(m as u64 - 1, mean / waiting);
            }
            count += m as u64;
            mean -= waiting;
        }
        let threshold = (-mean).exp();
        let mut product = self.uniform();
        while product > threshold {
            count += 1;
            product *= self.uniform();
        }
        count
    }

    /// A Binomial(n, p) number, by splitting at the median order statistic until n is small.
    fn binomial(&mut self, mut n: u64, mut p: f64) -> u64 {
        let mut count = 0;
        while n > 24 {
            // The k-th of n uniforms is Beta(k, n+1−k); recurse on the side that p falls in.
            let k = n / 2 + 1;
            let a = self.gamma(k as f64);
            let b = self.gamma((n + 1 - k) as f64);
            let pivot = a / (a + b);
            if pivot <= p {
                count += k;
                n -= k;
                p = (p - pivot) / (1.0 - pivot);
            } else {
                n = k - 1;
                p /= pivot;
            }
        }
        count + (0..n).filter(|_| self.uniform() < p).count() as u64
    }
}

/// The four state words of a group of lanes, aligned to cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Words([[u64; GROUP]; 4]);

/// Normal numbers for several streams side by side, one per lane.
#[derive(Clone, Debug)]
pub(crate) struct LaneStreams {
    groups: Vec<Words>,
    /// The second number of a pair that was drawn but not yet used, for each lane.
    spare: Option<Vec<f64>>,
}

impl LaneStreams {
    /// As many streams as lanes, a multiple of [`GROUP`].
    pub(crate) fn new(streams: &[Stream]) -> Self {
        let (groups, rest) = streams.as_chunks::<GROUP>();
        assert!(rest.is_empty());
        Self {
            groups: groups
                .iter()
                .map(|group| {
                    let word = |word| std::array::from_fn(|lane| group[lane].state[word]);
                    Words(std::array::from_fn(word))
                })
                .collect(),
            spare: None,
        }
    }

    /// Fill `out`, whole rows of one number per lane, with standard normals.
    pub(crate) fn fill_normal(&mut self, arch: Arch, out: &mut [f64]) {
        let lanes = self.groups.len() * GROUP;
        debug_assert_eq!(out.len() % lanes, 0);
        let mut rows = &mut out[..];
        if !rows.is_empty()
            && let Some(spare) = self.spare.take()
        {
            rows[..lanes].copy_from_slice(&spare);
            rows = &mut rows[lanes..];
        }
        let paired = rows.len() / (2 * lanes) * (2 * lanes);
        let (pairs, rest) = rows.split_at_mut(paired);
        self.fill_pairs(arch, pairs);
        if !rest.is_empty() {
            let mut last = vec![0.0; 2 * lanes];
            self.fill_pairs(arch, &mut last);
            rest.copy_from_slice(&last[..lanes]);
            self.spare = Some(last.split_off(lanes));
        }
    }

    fn fill_pairs(&mut self, arch: Arch, out: &mut [f64]) {
        arch.dispatch(FillPairs {
            groups: &mut self.groups,
            out,
        });
    }
}

struct FillPairs<'a> {
    groups: &'a mut [Words],
    out: &'a mut [f64],
}

impl WithSimd for FillPairs<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let lanes = self.groups.len() * GROUP;
        for (g, words) in self.groups.iter_mut().enumerate() {
            let mut blocks = self.out.chunks_exact_mut(2 * lanes * BATCH);
            for block in &mut blocks {
                draw_pairs::<BATCH>(words, &mut block[g * GROUP..], lanes);
            }
            for pair in blocks.into_remainder().chunks_exact_mut(2 * lanes) {
                draw_pairs::<1>(words, &mut pair[g * GROUP..], lanes);
            }
        }
    }
}

/// Pairs of normals drawn at a time for each lane, to have independent work in flight.
const BATCH: usize = 4;

/// Draw N pairs for one group of lanes; the k-th number of a lane goes to row k of `out`, whose
/// rows are `lanes` apart.
///
/// Each stage is a plain loop over fixed arrays, which the compiler turns into vector code for
/// whatever target was dispatched.
#[inline(always)]
fn draw_pairs<const N: usize>(words: &mut Words, out: &mut [f64], lanes: usize) {
    let mut bits = [[0; GROUP]; N];
    let Words(mut state) = *words;
    for bits in &mut bits {
        for lane in 0..GROUP {
            let (next, new) = xoshiro(
                state[0][lane],
                state[1][lane],
                state[2][lane],
                state[3][lane],
            );
            bits[lane] = next;
            [
                state[0][lane],
                state[1][lane],
                state[2][lane],
                state[3][lane],
            ] = new;
        }
    }
    *words = Words(state);
    let mut radius = [[0.0; GROUP]; N];
    for (radius, bits) in radius
        .as_flattened_mut()
        .iter_mut()
        .zip(bits.as_flattened())
    {
        *radius = normal_radius(*bits);
    }
    let (mut first, mut second) = ([[0.0; GROUP]; N], [[0.0; GROUP]; N]);
    for k in 0..N * GROUP {
        let (sin, cos) = sin_cos_turn(bits.as_flattened()[k] as u32);
        first.as_flattened_mut()[k] = radius.as_flattened()[k] * cos;
        second.as_flattened_mut()[k] = radius.as_flattened()[k] * sin;
    }
    for n in 0..N {
        let row = 2 * n * lanes;
        out[row..row + GROUP].copy_from_slice(&first[n]);
        out[row + lanes..row + lanes + GROUP].copy_from_slice(&second[n]);
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[inline(always)]
fn xoshiro(s0: u64, s1: u64, s2: u64, s3: u64) -> (u64, [u64; 4]) {
    let bits = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
    let t = s1 << 17;
    let s2 = s2 ^ s0;
    let s3 = s3 ^ s1;
    let s1 = s1 ^ s2;
    let s0 = s0 ^ s3;
    (bits, [s0, s1, s2 ^ t, s3.rotate_left(45)])
}

/// Two independent standard normals from 64 random bits (Box and Muller, 1958).
///
/// The upper half gives the radius √(−2 ln u), u = (k + ½)/2³², hence |z| < 6.76 (a normal number
/// exceeds that once in 7·10¹⁰); the lower half gives the angle. Log, sine and cosine are good to
/// ten digits, far finer than the 2⁻³² grid of the radius and angle. Branch-free, so that a loop
/// over lanes becomes vector code.
fn normal_pair(bits: u64) -> (f64, f64) {
    let radius = normal_radius(bits);
    let (sin, cos) = sin_cos_turn(bits as u32);
    (radius * cos, radius * sin)
}

#[inline(always)]
fn normal_radius(bits: u64) -> f64 {
    let u = ((bits >> 32) as u32 as f64 + 0.5) * (1.0 / 4_294_967_296.0);
    minus_two_log(u).sqrt()
}

/// −2 ln u for normal 0 < u < 1, relative error below 1e-10.
#[inline(always)]
fn minus_two_log(u: f64) -> f64 {
    const SQRT_HALF_BITS: u64 = 0x3fe6_a09e_667f_3bcd;
    // u = 2^e m with m in [√½, √2): exact bit surgery.
    let offset = u.to_bits().wrapping_sub(SQRT_HALF_BITS);
    let e = (offset as i64 >> 52) as i32;
    let m = f64::from_bits((offset & 0x000f_ffff_ffff_ffff).wrapping_add(SQRT_HALF_BITS));
    // ln m = 2 artanh(s), s = (m−1)/(m+1), |s| < 0.1716.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let mut series: f64 = -4.0 / 11.0;
    series = series.mul_add(z, -4.0 / 9.0);
    series = series.mul_add(z, -4.0 / 7.0);
    series = series.mul_add(z, -4.0 / 5.0);
    series = series.mul_add(z, -4.0 / 3.0);
    series = series.mul_add(z, -4.0);
    f64::from(e).mul_add(-2.0 * std::f64::consts::LN_2, s * series)
}

/// sin and cos of 2π k/2³², absolute error below 2e-10.
#[inline(always)]
fn sin_cos_turn(k: u32) -> (f64, f64) {
    // The nearest quarter turn, and the rest in (−π/4, π/4].
    let quadrant = k.wrapping_add(0x2000_0000) >> 30;
    let rest = k.wrapping_sub(quadrant << 30) as i32;
    let x = f64::from(rest) * (std::f64::consts::TAU / 4_294_967_296.0);
    let z = x * x;
    let mut sin: f64 = -1.0 / 39_916_800.0;
    sin = sin.mul_add(z, 1.0 / 362_880.0);
    sin = sin.mul_add(z, -1.0 / 5_040.0);
    sin = sin.mul_add(z, 1.0 / 120.0);
    sin = sin.mul_add(z, -1.0 / 6.0);
    sin = (sin * z).mul_add(x, x);
    let mut cos: f64 = -1.0 / 3_628_800.0;
    cos = cos.mul_add(z, 1.0 / 40_320.0);
    cos = cos.mul_add(z, -1.0 / 720.0);
    cos = cos.mul_add(z, 1.0 / 24.0);
    cos = cos.mul_add(z, -0.5);
    cos = cos.mul_add(z, 1.0);
    // Turn by the quadrant: swap for odd ones, flip signs through the sign bit.
    let odd = quadrant & 1 == 1;
    let (a, b) = if odd { (cos, sin) } else { (sin, cos) };
    let sin_sign = u64::from(quadrant & 2) << 62;
    let cos_sign = u64::from((quadrant + 1) & 2) << 62;
    (
        f64::from_bits(a.to_bits() ^ sin_sign),
        f64::from_bits(b.to_bits() ^ cos_sign),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_and_angle_are_accurate() {
        let mut stream = Stream::new(1, Purpose::Analysis, 0);
        for _ in 0..100_000 {
            let bits = stream.next_u64();
            let u = ((bits >> 32) as u32 as f64 + 0.5) / 4_294_967_296.0;
            assert!(
                (minus_two_log(u) / (-2.0 * u.ln()) - 1.0).abs() < 1e-10,
                "{u}"
            );
            let angle = std::f64::consts::TAU * f64::from(bits as u32) / 4_294_967_296.0;
            let (sin, cos) = sin_cos_turn(bits as u32);
            let (ds, dc) = ((sin - angle.sin()).abs(), (cos - angle.cos()).abs());
            assert!(ds < 2e-10 && dc < 2e-10, "{} {ds} {dc}", bits as u32);
        }
    }

    #[test]
    fn lanes_see_their_own_stream_whatever_the_block_length() {
        let streams: Vec<Stream> = (0..8).map(|i| Stream::new(7, Purpose::Noise, i)).collect();
        let mut whole = vec![0.0; 8 * 11];
        LaneStreams::new(&streams).fill_normal(Arch::new(), &mut whole);
        let mut parts = vec![0.0; 8 * 11];
        let mut lanes = LaneStreams::new(&streams);
        for block in parts.chunks_mut(8 * 3) {
            lanes.fill_normal(Arch::new(), block);
        }
        assert_eq!(whole, parts);
        for (lane, stream) in streams.iter().enumerate() {
            let mut scalar = stream.clone();
            for row in 0..11 {
                let expected = scalar.normal();
                assert!((whole[row * 8 + lane] - expected).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_index() {
        let base = Stream::new(3, Purpose::Noise, 5).next_u64();
        assert_ne!(base, Stream::new(4, Purpose::Noise, 5).next_u64());
        assert_ne!(base, Stream::new(3, Purpose::Initial, 5).next_u64());
        assert_ne!(base, Stream::new(3, Purpose::Noise, 6).next_u64());
    }

    /// Mean and variance of a sample as z-scores against exact mean `m`, variance `v`, with the
    /// fourth central moment `k`.
    fn assert_moments(name: &str, sample: &[f64], m: f64, v: f64, k: f64) {
        let n = sample.len() as f64;
        let mean = sample.iter().sum::<f64>() / n;
        let var = sample.iter().map(|x| (x - m).powi(2)).sum::<f64>() / n;
        let z_mean = (mean - m) / (v / n).sqrt();
        let z_var = (var - v) / ((k - v * v) / n).sqrt();
        assert!(
            z_mean.abs() < 4.5 && z_var.abs() < 4.5,
            "{name}: {z_mean} {z_var}"
        );
    }

    #[test]
    fn samplers_have_their_moments() {
        let n = 200_000;
        let mut s = Stream::new(11, Purpose::Analysis, 1);
        let draw = |s: &mut Stream, f: &mut dyn FnMut(&mut Stream) -> f64| -> Vec<f64> {
            (0..n).map(|_| f(s)).collect()
        };
        assert_moments("normal", &draw(&mut s, &mut |s| s.normal()), 0.0, 1.0, 3.0);
        assert_moments(
            "uniform",
            &draw(&mut s, &mut |s| s.uniform()),
            0.5,
            1.0 / 12.0,
            1.0 / 80.0,
        );
        for a in [0.3, 1.0, 4.5] {
            let x = draw(&mut s, &mut |s| s.gamma(a));
            assert_moments("gamma", &x, a, a, 3.0 * a * a + 6.0 * a);
        }
        for mean in [0.2, 5.0, 80.0, 3000.0] {
            let x = draw(&mut s, &mut |s| s.poisson(mean) as f64);
            assert_moments("poisson", &x, mean, mean, mean + 3.0 * mean * mean);
        }
    }
}
