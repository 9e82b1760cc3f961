"""The memory of a case with all of its worker processes, seen from outside."""
import os

MB = 1e6


def session_pss_mb(session):
    """Sum of the proportional set sizes (shared pages counted once) of all processes of a session."""
    return sum(pss_bytes(process) for process in os.listdir("/proc") if process.isdigit()
               and session_of(process) == session) / MB


def session_of(process):
    try:
        with open(f"/proc/{process}/stat") as stat:
            return int(stat.read().rpartition(")")[2].split()[3])
    except OSError:  # it has ended
        return None


def pss_bytes(process):
    try:
        with open(f"/proc/{process}/smaps_rollup") as rollup:
            return next(int(line.split()[1]) * 1024 for line in rollup if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0
