"""How long a job waits for its data: the table of docs/slurm.md, measured on the machine that runs it.

Ways to get a folder of images to a job, each from the shared folder to the job's own disk, and then one epoch of decoded
224 x 224 images from there:

  files        cp -r of the folder
  tar          cp of one tar file, then tar x
  tfrecord     cp of TFRecord shards
  stage        penstock stage of the tar shards
  in place     nothing is copied: the epoch reads the shared folder's shards

usage: slurm_table.py [--source FOLDER] [--shared FOLDER] [--local FOLDER] [--open-ms 2] [--rounds 3] [--warm] [--json]

Without --source it makes 4,000 JPEGs. On a cluster give --shared a folder on the shared file system, --local the job's
disk, and --open-ms 0, because opening files is slow there anyway; elsewhere every open below the shared folder waits for
--open-ms (tests/cluster/slow_open.c, for all programs alike). Ways are interleaved, and the page cache is dropped before
each if this process may, unless --warm forbids it; the table has medians.
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

PENSTOCK = str(pathlib.Path(sys.executable).parent / "penstock")  # the command of this interpreter
ROOT = pathlib.Path(__file__).resolve().parent.parent

EPOCH = """
import sys
import penstock as ps
loader = ps.Loader(sys.argv[1], batch_size=64, fields=["image"], output="numpy", memory="1GiB",
                   transform=[ps.RandomResizedCrop(224), ps.RandomHorizontalFlip()], shuffle=True)
print(sum(len(images) for (images,) in loader))
"""


def run(command, environment=None):
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def drop_page_cache():
    os.sync()
    try:
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")
        return True
    except OSError:
        return False


def make_images(folder, count=4000):
    import numpy as np
    from PIL import Image
    draw = np.random.default_rng(0)
    for number in range(count):
        place = folder / f"class{number % 20:02}"
        place.mkdir(parents=True, exist_ok=True)
        coarse = draw.integers(0, 255, (12, 16, 3), dtype=np.uint8)
        picture = Image.fromarray(coarse).resize((400, 300), Image.BICUBIC)
        picture.save(place / f"{number:05}.jpg", quality=90)


class Table:
    def __init__(self, given):
        self.given = given
        self.shared, self.local = pathlib.Path(given.shared), pathlib.Path(given.local)
        self.environment = dict(os.environ)
        if given.open_ms:
            library = self.local / "slow_open.so"
            run(["cc", "-O2", "-shared", "-fPIC", "-o", library, ROOT / "tests" / "cluster" / "slow_open.c", "-ldl"])
            self.environment.update(LD_PRELOAD=str(library), SLOW_OPEN_MS=str(given.open_ms),
                                    SLOW_OPEN_BELOW=str(self.shared))

    def prepare(self):
        """Makes the forms of the data set on the shared folder; what that takes, once, is a row of its own."""
        files = pathlib.Path(self.given.source) if self.given.source else self.shared / "files"
        if not files.exists():
            make_images(files)
        if files.parent != self.shared:
            shutil.copytree(files, self.shared / "files")
        self.once = {}
        for name, command in {
                "tar": ["tar", "cf", self.shared / "all.tar", "-C", self.shared, "files"],
                "penstock pack tar": [PENSTOCK, "pack", self.shared / "files", self.shared / "shards"],
                "penstock pack tfrecord": [PENSTOCK, "pack", self.shared / "files", self.shared / "tfrecord",
                                           "--format", "tfrecord"]}.items():
            self.cold = not self.given.warm and drop_page_cache()
            began = time.monotonic()
            run(command, self.environment)
            self.once[name] = time.monotonic() - began

    def ways(self):
        """{name: (commands that copy, what the epoch reads)}"""
        to = self.local / "job"
        return {"files": ([["cp", "-r", self.shared / "files", to / "files"]], to / "files"),
                "tar": ([["cp", self.shared / "all.tar", to], ["tar", "xf", to / "all.tar", "-C", to]], to / "files"),
                "tfrecord": ([["cp", "-r", self.shared / "tfrecord", to / "tfrecord"]], to / "tfrecord"),
                "stage": ([[PENSTOCK, "stage", self.shared / "shards", to / "shards"]], to / "shards"),
                "in place": ([], self.shared / "shards")}

    def measure(self):
        rows = {name: [] for name in self.ways()}
        for _ in range(self.given.rounds):
            for name, (commands, epoch) in self.ways().items():
                shutil.rmtree(self.local / "job", ignore_errors=True)
                (self.local / "job").mkdir(parents=True)
                if not self.given.warm:
                    drop_page_cache()
                began = time.monotonic()
                for command in commands:
                    run(command, self.environment)
                run(["sync", "-f", self.local / "job"])
                copied = time.monotonic() - began
                environment = dict(self.environment, PENSTOCK_CACHE_DIR=str(self.local / "job" / "cache"))
                samples = int(run([sys.executable, "-c", EPOCH, epoch], environment))
                rows[name].append({"copied": copied, "epoch": time.monotonic() - began - copied, "samples": samples})
        return rows


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--source", help="a folder of class folders; default: 4,000 images are made")
    arguments.add_argument("--shared", help="default: a temporary folder")
    arguments.add_argument("--local", help="default: another temporary folder")
    arguments.add_argument("--open-ms", type=float, default=2.0)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--warm", action="store_true", help="leave the page cache alone")
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-table-") as temporary:
        given.shared = given.shared or os.path.join(temporary, "shared")
        given.local = given.local or os.path.join(temporary, "local")
        for folder in (given.shared, given.local):
            os.makedirs(folder, exist_ok=True)
        table = Table(given)
        table.prepare()
        rows = table.measure()
    size = rows["stage"][0]["samples"]
    median = {name: {key: statistics.median(row[key] for row in of_way) for key in ("copied", "epoch")}
              for name, of_way in rows.items()}
    if given.json:
        print(json.dumps({"samples": size, "open_ms": given.open_ms, "cold": table.cold, "cpus": os.cpu_count(),
                          "once": table.once, "median": median, "rounds": rows}))
        return
    print(f"{size} images, {given.open_ms:g} ms per open, {'cold' if table.cold else 'warm'}, {os.cpu_count()} cores, "
          f"medians of {given.rounds}\n")
    print("| way | until the data is there | first epoch | together |\n|---|---|---|---|")
    for name, row in median.items():
        copied, epoch = row["copied"], row["epoch"]
        print(f"| {name} | {copied:.1f} s | {epoch:.1f} s | {copied + epoch:.1f} s |")
    print("\n| once, beforehand | |\n|---|---|")
    for name, seconds in table.once.items():
        print(f"| {name} | {seconds:.1f} s |")


if __name__ == "__main__":
    main()
