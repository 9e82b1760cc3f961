"""From starting a Python process to the first batch of NumPy images in it, imports included."""
import places
from workloads.workload import Case, Column, Workload

BODIES = {
    "penstock_images": """
from peers.penstock_images import image_loader
iterator = iter(image_loader(batch_size=64, threads=2))
images, labels = next(iterator)
""",
    "torch_pillow": """
from peers import torch_pillow
iterator = torch_pillow.images(batch_size=64, threads=2, antialias=True)()
images, labels = next(iterator)
images = images.numpy()
""",
}
# The driver puts the moment at which it started the process into BENCH_STARTED; CLOCK_MONOTONIC is
# the same clock in every process. Shutting the loader down is not part of the measure: the iterator
# is kept while the clock is read, and the process ends by os._exit.
PROGRAM = """
import os
import sys
sys.path.insert(0, {bench!r})
{body}
import time
seconds = time.monotonic() - float(os.environ["BENCH_STARTED"])
assert images.shape == (64, 3, 224, 224) and images.dtype == "float32"
print('RESULT {{"first_batch_ms": %f}}' % (1e3 * seconds), flush=True)
os._exit(0)
"""


def code(case):
    return PROGRAM.format(bench=str(places.BENCH), body=BODIES[case.peer])


WORKLOAD = Workload(
    "start", "Process start to first batch",
    "Wall time from starting `python -c` to the first batch of 64 images as NumPy arrays, imports included; "
    "the antialiased JPEG pipeline, two threads or workers. torch's import, most of a second here, counts for torch "
    "alone: a program that imports torch anyway gains only the difference of the first batches (see First batch).",
    [Case("penstock", "penstock_images"),
     Case("torch + Pillow", "torch_pillow")],
    [Column("first_batch_ms", "ms", higher_is_better=False)], code=code, warm_up=True)
