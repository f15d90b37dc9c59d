#!/usr/bin/env python3
"""Objects of 4 MiB over S3 on loopback: `aquifer objbench`, `juicefs objbench` and `curl`, alternating, against one server.

  bench/s3_objects.py [--rounds N]      AQUIFER_S3_SERVER=http://host:port,access,secret for another server than `juicefs gateway`
"""
import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "lib"))
from s3_server import Gateway, Given
from volume import aquifer, juicefs, run

COUNT, BLOCK = 64, 4 << 20


def measured(*cmd, env=None):
    """output, seconds, CPU seconds of the children"""
    before, t = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    out = run(*cmd, env=env).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return out, time.time() - t, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def objbench(binary, server, threads):
    out, _, cpu = measured(binary, "objbench", "--skip-functional-tests", "--storage", "s3", "-p", threads, "--block-size", "4M", "--big-object-size",
                           f"{COUNT * 4}M", "--small-objects", 64, f"{server.url}/bench", env=server.environment())
    out = re.sub(r"\x1b\[[0-9;]*m", "", out)
    get = lambda item: float(re.search(item + r"\s*\|\s*([\d.]+) \S+/s", out)[1])
    return {"put MiB/s": get("upload objects"), "get MiB/s": get("download objects"), "put 128K /s": get("put small objects"),
            "get 128K /s": get("get small objects"), "head /s": get("head objects"), "cpu s": cpu}


def curl(server, folder):
    access = f"--user {server.keys[0]}:{server.keys[1]} --aws-sigv4 aws:amz:us-east-1:s3".split()
    common = ["curl", "-sS", "--fail", *access, "-H", "x-amz-content-sha256: UNSIGNED-PAYLOAD"]
    puts, gets = [], []
    for i in range(COUNT):
        puts += ["-T", folder + "/block", f"{server.url}/bench/curl{i}"]
        gets += ["-o", folder + "/out", f"{server.url}/bench/curl{i}"]
    mib = COUNT * BLOCK / (1 << 20)
    _, put, cpu1 = measured(*common, *puts)
    _, got, cpu2 = measured(*common, *gets)
    return {"put MiB/s": mib / put, "get MiB/s": mib / got, "cpu s": cpu1 + cpu2}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rounds", type=int, default=3)
    a = p.parse_args()
    with (Given if os.environ.get("AQUIFER_S3_SERVER") else Gateway)() as server, tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        with open(folder + "/block", "wb") as f:
            f.write(os.urandom(BLOCK))
        rows = {"aquifer, 1 thread": lambda: objbench(aquifer(), server, 1), "juicefs, 1 thread": lambda: objbench(juicefs(), server, 1),
                "curl, 1 connection": lambda: curl(server, folder), "aquifer, 4 threads": lambda: objbench(aquifer(), server, 4),
                "juicefs, 4 threads": lambda: objbench(juicefs(), server, 4)}
        got = {name: [] for name in rows}
        for _ in range(a.rounds):
            for name, measure in rows.items():
                got[name].append(measure())
        columns = ["put MiB/s", "get MiB/s", "put 128K /s", "get 128K /s", "head /s", "cpu s"]
        print(f"{server.name}, {COUNT} objects of 4 MiB, median of {a.rounds}")
        print(f"{'':20}" + "".join(f"{c:>14}" for c in columns))
        for name, results in got.items():
            print(f"{name:20}" + "".join(f"{statistics.median(r[c] for r in results):14.1f}" if c in results[0] else f"{'':14}" for c in columns))


main()
