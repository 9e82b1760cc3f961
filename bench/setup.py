"""The Python environments of the benchmark, the data sets, and Penstock's installation into them.

Each peer family that cannot live with the others has an environment of its own. Stamps in the
environments make a second call cost nothing.
"""
import hashlib
import json
import subprocess
import sys

import places

# Exactly this torch: a floating version would differ between the environments.
TORCH = "torch==2.13.0"

REQUIRED = {
    "venv": [TORCH, "numpy", "pillow", "opencv-python-headless", "scikit-image", "scikit-learn"],
    "venv-dali": ["nvidia-dali-cuda130", TORCH, "numpy"],
    "venv-tf": [],
}
# Peers that are left out where they do not install or load: package -> program that must run.
OPTIONAL = {
    "venv": {"grain": "import grain", "spdl": "import spdl.io; spdl.io.decode_config()"},
    "venv-dali": {},
    "venv-tf": {"tensorflow-cpu": "import tensorflow"},
}
NEEDS = {"grain_pillow": "grain", "grain_opencv": "grain", "spdl_ffmpeg": "spdl", "tfdata": "tensorflow-cpu"}
VERSIONS_OF = ["penstock", "torch", "numpy", "pillow", "opencv-python-headless", "grain", "spdl",
               "nvidia-dali-cuda130", "tensorflow-cpu"]
PENSTOCK_SOURCES = ["CMakeLists.txt", "pyproject.toml", "cmake", "include", "src", "python"]


def environment_of(peer):
    return {"dali": "venv-dali", "tfdata": "venv-tf"}.get(peer, "venv")


def python_of(environment):
    return places.STATE / environment / "bin" / "python"


def pip_install(environment, *arguments):
    return subprocess.run([python_of(environment), "-m", "pip", "install", "--quiet",
                           "--disable-pip-version-check", *arguments], cwd=places.ROOT)


def prepare_environment(environment):
    """Creates and fills one environment; returns {optional package: why it is missing}."""
    wanted = {"required": REQUIRED[environment], "optional": OPTIONAL[environment]}
    stamp = places.STATE / environment / "bench-stamp.json"
    if stamp.exists():
        done = json.loads(stamp.read_text())
        if done["wanted"] == wanted:
            return done["missing"]
    print(f"set-up: {environment}: {', '.join([*REQUIRED[environment], *OPTIONAL[environment]])}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", places.STATE / environment], check=True)
    if REQUIRED[environment] and pip_install(environment, *REQUIRED[environment]).returncode != 0:
        sys.exit(f"set-up of {environment} failed")
    missing = {}
    for package, program in OPTIONAL[environment].items():
        if pip_install(environment, package).returncode != 0:
            missing[package] = "does not install"
            continue
        probe = subprocess.run([python_of(environment), "-c", program], capture_output=True, text=True)
        if probe.returncode != 0:
            missing[package] = probe.stderr.strip().splitlines()[-1][:160]
    stamp.write_text(json.dumps({"wanted": wanted, "missing": missing}))
    return missing


def prepare_environments():
    missing = {}
    for environment in REQUIRED:
        missing.update(prepare_environment(environment))
    for package, reason in missing.items():
        print(f"set-up: without {package}: {reason}", flush=True)
    return missing


def prepare_data():
    subprocess.run([python_of("venv"), places.BENCH / "make_data.py"], check=True)


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
