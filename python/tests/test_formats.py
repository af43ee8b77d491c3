"""Files against the Python library of each format.

h5py, netCDF4, xarray, zarr and pyarrow write what `ergode convert` reads, and read what it writes.
"""

import h5py
import netCDF4
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr
import zarr

from harness import convert, data, run, same

pytestmark = pytest.mark.filterwarnings("ignore")

X, T = data(), np.arange(50) * 0.1
NAMES = ["u", "größe"]
SLASHES = {"name": "v2", "separator": "/"}


def back(folder, source, *options):
    """The arrays that `ergode convert` reads from a file."""
    with np.load(convert(folder / source, folder / "back.npz", *options)) as arrays:
        return dict(arrays)


def expect(arrays, x=X, t=T, names=None):
    same(arrays["x"], x)
    assert np.allclose(arrays["t"], t, rtol=1e-14, atol=1e-14), arrays["t"]
    if names:
        assert list(arrays["names"]) == names, arrays["names"]


def ours(folder, target, x=X, t=T, names=NAMES):
    """A file that `ergode convert` writes."""
    np.savez(folder / "ours.npz", x=x, t=t, names=np.array(names))
    return convert(folder / "ours.npz", folder / target)


def uneven():
    return np.cumsum(np.random.default_rng(2).uniform(0.1, 1, size=(3, 50)), axis=1)


def test_hdf5_of_every_layout_is_read(folder):
    for libver in ("earliest", "v108", "latest"):
        for k, options in enumerate(
            (
                {},
                {"chunks": (1, 7, 2)},
                {"chunks": (2, 16, 1), "compression": "gzip", "shuffle": True, "fletcher32": True},
                {"chunks": (1, 20, 2), "maxshape": (None, None, 2)},
                {"chunks": (3, 50, 2)},
            )
        ):
            name = f"{libver}{k}.h5"
            with h5py.File(folder / name, "w", libver=libver) as file:
                file.create_dataset("x", data=X, **options)
                file["t"] = T
                file["names"] = NAMES
            expect(back(folder, name), names=NAMES)


def test_hdf5_types_groups_and_notes(folder):
    with h5py.File(folder / "a.h5", "w") as file:
        file["run/position"] = X.astype(">f4")
        file["run/position"].attrs["names"] = NAMES
        file["run/flags"] = np.arange(50)
        file["other"] = np.zeros((4, 4))
        file["dt"] = 0.1
    arrays = back(folder, "a.h5", "--array", "run/position")
    expect(arrays, X.astype("<f4"), names=NAMES)
    result = run(folder / "a.h5", folder / "b.npz")
    assert result.returncode == 2 and "'run/position' of shape (3, 50, 2)" in result.stderr


def test_hdf5_is_written(folder):
    with h5py.File(ours(folder, "a.h5")) as file:
        same(file["x"][:], X)
        assert np.allclose(file["t"][:], T, rtol=1e-14)
        assert list(file["names"].asstr()) == NAMES
    with h5py.File(ours(folder, "b.h5", X.astype("f4"), uneven())) as file:
        same(file["x"][:], X.astype("f4"))
        same(file["t"][:], uneven())
    expect(back(folder, "b.h5"), X.astype("f4"), uneven(), NAMES)


def dataset(**variables):
    coordinates = {"time": ("time", T, {"units": "s"}), "dim": NAMES}
    return xr.Dataset(variables, coords=coordinates)


def test_netcdf_of_every_kind_is_read(folder):
    whole = dataset(x=(("trajectory", "time", "dim"), X, {"units": "m"}))
    for kind in ("NETCDF3_CLASSIC", "NETCDF3_64BIT", "NETCDF4", "NETCDF4_CLASSIC"):
        whole.to_netcdf(folder / "a.nc", format=kind, engine="netcdf4")
        expect(back(folder, "a.nc"), names=NAMES)
        turned = whole.transpose("time", "dim", "trajectory")
        turned.to_netcdf(folder / "b.nc", format=kind, engine="netcdf4")
        expect(back(folder, "b.nc"), names=NAMES)
    for kind in ("NETCDF3_64BIT_DATA", "NETCDF4"):
        with netCDF4.Dataset(folder / "c.nc", "w", format=kind) as file:
            file.createDimension("time", None)
            file.createDimension("trajectory", 3)
            for k, name in enumerate(("u", "v")):
                options = {"zlib": True} if kind == "NETCDF4" else {}
                variable = file.createVariable(name, "f8", ("time", "trajectory"), **options)
                variable[:] = X[:, :, k].T
            file.createVariable("time", "f4", ("time",))[:] = T
        arrays = back(folder, "c.nc")
        same(arrays["x"], X)
        assert list(arrays["names"]) == ["u", "v"]


def test_netcdf_of_packed_numbers_is_read(folder):
    x = np.round(X[0], 2)
    x[7] = np.nan
    file = xr.Dataset({"u": ("time", x[:, 0]), "v": ("time", x[:, 1])}, coords={"time": T})
    packing = {"dtype": "i2", "scale_factor": 0.01, "_FillValue": -9999}
    for kind in ("NETCDF3_64BIT", "NETCDF4"):
        file.to_netcdf(folder / "a.nc", format=kind, encoding={"u": packing, "v": packing})
        arrays = back(folder, "a.nc")
        assert np.allclose(arrays["x"][0], x, rtol=1e-12, equal_nan=True)
        assert list(arrays["names"]) == ["u", "v"]


def test_netcdf_is_written(folder):
    path = ours(folder, "a.nc")
    for engine in ("netcdf4", "scipy"):
        if engine == "scipy":
            try:
                import scipy  # noqa: F401
            except ImportError:
                continue
        with xr.open_dataset(path, engine=engine, decode_times=False) as file:
            same(file.x.values, X)
            assert file.x.dims == ("trajectory", "time", "dim")
            assert np.allclose(file.time.values, T, rtol=1e-14)
            assert list(file.dim.values) == NAMES, file.dim.values
    with xr.open_dataset(ours(folder, "b.nc", X.astype("f4"), uneven())) as file:
        same(file.x.values, X.astype("f4"))
        same(file.t.values, uneven())


def test_units_go_from_file_to_file(folder):
    whole = dataset(x=(("trajectory", "time", "dim"), X, {"units": "m"}))
    whole.to_netcdf(folder / "a.nc")
    for name in ("b.h5", "b.zarr", "b.parquet", "b.nc"):
        convert(folder / "a.nc", folder / name)
        convert(folder / name, folder / "c.nc")
        with xr.open_dataset(folder / "c.nc", decode_times=False) as file:
            assert file.x.attrs["units"] == "m", name
            assert file.time.attrs["units"] == "s", name


def test_zarr_of_every_kind_is_read(folder):
    codecs = zarr.codecs
    kinds = [
        (2, {"compressors": None}),
        (2, {"compressors": "auto"}),
        (2, {"compressors": numcodecs("Blosc", cname="lz4", shuffle=1)}),
        (2, {"compressors": numcodecs("Blosc", cname="zstd", shuffle=1)}),
        (2, {"compressors": numcodecs("Zlib"), "order": "F"}),
        (2, {"compressors": numcodecs("GZip"), "chunk_key_encoding": SLASHES}),
        (3, {"compressors": None}),
        (3, {"compressors": "auto"}),
        (3, {"compressors": codecs.GzipCodec()}),
        (3, {"compressors": codecs.BloscCodec(cname="lz4", shuffle="shuffle")}),
        (3, {"compressors": [codecs.ZstdCodec(), codecs.Crc32cCodec()]}),
    ]
    for k, (version, options) in enumerate(kinds):
        group = zarr.create_group(folder / f"{k}.zarr", zarr_format=version)
        for name, array in (("x", X), ("t", T)):
            chunks = (2, 16, 1) if name == "x" else (7,)
            group.create_array(name, data=array, chunks=chunks, **options)
        group["x"].attrs["names"] = NAMES
        expect(back(folder, f"{k}.zarr"), names=NAMES)


def numcodecs(name, **options):
    import numcodecs as library

    return getattr(library, name)(**options)


def test_zarr_of_xarray_and_single_arrays_are_read(folder):
    for version in (2, 3):
        whole = xr.Dataset(
            {"u": (("time", "run"), X[:, :, 0].T), "v": (("time", "run"), X[:, :, 1].T)},
            coords={"time": T},
        )
        whole.to_zarr(folder / f"a{version}.zarr", zarr_format=version)
        arrays = back(folder, f"a{version}.zarr")
        same(arrays["x"], X)
        assert list(arrays["names"]) == ["u", "v"]
        zarr.save_array(folder / f"b{version}.zarr", X.astype("f4"), zarr_format=version)
        expect(back(folder, f"b{version}.zarr", "--dt", "0.1"), X.astype("f4"))


def test_zarr_is_written(folder):
    group = zarr.open_group(ours(folder, "a.zarr"), mode="r")
    same(group["x"][:], X)
    assert group["x"].attrs["names"] == NAMES
    assert np.allclose(group["time"][:], T, rtol=1e-14)
    with xr.open_zarr(ours(folder, "b.zarr", X.astype("f4"), uneven()), consolidated=False) as file:
        same(file.x.values, X.astype("f4"))
        same(file.t.values, uneven())


def frame():
    rows = [
        pd.DataFrame({"id": f"run {k}", "time": T, "u": X[k, :, 0], "v": X[k, :, 1]})
        for k in range(3)
    ]
    return pd.concat(rows)


def test_parquet_of_every_kind_is_read(folder):
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    for codec in ("none", "snappy", "gzip", "zstd", "lz4"):
        for version in ("1.0", "2.0"):
            for dictionary in (True, False):
                pq.write_table(
                    table,
                    folder / "a.parquet",
                    compression=codec,
                    data_page_version=version,
                    use_dictionary=dictionary,
                    row_group_size=40,
                    data_page_size=200,
                )
                expect(back(folder, "a.parquet"), names=["u", "v"])


def test_parquet_of_every_encoding_is_read(folder):
    rounded = frame().assign(v=lambda table: (table["v"] * 1000).astype("i8"))
    expected = np.stack([X[..., 0], np.trunc(X[..., 1] * 1000)], axis=-1)
    for text in ("DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"):
        for numbers in ("BYTE_STREAM_SPLIT", "PLAIN"):
            encodings = {"id": text, "u": numbers, "time": numbers, "v": "DELTA_BINARY_PACKED"}
            for version in ("1.0", "2.0"):
                pq.write_table(
                    pa.Table.from_pandas(rounded, preserve_index=False),
                    folder / "a.parquet",
                    use_dictionary=False,
                    column_encoding=encodings,
                    data_page_version=version,
                    row_group_size=40,
                )
                expect(back(folder, "a.parquet"), expected, names=["u", "v"])


def test_parquet_gaps_types_and_pandas(folder):
    table = frame()
    table["u"] = table["u"].astype("f4")
    table["v"] = (table["v"] * 100).astype("i4")
    table["id"] = np.repeat([7, 3, 5], 50).astype("u2")
    table.iloc[4, 2] = np.nan
    table = table.rename(columns={"id": "particle"})
    table.to_parquet(folder / "a.parquet")
    arrays = back(folder, "a.parquet", "--id", "particle")
    assert arrays["x"].shape == (3, 50, 2)
    assert np.isnan(arrays["x"][0, 4, 0]) and np.isnan(arrays["x"]).sum() == 1
    assert np.array_equal(arrays["x"][..., 1], np.trunc(X[..., 1] * 100))
    stamps = pd.DataFrame({"time": pd.to_datetime(T, unit="s"), "u": X[0, :, 0]})
    stamps.to_parquet(folder / "b.parquet")
    same(back(folder, "b.parquet")["x"][0, :, 0], X[0, :, 0])
    frame().assign(id="one", note="text").to_parquet(folder / "c.parquet")
    result = run(folder / "c.parquet", folder / "out.npz")
    assert result.returncode == 2 and "column 'note' holds text" in result.stderr, result.stderr


def test_parquet_is_written(folder):
    table = pd.read_parquet(ours(folder, "a.parquet"))
    assert list(table.columns) == ["trajectory", "t", *NAMES]
    same(table[NAMES].to_numpy().reshape(X.shape), X)
    assert np.array_equal(table["trajectory"], np.repeat([0, 1, 2], 50))
    single = pq.read_table(ours(folder, "b.parquet", X.astype("f4"), uneven()))
    assert single.schema.field("u").type == pa.float32()
    same(single["t"].to_numpy().reshape(3, 50), uneven())


def test_files_of_several_blocks(folder):
    rng = np.random.default_rng(3)
    x, t = rng.normal(size=(2, 100_000, 3)), np.arange(100_000) * 0.01
    names = ["a", "b", "c"]
    for extension in ("h5", "nc", "zarr", "parquet", "csv"):
        path = ours(folder, f"a.{extension}", x, t, names)
        expect(back(folder, path.name), x, t, names)
    same(zarr.open_group(folder / "a.zarr", mode="r")["x"][:], x)
    smooth = np.round(np.cumsum(x[0], axis=0), 3)
    for method in ("lz4", "zstd", "zlib"):
        for shuffle in (0, 1):
            blosc = numcodecs("Blosc", cname=method, shuffle=shuffle)
            group = zarr.create_group(folder / "c.zarr", zarr_format=2, overwrite=True)
            group.create_array("x", data=smooth, chunks=(30_000, 3), compressors=blosc)
            same(back(folder, "c.zarr", "--dt", "0.1")["x"][0], smooth)
    table = pq.read_table(folder / "a.parquet")
    assert table.num_rows == 200_000
    pq.write_table(table, folder / "b.parquet", row_group_size=70_000, compression="zstd")
    expect(back(folder, "b.parquet"), x, t, names)
