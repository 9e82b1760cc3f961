"""Rechunking a Zarr array that is contiguous in time into one chunk per time step: penstock against zarr-python, dask and
TensorStore, each writing the same chunks, shards and codecs.

usage: zarr_rechunk.py [--steps 2000] [--grid 180x360] [--chunk 500x20x20] [--memory-mb 256] [--rounds 3] [--folder DIR] [--json]

Every way is a process of its own that opens the source and writes a new store; ways are interleaved, and the median counts.
The peak is the resident memory of the process. The values are smooth fields with noise, which compress to about a half.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

WAYS = {}


def way(function):
    WAYS[function.__name__] = function
    return function


def shard_steps(shape, item, shard_mb=64):
    """As many steps as make a shard, and a divisor of the steps of a chunk of the source where possible."""
    return max(1, int(shard_mb * 1e6 // (shape[1] * shape[2] * item)))


@way
def penstock(source, target, memory_mb, threads, shard):
    import penstock as ps
    opened = ps.Zarr(source, variables=["x"], sample_dim="time")
    metadata = json.loads((pathlib.Path(source) / "x" / "zarr.json").read_text())
    shape, chunk = metadata["shape"], metadata["chunk_grid"]["configuration"]["chunk_shape"]
    report = ps.pack(opened, target, "zarr", shard_size=shard * shape[1] * shape[2] * 4, level=3, threads=threads,
                     memory=memory_mb << 20)
    chunks = 1
    for extent, length in zip(shape, chunk):
        chunks *= -(-extent // length)
    return {"decodes_per_chunk": report.chunks_decoded / chunks}


def create_with_zarr(target, shape, shard):
    import zarr
    group = zarr.create_group(target, overwrite=True)
    return group.create_array("x", shape=shape, dtype="float32", chunks=(1, *shape[1:]), shards=(shard, *shape[1:]),
                              compressors=[zarr.codecs.ZstdCodec(level=3), zarr.codecs.Crc32cCodec()])


@way
def zarr_python(source, target, memory_mb, threads, shard):
    """Blocks of whole shards within the memory, as its users write them by hand."""
    import zarr
    zarr.config.set({"threading.max_workers": threads, "async.concurrency": 4 * threads})
    array = zarr.open_group(source, mode="r")["x"]
    out = create_with_zarr(target, array.shape, shard)
    step = max(1, int(memory_mb * 1e6 / 2 // (array.nbytes / array.shape[0]) // shard)) * shard
    for begin in range(0, array.shape[0], step):
        out[begin:begin + step] = array[begin:begin + step]


@way
def dask_rechunk(source, target, memory_mb, threads, shard):
    import dask
    import dask.array
    import zarr
    array = zarr.open_group(source, mode="r")["x"]
    out = create_with_zarr(target, array.shape, shard)
    with dask.config.set(scheduler="threads", num_workers=threads, **{"array.chunk-size": f"{memory_mb // 4}MB"}):
        dask.array.from_zarr(array).rechunk((shard, *array.shape[1:])).store(out, lock=False)


@way
def tensorstore(source, target, memory_mb, threads, shard):
    import tensorstore as ts
    context = ts.Context({"data_copy_concurrency": {"limit": threads}, "cache_pool": {"total_bytes_limit": memory_mb << 19}})
    opened = ts.open({"driver": "zarr3", "kvstore": f"file://{source}/x/"}, context=context, read=True).result()
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 3}},
              {"name": "crc32c"}]
    sharding = {"name": "sharding_indexed", "configuration": {
        "chunk_shape": [1, *opened.shape[1:]], "codecs": codecs, "index_location": "end",
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}
    out = ts.open({"driver": "zarr3", "kvstore": f"file://{target}/x/", "metadata": {
        "shape": list(opened.shape), "data_type": "float32", "codecs": [sharding],
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [shard, *opened.shape[1:]]}}}},
        context=context, create=True, delete_existing=True).result()
    step = max(1, int(memory_mb * 1e6 / 2 // (opened.size * 4 / opened.shape[0]) // shard)) * shard
    for begin in range(0, opened.shape[0], step):
        end = min(begin + step, opened.shape[0])
        out[begin:end].write(opened[begin:end]).result()


def make_source(folder, shape, chunk):
    import numpy as np
    import zarr
    group = zarr.create_group(str(folder))
    array = group.create_array("x", shape=shape, dtype="float32", chunks=chunk, dimension_names=["time", "lat", "lon"])
    draw = np.random.default_rng(0)
    lat, lon = np.linspace(0, 6, shape[1])[:, None], np.linspace(0, 12, shape[2])[None, :]
    for begin in range(0, shape[0], chunk[0]):
        steps = np.arange(begin, min(begin + chunk[0], shape[0]))[:, None, None]
        field = 280 + 20 * np.sin(lat + steps / 50) * np.cos(lon) + np.round(draw.normal(size=(len(steps), *shape[1:])), 1)
        array[begin:begin + chunk[0]] = field.astype("float32")


def run_one(name, *arguments):
    began = time.monotonic()
    extra = WAYS[name](*arguments) or {}
    seconds = time.monotonic() - began
    # Not ru_maxrss, which a process inherits from the one that started it.
    (peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
    print(json.dumps({"seconds": seconds, "rss_mb": int(peak) / 1024} | extra))


def equal(source, target):
    import numpy as np
    import zarr
    one, other = zarr.open_group(source, mode="r")["x"], zarr.open_array(f"{target}/x", mode="r")
    return all(np.array_equal(one[i:i + 100], other[i:i + 100]) for i in range(0, one.shape[0], 100))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, default=2000)
    arguments.add_argument("--grid", default="180x360")
    arguments.add_argument("--chunk", default="500x20x20")
    arguments.add_argument("--memory-mb", type=int, default=256)
    arguments.add_argument("--threads", type=int, default=os.cpu_count())
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--folder")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    shape = (given.steps, *map(int, given.grid.split("x")))
    chunk = tuple(map(int, given.chunk.split("x")))
    shard = shard_steps(shape, 4)
    while chunk[0] % shard:
        shard -= 1
    with tempfile.TemporaryDirectory(prefix="penstock-rechunk-", dir=given.folder) as folder:
        source, target = f"{folder}/source.zarr", f"{folder}/target.zarr"
        make_source(source, shape, chunk)
        rounds = {}
        for number in range(given.rounds):
            for name in WAYS:
                shutil.rmtree(target, ignore_errors=True)
                done = subprocess.run([sys.executable, "-W", "ignore", __file__, "--run", name, source, target,
                                       str(given.memory_mb), str(given.threads), str(shard)], capture_output=True, text=True)
                if done.returncode != 0:
                    print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                    continue
                if number == 0 and not equal(source, target):
                    sys.exit(f"{name}: wrong values")
                rounds.setdefault(name, []).append(json.loads(done.stdout))
    size = shape[0] * shape[1] * shape[2] * 4 / 1e6
    median = {name: {key: statistics.median(one[key] for one in runs) for key in runs[0]} for name, runs in rounds.items()}
    if given.json:
        print(json.dumps({"shape": shape, "chunk": chunk, "shard": shard, "memory_mb": given.memory_mb,
                          "threads": given.threads, "median": median, "rounds": rounds}))
        return
    print(f"{size:.0f} MB, {given.threads} threads, shards of {shard} steps, memory {given.memory_mb} MiB, "
          f"medians of {given.rounds}")
    for name, row in median.items():
        print(f"{name:14} {row['seconds']:7.1f} s {size / row['seconds']:8.0f} MB/s {row['rss_mb']:7.0f} MB resident"
              + (f", {row['decodes_per_chunk']:.1f} decodes per chunk" if "decodes_per_chunk" in row else ""))


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "--run":
        run_one(sys.argv[2], sys.argv[3], sys.argv[4], *map(int, sys.argv[5:]))
    else:
        main()
