"""Measures one case in this process and prints its values. Started by run.py, in the case's environment.

usage: measure.py WORKLOAD PEER OPTIONS-AS-JSON
"""
import importlib
import json
import os
import random
import sys

from workloads import WORKLOADS


def main():
    key, peer_name, options = sys.argv[1:]
    random.seed(11)
    peer = importlib.import_module("peers." + peer_name)
    values = WORKLOADS[key].measure(peer, **json.loads(options))
    print("RESULT " + json.dumps(values), flush=True)
    os._exit(0)  # some loaders are slow to tear down or hang; that is not part of the measure


if __name__ == "__main__":
    main()
