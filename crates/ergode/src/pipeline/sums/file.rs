//! Sums as bytes: a description, then numbers, then a checksum.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `89 45 52 47 53 55 4d 0a` |
//! | 4, 4 | the format, and zero |
//! | 8 | length of the whole |
//! | 8 | length n of the description |
//! | n | the description, JSON |
//! | | numbers, 8 bytes each |
//! | 8 | checksum of everything before |
//!
//! All numbers are little-endian.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::collect::Sums;
use super::plan::{FORMAT, SumsPlan};
use crate::data::{Packed, checksum, pack};
use crate::error::{Error, Result};
use crate::io::{AtomicFile, read_regular};
use crate::lagged::{BlockId, LaggedSums};
use crate::score::ScoreSums;

const MAGIC: &[u8; 8] = b"\x89ERGSUM\n";
/// Bytes before the description.
const HEAD: usize = 32;
/// Bytes of the checksum.
const TAIL: usize = 8;

/// What the numbers are.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    /// TOML.
    plan: String,
    rows: Vec<[usize; 2]>,
    blocks: Vec<BlockId>,
    /// Blocks of the score.
    score_blocks: Vec<BlockId>,
    /// Trajectory, first row and number of rows.
    excerpt: Vec<[usize; 3]>,
}

impl Sums {
    /// The content of a file.
    ///
    /// # Errors
    /// When the plan cannot be written as text.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let blocks = self.tables.first().map(|[moments, _]| moments.block_ids());
        let kept = self.excerpt.iter();
        let description = Description {
            plan: self.plan.to_toml()?,
            rows: self
                .rows
                .iter()
                .map(|rows| [rows.start, rows.end])
                .collect(),
            blocks: blocks.into_iter().flatten().collect(),
            score_blocks: self.score.block_ids().collect(),
            excerpt: kept
                .map(|((k, first), values)| [*k, *first, values.nrows()])
                .collect(),
        };
        let description = serde_json::to_vec(&description)
            .map_err(|error| Error::numerical(format!("the sums cannot be written: {error}")))?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend(FORMAT.to_le_bytes());
        bytes.extend([0; 4]);
        // The length of the whole, once it is known.
        bytes.extend([0; 8]);
        bytes.extend((description.len() as u64).to_le_bytes());
        bytes.extend(description);
        for [moments, lagged] in &self.tables {
            moments.pack(&mut bytes);
            lagged.pack(&mut bytes);
        }
        self.score.pack(&mut bytes);
        let occupied = self.cells.occupied().iter();
        let occupied: Vec<f64> = occupied.map(|cell| f64::from(u8::from(*cell))).collect();
        pack(&occupied, &mut bytes);
        self.excerpt
            .values()
            .for_each(|values| pack(values, &mut bytes));
        Ok(Self::sealed(bytes))
    }

    /// Content whose length and checksum are those of its bytes, for tests of the reader.
    #[doc(hidden)]
    pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
        let length = (bytes.len() + TAIL) as u64;
        if let Some(place) = bytes.get_mut(16..24) {
            place.copy_from_slice(&length.to_le_bytes());
        }
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Sums from the content of a file.
    ///
    /// # Errors
    /// When they are no sums, are truncated or changed, or are of another format.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let head = bytes.get(..HEAD).filter(|head| head.starts_with(MAGIC));
        let Some(head) = head else {
            return Err(Error::input(
                "holds no sums of `ergode accumulate`, or is truncated before they begin",
            ));
        };
        let format = u32::from_le_bytes(head[8..12].try_into().expect("four bytes"));
        if format != FORMAT {
            return Err(Error::input(format!(
                "has format {format}, but this version reads format {FORMAT}; accumulate again"
            )));
        }
        let word =
            |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
        let (length, found) = (word(16), bytes.len() as u64);
        if length != found {
            return Err(Error::input(match found < length {
                true => format!("is truncated: it has {found} of {length} bytes; accumulate again"),
                false => {
                    format!("has {found} bytes, more than the {length} that it says; copy it again")
                }
            }));
        }
        let damaged = |what: &str| Error::input(format!("is damaged: {what}; accumulate again"));
        let (content, sum) = bytes
            .split_at_checked(bytes.len().saturating_sub(TAIL))
            .filter(|(content, _)| content.len() >= HEAD)
            .ok_or_else(|| damaged("it is too short"))?;
        if checksum(content).to_le_bytes() != sum {
            return Err(damaged("its checksum does not match"));
        }
        let rest = &content[HEAD..];
        let split = usize::try_from(word(24)).ok();
        let (text, numbers) = split
            .and_then(|length| rest.split_at_checked(length))
            .ok_or_else(|| damaged("its description is longer than the file"))?;
        let description: Description = serde_json::from_slice(text)
            .map_err(|error| damaged(&format!("its description cannot be read ({error})")))?;
        let plan = Arc::new(SumsPlan::from_toml(&description.plan)?);
        let mut numbers = Packed::new(numbers)?;
        let mut sums = Self::new(&plan)?;
        sums.rows = ranges(&description.rows, plan.rows())
            .ok_or_else(|| damaged("its rows are not those of the plan"))?;
        for ids in [&description.blocks, &description.score_blocks] {
            let known = |id: &BlockId| {
                let found = plan.blocks.binary_search_by_key(id, |block| block.id);
                found.is_ok()
            };
            if !ids.iter().all(known) || !ids.is_sorted_by(|a, b| a < b) {
                return Err(damaged("its blocks are not those of the plan"));
            }
        }
        let take = |empty: LaggedSums, numbers: &mut Packed| {
            LaggedSums::unpack(empty, &description.blocks, numbers)
        };
        let tables = std::mem::take(&mut sums.tables).into_iter();
        sums.tables = tables
            .map(|[moments, lagged]| {
                Ok([take(moments, &mut numbers)?, take(lagged, &mut numbers)?])
            })
            .collect::<Result<_>>()?;
        let empty = ScoreSums::empty(sums.score.labels());
        sums.score = ScoreSums::unpack(empty, &description.score_blocks, &mut numbers)?;
        let cells = numbers.vector(sums.cells.occupied().len())?;
        let occupied: Vec<bool> = cells.iter().map(|cell| *cell == 1.0).collect();
        sums.cells.join(&occupied);
        let mut kept = BTreeMap::new();
        for [trajectory, first, count] in description.excerpt {
            let values = numbers.matrix((count, plan.dim()))?;
            kept.insert((trajectory, first), values);
        }
        sums.excerpt = kept;
        match numbers.len() {
            0 => Ok(sums),
            _ => Err(damaged("it has more numbers than its description says")),
        }
    }

    /// Writes the sums to a file, which appears complete or not at all.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&self, path: &Path) -> Result<()> {
        AtomicFile::write(path, &self.to_bytes()?)
    }

    /// Reads sums from a file.
    ///
    /// # Errors
    /// As [`Sums::from_bytes`], and when the file cannot be read.
    pub fn load(path: &Path) -> Result<Self> {
        Self::from_bytes(&read_regular(path)?).map_err(|error| Error::file(path, error.to_string()))
    }
}

/// Ranges in order that do not overlap, below `total`.
fn ranges(listed: &[[usize; 2]], total: usize) -> Option<Vec<Range<usize>>> {
    let mut before = 0;
    let mut ranges = Vec::with_capacity(listed.len());
    for &[start, end] in listed {
        if start < before || end <= start || end > total {
            return None;
        }
        before = end;
        ranges.push(start..end);
    }
    Some(ranges)
}
