# Every target does its own set-up: Debian packages (when root), a .venv, a build. Second runs
# reinstall and rebuild nothing without need.

PYTHON  ?= python3
VENV    := .venv
PIP     := $(VENV)/bin/pip --disable-pip-version-check -q
STAMPS  := build/stamps
SOURCES := $(shell find src include cli python -type f -not -name '*.pyc' 2>/dev/null) CMakeLists.txt pyproject.toml
TEST_SOURCES := $(shell find tests -name '*.cpp' -o -name '*.h' -o -name CMakeLists.txt 2>/dev/null)
FUZZ_SECONDS ?= 8
LONG_FUZZ_SECONDS ?= 300

PACKAGES := g++ cmake ninja-build python3 python3-dev python3-venv libjpeg-dev libpng-dev \
	libwebp-dev libisal-dev zlib1g-dev libzstd-dev libblosc-dev liblz4-dev libdeflate-dev \
	libtiff-dev libgif-dev libcurl4-openssl-dev libssl-dev libxxhash-dev libprotozero-dev libfmt-dev \
	libcli11-dev nlohmann-json3-dev
TEST_PACKAGES := libgtest-dev libgmock-dev clang-19 libclang-rt-19-dev libarchive-tools zstd python3-zarr libjemalloc2

# Each step uses all processors by itself, and two steps build in build/asan.
.NOTPARALLEL:
.PHONY: help build demo test test-quick test-long test-cpp test-sanitizers test-fuzz test-python lint test-arm bench micro clean

help:
	@echo "make demo        build, make a small data set, load two epochs of it"
	@echo "make test        build and run all tests (sanitizers and a little fuzzing included)"
	@echo "make test-quick  the tests that take a minute"
	@echo "make test-long   the long forms of the slow tests: every bomb, every damage, hundreds of interrupts and kills (hours)"
	@echo "make lint        ruff and mypy (strict) on the Python package; part of make test"
	@echo "make test-arm    cross-compile for 64-bit ARM and run the C++ tests under qemu (half an hour on two cores)"
	@echo "make build       leave .venv/bin/python with penstock, and .venv/bin/penstock"
	@echo "make bench       install the peers beside and write docs/benchmarks.md"
	@echo "make micro       micro benchmarks of the inner loops"

# Asks apt only for what is missing. Without root it says what to install and goes on.
define install_packages
	@missing=""; for p in $(1); do dpkg -s $$p >/dev/null 2>&1 || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get -o DPkg::Lock::Timeout=300 update -qq && DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $$missing >/dev/null; \
	  else echo "not installed (ask your administrator, or run as root):$$missing"; fi; fi
endef

$(STAMPS)/packages: Makefile
	$(call install_packages,$(PACKAGES))
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/test-packages: Makefile $(STAMPS)/packages
	$(call install_packages,$(TEST_PACKAGES))
	@touch $@

$(VENV)/.created: $(STAMPS)/packages
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install "scikit-build-core>=0.10" "nanobind>=2.4" numpy
	@touch $@

$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	@echo "building penstock (the first time takes about five minutes on two cores)"
	@$(PIP) install --no-build-isolation --no-deps --force-reinstall .
	@touch $@

$(VENV)/.test-packages: Makefile $(VENV)/.created
	@$(PIP) install pytest hypothesis pillow webdataset torch==2.13.0 jax zarr tensorstore zarrs xarray cftime tifffile \
	  boto3 mypy pyright ruff
	@touch $@

# An older zarr-python, for stores as it writes them; without it those tests are skipped.
build/venv-zarr2/.created:
	@$(PYTHON) -m venv build/venv-zarr2
	@build/venv-zarr2/bin/pip --disable-pip-version-check -q install "zarr==2.18.*" "numcodecs<0.16" && touch $@ || \
	  echo "zarr 2.18 cannot be installed: tests of its stores are skipped"

build: $(VENV)/.installed

demo: build
	@$(VENV)/bin/penstock demo

test: test-cpp test-sanitizers test-fuzz test-python
	@echo "all tests passed"

# The C++ tests are built together with the module, from one library: it is what is installed that is tested.
TEST_BUILD := build/with-tests
$(TEST_BUILD)/.installed: $(STAMPS)/test-packages $(VENV)/.created $(SOURCES) $(TEST_SOURCES)
	@$(PIP) install --no-build-isolation --no-deps --force-reinstall --config-settings=build-dir=$(TEST_BUILD) \
	  --config-settings=cmake.define.PENSTOCK_TESTS=ON --config-settings=cmake.define.PENSTOCK_PCH=ON .
	@touch $@ $(VENV)/.installed

test-quick: $(TEST_BUILD)/.installed $(VENV)/.test-packages build/venv-zarr2/.created
	@ctest --test-dir $(TEST_BUILD) -L quick --output-on-failure --no-tests=error
	@$(VENV)/bin/python -m pytest tests/python -m "not slow"

test-cpp: $(TEST_BUILD)/.installed
	@$(PYTHON) tools/check_includes.py
	@ctest --test-dir $(TEST_BUILD) --parallel $$(nproc) --output-on-failure --no-tests=error
	@cmake --install $(TEST_BUILD) --component development --prefix build/prefix >/dev/null
	@cmake -S examples/cpp -B build/example -DCMAKE_PREFIX_PATH=$(CURDIR)/build/prefix >/dev/null
	@cmake --build build/example >/dev/null
	@mkdir -p build/example/images/a build/example/images/b
	@cp tests/golden/exif_1.jpg build/example/images/a && cp tests/golden/photo.png build/example/images/b
	@build/example/class_means build/example/images

test-sanitizers: $(STAMPS)/test-packages
	@for preset in asan tsan; do \
	  cmake --preset $$preset >/dev/null && cmake --build --preset $$preset --parallel && \
	  ctest --preset $$preset --parallel $$(nproc) || exit 1; done

test-fuzz: $(STAMPS)/test-packages $(VENV)/.test-packages
	@fuzz/run.sh $(FUZZ_SECONDS)

# The installed package is checked, because it has the stub that is generated from the module.
lint: $(TEST_BUILD)/.installed $(VENV)/.test-packages
	@$(VENV)/bin/ruff check --quiet python examples
	@$(VENV)/bin/python -m mypy -p penstock

test-python: lint $(TEST_BUILD)/.installed $(VENV)/.test-packages build/venv-zarr2/.created
	@$(VENV)/bin/python -m pytest tests/python
	@$(VENV)/bin/python -m pytest tests/cluster

# `make test` runs a short form of each of these tests; the environment asks for the long one.
test-long: $(TEST_BUILD)/.installed $(VENV)/.test-packages build/venv-zarr2/.created
	@PENSTOCK_DAMAGE=all ctest --test-dir $(TEST_BUILD) -L slow --parallel $$(nproc) --output-on-failure --no-tests=error
	@PENSTOCK_BOMBS=all PENSTOCK_INTERRUPTS=200 PENSTOCK_STOPS=200 PENSTOCK_KILLS=100 PENSTOCK_TEST_ROUNDS=400 \
	  $(VENV)/bin/python -m pytest tests/python -m "slow or property"
	@fuzz/run.sh $(LONG_FUZZ_SECONDS)

# The engine and its tests for 64-bit ARM, run by an emulator: same pixels and orders as on x86-64.
ARM_PACKAGES := g++-aarch64-linux-gnu qemu-user
ARM_LIBRARIES := libc6-dev libstdc++-12-dev libjpeg-dev libpng-dev libwebp-dev libisal-dev zlib1g-dev libzstd-dev \
	libblosc-dev liblz4-dev libdeflate-dev libtiff-dev libcurl4-openssl-dev libssl-dev libxxhash-dev libprotozero-dev \
	libfmt-dev nlohmann-json3-dev libgtest-dev libgmock-dev

build/arm-sysroot/.unpacked: tests/arm/sysroot.sh
	@rm -rf build/arm-sysroot && tests/arm/sysroot.sh $(CURDIR)/build/arm-sysroot $(ARM_LIBRARIES)
	@touch $@

test-arm: $(STAMPS)/packages build/arm-sysroot/.unpacked
	$(call install_packages,$(ARM_PACKAGES))
	@cmake -S . -B build/arm -G Ninja -DCMAKE_TOOLCHAIN_FILE=tests/arm/toolchain.cmake -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g0 -DNDEBUG" -DPENSTOCK_TESTS=ON -DPENSTOCK_CLI=OFF -DPENSTOCK_UNITY=ON -DPENSTOCK_WERROR=ON >/dev/null
	@cmake --build build/arm --parallel
	@cd build/arm && ctest -L quick --timeout 1800 --output-on-failure

bench: build
	@$(PYTHON) bench/run.py

micro: $(STAMPS)/packages
	$(call install_packages,libbenchmark-dev)
	@cmake -S . -B build/micro -G Ninja -DCMAKE_BUILD_TYPE=Release -DPENSTOCK_CLI=OFF -DPENSTOCK_MICRO=ON >/dev/null
	@cmake --build build/micro && build/micro/bench/micro/penstock_micro

clean:
	rm -rf build $(VENV) dist
