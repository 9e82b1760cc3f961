"""A description of this machine, kept with every result."""
import os
import platform


def first_match(path, field):
    with open(path) as lines:
        for line in lines:
            if line.startswith(field):
                return line.split(":", 1)[1].strip()
    return "unknown"


def describe():
    memory_kb = int(first_match("/proc/meminfo", "MemTotal").split()[0])
    return {"cpu": first_match("/proc/cpuinfo", "model name"), "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(memory_kb / (1 << 20), 1), "kernel": platform.release(),
            "system": system_name()}


def system_name():
    with open("/etc/os-release") as lines:
        fields = dict(line.strip().split("=", 1) for line in lines if "=" in line)
    return fields.get("PRETTY_NAME", "unknown").strip('"')
