//! Formats that hold everything an ensemble has: NetCDF, HDF5, Zarr and Parquet.

use ergode::data::Units;
use ergode::{Ensemble, write_ensemble};

use super::{Folder, assert_same, even, numbers, plain, samples};

/// The formats that hold everything an ensemble has.
pub(crate) const FULL: [&str; 4] = ["a.nc", "a.h5", "a.zarr", "a.parquet"];

#[test]
fn round_trips_keep_values_times_names_and_precision() {
    let folder = Folder::new();
    for name in FULL {
        for ensemble in samples() {
            let path = folder.path(name);
            write_ensemble(&path, &ensemble).unwrap();
            let read = plain(&path).unwrap();
            assert_same(&ensemble, &read, true, true);
            assert_eq!(ensemble.names(), read.names(), "{name}");
        }
    }
}

#[test]
fn units_are_kept() {
    let folder = Folder::new();
    for (coordinates, time) in [(["m", "m"], "s"), (["m", "m/s"], "days since 2000-01-01")] {
        let units = Units {
            coordinates: coordinates.map(str::to_owned).to_vec(),
            time: time.to_owned(),
        };
        let ensemble = Ensemble::new(vec![even(numbers(5, 2), 0.0, 0.1)])
            .unwrap()
            .with_units(units.clone())
            .unwrap();
        for name in FULL {
            write_ensemble(folder.path(name), &ensemble).unwrap();
            let read = plain(folder.path(name)).unwrap();
            assert_eq!(read.units(), Some(&units), "{name}");
        }
    }
}
