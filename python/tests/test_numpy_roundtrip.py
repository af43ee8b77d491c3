"""Files against NumPy: what it writes is read, and what is written it reads."""

import numpy as np

from harness import convert, data, run, same


def test_npz_to_npy_and_back(folder):
    x, t = data(), np.arange(50) * 0.1
    for save in (np.savez, np.savez_compressed):
        save(folder / "in.npz", x=x, t=t, names=np.array(["u", "größe"]))
        result = run(folder / "in.npz", folder / "out.npy")
        assert result.returncode == 2 and "the names u, größe" in result.stderr, result.stderr
        convert(folder / "in.npz", folder / "out.npy", "--values-only")
        same(np.load(folder / "out.npy"), x)
        convert(folder / "out.npy", folder / "back.npz", "--dt", "0.1")
        with np.load(folder / "back.npz") as back:
            same(back["x"], x)
            assert back["t"].shape == (50,)
            assert np.allclose(back["t"], t, rtol=1e-14, atol=1e-14)


def test_npz_keeps_names_times_and_precision(folder):
    x = data().astype(np.float32)
    t = np.cumsum(np.random.default_rng(2).uniform(0.1, 1, size=(3, 50)), axis=1)
    np.savez(folder / "in.npz", x=x, t=t, names=np.array(["u", "größe"]))
    convert(folder / "in.npz", folder / "out.npz")
    with np.load(folder / "out.npz") as out:
        same(out["x"], x)
        same(out["t"], t)
        assert list(out["names"]) == ["u", "größe"]


def test_npz_with_scalar_interval(folder):
    x = data(1)[0]
    np.savez(folder / "in.npz", x=x, dt=0.25)
    convert(folder / "in.npz", folder / "out.npz")
    with np.load(folder / "out.npz") as out:
        same(out["x"], x[None])
        same(out["t"], np.arange(50) * 0.25)


def test_npz_with_one_array_of_another_name(folder):
    x = data()
    np.savez(folder / "in.npz", x)
    convert(folder / "in.npz", folder / "out.npy", "--dt", "1")
    same(np.load(folder / "out.npy"), x)


def test_npy_in_every_layout_and_type(folder):
    for x in (data(), data(1)[0], data(1)[0][:, 0]):
        expected = x[:, None] if x.ndim == 1 else x
        for dtype in ("<f8", ">f8", "<f4", ">f4"):
            for order in "CF":
                np.save(folder / "in.npy", np.asarray(x.astype(dtype), order=order))
                convert(folder / "in.npy", folder / "out.npy", "--dt", "1")
                same(np.load(folder / "out.npy"), expected.astype("<" + dtype[1:]))


def test_npy_of_integers(folder):
    for dtype in ("i1", "u1", "<i2", ">i2", "<u2", "<i4", ">u4", "<i8", ">i8", "<u8"):
        x = np.arange(60).reshape(30, 2).astype(dtype)
        np.save(folder / "in.npy", x)
        convert(folder / "in.npy", folder / "out.npy", "--dt", "1")
        same(np.load(folder / "out.npy"), x.astype(float))


def test_gaps_and_unequal_lengths(folder):
    x, t = data(), np.tile(np.arange(50.0), (3, 1))
    x[0, 10] = np.nan
    x[1, 5, 0] = np.nan
    x[2, 30:] = np.nan
    t[2, 30:] = np.nan
    np.savez(folder / "in.npz", x=x, t=t)
    convert(folder / "in.npz", folder / "out.npz")
    with np.load(folder / "out.npz") as out:
        same(out["x"], x)
        assert out["t"].shape in ((50,), (3, 50))
    convert(folder / "in.npz", folder / "out.npy")
    same(np.load(folder / "out.npy"), x)
    convert(folder / "in.npz", folder / "out.csv")
    table = np.genfromtxt(folder / "out.csv", delimiter=",", names=True)
    assert len(table) == 130
    assert np.array_equal(table["x"][:50], x[0, :, 0], equal_nan=True)


def test_csv_values_are_exact(folder):
    x = data(1)[0] * 10.0 ** np.arange(-25, 25)[:, None]
    np.savez(folder / "in.npz", x=x, t=np.arange(50) * 0.5)
    convert(folder / "in.npz", folder / "out.csv")
    table = np.loadtxt(folder / "out.csv", delimiter=",", skiprows=1)
    same(table, np.column_stack([np.arange(50) * 0.5, x]))
    np.savetxt(folder / "in.csv", table, delimiter=",", header="t,u,v")
    convert(folder / "in.csv", folder / "out.npz")
    with np.load(folder / "out.npz") as out:
        same(out["x"], x[None])
        assert list(out["names"]) == ["u", "v"]


def test_damaged_and_unsuitable_files_are_refused(folder):
    np.save(folder / "complex.npy", data(1)[0] * 1j)
    np.save(folder / "rank4.npy", data()[None])
    np.save(folder / "short.npy", data())
    content = (folder / "short.npy").read_bytes()
    (folder / "short.npy").write_bytes(content[:-1])
    for name, word in (("complex", "complex"), ("rank4", "shape"), ("short", "truncated")):
        result = run(folder / f"{name}.npy", folder / "out.npz", "--dt", "1")
        assert result.returncode == 2, (name, result.returncode)
        assert word in result.stderr, result.stderr
        assert not (folder / "out.npz").exists()
