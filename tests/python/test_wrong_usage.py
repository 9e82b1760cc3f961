"""Sources that are not there, and arguments that are wrong: what the error says."""

import os
import pickle

import numpy as np
import pytest

import penstock as ps
from bad_samples import drain
from pictures import noise, save_png


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


def test_errors_can_be_pickled(flat):
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
