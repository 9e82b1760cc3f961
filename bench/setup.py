"""The Python environments of the benchmark, the data sets, and Penstock's installation into them.

Each peer family that cannot live with the others has an environment of its own. Stamps in the
environments make a second call cost nothing.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys

import data_sets
import places

# Exactly this torch: a floating version would differ between the environments.
TORCH = "torch==2.13.0"

REQUIRED = {
    "venv": [TORCH, "numpy", "pillow", "opencv-python-headless", "scikit-image", "scikit-learn", "crc32c", "zarr"],
    "venv-dali": ["nvidia-dali-cuda130", TORCH, "numpy"],
    "venv-tf": [],
    "venv-streaming": [TORCH, "numpy", "opencv-python-headless"],
    "venv-ffcv": [TORCH, "numpy", "pillow", "setuptools"],
}
# Peers that are left out where they do not install or load: package -> program that must run.
OPTIONAL = {
    "venv": {"grain": "import grain", "spdl": "import spdl.io; spdl.io.decode_config()",
             "webdataset": "import webdataset", "litdata": "import litdata", "tensorstore": "import tensorstore",
             "zarrs": "import zarrs", "dask": "import dask.array", "cachey": "import dask.cache, cachey",
             "xbatcher": "import xbatcher", "aiohttp": "import aiohttp", "fsspec": "import fsspec"},
    "venv-dali": {},
    "venv-tf": {"tensorflow-cpu": "import tensorflow"},
    "venv-streaming": {"mosaicml-streaming": "import torchvision_stand_in, streaming"},
    "venv-ffcv": {"ffcv": "import ffcv.loader"},
}
# What optional packages need besides: Debian packages, installed where this runs as root, and options of pip.
SYSTEM_PACKAGES = {"spdl": ["ffmpeg"], "ffcv": ["g++", "libopencv-dev", "libturbojpeg0-dev", "pkg-config"]}
PIP_OPTIONS = {"ffcv": ["--no-build-isolation"]}
# Peers of an environment other than "venv", and peers that are left out without an optional package.
ENVIRONMENTS = {"dali": "venv-dali", "dali_webdataset": "venv-dali", "dali_tfrecord": "venv-dali", "tfdata": "venv-tf",
                "tfdata_tfrecord": "venv-tf", "tfdata_cached": "venv-tf", "streaming_opencv": "venv-streaming",
                "ffcv_beton": "venv-ffcv"}
NEEDS = {"grain_pillow": "grain", "grain_opencv": "grain", "grain_array_record": "grain", "spdl_ffmpeg": "spdl",
         "spdl_tar": "spdl", "tfdata": "tensorflow-cpu", "tfdata_tfrecord": "tensorflow-cpu",
         "tfdata_cached": "tensorflow-cpu", "webdataset_opencv": "webdataset", "webdataset_pillow": "webdataset",
         "litdata_opencv": "litdata", "streaming_opencv": "mosaicml-streaming", "ffcv_beton": "ffcv",
         "tensorstore_index": "tensorstore", "tensorstore_loop": "tensorstore", "tensorstore_cached": "tensorstore",
         "tensorstore_patches": "tensorstore", "zarrs_oindex": "zarrs", "zarrs_loop": "zarrs", "dask_array": "dask",
         "dask_cached": "cachey", "xbatcher_windows": "xbatcher", "plain_requests": "aiohttp"}
VERSIONS_OF = ["penstock", "torch", "numpy", "pillow", "opencv-python-headless", "grain", "array_record", "spdl",
               "webdataset", "litdata", "nvidia-dali-cuda130", "tensorflow-cpu", "mosaicml-streaming", "ffcv",
               "tensorstore", "zarr", "numcodecs", "zarrs", "dask", "xbatcher", "aiohttp"]
PENSTOCK_SOURCES = ["CMakeLists.txt", "pyproject.toml", "cmake", "include", "src", "python"]


def environment_of(peer):
    return ENVIRONMENTS.get(peer, "venv")


def python_of(environment):
    return places.STATE / environment / "bin" / "python"


def pip_install(environment, *arguments):
    return subprocess.run([python_of(environment), "-m", "pip", "install", "--quiet",
                           "--disable-pip-version-check", *arguments], cwd=places.ROOT)


def install_system_packages(names):
    """Installs packages if it may. If not, the probe of the package that needs them reports it."""
    if os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"stdout": subprocess.DEVNULL, "env": dict(os.environ, DEBIAN_FRONTEND="noninteractive")}
        subprocess.run(["apt-get", "update", "-qq"], **quiet)
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *names], **quiet)


def install_optional(environment, package):
    """Returns why the package is missing, or None. The required ones are named again: pip keeps their versions."""
    if package in SYSTEM_PACKAGES:
        install_system_packages(SYSTEM_PACKAGES[package])
    options = PIP_OPTIONS.get(package, [])
    if pip_install(environment, *options, package, *REQUIRED[environment]).returncode != 0:
        return "does not install"
    probe = subprocess.run([python_of(environment), "-c", OPTIONAL[environment][package]], cwd=places.BENCH,
                           capture_output=True, text=True)
    return probe.stderr.strip().splitlines()[-1][:160] if probe.returncode != 0 else None


def prepare_environment(environment):
    """Creates and fills one environment; returns {optional package: why it is missing}."""
    wanted = {"required": REQUIRED[environment], "optional": OPTIONAL[environment],
              "system": [SYSTEM_PACKAGES.get(package) for package in OPTIONAL[environment]]}
    stamp = places.STATE / environment / "bench-stamp.json"
    if stamp.exists():
        done = json.loads(stamp.read_text())
        if done["wanted"] == wanted:
            return done["missing"]
    print(f"set-up: {environment}: {', '.join([*REQUIRED[environment], *OPTIONAL[environment]])}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", places.STATE / environment], check=True)
    if REQUIRED[environment] and pip_install(environment, *REQUIRED[environment]).returncode != 0:
        sys.exit(f"set-up of {environment} failed")
    reasons = {package: install_optional(environment, package) for package in OPTIONAL[environment]}
    missing = {package: reason for package, reason in reasons.items() if reason}
    stamp.write_text(json.dumps({"wanted": wanted, "missing": missing}))
    return missing


def prepare_environments(environments):
    missing = {}
    for environment in environments:
        missing.update(prepare_environment(environment))
    for package, reason in missing.items():
        print(f"set-up: without {package}: {reason}", flush=True)
    return missing


def prepare_data(wanted, missing, seed=1):
    """Makes those that are missing. A data set of an optional package that fails adds the package to `missing`."""
    for name in data_sets.outdated(seed):
        data_set = data_sets.DATA_SETS[name]
        if name not in wanted or data_set.package in missing:
            continue
        maker = [python_of(data_set.environment), places.BENCH / "make_data.py", name, "--seed", str(seed)]
        if subprocess.run(maker).returncode != 0:
            if not data_set.package:
                sys.exit(f"making the data set {name} failed")
            missing[data_set.package] = f"its data set {name} cannot be made"
            print(f"set-up: without {data_set.package}: {missing[data_set.package]}", flush=True)


def source_hash():
    digest = hashlib.sha256()
    for name in PENSTOCK_SOURCES:
        path = places.ROOT / name
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(str(file.relative_to(places.ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]


def install_penstock(environment):
    """Builds and installs the checkout if its sources changed; returns their hash."""
    stamp = places.STATE / environment / "penstock-sources"
    current = source_hash()
    if not stamp.exists() or stamp.read_text() != current:
        print(f"set-up: building penstock ({current}) into {environment}", flush=True)
        if pip_install(environment, "--force-reinstall", "--no-deps", ".").returncode != 0:
            sys.exit("penstock does not build")
        stamp.write_text(current)
    return current


def versions(environment, missing):
    """{package: version} of what is measured from this environment."""
    program = ("import importlib.metadata as m, json, platform, sys\n"
               "found = {'python': platform.python_version()}\n"
               "for name in sys.argv[1:]:\n"
               "    try: found[name] = m.version(name)\n"
               "    except m.PackageNotFoundError: pass\n"
               "print(json.dumps(found))")
    wanted = [name for name in VERSIONS_OF if name not in missing]
    output = subprocess.run([python_of(environment), "-c", program, *wanted], check=True, capture_output=True,
                            text=True).stdout
    return json.loads(output)
