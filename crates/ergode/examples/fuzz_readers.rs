//! Reads damaged files for a while: `cargo run --release -p ergode --example fuzz_readers -- SECONDS [SEED]`.
//!
//! The files of `tests/corpus`, written by other programs, and sums of a small record are changed at random and read. A panic, an
//! allocation that no such file justifies, or a file that takes seconds is printed and kept, and makes
//! the exit code 1. The same seed changes the files in the same way.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use std::sync::Arc;

use ergode::pipeline::{Sums, SumsPlan};
use ergode::systems::{OrnsteinUhlenbeck, System as _, generate};
use ergode::{Control, FitConfig, ReadOptions, read_ensemble};

/// Bytes that may be in use at once: seeds have a few thousand, and numbers take up to 32768 times the
/// room that they have in a file.
const MOST_BYTES: usize = 256 << 20;

/// How long a file may take.
const LONGEST: Duration = Duration::from_secs(5);

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, which knows how much is in use.
struct Counted;

fn taken(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        taken(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        taken(size);
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % end.max(1)
    }
}

/// A seed: its name, and its files by their paths inside it (a single file has the empty path).
struct Seed {
    name: String,
    files: Vec<(PathBuf, Vec<u8>)>,
}

fn gather(root: &Path, inside: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    let path = root.join(inside);
    if path.is_file() {
        files.push((inside.to_owned(), fs::read(path).expect("a readable seed")));
        return;
    }
    let entries = fs::read_dir(path).expect("a readable folder");
    let mut names: Vec<_> = entries.map(|e| e.expect("an entry").file_name()).collect();
    names.sort();
    for name in names {
        gather(root, &inside.join(name), files);
    }
}

fn seeds(corpus: &Path) -> Vec<Seed> {
    let entries = fs::read_dir(corpus).expect("the corpus");
    let mut paths: Vec<_> = entries.map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    paths
        .into_iter()
        .map(|path| {
            let mut files = Vec::new();
            if path.is_file() {
                files.push((PathBuf::new(), fs::read(&path).expect("a readable seed")));
            } else {
                gather(&path, Path::new(""), &mut files);
            }
            Seed {
                name: path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into(),
                files,
            }
        })
        .collect()
}

/// The name of the seed that holds sums.
const SUMS: &str = "part.sums";
/// Bytes of the length and the checksum of sums.
const SEAL: usize = 8;

/// Sums of a small record.
fn sums() -> Seed {
    let system = OrnsteinUhlenbeck::new(Default::default()).expect("a system");
    let mut protocol = system.protocol();
    protocol.simulate.time = 40.0;
    protocol.simulate.save_every = 0.2;
    protocol.simulate.trajectories = 2;
    let control = Control::new();
    let record = generate(&system, &protocol, &control)
        .expect("a record")
        .ensemble;
    let config = FitConfig::default()
        .with_changes(&["mobility.max_degrees=[0,1]".to_owned()])
        .expect("a configuration");
    let plan = SumsPlan::new(&record, &config, &control).expect("a plan");
    let sums = Sums::of_ensemble(&Arc::new(plan), &record, None, &control);
    let bytes = sums.and_then(|sums| sums.to_bytes()).expect("sums");
    Seed {
        name: SUMS.to_owned(),
        files: vec![(PathBuf::new(), bytes)],
    }
}

/// Changes some bytes, or cuts, repeats or mixes pieces.
fn damage(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    const INTERESTING: [u64; 8] = [
        0,
        1,
        0x7f,
        0xff,
        0x7fff_ffff,
        0xffff_ffff,
        1 << 40,
        u64::MAX,
    ];
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let length = 1 + random.below(16);
        let end = (at + length).min(bytes.len());
        match random.below(9) {
            0 => bytes[at] ^= 1 << random.below(8),
            1 => bytes[at] = random.below(256) as u8,
            2 | 3 => {
                let number = INTERESTING[random.below(INTERESTING.len())];
                let width = [1, 2, 4, 8][random.below(4)].min(bytes.len() - at);
                let source = match random.below(2) {
                    0 => number.to_le_bytes()[..width].to_vec(),
                    _ => number.to_be_bytes()[8 - width..].to_vec(),
                };
                bytes[at..at + width].copy_from_slice(&source);
            }
            4 => bytes.truncate(at),
            5 => _ = bytes.drain(at..end),
            6 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            7 => {
                let from = random.below(other.len());
                let piece = &other[from..(from + length).min(other.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            _ => {
                let to = random.below(bytes.len());
                let count = (end - at).min(bytes.len() - to);
                bytes.copy_within(at..at + count, to);
            }
        }
    }
}

fn write(root: &Path, seed: &Seed) {
    for (inside, bytes) in &seed.files {
        let path = if inside.as_os_str().is_empty() {
            root.to_owned()
        } else {
            root.join(inside)
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).expect("a folder");
        }
        fs::write(path, bytes).expect("a file");
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |default: u64| {
        let argument = arguments.next();
        argument.map_or(default, |a| {
            a.parse().expect("a number of seconds, and a seed")
        })
    };
    let (seconds, seed) = (number(60), number(1));
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut seeds = seeds(&corpus);
    // As often as a third of all others.
    let copies = seeds.len().div_ceil(3);
    let of_sums = sums();
    seeds.extend((0..copies).map(|_| Seed {
        name: of_sums.name.clone(),
        files: of_sums.files.clone(),
    }));
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kept = std::env::temp_dir().join("ergode-fuzz");
    let options = ReadOptions {
        dt: Some(0.5),
        ..ReadOptions::default()
    };
    let (start, mut runs, mut read, mut found) = (Instant::now(), 0_u64, 0_u64, 0);
    let (mut most, mut slowest) = (0, Duration::ZERO);
    while start.elapsed().as_secs() < seconds {
        let chosen = &seeds[random.below(seeds.len())];
        let file = random.below(chosen.files.len());
        let other = &seeds[random.below(seeds.len())].files[0].1;
        let mut files = chosen.files.clone();
        let is_sums = chosen.name == SUMS;
        if is_sums && random.below(4) > 0 {
            // A right length and checksum let the reader come to the rest.
            let bytes = &mut files[file].1;
            bytes.truncate(bytes.len() - SEAL);
            damage(bytes, other, &mut random);
            *bytes = Sums::sealed(std::mem::take(bytes));
        } else {
            damage(&mut files[file].1, other, &mut random);
        }
        let path = folder.path().join(&chosen.name);
        let damaged = Seed {
            name: chosen.name.clone(),
            files,
        };
        write(&path, &damaged);
        let (before, began) = (LIVE.load(Ordering::Relaxed), Instant::now());
        PEAK.store(before, Ordering::Relaxed);
        let outcome = std::panic::catch_unwind(|| match is_sums {
            true => Sums::load(&path).is_ok(),
            false => read_ensemble(&path, &options, &Control::new()).is_ok(),
        });
        let used = PEAK.load(Ordering::Relaxed).saturating_sub(before);
        let took = began.elapsed();
        (most, slowest) = (most.max(used), slowest.max(took));
        runs += 1;
        read += u64::from(matches!(outcome, Ok(true)));
        if outcome.is_err() || used > MOST_BYTES || took > LONGEST {
            found += 1;
            let place = kept.join(format!("{seed}-{runs}-{}", chosen.name));
            write(&place, &damaged);
            println!(
                "{}: {}, {used} bytes, {took:?}",
                place.display(),
                if outcome.is_err() {
                    "panic"
                } else {
                    "no panic"
                }
            );
        }
        if path.is_dir() {
            fs::remove_dir_all(&path).expect("a folder that goes away");
        }
    }
    println!(
        "{runs} damaged files, of which {read} could be read; at most {} KiB in use and {:.0} ms \
         each; {found} faults",
        most >> 10,
        slowest.as_secs_f64() * 1e3
    );
    std::process::exit(i32::from(found > 0));
}
