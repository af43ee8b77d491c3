//! A hash that identifies a data set.

use super::Ensemble;
use crate::control::Control;
use crate::error::Result;

impl Ensemble {
    /// A hash of names, times and values: the same data give the same number, other data almost
    /// surely another. It marks what a result was computed from; it is no protection against forgery.
    pub fn fingerprint(&self) -> u64 {
        // Without a request to stop nothing ends it early.
        self.fingerprint_of_rows(&Control::new()).unwrap_or(0)
    }

    /// The same, or the error that ended it: a request to stop, or rows that could not be read.
    pub(crate) fn fingerprint_of_rows(&self, control: &Control) -> Result<u64> {
        /// Rows that are read together.
        const TOGETHER: usize = 4096;
        control.begin(self.samples() as u64);
        let mut hash = Hash(0x9e37_79b9_7f4a_7c15);
        for name in self.names() {
            name.bytes().for_each(|byte| hash.add(u64::from(byte)));
            hash.add(u64::MAX);
        }
        let mut block = Vec::new();
        for segment in self.segments() {
            let trajectory = &self.trajectories()[segment.trajectory];
            hash.add(segment.trajectory as u64);
            hash.add(segment.rows.start as u64);
            for start in segment.rows.clone().step_by(TOGETHER) {
                let rows = start..segment.rows.end.min(start + TOGETHER);
                block.resize(rows.len() * self.dim(), 0.0);
                trajectory.copy_rows(rows.clone(), &mut block);
                for (i, row) in rows.clone().zip(block.chunks_exact(self.dim())) {
                    hash.add(trajectory.time(i).to_bits());
                    row.iter().for_each(|x| hash.add(x.to_bits()));
                }
                control.advance(rows.len() as u64)?;
            }
        }
        self.intact(Ok(hash.0))
    }
}

/// A hash of bytes, to notice a file that was cut or changed.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = Hash(bytes.len() as u64);
    for word in bytes.chunks(8) {
        let mut padded = [0; 8];
        padded[..word.len()].copy_from_slice(word);
        hash.add(u64::from_le_bytes(padded));
    }
    hash.0
}

/// A hash of numbers in order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hash(u64);

impl Hash {
    /// The hash of what was added.
    pub(crate) fn value(self) -> u64 {
        self.0
    }

    /// Multiplication and a shift of the high bits: every bit of `word` reaches every bit of the hash
    /// within two steps.
    pub(crate) fn add(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn any_change_is_noticed() {
        let data =
            |y: f64, dt: f64| Ensemble::from_array(array![[0.0, 1.0], [2.0, y]], dt).unwrap();
        let base = data(3.0, 0.1).fingerprint();
        assert_eq!(base, data(3.0, 0.1).fingerprint());
        assert_ne!(base, data(3.0f64.next_up(), 0.1).fingerprint());
        assert_ne!(base, data(3.0, 0.2).fingerprint());
        let renamed = data(3.0, 0.1).with_names(vec!["a".into(), "b".into()]);
        assert_ne!(base, renamed.unwrap().fingerprint());
    }
}
