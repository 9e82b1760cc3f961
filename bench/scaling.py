#!/usr/bin/env python3
"""Thread scaling of the training pipeline with the command line, for a machine with many cores.

    bench/scaling.py PENSTOCK FOLDER OUT.json [--threads 1,2,4,8,12,16] [--rounds 3] [--cache 16GiB]

PENSTOCK is the built program, FOLDER a class folder of JPEGs (on tmpfs, so that the disk does not
matter). Without a cache, and with one that holds all of it decoded. Rounds are interleaved; the medians go to OUT.json, which report.py renders when it stands at
bench/scaling.json. Only the standard library is used.
"""
import argparse
import json
import statistics
import subprocess


def measure(program, folder, threads, batch, more):
    command = [program, "bench", folder, "--threads", str(threads), "--batch", str(batch), "--epochs", "2", "--json", *more]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--threads", default="1,2,4,8,12,16")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--cache", default="16GiB")
    arguments = parser.parse_args()
    counts = [int(text) for text in arguments.threads.split(",")]
    ways = {"images_per_second": ["--memory", "8GiB"],
            "cached_images_per_second": ["--cache", arguments.cache, "--cache-form", "decoded"]}
    rates = {(count, way): [] for count in counts for way in ways}
    for _ in range(arguments.rounds):
        for count, way in rates:
            result = measure(arguments.program, arguments.folder, count, arguments.batch, ways[way])
            rates[count, way].append(result["throughput"])
            print(f"{count} threads: {result['throughput']:.0f} {way.replace('_', ' ')}", flush=True)
    hardware, versions, config = result["hardware"], result["versions"], result["config"]
    text = (f"{hardware['usable_cores']} cores of {hardware['cpu']}, {hardware['os']}, {versions['compiler']}, "
            f"libjpeg-turbo {versions['libjpeg-turbo']}. {config['samples']:,} JPEGs of "
            f"{config['stored_bytes'] / config['samples'] / 1000:.0f} kB on average, antialiased, float32 NCHW, "
            f"batch {arguments.batch}, second epoch, median of {arguments.rounds}.")
    rows = [{"threads": count} | {way: round(statistics.median(rates[count, way]), 1) for way in ways} for count in counts]
    with open(arguments.out, "w") as file:
        json.dump({"hardware": text, "rows": rows}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
