"""TFRecord shards: files of TensorFlow, and Examples written by hand."""

import json
import pathlib
import struct

import numpy as np
import pytest

import penstock as ps
from pictures import jpeg_bytes, smooth
from records import (crc32c, example, flip_byte, frame, make_loader, npy_bytes, plain, png_bytes, read_all, read_numbers,
                     sequence_example, write_tfrecord)

GOLDEN = pathlib.Path(__file__).parent.parent / "golden" / "records"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())


def expected_value(feature, as_text):
    values = feature["values"]
    if as_text:
        return [bytes.fromhex(v).decode() for v in values]
    return values


# -- files that TensorFlow wrote ----------------------------------------------------------------------


def test_the_writer_of_these_tests_writes_what_tensorflow_wrote():
    assert crc32c(b"123456789") == 0xE3069283
    data = b"".join(frame(bytes((size + i) % 256 for i in range(size))) for size in (0, 1, 11, 12, 16, 255))
    assert data == (GOLDEN / "plain.tfrecord").read_bytes()


@pytest.mark.parametrize("name", ["label", "weights", "name", "ints", "many", "gr\u00fc\u00dfe"])
def test_features_of_tensorflows_examples_are_read_alike(name):
    source = ps.TFRecord(GOLDEN / "example.tfrecord")
    having = [i for i, sample in enumerate(EXPECTED["example"]) if name in sample]
    got = read_all(source.subset(having), [name])
    for i, (value,) in zip(having, got):
        want = expected_value(EXPECTED["example"][i][name], as_text=name == "name")
        assert (value if name == "name" else np.atleast_1d(value).tolist()) == want


def test_bytes_that_are_no_text_are_handed_over():
    source = ps.TFRecord(GOLDEN / "example.tfrecord")
    assert source.fields["image"] == "bytes"
    assert [v.hex() for (v,) in read_all(source.subset([0, 1]), ["image"])] == [
        sample["image"]["values"][0] for sample in EXPECTED["example"][:2]]


def test_a_feature_that_never_holds_a_value_is_no_image():
    assert ps.TFRecord(GOLDEN / "example.tfrecord").fields["none"] != "image"


def test_steps_of_tensorflows_sequence_examples_are_read_alike():
    source = ps.TFRecord(GOLDEN / "sequence.tfrecord")
    first = EXPECTED["sequence"][0]
    assert read_all(source.subset([0]), ["frames"]) == [(["one", "two", "three"],)]
    (motion, number), = read_all(source.subset([0]), ["motion", "id"])
    assert motion.shape == (2, 2) and motion.ravel().tolist() == first["motion"]["values"] and number == 12
    (words,), = read_all(source.subset([1]), ["words"])
    assert words.tolist() == EXPECTED["sequence"][1]["words"]["values"]


def test_steps_of_unlike_length_are_refused_by_name():
    with pytest.raises(ps.Error, match="words"):
        read_all(ps.TFRecord(GOLDEN / "sequence.tfrecord").subset([0]), ["words"])


def test_a_file_without_records_says_so():
    with pytest.raises(ps.NotFoundError, match="no records"):
        ps.TFRecord(GOLDEN / "empty.tfrecord")


def test_records_that_are_no_examples_say_so():
    with pytest.raises(ps.Error) as caught:
        ps.TFRecord(GOLDEN / "plain.tfrecord")
    assert "plain.tfrecord" in str(caught.value)


# -- kinds --------------------------------------------------------------------------------------------


@pytest.fixture
def pictures(tmp_path):
    """Twelve Examples: image, label, caption, score, box, raw tensor."""
    records = [example(image=png_bytes(plain(i)), label=i, caption=f"n\u00b0 {i}", score=i / 4, box=[float(i), 1.0, 2.0, 3.0],
                       ids=[i, -i, 2**40 + i], raw=np.arange(12, dtype=np.float32).tobytes(), junk=b"\xff\xfe" + bytes([i]))
               for i in range(12)]
    return write_tfrecord(tmp_path / "a.tfrecord", records)


def test_kinds_are_told_by_the_values(pictures):
    assert ps.TFRecord(pictures).fields == {"image": "image", "box": "array", "ids": "array", "score": "array",
                                            "label": "integer", "caption": "text", "junk": "bytes", "raw": "bytes"}


def test_every_kind_comes_as_it_was_written(pictures):
    with make_loader(pictures, 12, fields={n: n for n in ps.TFRecord(pictures).fields} | {"key": "key"}) as loader:
        batch = next(iter(loader))
    assert batch["image"][:, 0, 0, 0].tolist() == batch["label"].tolist() == list(range(12))
    assert batch["score"].dtype == np.float32 and batch["score"].tolist() == [i / 4 for i in range(12)]
    assert batch["box"].shape == (12, 4) and batch["box"][:, 0].tolist() == list(range(12))
    assert batch["ids"].dtype == np.int64 and batch["ids"].tolist() == [[i, -i, 2**40 + i] for i in range(12)]
    assert batch["caption"][3] == "n\u00b0 3" and batch["junk"][5] == b"\xff\xfe\x05" and batch["key"][11] == "a.tfrecord:11"


@pytest.mark.parametrize("packed", [True, False])
def test_numbers_are_read_packed_and_one_by_one(tmp_path, packed):
    ints, floats = [0, -1, 2**63 - 1, -(2**63), 300], [1.5, -0.0, 3e38]
    write_tfrecord(tmp_path / "a.tfrecord", [example(packed, i=ints, f=floats)] * 2)
    with make_loader(tmp_path / "a.tfrecord", 2, fields=["i", "f"]) as loader:
        i, f = next(iter(loader))
    assert i.tolist() == [ints] * 2 and np.array_equal(f, np.float32([floats] * 2))


@pytest.mark.parametrize("type, dtype, shape", [("float32[3,4]", np.float32, (3, 4)), ("uint8[48]", np.uint8, (48,)),
                                                ("int16[2,3,4]", np.int16, (2, 3, 4)), ("float64[6]", np.float64, (6,))])
def test_raw_tensors_are_arrays_where_kinds_say_so(tmp_path, type, dtype, shape):
    arrays = [np.random.default_rng(i).integers(0, 100, shape).astype(dtype) for i in range(3)]
    write_tfrecord(tmp_path / "a.tfrecord", [example(x=a.tobytes()) for a in arrays])
    with make_loader(ps.TFRecord(tmp_path / "a.tfrecord", kinds={"x": type}), 3) as loader:
        batch = next(iter(loader))
    assert batch.dtype == dtype and np.array_equal(batch, np.stack(arrays))


def test_a_list_of_floats_gets_the_shape_that_kinds_say_or_is_refused(tmp_path):
    write_tfrecord(tmp_path / "a.tfrecord", [example(x=[float(i + j) for j in range(6)]) for i in range(3)])
    try:
        with make_loader(ps.TFRecord(tmp_path / "a.tfrecord", kinds={"x": "float32[2,3]"}), 3) as loader:
            assert next(iter(loader)).shape == (3, 2, 3)
    except ps.UsageError as error:
        assert "x" in str(error)


def test_numbers_of_another_type_than_kinds_say_are_not_passed_off_as_it(tmp_path):
    write_tfrecord(tmp_path / "a.tfrecord", [example(x=[1, 2, 3])] * 2)
    try:
        with make_loader(ps.TFRecord(tmp_path / "a.tfrecord", kinds={"x": "float32[3]"}), 2) as loader:
            batch = next(iter(loader))
        assert batch.dtype == np.float32 and batch.tolist() == [[1, 2, 3]] * 2
    except ps.Error as error:
        assert "x" in str(error)


def test_npy_files_and_masks_within_records(tmp_path):
    grid = np.arange(600).reshape(20, 30) % 200
    records = [example(image=png_bytes(np.repeat(grid[:, :, None], 3, 2).astype(np.uint8)),
                       mask=png_bytes(grid.astype(np.uint8)), array=npy_bytes(np.full((2, 2), i))) for i in range(3)]
    write_tfrecord(tmp_path / "a.tfrecord", records)
    source = ps.TFRecord(tmp_path / "a.tfrecord", kinds={"mask": "mask", "array": "npy"})
    steps = [ps.RandomCrop(12)]
    with make_loader(source, 3, fields=["image", "mask", "array"], transform={"image": steps, "mask": steps}) as loader:
        images, masks, arrays = next(iter(loader))
    assert np.array_equal(images[:, 0], masks.reshape(3, 12, 12)) and arrays[2].tolist() == [[2, 2], [2, 2]]


def test_several_texts_in_one_feature_are_a_list(tmp_path):
    texts = [["a"], [], ['say "hi"', "back\\slash", "line\nbreak", "\u96ea\x01\t"]]
    write_tfrecord(tmp_path / "a.tfrecord", [example(t=t if t else None) for t in texts])
    assert [v for (v,) in read_all(tmp_path / "a.tfrecord", ["t"])] == texts


def test_lists_of_varying_length_are_padded_or_listed(tmp_path):
    lists = [[1.0], [1.0, 2.0, 3.0], [4.0, 5.0]]
    write_tfrecord(tmp_path / "a.tfrecord", [example(x=v, y=i) for i, v in enumerate(lists)])
    with make_loader(tmp_path / "a.tfrecord", 3, fields=["x", "y"], collate="pad", pad_value=-1) as loader:
        x, lengths, y = next(iter(loader))
    assert x.tolist() == [[1, -1, -1], [1, 2, 3], [4, 5, -1]] and lengths.tolist() == [1, 3, 2] and y.tolist() == [0, 1, 2]
    assert [v.tolist() for v, _ in read_all(tmp_path / "a.tfrecord", ["x", "y"])] == lists


def test_a_list_that_is_empty_in_some_samples_has_length_zero(tmp_path):
    write_tfrecord(tmp_path / "a.tfrecord", [example(x=[1, 2]), example(x=[]), example(x=None), example(x=[3])])
    with make_loader(tmp_path / "a.tfrecord", 4, fields=["x"], collate="pad") as loader:
        x, lengths = next(iter(loader))
    assert x.tolist() == [[1, 2], [0, 0], [0, 0], [3, 0]] and lengths.tolist() == [2, 0, 0, 1]


def test_varying_lists_that_are_to_be_stacked_say_what_to_do(tmp_path):
    write_tfrecord(tmp_path / "a.tfrecord", [example(x=[1, 2]), example(x=[1, 2, 3])])
    with make_loader(tmp_path / "a.tfrecord", 2) as loader, pytest.raises(ps.Error, match="collate|pad") as caught:
        list(loader)
    assert caught.value.sample == 1


def test_sequence_examples_of_different_lengths_are_padded(tmp_path):
    records = [sequence_example({"id": i}, words=[[j] for j in range(i)], moves=[[j / 2, 1.0] for j in range(i)]) for i in (2, 4, 1)]
    write_tfrecord(tmp_path / "a.tfrecord", records)
    with make_loader(tmp_path / "a.tfrecord", 3, fields={"w": "words", "m": "moves", "id": "id"}, collate="pad") as loader:
        batch = next(iter(loader))
    assert batch["id"].tolist() == [2, 4, 1] == batch["w_lengths"].tolist()
    assert batch["w"].tolist() == [[0, 1, 0, 0], [0, 1, 2, 3], [0, 0, 0, 0]]
    assert batch["m"].shape == (3, 4, 2) and batch["m_lengths"].tolist() == [[2, 2], [4, 2], [1, 2]]
    assert batch["m"][1, :, 0].tolist() == [0, 0.5, 1, 1.5]


def test_a_sequence_without_steps_among_longer_ones_is_of_length_zero(tmp_path):
    records = [sequence_example(moves=[[j / 2, 1.0] for j in range(i)]) for i in (2, 0, 1)]
    write_tfrecord(tmp_path / "a.tfrecord", records)
    with make_loader(tmp_path / "a.tfrecord", 3, fields=["moves"], collate="pad") as loader:
        moves, lengths = next(iter(loader))
    assert moves.shape == (3, 2, 2) and lengths[1, 0] == 0 and lengths[2].tolist() == [1, 2]


def test_features_that_only_some_records_have_come_when_asked_for(tmp_path):
    write_tfrecord(tmp_path / "a.tfrecord", [example(y=i, **({"extra": "x"} if i % 2 else {})) for i in range(4)])
    source = ps.TFRecord(tmp_path / "a.tfrecord")
    assert read_numbers(source, "y") == [0, 1, 2, 3]
    with make_loader(source) as loader:
        assert next(iter(loader)).tolist() == [0, 1, 2, 3]
    with make_loader(source, fields=["extra"]) as loader, pytest.raises(ps.NotFoundError, match="extra") as caught:
        list(loader)
    assert caught.value.sample == 0
    assert read_all(source.subset([1, 3]), ["extra"]) == [("x",), ("x",)]


def test_a_label_that_is_a_list_farther_on_is_an_error_that_names_it(tmp_path):
    write_tfrecord(tmp_path / "a.tfrecord", [example(y=[i] if i != 301 else [1, 2]) for i in range(400)])
    with make_loader(tmp_path / "a.tfrecord", 50) as loader, pytest.raises(ps.Error, match='"y"') as caught:
        list(loader)
    assert caught.value.sample == 301 and caught.value.uri.endswith("a.tfrecord")


@pytest.mark.parametrize("bad", [b"", b"not a picture", png_bytes(plain(1))[:20]])
def test_one_bad_image_among_many_does_not_make_the_field_something_else(tmp_path, bad):
    records = [example(image=bad if i == 5 else png_bytes(plain(i)), y=i) for i in range(30)]
    source = ps.TFRecord(write_tfrecord(tmp_path / "a.tfrecord", records))
    assert source.fields["image"] == "image"
    with make_loader(source, 30, fields=["image", "y"], on_error="skip") as loader:
        (images, labels), = loader
    assert labels.tolist() == images[:, 0, 0, 0].tolist() == [i for i in range(30) if i != 5]


# -- checksums and damage -----------------------------------------------------------------------------


def place_of(path, number):
    data, at = pathlib.Path(path).read_bytes(), 0
    for _ in range(number):
        at += struct.unpack_from("<Q", data, at)[0] + 16
    return at


def test_a_flipped_bit_in_the_data_is_an_error_that_names_record_and_sample(pictures):
    start = place_of(pictures, 7)
    flip_byte(pictures, start + 12 + 40)
    with make_loader(pictures, 4, fields=["label"]) as loader, pytest.raises(ps.Error, match="checksum") as caught:
        list(loader)
    assert caught.value.uri == str(pictures) and caught.value.sample == 7 and start <= caught.value.offset <= start + 60


def test_a_flipped_checksum_of_the_data_is_an_error_too(pictures):
    flip_byte(pictures, place_of(pictures, 8) - 2)
    with make_loader(pictures, 4, fields=["label"]) as loader, pytest.raises(ps.Error, match="checksum") as caught:
        list(loader)
    assert caught.value.sample == 7


@pytest.mark.parametrize("within", [1, 9])
def test_a_flipped_length_or_its_checksum_is_found_when_the_file_is_indexed(pictures, within):
    start = place_of(pictures, 7)
    flip_byte(pictures, start + within)
    with pytest.raises(ps.Error) as caught:
        ps.TFRecord(pictures)
    assert caught.value.uri == str(pictures) and caught.value.offset == start


def test_damage_is_skipped_and_counted_where_that_is_asked_for(pictures):
    flip_byte(pictures, place_of(pictures, 7) + 12 + 40)
    with make_loader(pictures, 4, fields=["label"], on_error="skip") as loader:
        assert [int(v) for (labels,) in loader for v in labels] == [i for i in range(12) if i != 7]


def test_without_verify_the_checksum_of_the_data_is_not_looked_at(tmp_path):
    path = write_tfrecord(tmp_path / "a.tfrecord", [example(y=i, pad=b"\xff" * 50) for i in range(5)])
    flip_byte(path, place_of(path, 3) - 2)
    assert read_numbers(ps.TFRecord(path, verify=False), "y") == [0, 1, 2, 3, 4]
    with pytest.raises(ps.Error, match="checksum"):
        read_numbers(ps.TFRecord(path), "y")


@pytest.mark.parametrize("less", [1, 4, 15, 30])
def test_a_cut_file_names_where_it_ends(pictures, less):
    last = place_of(pictures, 11)
    pictures.write_bytes(pictures.read_bytes()[:-less])
    with pytest.raises(ps.Error) as caught:
        ps.TFRecord(pictures)
    assert caught.value.code == "truncated" and caught.value.uri == str(pictures)
    assert caught.value.offset == last


def test_a_file_cut_at_a_records_end_is_noticed_by_what_the_index_knew(pictures):
    assert len(ps.TFRecord(pictures)) == 12
    pictures.write_bytes(pictures.read_bytes()[:place_of(pictures, 9)])
    with pytest.raises(ps.Error, match="cut") as caught:
        ps.TFRecord(pictures)
    assert caught.value.code == "truncated" and caught.value.uri == str(pictures) and caught.value.sample == 9
    assert "9" in str(caught.value) and "12" in str(caught.value)
    # The way out that the message names is one.
    kept = pathlib.Path(str(caught.value).split("remove ")[1].split(")")[0])
    kept.unlink()
    assert len(ps.TFRecord(pictures)) == 9


def test_a_file_that_is_no_tfrecord_says_so(tmp_path):
    (tmp_path / "a.tfrecord").write_bytes(b"certainly not a TFRecord file, is it?" * 20)
    with pytest.raises(ps.Error) as caught:
        ps.TFRecord(tmp_path / "a.tfrecord")
    assert caught.value.offset == 0 and "a.tfrecord" in str(caught.value)


# -- shards -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x-{:05}-of-00003", "x{}.tfrecord", "x{}.tfrecords", "x{}.tfrec"])
def test_shards_are_known_by_their_names(tmp_path, name):
    for shard in range(3):
        write_tfrecord(tmp_path / name.format(shard), [example(y=shard * 4 + i) for i in range(4)])
    assert read_numbers(str(tmp_path / "x*"), "y") == list(range(12)) == read_numbers(tmp_path, "y")


def test_empty_shards_among_others_are_no_trouble(tmp_path):
    write_tfrecord(tmp_path / "a.tfrecord", [])
    write_tfrecord(tmp_path / "b.tfrecord", [example(y=0), example(y=1)])
    write_tfrecord(tmp_path / "c.tfrecord", [])
    write_tfrecord(tmp_path / "d.tfrecord", [example(y=2)])
    write_tfrecord(tmp_path / "e.tfrecord", [])
    source = ps.TFRecord(tmp_path)
    assert read_numbers(source, "y") == [0, 1, 2] and [source.key(i) for i in range(3)] == ["b.tfrecord:0", "b.tfrecord:1", "d.tfrecord:0"]
    assert sorted(read_numbers(source, "y", shuffle="window")) == [0, 1, 2]


def test_the_second_opening_uses_the_kept_index(pictures):
    assert not ps.TFRecord(pictures)._handle.index_was_saved()
    assert ps.TFRecord(pictures)._handle.index_was_saved() and read_numbers(pictures, "label") == list(range(12))


@pytest.mark.parametrize("shuffle", [True, "window"])
def test_every_record_comes_once_shuffled_and_resumed(tmp_path, shuffle):
    for shard in range(3):
        write_tfrecord(tmp_path / f"{shard}.tfrecord", [example(y=shard * 20 + i) for i in range(20)])
    whole = read_numbers(tmp_path, "y", shuffle=shuffle, seed=2)
    assert sorted(whole) == list(range(60)) and whole != sorted(whole)
    with make_loader(tmp_path, 4, shuffle=shuffle, seed=2) as loader:
        batches = iter(loader)
        first = [next(batches).tolist() for _ in range(5)]
        state = loader.state_dict()
    with make_loader(tmp_path, 4, shuffle=shuffle, seed=2, threads=1) as loader:
        loader.load_state_dict(state)
        assert sum(first, []) + [int(v) for batch in loader for v in batch] == whole


def test_compressed_records_are_read_as_plain_ones(tmp_path):
    records = [example(image=jpeg_bytes(smooth(16, 16, seed=i)), y=i) for i in range(10)]
    write_tfrecord(tmp_path / "a.tfrecord", records)
    write_tfrecord(tmp_path / "b.tfrecord.gz", records)
    plain_ones = read_all(tmp_path / "a.tfrecord", ["image", "y"])
    packed = read_all(tmp_path / "b.tfrecord.gz", ["image", "y"])
    assert len(packed) == 10 and all(np.array_equal(a, b) and x == y for (a, x), (b, y) in zip(plain_ones, packed))


@pytest.mark.parametrize("give, words", [(dict(kinds={"lable": "integer"}), 'did you mean "label"'),
                                         (dict(kinds={"label": "number"}), '"number"')])
def test_wrong_kinds_are_named(pictures, give, words):
    with pytest.raises(ps.UsageError) as caught:
        ps.TFRecord(pictures, **give)
    assert words in str(caught.value)


def test_a_kind_that_the_values_do_not_fit_is_an_error_with_file_and_sample(pictures):
    for kinds in ({"caption": "image"}, {"caption": "integer"}, {"caption": "json"}, {"raw": "float32[13]"}):
        (name,) = kinds
        with pytest.raises(ps.Error) as caught:
            with make_loader(ps.TFRecord(pictures, kinds=kinds), fields=[name]) as loader:
                list(loader)
        assert "a.tfrecord" in str(caught.value) and caught.value.sample == 0, kinds


def test_a_kind_that_numbers_cannot_be_is_refused_at_once(pictures):
    for kind in ("image", "json", "bytes", "float32[1]"):
        with pytest.raises(ps.UsageError, match="label.*int64"):
            ps.TFRecord(pictures, kinds={"label": kind})
