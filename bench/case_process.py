"""Runs one case in a process of its own and collects the values that it prints."""
import json
import os
import signal
import subprocess
import tempfile
import time

import places
import process_memory
import setup

TIMEOUT_S = 300
MEMORY_EVERY_S = 0.5  # often enough for an epoch of two seconds; reading it costs milliseconds


class CaseFailed(Exception):
    """The case ended badly, or without values; the message is the end of what it printed."""


def command(workload, case):
    python = str(setup.python_of(setup.environment_of(case.peer)))
    if workload.code:
        return [python, "-c", workload.code(case)]
    return [python, str(places.BENCH / "measure.py"), workload.key, case.peer, json.dumps(case.options)]


def run_case(workload, case):
    with tempfile.TemporaryFile("w+") as log:
        arguments = command(workload, case)
        environment = dict(os.environ, BENCH_STARTED=repr(time.monotonic()))
        process = subprocess.Popen(arguments, env=environment, stdout=log, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        code, peak_pss_mb = wait(process, workload.samples_memory)
        end_group(process)
        log.seek(0)
        lines = log.read().splitlines()
    results = [json.loads(line[len("RESULT "):]) for line in lines if line.startswith("RESULT ")]
    if code != 0 or not results:
        raise CaseFailed(f"exit code {code}: " + " | ".join(lines[-3:])[-300:])
    return {**results[0], "peak_pss_mb": peak_pss_mb} if workload.samples_memory else results[0]


def wait(process, samples_memory):
    """(exit code or why there is none, peak of the summed PSS of its session if that is sampled)"""
    ends = time.monotonic() + TIMEOUT_S
    peak_pss_mb = 0
    while time.monotonic() < ends:
        try:
            return process.wait(MEMORY_EVERY_S if samples_memory else TIMEOUT_S), peak_pss_mb
        except subprocess.TimeoutExpired:
            if samples_memory:
                peak_pss_mb = max(peak_pss_mb, process_memory.session_pss_mb(process.pid))
    return f"none after {TIMEOUT_S} s", peak_pss_mb


def end_group(process):
    """Ends what the case left behind (worker processes), so that it cannot disturb the next one."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
