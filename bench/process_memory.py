"""The memory of a case with all of its worker processes, seen from outside."""
import contextlib
import os
import threading

MB = 1e6
WATCH_EVERY_S = 0.2


def session_pss_mb(session):
    """Sum of the proportional set sizes (shared pages counted once) of all processes of a session."""
    return sum(pss_bytes(process) for process in os.listdir("/proc") if process.isdigit()
               and session_of(process) == session) / MB


def session_of(process):
    try:
        with open(f"/proc/{process}/stat") as stat:
            return int(stat.read().rpartition(")")[2].split()[3])
    except OSError:  # it has ended
        return None


def pss_bytes(process):
    return summed_bytes(process, "Pss:")


def swapped_bytes(process):
    return summed_bytes(process, "Swap:")


def summed_bytes(process, field):
    """Over all mappings of a process; 0 of one that has ended."""
    try:
        with open(f"/proc/{process}/smaps_rollup") as rollup:
            return next(int(line.split()[1]) * 1024 for line in rollup if line.startswith(field))
    except (OSError, StopIteration):
        return 0


def pss_of_files(process, prefix):
    """{path: bytes} of mapped files whose path begins so."""
    found, path = {}, None
    with open(f"/proc/{process}/smaps") as mappings:
        for line in mappings:
            words = line.split(maxsplit=5)
            if not words[0].endswith(":"):  # the head of a mapping: addresses, rights, offset, device, inode, path
                path = words[5].strip() if len(words) == 6 else ""
            elif words[0] == "Pss:" and path.startswith(prefix):
                found[path] = found.get(path, 0) + int(words[1]) * 1024
    return found


class Peaks:
    def __init__(self):
        self.pss_bytes = self.swapped_bytes = 0

    def look(self, process):
        self.pss_bytes = max(self.pss_bytes, pss_bytes(process))
        self.swapped_bytes = max(self.swapped_bytes, swapped_bytes(process))


@contextlib.contextmanager
def watched(process):
    """Peaks of another process while this block runs."""
    peaks, ended = Peaks(), threading.Event()

    def watch():
        while not ended.wait(WATCH_EVERY_S):
            peaks.look(process)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peaks
    finally:
        ended.set()
        watcher.join()
