#!/usr/bin/env python3
"""fsx: random reads, writes, truncates, mmaps and punches of one file, checked against memory. Seeds are printed."""
import os
import random
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import Report, Volume, aquifer

soak = "--soak" in sys.argv
seeds, ops = (20, 20000) if soak else (3, 3000)
r = Report()
if not shutil.which("fsx"):
    r.skip("fsx", "the program is not installed (scripts/install-deps --tests; needs cargo)")
    r.end()

CONFIG = """
flen = 1048576
[opsize]
max = 65536
[weights]
close_open = 1
invalidate = 1
mapread = 10
mapwrite = 10
read = 20
write = 20
truncate = 5
fsync = 1
fdatasync = 1
punch_hole = 3
copy_file_range = 3
"""


def one(v, mount, seed):
    conf = v.dir + "/fsx.toml"
    with open(conf, "w") as f:
        f.write(CONFIG)
    p = subprocess.run(["fsx", "-N", str(ops), "-S", str(seed), "-f", conf, f"{mount.mnt}/fsx-{seed}"], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    assert p.returncode == 0, p.stdout[-1500:]
    os.unlink(f"{mount.mnt}/fsx-{seed}")


with Volume(aquifer()) as v:
    m = v.mount(aquifer(), "a")
    base = int(os.environ.get("AQUIFER_SEED", random.randrange(10**6)))
    for i in range(seeds):
        r.check(f"fsx seed {base + i}, {ops} operations", one, v, m, base + i)
r.end()
