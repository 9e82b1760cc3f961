"""Makes one data set of data_sets/, in the Python environment that it needs. Started by setup.py.

usage: make_data.py NAME [--seed N]   (writes to PENSTOCK_BENCH_DATA, default .bench/data)
"""
import argparse
import importlib
import time

import data_sets


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=data_sets.DATA_SETS)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    started = time.perf_counter()
    maker = importlib.import_module("data_sets." + data_sets.DATA_SETS[arguments.name].module)
    description = maker.make(arguments.seed)
    data_sets.remember(arguments.seed, arguments.name, description)
    print(f"data {arguments.name}: {description} in {time.perf_counter() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
