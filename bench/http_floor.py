#!/usr/bin/env python3
"""What the slow server gives a client that knows the store and decodes nothing: the floor of decision record 12.

usage: http_floor.py   (after `make bench`, which makes the data; needs the program curl)
"""
import asyncio
import statistics
import subprocess
import tempfile
import time

import slow_server
import zarr_stores

ROUNDS = 5
STORE = zarr_stores.WEATHER["v2_c16"]


def chunk_sizes():
    return {path.name: path.stat().st_size for path in STORE.folder.iterdir() if path.name[0] != "."}


async def get(port, name, begin, end):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    path = f"/{STORE.folder.name}/{name}"
    writer.write(f"GET {path} HTTP/1.1\r\nHost: here\r\nRange: bytes={begin}-{end - 1}\r\n\r\n".encode())
    await reader.readuntil(slow_server.HEADERS_END)
    await reader.readexactly(end - begin)
    writer.close()


async def chunks_in_pieces(port, sizes, pieces):
    started = time.perf_counter()
    wanted = []
    for name, size in sizes.items():
        piece = -(-size // pieces)
        wanted += [get(port, name, begin, min(begin + piece, size)) for begin in range(0, size, piece)]
    await asyncio.gather(*wanted)
    return time.perf_counter() - started


def all_chunks(url, names, requests):
    with tempfile.NamedTemporaryFile("w", suffix=".curl") as file:
        file.writelines(f"url = {url}/{STORE.folder.name}/{name}\noutput = /dev/null\n" for name in names)
        file.flush()
        started = time.perf_counter()
        subprocess.run(["curl", "-s", "--no-progress-meter", "--parallel", "--parallel-immediate", "--parallel-max",
                        str(requests), "-K", file.name], check=True)
        return time.perf_counter() - started


def main():
    sizes = chunk_sizes()
    four = dict(sorted(sizes.items())[:4])
    for pieces in (1, 4, 8, 16):
        seconds = []
        for _ in range(ROUNDS):
            with slow_server.started(STORE.folder.parent) as url:
                seconds.append(asyncio.run(chunks_in_pieces(int(url.rpartition(":")[2]), four, pieces)))
        print(f"4 chunks, {pieces} pieces each: {1e3 * statistics.median(seconds):.0f} ms", flush=True)
    for requests in (8, 16, 32, 64):
        with slow_server.started(STORE.folder.parent) as url:
            seconds = all_chunks(url, sizes, requests)
        ideal = slow_server.ideal_seconds(sizes.values(), requests)
        print(f"{len(sizes)} chunks, {requests} requests at once: {ideal / seconds:.2f} of ideal", flush=True)


if __name__ == "__main__":
    main()
