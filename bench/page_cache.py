"""Fills and drops the kernel's page cache."""
import os

DROP = "/proc/sys/vm/drop_caches"


def fill(folder, without):
    """Brings the data into the page cache: storage is not what most workloads compare. `without`: a folder below it
    that is left as it is."""
    for path, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if os.path.join(path, name) != str(without)]
        for name in files:
            with open(os.path.join(path, name), "rb") as file:
                while file.read(1 << 22):
                    pass


def forget(folder):
    """Drops what it holds of this folder's files alone, which needs no rights. Nobody may have them mapped."""
    for path, _, files in os.walk(folder):
        for name in files:
            descriptor = os.open(os.path.join(path, name), os.O_RDONLY)
            try:
                os.fsync(descriptor)  # dirty pages would stay
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def can_drop():
    return os.access(DROP, os.W_OK)


def drop():
    os.sync()
    with open(DROP, "w") as file:
        file.write("3")
