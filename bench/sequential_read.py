"""Files of a folder from front to back with plain `pread`: what the disk tier is held against."""
import os
import time
from concurrent.futures import ThreadPoolExecutor

PIECE_BYTES = 4 << 20


def bytes_per_second(folder, total_bytes, threads):
    """Rate at which so many bytes of the folder's files are read, each thread its own stretch of them."""
    pieces = list(first_pieces(folder, total_bytes))
    share = -(-len(pieces) // threads)
    with ThreadPoolExecutor(threads) as pool:
        started = time.perf_counter()
        read = sum(pool.map(read_all, (pieces[begin:begin + share] for begin in range(0, len(pieces), share))))
        seconds = time.perf_counter() - started
    assert read >= 0.99 * total_bytes, (read, total_bytes)
    return read / seconds


def first_pieces(folder, total_bytes):
    """Yields (path, offset, length). Holes are passed over: reading them costs nothing."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        for begin, end in written_ranges(path):
            for offset in range(begin, end, PIECE_BYTES):
                length = min(PIECE_BYTES, end - offset, total_bytes)
                if length:
                    yield path, offset, length
                total_bytes -= length


def written_ranges(path):
    with open(path, "rb") as file:
        size, end = os.path.getsize(path), 0
        while end < size:
            try:
                begin = os.lseek(file.fileno(), end, os.SEEK_DATA)
            except OSError:  # a hole up to the end
                return
            end = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            yield begin, end


def read_all(pieces):
    buffer, read, files = memoryview(bytearray(PIECE_BYTES)), 0, {}
    for path, offset, length in pieces:
        if path not in files:
            files[path] = os.open(path, os.O_RDONLY)
        read += os.preadv(files[path], [buffer[:length]], offset)
    for descriptor in files.values():
        os.close(descriptor)
    return read
