"""Writes small Zarr arrays of every kind with whichever library runs it; beside each, its values as .npy.

    python write_stores.py (zarr | zarrs | tensorstore) FOLDER

Works with zarr-python 2.13 to 3.x. FOLDER/<name> is an array (or a group), FOLDER/<name>.npy what it holds.
"""

import json
import os
import pathlib
import sys

import numpy as np

DTYPES = ("?", "i1", "<i2", "<i4", "<i8", "u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16",
          ">i2", ">u4", ">i8", ">f2", ">f4", ">f8", ">c8", "<M8[ns]", "<M8[D]", "<m8[s]", ">M8[s]")
SHAPE, CHUNKS = (13, 7, 10), (4, 3, 5)  # no edge divides


def values(dtype, shape=SHAPE, seed=0):
    """Random elements of every magnitude, with the extremes of the type."""
    dtype, rng = np.dtype(dtype), np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        out = rng.integers(limits.min, limits.max, shape, dtype=dtype.newbyteorder("="), endpoint=True)
        out.flat[:2] = limits.min, limits.max
    elif dtype.kind == "f":
        out = (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype.newbyteorder("="))
        out.flat[:3] = np.nan, np.inf, -np.inf
    elif dtype.kind == "c":
        out = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype.newbyteorder("="))
    else:
        out = rng.integers(-10**9, 10**9, shape).astype("i8").view(dtype.newbyteorder("="))
        out.flat[0] = np.array("NaT", dtype.newbyteorder("="))
    return out.astype(dtype)


def smooth(dtype, shape=SHAPE):
    return (np.arange(np.prod(shape)).reshape(shape) % 97 + 3).astype(dtype)


def with_holes(data, fill):
    """Chunks of nothing but the fill value; a writer leaves them out."""
    data = data.copy()
    data[4:8] = fill
    data[:, :, 5:] = fill
    return data


class Folder:
    """The store that the arrays are written to."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.refused = {}

    def add(self, name, write, expected):
        """`write(path)` makes the array. What a writer cannot write is noted, not hidden."""
        try:
            write(str(self.path / name))
        except Exception as error:
            self.refused[name] = f"{type(error).__name__}: {error}"
        else:
            kept = np.ascontiguousarray(expected)
            np.save(self.path / f"{name}.npy", kept.view(kept.dtype.str.replace("M8", "i8").replace("m8", "i8")[:3])
                    if kept.dtype.kind in "mM" else kept)

    def close(self, writer):
        (self.path / "written.json").write_text(json.dumps({"writer": writer, "refused": self.refused}))


# -- zarr-python, format 2 --------------------------------------------------------------------------


def write_v2(folder, prefix, create):
    """create(path, data, **keywords of zarr 2) of either zarr-python."""
    from numcodecs import LZ4, Blosc, Delta, FixedScaleOffset, GZip, Quantize, Shuffle, Zlib, Zstd

    def put(name, data, expected=None, **keywords):
        keywords = {"compressor": None, "chunks": CHUNKS[:data.ndim]} | keywords
        folder.add(prefix + name, lambda path: create(path, data, **keywords), data if expected is None else expected)

    for dtype in DTYPES:
        name = np.dtype(dtype).str.replace("<", "le_").replace(">", "be_").replace("|", "").replace("[", "_").strip("]")
        put(f"dtype_{name}", values(dtype), compressor=Zstd(1))
    for order in "CF":
        for separator in "./":
            put(f"order_{order}_{'slash' if separator == '/' else 'dot'}", values("<f4"), order=order,
                dimension_separator=separator, compressor=Zlib(3))
    put("order_F_big", values(">f8"), order="F", compressor=GZip(1))
    put("line", values("<i4", (101,)), chunks=(7,))
    put("one_chunk", values("<i4"), chunks=(20, 20, 20))
    put("single_elements", values("u1", (5, 3)), chunks=(1, 1))
    put("five_axes", values("<i2", (5, 2, 3, 4, 3)), chunks=(2, 1, 2, 3, 2), order="F", compressor=LZ4())
    for fill, dtype in ((0, "<i4"), (-7, "<i2"), (255, "u1"), (2**63 - 1, "<i8"), (1.5, "<f4"), (float("nan"), "<f4"),
                        (float("inf"), ">f8"), (float("-inf"), "<f2"), (True, "?"), (1e-300, "<f8"), (3, ">u4")):
        put(f"fill_{fill}_{np.dtype(dtype).name}_{dtype[0] == '>'}", with_holes(values(dtype), fill), fill_value=fill,
            write_empty_chunks=False)
    put("fill_none", values("<f4"), fill_value=None)
    compressors = {"gzip": GZip(6), "zlib": Zlib(1), "zstd": Zstd(3), "lz4": LZ4()}
    for inner in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for shuffle in (Blosc.NOSHUFFLE, Blosc.SHUFFLE, Blosc.BITSHUFFLE):
            compressors[f"blosc_{inner}_{shuffle}"] = Blosc(inner, 5, shuffle)
    compressors["blosc_blocks"] = Blosc("zstd", 5, Blosc.SHUFFLE, blocksize=64)
    for name, compressor in compressors.items():
        for dtype in ("u1", "<i2", "<f4", "<f8"):
            put(f"codec_{name}_{np.dtype(dtype).name}", smooth(dtype), compressor=compressor)
        put(f"codec_{name}_noise", values("<f4"), compressor=compressor)
    # Filters. The values that come back are the filter's own decoding.
    for dtype in ("i1", "<i4", ">i4", "<u2", "<f8"):
        put(f"filter_delta_{dtype.strip('<>')}_{dtype[0] == '>'}", smooth(dtype), filters=[Delta(dtype)])
    put("filter_delta_as", smooth("<i4"), filters=[Delta("<i4", "i1")], compressor=Zstd(1))
    real = np.round(np.random.default_rng(1).uniform(1000, 1010, SHAPE), 1)
    for dtype, astype in (("<f8", "u1"), ("<f4", "<i2"), (">f4", ">i4"), ("<f4", "<f4")):
        codec = FixedScaleOffset(offset=1000, scale=10, dtype=dtype, astype=astype)
        data = real.astype(dtype)
        put(f"filter_scale_{dtype[1:]}_{astype}".replace("<", "").replace(">", "be"), data,
            codec.decode(codec.encode(data.ravel())).reshape(SHAPE), filters=[codec])
    for dtype, astype in (("<f8", "<f4"), ("<f4", "<f4")):
        codec = Quantize(digits=2, dtype=dtype, astype=astype)
        data = real.astype(dtype)
        put(f"filter_quantize_{dtype[1:]}", data, codec.decode(codec.encode(data.ravel())).reshape(SHAPE),
            filters=[codec], compressor=Zlib())
    put("filter_shuffle", values("<i4"), filters=[Shuffle(4)], compressor=Zstd(1))
    put("filter_shuffle_odd", values("<f8"), filters=[Shuffle(3)], compressor=Zstd(1))
    put("filter_delta_shuffle", smooth("<i4"), filters=[Delta("<i4"), Shuffle(4)], compressor=Zlib(1))


def write_with_zarr2(folder):
    import zarr

    def create(path, data, **keywords):
        array = zarr.open_array(path, mode="w", shape=data.shape, dtype=data.dtype, **keywords)
        array[...] = data

    write_v2(folder, "v2_", create)
    data = values("<f4", (9, 4, 6))

    def group(path, consolidate):
        root = zarr.open_group(path, mode="w")
        array = root.create_dataset("below/wind", shape=data.shape, chunks=(2, 4, 3), dtype="<f4")
        array[...] = data
        if consolidate:
            zarr.consolidate_metadata(path)

    for consolidate in (False, True):
        folder.add(f"group_{consolidate}", lambda path: group(path, consolidate), data)


# -- zarr-python 3 ----------------------------------------------------------------------------------


def write_with_zarr3(folder, version_2=True):
    import numcodecs
    import zarr
    from zarr.codecs import (BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec)

    def create_v2(path, data, *, compressor, dimension_separator=".", write_empty_chunks=True, **keywords):
        array = zarr.create_array(path, shape=data.shape, dtype=data.dtype, zarr_format=2, compressors=compressor,
                                  chunk_key_encoding={"name": "v2", "separator": dimension_separator},
                                  config={"write_empty_chunks": write_empty_chunks}, **keywords)
        array[...] = data

    if version_2:
        write_v2(folder, "v2_", create_v2)

    def put(name, data, codecs=None, expected=None, chunks=CHUNKS, **keywords):
        """`codecs`: those after the first steps, or the whole list by its names."""
        def write(path):
            array = zarr.create_array(path, shape=data.shape, dtype=data.dtype, chunks=chunks[:data.ndim],
                                      zarr_format=3, **({"compressors": codecs} | keywords))
            array[...] = data

        folder.add(f"v3_{name}", write, data if expected is None else expected)

    for dtype in DTYPES:
        name = np.dtype(dtype).str.replace("<", "le_").replace(">", "be_").replace("|", "").replace("[", "_").strip("]")
        put(f"dtype_{name}", values(dtype), [ZstdCodec(level=1)])
        put(f"dtype_{name}_big", values(dtype), None, serializer=BytesCodec(endian="big"))
    for name, encoding in (("v2_dot", {"name": "v2", "separator": "."}), ("v2_slash", {"name": "v2", "separator": "/"}),
                           ("dot", {"name": "default", "separator": "."})):
        put(f"keys_{name}", values("<f4"), chunk_key_encoding=encoding)
    for fill, dtype in ((0, "<i4"), (-7, "<i2"), (2**63 - 1, "<i8"), (1.5, "<f4"), (float("nan"), "<f4"), (1 + 2j, "<c8"),
                        (float("inf"), "<f8"), (float("-inf"), "<f2"), (True, "?"), (1e-300, "<f8"), (2**64 - 1, "<u8")):
        for shards in (None, (8, 6, 10)):
            put(f"fill_{fill}_{np.dtype(dtype).name}_{shards is None}", with_holes(values(dtype), fill), fill_value=fill,
                shards=shards, config={"write_empty_chunks": False})
    chains = {"none": None, "gzip": [GzipCodec(level=5)], "zstd": [ZstdCodec(level=3)],
              "zstd_checksum": [ZstdCodec(level=3, checksum=True)], "crc32c": [Crc32cCodec()],
              "zstd_crc32c": [ZstdCodec(), Crc32cCodec()], "crc32c_gzip_crc32c": [Crc32cCodec(), GzipCodec(), Crc32cCodec()]}
    for inner in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
            chains[f"blosc_{inner}_{shuffle}"] = [BloscCodec(cname=inner, clevel=5, shuffle=shuffle)]
    for name, chain in chains.items():
        for dtype in ("u1", "<f4", "<i8"):
            put(f"codec_{name}_{np.dtype(dtype).name}", smooth(dtype), chain)
    for order in ((2, 1, 0), (1, 2, 0), (0, 2, 1)):
        put(f"transpose_{''.join(map(str, order))}", values("<i4"), [ZstdCodec()], filters=[TransposeCodec(order=order)])
    put("transposed_twice", values("<i4"), filters=[TransposeCodec(order=(1, 2, 0)), TransposeCodec(order=(0, 2, 1))])
    index_codecs = {"plain": [BytesCodec()], "crc32c": [BytesCodec(), Crc32cCodec()],
                    "big": [BytesCodec(endian="big"), Crc32cCodec()]}
    for location in ("start", "end"):
        for index, list_ in index_codecs.items():
            inner = ShardingCodec(chunk_shape=(2, 3, 5), codecs=[BytesCodec(), ZstdCodec()], index_codecs=list_,
                                  index_location=location)
            put(f"shards_{location}_{index}", with_holes(values("<i4"), 0), serializer=inner, chunks=(8, 6, 10),
                config={"write_empty_chunks": False})
    put("shards_transposed", values("<i4"), serializer=ShardingCodec(
        chunk_shape=(2, 3, 5), codecs=[TransposeCodec(order=(2, 0, 1)), BytesCodec(), GzipCodec()]), chunks=(8, 6, 10))
    put("transpose_before_shards", values("<i4"), filters=[TransposeCodec(order=(2, 0, 1))], serializer=ShardingCodec(
        chunk_shape=(2, 2, 2), codecs=[BytesCodec(), Crc32cCodec()]), chunks=(8, 6, 10))
    nested = ShardingCodec(chunk_shape=(4, 6, 5), codecs=[ShardingCodec(chunk_shape=(2, 2, 5), codecs=[
        BytesCodec(), Crc32cCodec()], index_location="start")])
    put("shards_nested", values("<i4"), serializer=nested, chunks=(8, 6, 10))
    put("shard_of_one_chunk", values("<f4"), shards=(8, 6, 10), chunks=(8, 6, 10))
    put("line", values("<i4", (101,)), chunks=(7,))
    put("line_shards", values("<i4", (101,)), chunks=(7,), shards=(21,))
    try:
        from numcodecs import zarr3 as wrapped
    except ImportError:
        from zarr.codecs import numcodecs as wrapped
    for name, codec in {"zlib": lambda: wrapped.Zlib(level=1), "lz4": lambda: wrapped.LZ4(),
                        "shuffle": lambda: wrapped.Shuffle(elementsize=4), "zstd": lambda: wrapped.Zstd(level=2),
                        "blosc": lambda: wrapped.Blosc(cname="lz4"), "gzip": lambda: wrapped.GZip()}.items():
        try:
            put(f"numcodecs_{name}", smooth("<i4"), [codec()])
        except Exception as error:
            folder.refused[f"v3_numcodecs_{name}"] = str(error)
    put("numcodecs_delta", smooth("<i4"), filters=[wrapped.Delta(dtype="<i4")])
    plain = numcodecs.FixedScaleOffset(offset=1000, scale=10, dtype="<f8", astype="<i4")
    real = np.round(np.random.default_rng(1).uniform(1000, 1010, SHAPE), 1)
    put("numcodecs_scale", real, filters=[wrapped.FixedScaleOffset(offset=1000, scale=10, dtype="<f8", astype="<i4")],
        expected=plain.decode(plain.encode(real.ravel())).reshape(SHAPE))

    data = values("<f4", (9, 4, 6))

    def group(path, consolidate, version):
        root = zarr.open_group(path, mode="w", zarr_format=version)
        array = root.create_array("below/wind", shape=data.shape, chunks=(2, 4, 3), dtype="<f4")
        array[...] = data
        if consolidate:
            zarr.consolidate_metadata(path)

    for version in (2, 3):
        for consolidate in (False, True):
            folder.add(f"group_v{version}_{consolidate}", lambda path: group(path, consolidate, version), data)


# -- tensorstore ------------------------------------------------------------------------------------


def write_with_tensorstore(folder):
    import tensorstore as ts

    def put(name, driver, metadata, data, **keywords):
        def write(path):
            spec = {"driver": driver, "kvstore": {"driver": "file", "path": path + "/"},
                    "metadata": metadata | {"shape": list(data.shape)}, **keywords}
            ts.open(spec, create=True, delete_existing=True).result().write(data).result()

        folder.add(name, write, data)

    def v2(name, data, **metadata):
        put(f"v2_{name}", "zarr", {"chunks": list(CHUNKS), "dtype": data.dtype.str, "order": "C", "compressor": None,
                                   "fill_value": None, "filters": None} | metadata, data)

    def v3(name, data, codecs, chunks=CHUNKS, **metadata):
        put(f"v3_{name}", "zarr3", {
            "data_type": data.dtype.name, "codecs": codecs,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}} | metadata, data)

    def codec(name, **configuration):
        return {"name": name, "configuration": configuration} if configuration else {"name": name}

    little, crc = codec("bytes", endian="little"), codec("crc32c")
    for dtype in ("|b1", "|i1", "<i2", ">i4", "<i8", "|u1", "<u2", "<u4", "<f2", ">f4", "<f8", "<c8", "<c16"):
        name = dtype.replace("<", "le_").replace(">", "be_").strip("|")
        v2(f"dtype_{name}", values(dtype), compressor={"id": "zlib", "level": 1})
        if dtype[0] != ">":
            v3(f"dtype_{name}", values(dtype), [little, codec("zstd", level=1)])
            v3(f"dtype_{name}_big", values(dtype), [codec("bytes", endian="big"), codec("gzip", level=2)])
    for separator in "./":
        v2(f"order_F_{separator == '/'}", values("<f4"), order="F", dimension_separator=separator)
    for inner in ("blosclz", "lz4", "lz4hc", "zlib", "zstd"):
        for shuffle in (0, 1, 2):
            v2(f"blosc_{inner}_{shuffle}", smooth("<f4"),
               compressor={"id": "blosc", "cname": inner, "clevel": 5, "shuffle": shuffle})
            v3(f"blosc_{inner}_{shuffle}", smooth("<f4"), [little, codec(
                "blosc", cname=inner, clevel=5, shuffle=("noshuffle", "shuffle", "bitshuffle")[shuffle], typesize=4,
                blocksize=0)])
    v2("zstd", smooth("<f4"), compressor={"id": "zstd", "level": 3})
    v2("fill_nan", with_holes(values("<f4"), np.nan), fill_value="NaN")
    v2("fill_number", with_holes(values("<i4"), 42), fill_value=42)
    v3("fill_nan", with_holes(values("<f4"), np.nan), [little], fill_value="NaN")
    v3("fill_bits", with_holes(values("<f4"), np.nan), [little], fill_value="0x7fc00000")
    v3("crc32c", values("<f4"), [little, crc])
    v3("transpose", values("<f4"), [codec("transpose", order=[2, 0, 1]), little, codec("gzip", level=1)])
    for location in ("start", "end"):
        for index in ([little], [little, crc], [codec("bytes", endian="big"), crc]):
            v3(f"shards_{location}_{len(index)}_{index[0] is little}", with_holes(values("<i4"), 0), [codec(
                "sharding_indexed", chunk_shape=[2, 3, 5], codecs=[little, codec("zstd", level=1)], index_codecs=index,
                index_location=location)], chunks=(8, 6, 10), fill_value=0)
    v3("shards_transposed", values("<i4"), [codec("transpose", order=[2, 0, 1]), codec(
        "sharding_indexed", chunk_shape=[5, 2, 3], codecs=[codec("transpose", order=[1, 0, 2]), little],
        index_codecs=[little, crc])], chunks=(8, 6, 10))
    inner = codec("sharding_indexed", chunk_shape=[2, 2, 5], codecs=[little, crc], index_codecs=[little],
                  index_location="start")
    v3("shards_nested", with_holes(values("<i4"), 0), [codec(
        "sharding_indexed", chunk_shape=[4, 6, 5], codecs=[inner], index_codecs=[little, crc])], chunks=(8, 6, 10),
        fill_value=0)
    v3("keys_v2", values("<i4"), [little], chunk_key_encoding={"name": "v2", "configuration": {"separator": "."}})
    v3("names", values("<i4"), [little], dimension_names=["time", None, "x"], attributes={"units": "K"})


def main(writer, path):
    folder = Folder(path)
    if writer == "tensorstore":
        write_with_tensorstore(folder)
    else:
        import zarr
        if zarr.__version__.startswith("2."):
            write_with_zarr2(folder)
        else:
            if writer == "zarrs":
                import zarrs  # noqa: F401
                zarr.config.set({"codec_pipeline.path": "zarrs.ZarrsCodecPipeline"})
            write_with_zarr3(folder, version_2=writer != "zarrs")
    folder.close(writer)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    import warnings
    warnings.simplefilter("ignore")
    main(*sys.argv[1:])
