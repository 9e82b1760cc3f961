"""Damaged, hostile and changing files; policies; wrong arguments."""

import os
import struct
import zlib

import numpy as np
import pytest

import penstock as ps
from pictures import jpeg_bytes, noise, save_jpeg, save_png, smooth


def drain(loader):
    return sum(len(batch) for batch in loader)


def assert_accounts(stats):
    assert stats["planned"] == stats["delivered"] + stats["skipped"] + stats["failed"]
    for epoch in stats["epochs"]:
        assert epoch["planned"] == epoch["delivered"] + epoch["skipped"] + epoch["failed"]


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
    import shutil
    with ps.Loader(flat, batch_size=4, output="numpy") as loader:
        shutil.rmtree(flat)
        with pytest.raises(ps.Error):
            drain(loader)


# -- policies ---------------------------------------------------------------------------------------


def spoil(folder, which):
    for i in which:
        (folder / f"{i:03}.png").write_bytes(b"bad")


def test_more_bad_samples_than_max_skip_stop_the_run_and_say_so(flat):
    spoil(flat, [2, 5])
    with ps.Loader(flat, batch_size=4, output="numpy", on_error="skip") as loader:
        with pytest.raises(ps.Error, match="max_skip") as caught:
            drain(loader)
        stats = loader.stats()
    assert caught.value.code == "too_many_skipped" and caught.value.uri.endswith("005.png")
    assert_accounts(stats)
    with ps.Loader(flat, batch_size=4, output="numpy", on_error="skip", max_skip=0.5) as loader:
        assert drain(loader) == 10
    with ps.Loader(flat, batch_size=4, output="numpy", on_error="replace") as loader, pytest.raises(ps.Error):
        drain(loader)


def test_a_batch_of_nothing_but_bad_samples_is_left_out(flat):
    spoil(flat, [4, 5, 6, 7])
    with ps.Loader(flat, batch_size=4, output="numpy", on_error="skip", max_skip=1) as loader:
        assert [len(batch) for batch in loader] == [4, 4]


def test_with_several_ranks_a_batch_of_bad_samples_is_empty_so_that_ranks_keep_step(flat):
    spoil(flat, [4, 5])
    lengths = []
    for rank in range(2):
        with ps.Loader(flat, batch_size=2, output="numpy", on_error="skip", max_skip=1, rank=rank,
                       world_size=2) as loader:
            lengths.append([len(batch) for batch in loader])
    assert lengths == [[2, 0, 2], [2, 2, 2]]


def test_skipped_text_fields_stay_in_step_with_their_images(flat):
    spoil(flat, [5])
    with ps.Loader(flat, batch_size=12, output="numpy", on_error="skip", fields=["key", "image"]) as loader:
        keys, images = next(iter(loader))
    assert [int(key[:3]) for key in keys] == images[:, 0, 0, 0].tolist() == [i for i in range(12) if i != 5]


def test_stand_ins_are_chosen_by_the_seed_alone(flat):
    spoil(flat, [2, 5])

    def run(threads, seed=0):
        with ps.Loader(flat, batch_size=5, output="numpy", on_error="replace", max_skip=1, threads=threads,
                       seed=seed, fields=["key", "image"]) as loader:
            return [(keys, images[:, 0, 0, 0].tolist()) for keys, images in loader]

    assert run(1) == run(2) == run(4)
    for keys, values in run(1):
        assert [int(key[:3]) for key in keys] == values
    assert any(run(1, seed) != run(1) for seed in range(1, 6))


def test_nothing_but_bad_files_is_an_error_even_where_bad_ones_are_skipped(flat):
    spoil(flat, range(12))
    for policy in ("raise", "skip", "replace"):
        with pytest.raises(ps.Error):
            with ps.Loader(flat, batch_size=4, output="numpy", on_error=policy, max_skip=1) as loader:
                assert drain(loader) == 0
                raise ps.Error("skipped all, as allowed")


def test_after_an_error_the_next_epoch_can_be_tried(flat):
    good = (flat / "005.png").read_bytes()
    (flat / "005.png").write_bytes(b"\0" * len(good))
    with ps.Loader(ps.ImageFolder(flat), batch_size=4, output="numpy") as loader:
        epoch = iter(loader)
        next(epoch)
        for _ in range(2):
            with pytest.raises(ps.Error):
                next(epoch)
        with pytest.raises(ps.Error):
            drain(loader)
        assert loader.stats()["failed"] == 8
        assert_accounts(loader.stats())


def test_errors_list_the_first_hundred(tmp_path):
    for i in range(130):
        (tmp_path / f"{i:03}.png").write_bytes(b"bad")
    save_png(tmp_path / "good.png", noise((4, 4, 3)))
    with ps.Loader(tmp_path, batch_size=10, transform=[ps.Resize((4, 4))], on_error="skip", max_skip=1,
                   output="numpy") as loader:
        assert drain(loader) == 1
        stats = loader.stats()
    assert stats["skipped"] == 130 and len(stats["errors"]) == 100
    assert set(stats["errors"][0]) >= {"uri", "offset", "length", "sample", "message"}


# -- nothing there ----------------------------------------------------------------------------------


def test_a_mistyped_path_suggests_the_right_one(classes):
    with pytest.raises(FileNotFoundError, match="did you mean .*classes") as caught:
        ps.Loader(classes.parent / "clases")
    assert isinstance(caught.value, ps.NotFoundError) and isinstance(caught.value, ps.Error)
    assert caught.value.uri.endswith("clases")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        ps.Loader(classes.parent / "nowhere" / "train")


def test_a_folder_without_images_says_what_it_has(tmp_path):
    with pytest.raises(FileNotFoundError, match="empty"):
        ps.Loader(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "b.svg").write_text("x")
    with pytest.raises(FileNotFoundError, match="no images.*1 .svg, 1 .txt"):
        ps.Loader(tmp_path)
    (tmp_path / "sub").mkdir()
    with pytest.raises(FileNotFoundError):
        ps.Loader(tmp_path)


def test_a_pattern_that_matches_nothing_is_an_error(flat):
    with pytest.raises(FileNotFoundError, match="no file matches"):
        ps.Loader(str(flat / "*.jpg"))
    with pytest.raises(FileNotFoundError):
        ps.Loader(str(flat / "{000..020}.png"))


def test_images_and_arrays_together_want_a_kind(flat):
    np.save(flat / "x.npy", np.zeros(3))
    with pytest.raises(ValueError, match="kind="):
        ps.Loader(flat)
    assert len(ps.Npy(flat)) == 1 and len(ps.ImageFolder(flat)) == 12
    with ps.Loader(flat, kind="npy", output="numpy") as loader:
        assert drain(loader) == 1


@pytest.mark.parametrize("source, message", [("s3://bucket/x", "s3"), ("file:///tmp/x", "file")])
def test_what_this_version_does_not_read_is_said(source, message):
    with pytest.raises(ps.Error, match=message):
        ps.Loader(source)


def test_a_server_that_does_not_exist_is_said_soon():
    with pytest.raises(ps.Error, match="example.invalid"):
        ps.Loader("http://example.invalid/x")


@pytest.mark.parametrize("source", [None, 3, [3], b"bytes"])
def test_a_source_of_the_wrong_type_is_a_type_error(source):
    with pytest.raises(TypeError):
        ps.Loader(source)


def test_an_empty_name_and_a_file_of_another_kind_are_errors(tmp_path):
    with pytest.raises(ValueError):
        ps.Loader("")
    (tmp_path / "x.zip").write_bytes(b"PK")
    with pytest.raises(ps.Error):
        ps.Loader(tmp_path / "x.zip")


def test_file_names_that_are_not_utf8_are_read(tmp_path):
    save_png(tmp_path / "a.png", noise((4, 4, 3)))
    os.rename(os.fsencode(tmp_path / "a.png"), os.fsencode(tmp_path) + b"/\xff\xfe.png")
    with ps.Loader(tmp_path, fields=["key", "image"], output="numpy") as loader:
        (key,), image = next(iter(loader))
    assert os.fsencode(key) == b"\xff\xfe.png" and image.shape == (1, 3, 4, 4)


def test_a_folder_name_that_is_not_utf8_is_read(tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    os.mkdir(folder)
    save_png(os.path.join(folder, "a.png"), noise((4, 4, 3)))
    with ps.Loader(folder, output="numpy") as loader:
        assert drain(loader) == 1
        assert "penstock" in repr(loader)


# -- wrong arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong, right", [("batch_sise", "batch_size"), ("num_workers", "threads"), ("suffle", "shuffle"),
                                          ("transforms", "transform"), ("collate_fn", "collate"), ("wold_size", "world_size"),
                                          ("drop_lst", "drop_last"), ("prefetch_factor", "prefetch")])
def test_a_wrong_keyword_names_the_nearest_right_one(flat, wrong, right):
    with pytest.raises(TypeError, match=f"{wrong}.*did you mean '{right}'"):
        ps.Loader(flat, **{wrong: 1})


def test_a_keyword_like_no_other_lists_them(flat):
    with pytest.raises(TypeError, match="batch_size, bucket_by, cache"):
        ps.Loader(flat, zzzzqqq=1)


@pytest.mark.parametrize("options", [
    {"batch_size": 0}, {"batch_size": -1}, {"shuffle": "yes"}, {"shuffle_window": 0}, {"epoch_size": 0},
    {"seed": -1}, {"threads": 0}, {"threads": 10**6}, {"prefetch": 0}, {"memory": "lots"}, {"memory": -5},
    {"memory": "12GB GB"}, {"memory": 0}, {"on_error": "ignore"}, {"max_skip": 2}, {"max_skip": -0.1},
    {"max_skip": float("nan")}, {"output": "tensorflow"}, {"dtype": "float33"}, {"layout": "CHW"}, {"kind": "parquet"},
    {"device": "cuda:0"}, {"cache": "1 gig"}, {"cache": "1KiB"}, {"cache_form": "raw"}, {"collate": "padded"}, {"fields": ["imge"]}, {"fields": ["image", "image"]},
    {"fields": {"x": "imag"}}, {"transform": {"imag": []}},
    {"layout": "channels_last", "output": "numpy"}, {"dtype": "bfloat16", "output": "numpy"}, {"fields": []}])
def test_wrong_values_are_value_errors(flat, options):
    with pytest.raises(ValueError) as caught:
        ps.Loader(flat, **options)
    assert str(caught.value)


@pytest.mark.parametrize("options", [{"batch_size": 2.5}, {"batch_size": "4"}, {"batch_size": None}, {"batch_size": True},
                                     {"seed": "x"}, {"memory": 1.5}, {"fields": "image"}, {"transform": 3},
                                     {"transform": ["Resize"]},
                                     {"threads": 1.5}, {"on_error": None}, {"layout": 3}, {"fields": [3]}, {"epoch_size": 2.0},
                                     {"rank": "0", "world_size": 2}])
def test_wrong_types_are_type_errors(flat, options):
    with pytest.raises(TypeError):
        ps.Loader(flat, **options)


def test_a_batch_size_beyond_all_memory_is_an_error_not_a_crash(flat):
    for batch_size in (10**9, 2**60, 2**63 - 1):
        with pytest.raises((MemoryError, ValueError)):
            ps.Loader(flat, batch_size=batch_size, output="numpy")


def test_a_field_that_is_not_there_names_the_nearest(classes):
    with pytest.raises(ValueError, match='no field "lable".*did you mean "label"'):
        ps.Loader(classes, fields=["image", "lable"])


def test_a_budget_too_small_for_one_batch_says_how_much_is_needed(photos):
    with pytest.raises(MemoryError, match="give memory= at least") as caught:
        ps.Loader(photos, batch_size=64, transform=[ps.Resize((512, 512))], memory="4MiB", output="numpy")
    assert isinstance(caught.value, ps.MemoryBudgetError) and caught.value.code == "no_memory"
    needed = int(str(caught.value).split("at least ")[1].split()[0])
    with ps.Loader(photos, batch_size=64, transform=[ps.Resize((512, 512))], memory=f"{needed}MiB",
                   output="numpy") as loader:
        assert drain(loader) == 8


def test_an_image_too_large_for_the_budget_is_an_error_of_that_sample(tmp_path):
    save_jpeg(tmp_path / "a.jpg", smooth(32, 32))
    save_png(tmp_path / "b.png", np.zeros((3000, 3000, 3), np.uint8))
    with ps.Loader(tmp_path, batch_size=2, transform=[ps.Resize((32, 32))], memory="6MiB", threads=1,
                   output="numpy") as loader, pytest.raises(MemoryError) as caught:
        drain(loader)
    assert caught.value.sample == 1 and caught.value.uri.endswith("b.png")


def test_errors_can_be_pickled(flat):
    import pickle
    with pytest.raises(ps.Error) as caught:
        ps.Loader(flat / "nothing")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value) and str(again) == str(caught.value) and again.uri == caught.value.uri


def test_a_closed_loader_says_so(flat):
    loader = ps.Loader(flat, output="numpy")
    loader.close()
    loader.close()
    with pytest.raises(ValueError, match="closed"):
        iter(loader)
    assert loader.stats()["planned"] == 0 and "penstock.Loader" in repr(loader)


def test_an_epoch_without_batches_is_empty_and_warned_of(flat, caplog):
    with ps.Loader(flat, batch_size=100, drop_last=True, output="numpy", transform=[ps.Resize((8, 8))]) as loader:
        assert list(loader) == []
    assert "no batches" in caplog.text
