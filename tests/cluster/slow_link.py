"""A slow link to a server on this machine: forwards TCP connections, each request later and all bytes together no faster
than the link. For any protocol in which the client speaks first (HTTP, S3).

usage: slow_link.py HOST:PORT [--delay-ms 20] [--mb-per-s 100]     (prints the port)

bench/slow_server.py serves files with a limit per connection; this limits what all connections have together, in both
directions, in front of any server.
"""
import argparse
import asyncio
import contextlib
import subprocess
import sys
import time

PIECE_BYTES = 1 << 16


class Link:
    """A rate that all connections of a direction share."""

    def __init__(self, bytes_per_second):
        self.bytes_per_second, self.free_at = bytes_per_second, 0.0

    async def carry(self, size):
        """Returns when so many bytes have arrived at the other end."""
        if not self.bytes_per_second:
            return
        self.free_at = max(self.free_at, time.monotonic()) + size / self.bytes_per_second
        await asyncio.sleep(max(0.0, self.free_at - time.monotonic()))


async def forward(reader, writer, link, delay_s, turns, mine):
    """Forwards one direction. The first bytes after the other side has spoken are a new request, and wait."""
    with contextlib.suppress(ConnectionError, asyncio.CancelledError):
        while piece := await reader.read(PIECE_BYTES):
            if delay_s and turns[0] != mine:
                await asyncio.sleep(delay_s)
            turns[0] = mine
            await link.carry(len(piece))
            writer.write(piece)
            await writer.drain()
    with contextlib.suppress(OSError, RuntimeError):
        writer.write_eof()


async def serve(host, port, delay_s, bytes_per_second):
    up, down = Link(bytes_per_second), Link(bytes_per_second)

    async def connection(reader, writer):
        try:
            there_reader, there_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.close()
            return
        turns = ["down"]
        await asyncio.gather(forward(reader, there_writer, up, delay_s, turns, "up"),
                             forward(there_reader, writer, down, 0.0, turns, "down"))
        for one in (writer, there_writer):
            one.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


@contextlib.contextmanager
def started(target, delay_ms=20.0, mb_per_s=100.0):
    """A process of its own; gives its port, and ends it."""
    process = subprocess.Popen([sys.executable, __file__, target, "--delay-ms", str(delay_ms), "--mb-per-s", str(mb_per_s)],
                               stdout=subprocess.PIPE, text=True)
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("target", help="HOST:PORT")
    arguments.add_argument("--delay-ms", type=float, default=20.0)
    arguments.add_argument("--mb-per-s", type=float, default=100.0, help="0: no limit")
    given = arguments.parse_args()
    host, _, port = given.target.rpartition(":")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(host, int(port), given.delay_ms / 1e3, given.mb_per_s * 1e6))


if __name__ == "__main__":
    main()
