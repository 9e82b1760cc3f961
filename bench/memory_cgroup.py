"""A memory cgroup for processes of a case, where this process may make one.

Version 1: below the group that this process is in, so that limits from outside still hold. Version 2 allows that only
where the group hands its memory controller on; otherwise beside it, where the group above does.
"""
import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

MOUNTED_AT = Path("/sys/fs/cgroup")
REMOVAL_S = 5


@dataclass(frozen=True)
class MemoryCgroup:
    folder: Path
    limit_file: str
    peak_file: str

    def enter(self):
        """Moves the calling process into it."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def limit_bytes(self, limit):
        (self.folder / self.limit_file).write_text(str(limit))

    def peak_bytes(self):
        """As the kernel counts: with the pages of files that were read first from inside. None: it does not tell."""
        path = self.folder / self.peak_file
        return int(path.read_text()) if path.exists() else None


@contextlib.contextmanager
def made(limit_bytes):
    """Gives the group, or None where none can be made. Its processes must be gone at the end."""
    group = next(filter(None, map(make, possible())), None)
    if group is None:
        yield None
        return
    try:
        group.limit_bytes(limit_bytes)
        yield group
    finally:
        remove(group.folder)


def possible():
    """Groups that might be made, better ones first."""
    name = f"penstock-bench-{os.getpid()}"
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            yield MemoryCgroup(MOUNTED_AT / "memory" / path.lstrip("/") / name, "memory.limit_in_bytes",
                               "memory.max_usage_in_bytes")
        elif not controllers:
            own = MOUNTED_AT / path.lstrip("/")
            for above in (own, own.parent):
                switched_on = above / "cgroup.subtree_control"
                if switched_on.exists() and "memory" in switched_on.read_text().split():
                    yield MemoryCgroup(above / name, "memory.max", "memory.peak")


def make(group):
    try:
        group.folder.mkdir()
    except OSError:
        return None
    return group


def remove(folder):
    """A process that has ended stays in its group for a moment."""
    ends = time.monotonic() + REMOVAL_S
    while True:
        try:
            return folder.rmdir()
        except OSError:
            if time.monotonic() > ends:
                raise
        time.sleep(0.05)
