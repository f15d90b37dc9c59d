#!/usr/bin/env python3
"""The suites that do not care where the metadata is, with the metadata on a Redis server that is started for them.

  on_redis.py [--soak] [--only REGEX]
"""
import argparse
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from redis_server import RedisServer, available
from volume import Report

SUITES = ("mount/fsx.py", "mount/pjdfstest.py", "model/mounts.py", "crash/kills.py")


def suite(path, soak):
    with RedisServer("--databases", "512") as server:
        env = {**os.environ, "AQUIFER_TEST_META": f"redis://127.0.0.1:{server.port}/{{n}}"}
        p = subprocess.run([sys.executable, os.path.join(HERE, "..", path), *(["--soak"] if soak else [])], env=env, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, errors="replace")
    last = p.stdout.strip().splitlines()[-1:] or [""]
    if p.returncode == 77:
        return "skipped: " + last[0]
    assert p.returncode == 0 and re.search(r"[1-9]\d* passed, 0 failed", last[0]), p.stdout[-2000:]
    return last[0]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--soak", action="store_true")
    p.add_argument("--only", default="")
    a = p.parse_args()
    if not available():
        sys.exit(77)
    r = Report()
    for path in SUITES:
        if re.search(a.only, path):
            r.check(f"{path} on Redis", suite, path, a.soak)
    r.end()


main()
