#!/usr/bin/env python3
"""Failures that real users of file systems reported, replayed on two mounts of one volume (tests/cases/README.md).

C63 (inotify across mounts) is a wish that no file system of this kind fulfils; it is the only one that may fail.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import ROOT, Volume, aquifer

MAY_FAIL = {"C63"}
only = [a for a in sys.argv[1:] if re.fullmatch(r"C\d+", a)]
with Volume(aquifer(), "--enable-acl") as v:
    a, b = v.mount(aquifer(), "a"), v.mount(aquifer(), "b")
    p = subprocess.run(["bash", f"{ROOT}/tests/cases/run-all.sh", a.mnt, b.mnt, *only], stdout=subprocess.PIPE, text=True)
ok = bad = skipped = 0
for line in p.stdout.splitlines():
    m = re.match(r"(C\d+) +(ok|skipped|FAILED)", line)
    if not m:
        continue
    print(line)
    if m[2] == "ok":
        ok += 1
    elif m[2] == "skipped" or m[1] in MAY_FAIL:
        skipped += 1
    else:
        bad += 1
print(f"{ok} passed, {bad} failed, {skipped} skipped")
sys.exit(1 if bad or not ok else 0)
