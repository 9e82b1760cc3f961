"""What is packed comes back equal, and other people's tools read it."""

import io
import json
import os
import subprocess

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from packed import assert_same_samples, files_of, members_of, sample
from pictures import noise, save_jpeg, save_png, smooth
from records import crc32c, example, masked_crc, npy_bytes, png_bytes, write_tar, write_tfrecord


def every_kind(path, count=20):
    """A tar whose samples have a field of each kind."""
    files = []
    for i in range(count):
        key = f"dir.v1/{i:04}"
        files += [(f"{key}.png", png_bytes(noise((6 + i % 3, 5, 3), seed=i))),
                  (f"{key}.seg.png", png_bytes(noise((6 + i % 3, 5), seed=i + 100))),
                  (f"{key}.cls", str(i * 7 - 20).encode()), (f"{key}.txt", f"Text {i} ä".encode()),
                  (f"{key}.json", json.dumps({"number": i, "list": [1, None]}).encode()),
                  (f"{key}.npy", npy_bytes(np.arange(6, dtype="<f4").reshape(2, 3) + i)),
                  (f"{key}.scores.npy", npy_bytes(np.arange(i % 4, dtype=">i2"))),
                  (f"{key}.pkl", bytes([i, 0, 255]))]
        if i % 2:
            files.append((f"{key}.extra.txt", b"only here"))
    return write_tar(path, files)


def first_batch(source, **options):
    return next(iter(ps.Loader(source, batch_size=24, output="numpy", layout="NHWC", **options)))


@pytest.fixture
def images(tmp_path):
    """JPEG and PNG files in three classes, one of which is empty in the middle of the alphabet."""
    for i in range(24):
        folder = tmp_path / "images" / ("ant", "zoo.v2")[i % 2]
        save_jpeg(folder / f"{i:02}.jpg", smooth(20, 30, seed=i)) if i % 3 else save_png(
            folder / f"{i:02}.x.png", noise((20, 30, 3), seed=i))
    (tmp_path / "images" / "bee").mkdir()
    return tmp_path / "images"


@pytest.mark.parametrize("format", ["tar", "tfrecord"])
def test_folders_of_images_come_back_with_classes_keys_and_pixels(images, tmp_path, format):
    report = ps.pack(images, tmp_path / "out", format, shard_size="10KiB")
    assert report.samples == 24 and report.shards > 2 and report.shards_skipped == 0
    assert ps.open_source(images).classes == ["ant", "bee", "zoo.v2"]
    assert_same_samples(images, tmp_path / "out")
    assert_same_samples(images, tmp_path / "out" / "penstock-pack.json")
    assert_same_samples(images, str(tmp_path / "out" / f"*.{format}"))


@pytest.mark.parametrize("format", ["tar", "tfrecord"])
def test_every_kind_of_field_comes_back(tmp_path, format):
    source = every_kind(tmp_path / "all.tar")
    ps.pack(source, tmp_path / "out", format, shard_size=8000)
    assert_same_samples(source, tmp_path / "out")


@pytest.mark.parametrize("format", ["tar", "tfrecord"])
def test_records_and_tables_come_back(tmp_path, format):
    records = [example(**{"image/encoded": png_bytes(noise((4, 4, 3), seed=i)), "image/class/label": i,
                          "floats": [0.5 * i, 1.5], "one": 0.25 * i, "many": list(range(i % 3 + 1)), "caption": f"n{i}",
                          "raw": bytes([255, i])}) for i in range(12)]
    source = write_tfrecord(tmp_path / "in.tfrecord", records)
    ps.pack(source, tmp_path / "records", format, shard_size=900)
    assert_same_samples(source, tmp_path / "records")
    table = tmp_path / "table.csv"
    table.write_text("name,label,price\n" + "".join(f"row {i},{'ab'[i % 2]},{i + 0.5}\n" for i in range(9)))
    ps.pack(table, tmp_path / "table", format)
    assert_same_samples(table, tmp_path / "table")


def test_arrays_become_arrays(tmp_path):
    rows = np.random.default_rng(0).normal(size=(50, 3, 4)).astype("<f4")
    np.save(tmp_path / "rows.npy", rows)
    ps.pack(tmp_path / "rows.npy", tmp_path / "out", "npy", shard_size=500)
    files = sorted((tmp_path / "out").glob("array-shard-*.npy"))
    assert len(files) > 3
    assert np.array_equal(np.concatenate([np.load(file) for file in files]), rows)
    assert_same_samples(tmp_path / "rows.npy", tmp_path / "out")
    assert [sample(ps.Npy(files[0]), 1)["array"].tolist()] == [rows[1].tolist()]


def test_images_and_labels_become_arrays(images, tmp_path):
    ps.pack(images, tmp_path / "out", "npy", transform=[ps.Resize((8, 10))])
    pixels, labels = np.load(tmp_path / "out/image-shard-000000.npy"), np.load(tmp_path / "out/label-shard-000000.npy")
    expected, numbers = first_batch(images, transform=[ps.Resize((8, 10))])
    assert pixels.shape == (24, 8, 10, 3) and np.array_equal(pixels, expected)
    assert np.array_equal(labels, numbers) and labels.dtype == np.int64
    packed = ps.open_source(tmp_path / "out")
    assert packed.classes == ["ant", "bee", "zoo.v2"] and packed.targets == ps.open_source(images).targets
    assert sample(packed, 3)["label"] == sample(ps.open_source(images), 3)["label"]


def test_numbers_alone_fit_into_npy(images, tmp_path):
    with pytest.raises(ps.Error, match="another type or shape"):
        save_png(images / "ant" / "zz.png", noise((3, 3, 3)))
        ps.pack(images, tmp_path / "out", "npy")
    with pytest.raises(ps.Error, match=r'field "txt" is text'):
        ps.pack(every_kind(tmp_path / "all.tar"), tmp_path / "out2", "npy", fields=["txt"])


def test_zarr_becomes_tar(tmp_path):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(tmp_path / "z.zarr", mode="w")
    values = np.arange(7 * 4 * 5, dtype="float64").reshape(7, 4, 5)
    group.create_array("t2m", shape=values.shape, chunks=(2, 4, 5), dtype="float64",
                       dimension_names=("time", "lat", "lon"))[:] = values
    ps.pack(ps.Zarr(str(tmp_path / "z.zarr"), ["t2m"], "time"), tmp_path / "out")
    assert [sample(ps.open_source(tmp_path / "out"), i)["t2m"].tolist() for i in range(7)] == values.tolist()


# -- other people's tools ---------------------------------------------------------------------------


def test_gnu_tar_and_python_read_the_tars(images, tmp_path):
    ps.pack(images, tmp_path / "out", shard_size="8KiB")
    names = []
    for path in sorted((tmp_path / "out").glob("*.tar")):
        listed = subprocess.run(["tar", "tf", path], capture_output=True, text=True, check=True)
        assert listed.stderr == ""
        names += listed.stdout.split()
    members = members_of(tmp_path / "out")
    assert names == [name for name, _ in members]
    assert names[:4] == ["ant/00%2Ex.png", "ant/00%2Ex.cls", "ant/02.jpg", "ant/02.cls"]
    by_name = dict(members)
    assert by_name["ant/02.jpg"] == (images / "ant/02.jpg").read_bytes() and by_name["zoo.v2/01.cls"] == b"2"


def test_long_and_strange_names_survive(tmp_path):
    names = ["a" * 90 + "/" + "b" * 90, "c" * 180, "d" * 60 + "/" + "e" * 99, "ümlaut", "per%cent", "x/../y"]
    for i, name in enumerate(names):
        if ".." not in name:
            save_png(tmp_path / "in" / "k" / f"{name}.png", np.full((2, 2, 3), i, np.uint8))
    ps.pack(tmp_path / "in", tmp_path / "out")
    assert_same_samples(tmp_path / "in", tmp_path / "out")
    tar = next((tmp_path / "out").glob("*.tar"))
    listed = subprocess.run(["tar", "tf", tar], capture_output=True, check=True).stdout.decode()
    assert "c" * 180 + ".png" in listed
    assert {name for name, _ in members_of(tmp_path / "out")} >= {"k/" + "c" * 180 + ".png", "k/per%25cent.cls"}


def test_webdataset_reads_the_tars(images, tmp_path):
    wds = pytest.importorskip("webdataset")
    ps.pack(images, tmp_path / "out", shard_size="8KiB")
    shards = [str(path) for path in sorted((tmp_path / "out").glob("*.tar"))]
    found = list(wds.WebDataset(shards, shardshuffle=False).decode("rgb8"))
    source = ps.open_source(images)
    assert len(found) == len(source)
    for i, read in enumerate(found):
        pixels = read["jpg"] if "jpg" in read else read["png"]
        assert read["cls"] == sample(source, i)["label"] and pixels.shape == sample(source, i)["image"].transpose(1, 2, 0).shape
        if "png" in read:
            assert np.array_equal(pixels, sample(source, i)["image"].transpose(1, 2, 0))


def test_the_index_is_optional_for_our_own_reader_too(images, tmp_path):
    ps.pack(images, tmp_path / "out")
    for path in (tmp_path / "out").iterdir():
        if path.suffix != ".tar":
            path.unlink()
    bare = ps.open_source(tmp_path / "out")
    assert dict(bare.fields) == {"image": "image", "cls": "integer"} and len(bare) == 24


def records_of(path):
    """The records of a TFRecord file, whose CRCs are computed here."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        head, length = data[at:at + 8], int.from_bytes(data[at:at + 8], "little")
        assert int.from_bytes(data[at + 8:at + 12], "little") == masked_crc(head)
        record = data[at + 12:at + 12 + length]
        assert int.from_bytes(data[at + 12 + length:at + 16 + length], "little") == masked_crc(record)
        yield record
        at += 16 + length


def test_tfrecords_have_the_checksums_and_names_of_tensorflow(images, tmp_path):
    ps.pack(images, tmp_path / "out", "tfrecord", shard_size="10KiB")
    files = sorted((tmp_path / "out").glob("*.tfrecord"))
    records = [record for path in files for record in records_of(path)]
    assert len(records) == 24
    for name in ("image/encoded", "image/format", "image/class/label", "image/class/text", "image/filename"):
        assert all(name.encode() in record for record in records)


def test_tensorflow_reads_the_tfrecords(images, tmp_path):
    tf = pytest.importorskip("tensorflow")
    ps.pack(images, tmp_path / "out", "tfrecord")
    path = str(next((tmp_path / "out").glob("*.tfrecord")))
    source = ps.open_source(images)
    for i, record in enumerate(tf.data.TFRecordDataset(path)):
        found = tf.train.Example.FromString(record.numpy()).features.feature
        assert found["image/class/label"].int64_list.value[0] == sample(source, i)["label"]
        assert found["image/class/text"].bytes_list.value[0].decode() == source.classes[sample(source, i)["label"]]
        encoded = found["image/encoded"].bytes_list.value[0]
        assert Image.open(io.BytesIO(encoded)).size == (30, 20)


def test_sizes_and_checksums_in_the_manifest_are_those_of_the_files(images, tmp_path):
    ps.pack(images, tmp_path / "out", shard_size="8KiB")
    manifest = json.loads((tmp_path / "out/penstock-pack.json").read_text())
    for shard in manifest["shards"]:
        for file in shard["files"]:
            for name, size, crc in ((file["name"], file["bytes"], file["crc32c"]),
                                    (file["index"], file["index_bytes"], file["index_crc32c"])):
                data = (tmp_path / "out" / name).read_bytes()
                assert len(data) == size and f"{crc32c(data):08x}" == crc
    assert len(files_of(tmp_path / "out")) == 2 * len(manifest["shards"]) + 1


# -- pictures that are encoded anew -----------------------------------------------------------------


def test_changed_images_are_encoded(images, tmp_path):
    ps.pack(images, tmp_path / "png", transform=[ps.Resize(10)], encode="png")
    expected, packed = first_batch(images, transform=[ps.Resize(10)]), first_batch(tmp_path / "png")
    assert np.array_equal(expected[0], packed[0]) and np.array_equal(expected[1], packed[1])
    ps.pack(images, tmp_path / "jpeg", transform=[ps.Resize(10)])
    members = [data for name, data in members_of(tmp_path / "jpeg") if name.endswith(".jpg")]
    assert len(members) == 24 and all(Image.open(io.BytesIO(data)).size == (15, 10) for data in members)
    ps.pack(images, tmp_path / "small", quality=5)
    assert os.path.getsize(tmp_path / "small/shard-000000.tar") < os.path.getsize(tmp_path / "png/shard-000000.tar") * 2
    assert sample(ps.open_source(tmp_path / "small"), 0)["image"].shape == (3, 20, 30)


def test_masks_stay_what_they_are(tmp_path):
    source = every_kind(tmp_path / "all.tar")
    steps = [ps.Resize((12, 10))]
    ps.pack(source, tmp_path / "out", fields=["png", "seg.png"], transform=steps, encode="png")
    for number in range(20):
        kept = sample(ps.open_source(tmp_path / "out"), number)["seg.png"]
        made = first_batch(ps.open_source(source).subset([number]), transform=steps, fields=["png", "seg.png"])[1][0]
        assert np.array_equal(np.squeeze(kept), np.squeeze(made))


def test_normalized_images_become_arrays(images, tmp_path):
    steps = [ps.Resize((8, 8)), ps.Normalize((0.5, 0.5, 0.5), (0.2, 0.2, 0.2))]
    ps.pack(images, tmp_path / "out", transform=steps)
    packed = ps.open_source(tmp_path / "out")
    assert packed.fields["image"] == "array"
    assert np.array_equal(sample(packed, 5)["image"], first_batch(images, transform=steps)[0][5])


def test_a_map_of_texts_is_packed(tmp_path):
    source = every_kind(tmp_path / "all.tar")
    ps.pack(source, tmp_path / "out", fields=["txt", "cls"],
            transform={"txt": [ps.Map(lambda text: text.upper(), fields=["txt"])]})
    assert sample(ps.open_source(tmp_path / "out"), 3)["txt"] == "TEXT 3 Ä"


def test_restart_markers_change_no_pixel(images, tmp_path):
    ps.pack(images, tmp_path / "out", jpeg="restart")
    assert_same_samples(images, tmp_path / "out")
    changed = [data for name, data in members_of(tmp_path / "out") if name.endswith(".jpg")]
    assert all(b"\xff\xdd" in data for data in changed)
