"""Whether `memory=` holds: the peak resident size over what importing Penstock takes."""
from workloads.workload import Case, Column, Workload

MIB = 1 << 20
EPOCHS = 2


def resident_mib(field):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024 / MIB
    raise KeyError(field)


def measure(peer, batch, memory_mib):
    imported = resident_mib("VmRSS")
    loader = peer.image_loader(batch, threads=2, memory=f"{memory_mib}MiB")
    for _ in range(EPOCHS):
        for images, _ in loader:
            assert len(images) <= batch
    peak = resident_mib("VmHWM")
    return {"peak_mib": peak, "imported_mib": imported, "ratio": (peak - imported) / memory_mib}


WORKLOAD = Workload(
    "rss", "Peak memory against the budget",
    "The antialiased JPEG pipeline, two epochs, NumPy output. Peak resident size less the resident size right "
    "after `import penstock`, as a share of `memory=`.",
    [Case("penstock, memory=512MiB, batch 64", "penstock_images", {"batch": 64, "memory_mib": 512}),
     Case("penstock, memory=2GiB, batch 512", "penstock_images", {"batch": 512, "memory_mib": 2048})],
    [Column("ratio", "of memory=", higher_is_better=False, digits=2),
     Column("peak_mib", "peak MiB", higher_is_better=False),
     Column("imported_mib", "after import, MiB", higher_is_better=False)],
    measure)
