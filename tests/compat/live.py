#!/usr/bin/env python3
"""Both clients on one volume: each alone, both in turns, both at once; read back by the other with an empty cache; judged.

  live.py [--soak] [--only REGEX] [--seed N]

For each combination of formats: a random workload (tests/lib/fsmodel.py) through Aquifer, through JuiceFS 1.4.2, through both
in turns on the same tree (the cache time-outs of names and attributes at 0), and by both at the same time in trees of their own.
Then everything is unmounted, and each client, mounted anew with an empty cache, must show every byte, mode, owner, time,
attribute, ACL and link of the model. Last, JuiceFS's fsck, quota check and gc judge the volume.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import fsmodel
from audit import audit
from judge import judge
from volume import Report, Volume, aquifer, juicefs, run

NOCACHE = ("--attr-cache", "0", "--entry-cache", "0", "--dir-entry-cache", "0")


def key_file(dir, passphrase=None):
    path = os.path.join(dir, "key.pem")
    cmd = ["openssl", "genrsa", "-out", path, "2048"]
    if passphrase:
        cmd = ["openssl", "genrsa", "-aes256", "-passout", "pass:" + passphrase, "-out", path, "2048"]
    subprocess.run(cmd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return path


# name, format options; the first letter says who formats
COMBINATIONS = [
    ("plain 4M, trash", "A", []),
    ("lz4 1M, no trash", "B", ["--compress", "lz4", "--block-size", "1M", "--trash-days", "0"]),
    ("zstd 64K, hash prefix", "A", ["--compress", "zstd", "--block-size", "64K", "--hash-prefix"]),
    ("encrypted 1M, no trash", "A", ["--encrypt-rsa-key", "KEY", "--block-size", "1M", "--trash-days", "0"]),
    ("encrypted chacha20 + lz4, hash prefix", "B", ["--encrypt-rsa-key", "KEY", "--encrypt-algo", "chacha20-rsa", "--compress", "lz4", "--hash-prefix"]),
    ("shards 3, 64K, no trash", "B", ["--shards", "3", "--block-size", "64K", "--trash-days", "0"]),
    ("shards 4, zstd 4M", "A", ["--shards", "4", "--compress", "zstd"]),
]


def steps(workload, n, report_to):
    try:
        for _ in range(n):
            workload.step()
    except Exception as e:
        report_to.append(f"seed {workload.seed}, step {workload.count}: {type(e).__name__}: {e}; before: {workload.log[-3:]}")


def combination(name, who, opts, ops, seed):
    ours, theirs = aquifer(), juicefs()
    env = {}
    trash = "--trash-days" not in opts
    import tempfile
    with tempfile.TemporaryDirectory() as keys:
        opts = [key_file(keys) if o == "KEY" else o for o in opts]
        with Volume(ours if who == "A" else theirs, "--enable-acl", *opts, env=env) as v:
            os.umask(0)
            quotas = []
            for label in ("qa", "qb"):
                run(theirs if label == "qa" else ours, "quota", "set", v.meta, "--path", "/" + label, "--create", "--capacity", "10", "--inodes", "100000")
                quotas.append(("--path", "/" + label))
            run(theirs, "quota", "set", v.meta, "--uid", "1000", "--capacity", "10")
            run(theirs, "quota", "set", v.meta, "--gid", "2000", "--inodes", "100000")
            quotas += [("--uid", "1000"), ("--gid", "2000")]
            a = v.mount(ours, "a", *NOCACHE)
            b = v.mount(theirs, "b", *NOCACHE)

            trees, problems, threads = [], [], []
            shown = lambda root: not trash or root.startswith(a.mnt)

            def workload(i, sub, root, n, parallel=False):
                for r in (root if isinstance(root, list) else [root])[:1]:
                    os.mkdir(f"{r}/{sub}")
                    os.chmod(f"{r}/{sub}", 0o755)
                rnd = random.Random(seed + i)
                choose = (lambda: f"{rnd.choice(root)}/{sub}") if isinstance(root, list) else (lambda: f"{root}/{sub}")
                w = fsmodel.Workload(seed + i, choose, big_every=60, nlink=shown)
                w.seed = seed + i
                trees.append((sub, w))
                if parallel:
                    threads.append(threading.Thread(target=steps, args=(w, n, problems)))
                else:
                    steps(w, n, problems)

            workload(1, "qa/by-a", a.mnt, ops)
            workload(2, "qb/by-b", b.mnt, ops)
            workload(3, "turns", [a.mnt, b.mnt], ops)
            workload(4, "at-once-a", a.mnt, ops, True)
            workload(5, "at-once-b", b.mnt, ops, True)
            [t.start() for t in threads]
            [t.join() for t in threads]
            if problems:
                raise AssertionError("; ".join(problems))
            time.sleep(1.5)       # time-outs at their defaults: everything is visible within a second and a half
            for m in (a, b):
                fsmodel.expect_trees(m.mnt, trees, shown(m.mnt), f"live, {m.label}")
            a.umount()
            b.umount()
            for binary, label in ((theirs, "fresh-b"), (ours, "fresh-a")):
                m = v.mount(binary, label)
                fsmodel.expect_trees(m.mnt, trees, not trash or binary == ours, f"fresh mount {label}")
                m.umount()
            counts = judge(theirs, v, quotas)
            bad = audit(v.dir + "/meta.db", shared=True)
            if bad:
                raise AssertionError(f"audit: {bad[:5]}")
            return f"{sum(w.count for _, w in trees)} operations, {counts['scanned']} objects"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--soak", action="store_true")
    p.add_argument("--ops", type=int)
    p.add_argument("--only", default="")
    p.add_argument("--seed", type=int, default=int(os.environ.get("AQUIFER_SEED", time.time() * 1000 % 1e9)))
    a = p.parse_args()
    r = Report()
    if not juicefs():
        r.skip("live sharing", "no juicefs program")
        r.end()
    print("seed", a.seed, flush=True)
    for i, (name, who, opts) in enumerate(COMBINATIONS):
        if re.search(a.only, name):
            r.check(f"live: {name}, formatted by {'aquifer' if who == 'A' else 'juicefs'}", combination, name, who, opts,
                    a.ops or (2000 if a.soak else 250), a.seed + 100 * i)
    r.end()


main()
