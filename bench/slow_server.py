"""A file server on this machine that answers as slowly as a distant object store: a wait before each answer, and a
limit of the rate of each connection or of all together. GET and HEAD, keep-alive, single ranges, ETag and If-Match.
The number of bytes of objects that it has sent is at BYTES_SENT.

Runs as a process of its own; started() is for the measured process.

usage: slow_server.py FOLDER [LATENCY_S LINK_BYTES_PER_SECOND]   (prints the port)
"""
import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.parse

LATENCY_S = 0.030
BYTES_PER_SECOND = 20_000_000
PART_BYTES = 1 << 18      # sent at once, when its last byte is due
TIMER_LATE_S = 0.0005     # by which the loop's timers, of whole milliseconds, come late on average
HEADERS_END = b"\r\n\r\n"
BYTES_SENT = "bytes-sent"


class Link:
    """What all connections share. Without a limit each of them has its own rate."""

    def __init__(self, bytes_per_second=None):
        self.bytes_per_second, self.free_at, self.sent = bytes_per_second, 0.0, 0

    def due(self, connection_due, part):
        """When the last byte of a part has arrived whose first is sent now."""
        if self.bytes_per_second is None:
            return connection_due + part / BYTES_PER_SECOND
        self.free_at = max(self.free_at, time.monotonic()) + part / self.bytes_per_second
        return self.free_at


LINK = Link()


@contextlib.contextmanager
def started(folder, latency_s=None, link_bytes_per_second=None):
    """A server of this folder; gives its URL, and ends it."""
    limits = [] if latency_s is None else [str(latency_s), str(link_bytes_per_second)]
    process = subprocess.Popen([sys.executable, __file__, str(folder), *limits], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


def ideal_seconds(sizes, requests):
    """How long objects of these sizes take, each one request, with so many requests always on their way."""
    return sum(LATENCY_S + size / BYTES_PER_SECOND for size in sizes) / requests


async def wait_until(moment):
    seconds = moment - time.monotonic() - TIMER_LATE_S
    if seconds > 0:
        await asyncio.sleep(seconds)


class Refused(Exception):
    """Answered by this status, without a body."""


class Request:
    def __init__(self, text):
        first, *lines = text.split("\r\n")
        self.method, target, _ = first.split(" ", 2)
        self.path = urllib.parse.unquote(target.partition("?")[0]).lstrip("/")
        fields = (line.partition(":") for line in lines)
        self.headers = {name.strip().lower(): value.strip() for name, _, value in fields}

    def range_of(self, size):
        """(begin, end) of the bytes asked for, or None for all."""
        unit, _, text = self.headers.get("range", "").partition("=")
        if unit != "bytes" or "," in text:
            return None
        first, _, last = text.partition("-")
        begin, end = (int(first), int(last) + 1 if last else size) if first else (max(0, size - int(last)), size)
        if begin >= size:
            raise Refused("416 Range Not Satisfiable")
        return begin, min(end, size)


class Connection:
    def __init__(self, peer, root):
        self.peer, self.root, self.received = peer, root, b""
        self.due = 0.0  # when the last byte sent so far has arrived, at this connection's rate

    async def serve(self):
        loop = asyncio.get_running_loop()
        with self.peer, contextlib.suppress(ConnectionError, ValueError):
            while True:
                while HEADERS_END not in self.received:
                    more = await loop.sock_recv(self.peer, 1 << 16)
                    if not more:
                        return
                    self.received += more
                text, _, self.received = self.received.partition(HEADERS_END)
                self.due = time.monotonic() + LATENCY_S
                await self.answer(loop, Request(text.decode("latin1")))

    async def answer(self, loop, request):
        if request.path == BYTES_SENT:
            body = str(LINK.sent).encode()
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}".encode() + HEADERS_END
            return await loop.sock_sendall(self.peer, head + body)
        await wait_until(self.due)
        try:
            with self.opened(request) as file:
                head, begin, end = self.head(file, request)
                await loop.sock_sendall(self.peer, head)
                if request.method == "GET":
                    await self.send(loop, file, begin, end)
        except Refused as status:
            await loop.sock_sendall(self.peer, f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())

    async def send(self, loop, file, begin, end):
        while begin < end:
            part = min(PART_BYTES, end - begin)
            self.due = LINK.due(self.due, part)
            await wait_until(self.due)
            await loop.sock_sendfile(self.peer, file, begin, part)
            LINK.sent += part
            begin += part

    def opened(self, request):
        path = os.path.normpath(os.path.join(self.root, request.path))
        if not path.startswith(self.root + os.sep) or not os.path.isfile(path):
            raise Refused("404 Not Found")
        return open(path, "rb", buffering=0)

    def head(self, file, request):
        """(status line and headers, begin, end of the bytes to send)"""
        stat = os.fstat(file.fileno())
        tag = f'"{stat.st_size:x}-{stat.st_mtime_ns:x}"'
        if request.headers.get("if-match", tag) not in (tag, "*"):
            raise Refused("412 Precondition Failed")
        part = request.range_of(stat.st_size)
        begin, end = part or (0, stat.st_size)
        lines = [f"HTTP/1.1 {'206 Partial Content' if part else '200 OK'}", f"Content-Length: {end - begin}",
                 "Content-Type: application/octet-stream", "Accept-Ranges: bytes", f"ETag: {tag}"]
        if part:
            lines.append(f"Content-Range: bytes {begin}-{end - 1}/{stat.st_size}")
        return "\r\n".join(lines).encode() + HEADERS_END, begin, end


async def main():
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    listener.setblocking(False)
    print(listener.getsockname()[1], flush=True)
    connections = set()
    while True:
        peer, _ = await asyncio.get_running_loop().sock_accept(listener)
        peer.setblocking(False)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = asyncio.create_task(Connection(peer, os.path.abspath(sys.argv[1])).serve())
        connections.add(task)
        task.add_done_callback(connections.discard)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        LATENCY_S, LINK = float(sys.argv[2]), Link(float(sys.argv[3]))
    asyncio.run(main())
