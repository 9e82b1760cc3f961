"""Metadata of Zarr that cannot be meant, or would lead out of the group: refused by name."""

import json

import pytest

import penstock as ps
from zarr_writers import assert_one_line, write_raw_v2, write_raw_v3


def refused(path, *words, **options):
    with pytest.raises(ps.Error) as caught:
        ps.Zarr(path, **options)
    assert_one_line(caught.value)
    for word in words:
        assert word in str(caught.value)
    assert caught.value.uri.startswith(str(path))
    return caught.value


V2 = {
    "unknown compressor": ({"compressor": {"id": "lzma2000", "preset": 1}}, "lzma2000", "unsupported"),
    "unknown filter": ({"filters": [{"id": "frobnicate"}]}, "frobnicate", "unsupported"),
    "pickle": ({"filters": [{"id": "pickle", "protocol": 4}]}, "pickle", "unsupported"),
    "pickled objects": ({"dtype": "|O", "filters": [{"id": "pickle"}]}, "|O", "unsupported"),
    "objects": ({"dtype": "|O"}, "|O", "unsupported"),
    "strings": ({"dtype": "<U10"}, "<U10", "unsupported"),
    "structured": ({"dtype": [["a", "<i4"], ["b", "<f8"]]}, "structured", "unsupported"),
    "no dtype": ({"dtype": None}, "dtype", None),
    "rank of chunks": ({"chunks": [2]}, "chunks", "corrupt"),
    "chunks of nothing": ({"chunks": [0, 8]}, "chunks", "corrupt"),
    "negative shape": ({"shape": [-1, 8]}, "shape", "corrupt"),
    "shape of floats": ({"shape": [12.5, 8]}, "shape", "corrupt"),
    "endless shape": ({"shape": [2**62, 2**62]}, "2^63", "too_large"),
    "chunk of a petabyte": ({"shape": [2**20, 2**30], "chunks": [2**20, 2**30]}, "chunk", "too_large"),
    "fill value out of range": ({"dtype": "|u1", "fill_value": 256}, "fill_value", "corrupt"),
    "fill value of text": ({"fill_value": "many"}, "fill_value", "corrupt"),
    "order": ({"order": "X"}, "order", "corrupt"),
    "format": ({"zarr_format": 7}, "zarr_format", "unsupported"),
    "separator": ({"dimension_separator": "\\"}, "separator", None),
    "scale of zero": ({"filters": [{"id": "fixedscaleoffset", "scale": 0, "offset": 1, "dtype": "<i4"}]}, "scale",
                      "corrupt"),
    "too many codecs": ({"filters": [{"id": "zlib"}] * 1000}, "filters", "corrupt"),
}


@pytest.mark.parametrize("name", V2)
def test_version_2_metadata_that_cannot_be_meant_are_refused_by_name(tmp_path, name):
    metadata, word, code = V2[name]
    error = refused(write_raw_v2(tmp_path / "a", **({"shape": (12, 8), "chunks": (2, 8)} | metadata)), word)
    assert code is None or error.code == code
    assert error.uri in (str(tmp_path / "a"), str(tmp_path / "a" / ".zarray"))


LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}
V3 = {
    "unknown codec": ({"codecs": [LITTLE, {"name": "zfp", "configuration": {}}]}, "zfp"),
    "unknown prefixed codec": ({"codecs": [LITTLE, {"name": "numcodecs.pcodec"}]}, "pcodec"),
    "pickle": ({"codecs": [LITTLE, {"name": "numcodecs.pickle"}]}, "pickle"),
    "no codec to bytes": ({"codecs": [{"name": "zstd", "configuration": {"level": 1}}]}, ""),
    "bytes twice": ({"codecs": [LITTLE, LITTLE]}, "bytes"),
    "unknown type": ({"data_type": "float8_e4m3"}, "float8_e4m3"),
    "strings": ({"data_type": "string"}, "string"),
    "unknown grid": ({"chunk_grid": {"name": "rectilinear", "configuration": {}}}, "rectilinear"),
    "transformer": ({"storage_transformers": [{"name": "x"}]}, "storage_transformers"),
    "unknown member": ({"new_feature": {"must_understand": True}}, "new_feature"),
    "transpose twice an axis": ({"codecs": [{"name": "transpose", "configuration": {"order": [0, 0]}}, LITTLE]}, "transpose"),
    "transpose of three": ({"codecs": [{"name": "transpose", "configuration": {"order": [0, 1, 2]}}, LITTLE]}, "transpose"),
    "sharding unequal": ({"codecs": [{"name": "sharding_indexed", "configuration": {
        "chunk_shape": [2, 3], "codecs": [LITTLE], "index_codecs": [LITTLE]}}]}, "chunk"),
    "names": ({"dimension_names": ["a"]}, "dimension_names"),
    "no endian": ({"codecs": [{"name": "bytes"}]}, "endian"),
}


@pytest.mark.parametrize("name", V3)
def test_version_3_metadata_that_cannot_be_meant_are_refused_by_name(tmp_path, name):
    metadata, word = V3[name]
    error = refused(write_raw_v3(tmp_path / "a", (12, 8), (2, 8), **metadata), word)
    assert error.code in ("unsupported", "corrupt")


def test_an_unknown_member_that_need_not_be_understood_is_none_to_stop_at(tmp_path):
    path = write_raw_v3(tmp_path / "a", (12, 8), (2, 8), hint={"must_understand": False})
    assert len(ps.Zarr(path)) == 12


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\xff\xfe", "{\"zarr_format\": 3}", "{\"zarr_format\": 2}",
                                  "[" * 100_000, "{\"a\":" * 100_000, "{\"a\": " + "9" * 100_000 + "}"],
                         ids=["empty", "open", "list", "null", "no utf-8", "bare 3", "bare 2", "deep list", "deep object",
                              "long number"])
@pytest.mark.parametrize("file", ["zarr.json", ".zarray", ".zmetadata"])
def test_metadata_of_any_text_is_an_error(tmp_path, file, text):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / file).write_text(text, encoding="latin-1")
    refused(tmp_path / "a")


@pytest.mark.parametrize("name", ["../../etc", "/etc/x", "a/../../b", "..", "a//b", "a/./b"])
def test_names_of_consolidated_metadata_do_not_leave_the_group(tmp_path, name):
    write_raw_v2(tmp_path / "outside", (4, 4), (4, 4))
    group = tmp_path / "group"
    group.mkdir()
    zarray = json.loads((tmp_path / "outside" / ".zarray").read_text())
    (group / ".zmetadata").write_text(json.dumps({"zarr_consolidated_format": 1, "metadata": {
        ".zgroup": {"zarr_format": 2}, f"{name}/.zarray": zarray}}))
    refused(group)


@pytest.mark.parametrize("name", ["../outside", "../../etc", "", "/", "."])
def test_a_variable_does_not_leave_the_group(tmp_path, name):
    write_raw_v2(tmp_path / "outside", (4, 4), (4, 4))
    write_raw_v2(tmp_path / "group" / "a", (4, 4), (4, 4))
    (tmp_path / "group" / ".zgroup").write_text('{"zarr_format": 2}')
    assert list(ps.Zarr(tmp_path / "group").fields) == ["a"]
    refused(tmp_path / "group", variables=[name])
