"""Damaged, hostile and changing files among good ones: one error that names the file, whatever it claims to be."""

import os
import shutil
import struct
import zlib

import numpy as np
import pytest

import penstock as ps
from bad_samples import assert_accounts, drain
from pictures import jpeg_bytes, noise, save_png, smooth


# -- hostile files: each as sample 5 of a folder of twelve ------------------------------------------


def png_bytes(width, height, data=b""):
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def huge_jpeg():
    data = bytearray(jpeg_bytes(smooth(20, 24)))
    frame = data.index(b"\xff\xc0")
    data[frame + 5:frame + 9] = struct.pack(">HH", 65500, 65500)
    return bytes(data)


def flipped_png(good):
    data = bytearray(good)
    data[len(data) // 2] ^= 0x10
    return bytes(data)


GOOD_PNG = png_bytes(24, 20, zlib.compress(b"".join(b"\0" + bytes([5] * 72) for _ in range(20)), 0))
HOSTILE = {
    "empty": (b"", "truncated"),
    "one byte": (b"\xff", None),
    "text": (b"<html>404 not found</html>", None),
    "zeros": (b"\0" * 5000, None),
    "jpeg cut in its header": (jpeg_bytes(smooth(20, 24))[:100], None),
    "jpeg cut in its data": (jpeg_bytes(smooth(20, 24))[:-60], None),
    "jpeg without end": (jpeg_bytes(smooth(20, 24))[:-2], None),
    "jpeg start only": (b"\xff\xd8", None),
    "jpeg of 65500x65500": (huge_jpeg(), "too_large"),
    "png cut": (GOOD_PNG[:-700], None),
    "png without end": (GOOD_PNG[:-12], None),
    "png bit flip": (flipped_png(GOOD_PNG), "corrupt"),
    "png of 2^31 rows": (png_bytes(2**31 - 1, 2**31 - 1, b"x"), None),
    "png of 60000x60000": (png_bytes(60000, 60000, zlib.compress(b"\0" * 100)), "too_large"),
    "png with too little data": (png_bytes(24, 20, zlib.compress(b"\0" * 100)), None),
    "png of no rows": (png_bytes(24, 0, zlib.compress(b"")), None),
    "webp cut": (b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0\x30\x01\0\x9d", None),
    "npy in disguise": (b"\x93NUMPY\x01\0v\0{}", None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_image_is_one_error_that_names_file_offset_and_sample(flat, name):
    content, code = HOSTILE[name]
    bad = flat / "005.png"
    bad.write_bytes(content)
    with ps.Loader(flat, batch_size=4, output="numpy") as loader:
        epoch = iter(loader)
        assert next(epoch)[:, 0, 0, 0].tolist() == [0, 1, 2, 3]
        with pytest.raises(ps.Error) as caught:
            next(epoch)
        stats = loader.stats()
    error = caught.value
    assert error.uri == str(bad) and error.sample == 5 and error.offset is not None and error.length is not None
    assert error.code == code if code else error.code in ("truncated", "corrupt", "unsupported", "too_large")
    assert str(bad) in str(error) and "sample 5" in str(error)
    assert stats["failed"] == 4 and stats["delivered"] == 4
    assert_accounts(stats)
    listed, = stats["errors"]
    assert listed["uri"] == str(bad) and listed["sample"] == 5 and listed["message"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_image_is_skipped_or_replaced_and_counted(flat, name):
    (flat / "005.png").write_bytes(HOSTILE[name][0])
    with ps.Loader(flat, batch_size=4, output="numpy", on_error="skip") as loader:
        batches = [batch[:, 0, 0, 0].tolist() for batch in loader]
        stats = loader.stats()
    assert batches == [[0, 1, 2, 3], [4, 6, 7], [8, 9, 10, 11]]
    assert (stats["delivered"], stats["skipped"], stats["failed"]) == (11, 1, 0)
    assert_accounts(stats)
    with ps.Loader(flat, batch_size=4, output="numpy", on_error="replace") as loader:
        batches = [batch[:, 0, 0, 0].tolist() for batch in loader]
        stats = loader.stats()
    assert [len(batch) for batch in batches] == [4, 4, 4] and batches[1][1] != 5 and batches[1][0] == 4
    assert (stats["delivered"], stats["replaced"]) == (12, 1)
    assert_accounts(stats)


def test_the_huge_jpeg_takes_no_memory(flat):
    import resource
    (flat / "005.png").write_bytes(huge_jpeg())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with ps.Loader(flat, batch_size=12, on_error="skip", output="numpy", memory="64MiB") as loader:
        assert drain(loader) == 11
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


def test_every_cut_of_a_jpeg_is_noticed(tmp_path):
    content = jpeg_bytes(smooth(24, 24))
    cuts = list(range(0, len(content) - 1, 7))
    for i, cut in enumerate(cuts):
        (tmp_path / f"{i:04}.jpg").write_bytes(content[:cut])
    with ps.Loader(tmp_path, batch_size=64, transform=[ps.Resize((24, 24))], on_error="skip", max_skip=1,
                   output="numpy") as loader:
        assert drain(loader) == 0
        stats = loader.stats()
    assert stats["skipped"] == len(cuts)
    assert len(stats["errors"]) == min(100, len(cuts))


def test_every_cut_and_flip_of_a_png_is_noticed(tmp_path):
    count = 0
    for cut in range(0, len(GOOD_PNG) - 12, 13):
        (tmp_path / f"cut{cut:04}.png").write_bytes(GOOD_PNG[:cut])
        count += 1
    for place in range(50, len(GOOD_PNG) - 16, 17):
        data = bytearray(GOOD_PNG)
        data[place] ^= 1
        (tmp_path / f"flip{place:04}.png").write_bytes(data)
        count += 1
    with ps.Loader(tmp_path, batch_size=64, transform=[ps.Resize((24, 24))], on_error="skip", max_skip=1,
                   output="numpy") as loader:
        assert drain(loader) == 0
        assert loader.stats()["skipped"] == count


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_file_is_an_error_of_access(flat):
    (flat / "005.png").chmod(0)
    with ps.Loader(flat, batch_size=12, output="numpy") as loader, pytest.raises(ps.Error) as caught:
        drain(loader)
    assert caught.value.code == "no_access" and caught.value.uri == str(flat / "005.png")


def test_a_dangling_link_and_a_folder_named_like_an_image_are_errors_of_that_sample(flat):
    (flat / "005.png").unlink()
    (flat / "005.png").symlink_to("/nowhere/at/all.png")
    with ps.Loader(flat, batch_size=12, output="numpy", on_error="skip") as loader:
        assert drain(loader) == 11
        assert loader.stats()["errors"][0]["uri"] == str(flat / "005.png")


def test_a_fifo_among_the_images_does_not_hang(flat):
    (flat / "005.png").unlink()
    os.mkfifo(flat / "005.png")
    with ps.Loader(flat, batch_size=12, output="numpy", on_error="skip") as loader:
        assert drain(loader) == 11


# -- .npy -------------------------------------------------------------------------------------------


def npy(header, body=b"", version=1, length=None):
    text = header.encode() if isinstance(header, str) else header
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", size) + text + body


def array_header(descr="<f4", shape="(4, 6)", order="False"):
    return f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n"


HOSTILE_NPY = {
    "empty": b"",
    "magic only": b"\x93NUMPY",
    "not npy": b"PK\x03\x04" + b"\0" * 200,
    "object dtype": npy(array_header("|O"), b"\x80\x04" + b"x" * 96),
    "structured dtype": npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4, 6), }\n", b"\0" * 96),
    "text dtype": npy(array_header("<U3"), b"\0" * 400),
    "time dtype": npy(array_header("<M8[ns]"), b"\0" * 192),
    "unknown dtype": npy(array_header("<f3"), b"\0" * 96),
    "shape larger than the data": npy(array_header(shape="(4, 60)"), b"\0" * 96),
    "shape smaller than the data": npy(array_header(shape="(4, 5)"), b"\0" * 96),
    "shape that overflows": npy(array_header(shape="(4294967296, 4294967296, 4)"), b"\0" * 96),
    "shape beyond 64 bits": npy(array_header(shape="(99999999999999999999999, 1)"), b"\0" * 96),
    "negative shape": npy(array_header(shape="(-4, -6)"), b"\0" * 96),
    "sixty axes": npy(array_header(shape="(" + "1, " * 60 + ")"), b"\0" * 4),
    "header of 4 GiB": npy("{", version=2, length=2**32 - 1),
    "header longer than the file": npy(array_header(), b"", length=60000),
    "header that is code": npy("__import__('os').system('true')\n", b"\0" * 96),
    "header that is not closed": npy("{'descr': '<f4', 'shape': (4,\n", b"\0" * 96),
    "header nested deeply": npy("{" * 5000, b"\0" * 96),
    "version 9": npy(array_header(), b"\0" * 96, version=9),
    "cut data": npy(array_header(), b"\0" * 95),
}


@pytest.mark.parametrize("name", HOSTILE_NPY)
def test_a_hostile_npy_among_others_is_one_error_that_names_it(arrays, name):
    bad = arrays / "05.npy"
    bad.write_bytes(HOSTILE_NPY[name])
    with ps.Loader(arrays, batch_size=5, output="numpy") as loader:
        epoch = iter(loader)
        assert len(next(epoch)) == 5
        with pytest.raises(ps.Error) as caught:
            next(epoch)
    assert caught.value.uri == str(bad) and caught.value.sample == 5 and caught.value.offset == 0
    with ps.Loader(arrays, batch_size=5, output="numpy", on_error="skip") as loader:
        assert [len(batch) for batch in loader] == [5, 4]
        assert_accounts(loader.stats())


@pytest.mark.parametrize("name", [n for n in HOSTILE_NPY if n not in ("shape smaller than the data", "time dtype")])
def test_a_hostile_big_npy_is_refused_at_opening(tmp_path, name):
    path = tmp_path / "x.npy"
    path.write_bytes(HOSTILE_NPY[name])
    with pytest.raises(ps.Error) as caught:
        ps.Loader(path)
    assert caught.value.uri == str(path)


def test_a_big_npy_without_rows_is_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((0, 3)))
    with pytest.raises(ps.Error):
        ps.Loader(tmp_path / "x.npy")


def test_an_npy_of_another_shape_or_type_is_an_error_of_that_sample(arrays):
    for value in (np.zeros((4, 7), np.float32), np.zeros((6, 4), np.float32), np.zeros((4, 6), np.float64)):
        np.save(arrays / "05.npy", value)
        with ps.Loader(arrays, batch_size=10, output="numpy") as loader, pytest.raises(ps.Error) as caught:
            drain(loader)
        assert caught.value.sample == 5


def test_objects_in_npy_are_never_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "sprung"),))

    np.save(tmp_path / "x.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(ps.Error):
        ps.Loader(tmp_path / "x.npy")
    assert not (tmp_path / "sprung").exists()


# -- files that change while in use -----------------------------------------------------------------


@pytest.mark.parametrize("change", ["shrinks", "grows", "is replaced", "vanishes"])
def test_a_file_that_changes_while_in_use_is_an_error(tmp_path, change):
    for i in range(40):
        save_png(tmp_path / f"{i:02}.png", np.full((8, 8, 3), i, np.uint8))
    victim = tmp_path / "30.png"
    with ps.Loader(tmp_path, batch_size=1, output="numpy", threads=1, prefetch=2) as loader:
        epoch = iter(loader)
        next(epoch)
        content = victim.read_bytes()
        if change == "shrinks":
            os.truncate(victim, 20)
        elif change == "grows":
            victim.write_bytes(content + b"\0" * 10)
        elif change == "is replaced":
            save_png(tmp_path / "new.png", noise((8, 8, 3)))
            os.replace(tmp_path / "new.png", victim)
        else:
            victim.unlink()
        with pytest.raises(ps.Error) as caught:
            drain(epoch)
    assert caught.value.uri == str(victim) and caught.value.sample == 30
    assert caught.value.code == ("not_found" if change == "vanishes" else "changed")


def test_a_big_npy_that_shrinks_while_in_use_is_an_error_and_no_crash(tmp_path):
    np.save(tmp_path / "x.npy", np.zeros((5000, 1000), np.float32))
    with ps.Loader(tmp_path / "x.npy", batch_size=10, output="numpy", threads=2, prefetch=2) as loader:
        epoch = iter(loader)
        next(epoch)
        os.truncate(tmp_path / "x.npy", 5000)
        with pytest.raises(ps.Error) as caught:
            drain(epoch)
    assert caught.value.uri == str(tmp_path / "x.npy") and caught.value.sample is not None


def test_a_folder_that_vanishes_before_iterating_is_an_error(flat):
    with ps.Loader(flat, batch_size=4, output="numpy") as loader:
        shutil.rmtree(flat)
        with pytest.raises(ps.Error):
            drain(loader)
