#!/usr/bin/env python3
"""Random operations through real mounts against a plain model (tests/lib/fsmodel.py): through one mount, and in turns through two
mounts of the same volume. Afterwards a fresh mount with an empty cache must show the model, and the database must be sound.

  mounts.py [--soak] [--seed N] [--ops N]
"""
import argparse
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compat"))
import fsmodel
from audit import audit_volume
from volume import Report, Volume, aquifer

NOCACHE = ("--attr-cache", "0", "--entry-cache", "0", "--dir-entry-cache", "0")


def steps(w, n):
    for _ in range(n):
        try:
            w.step()
        except Exception as e:
            raise AssertionError(f"seed {w.seed}, step {w.count}: {type(e).__name__}: {e}; before: {w.log[-4:]}") from e


def finish(v, trees):
    for m in list(v.mounts):
        m.umount()
    m = v.mount(aquifer(), "fresh")
    for sub, w in trees:
        bad = fsmodel.compare(f"{m.mnt}/{sub}", w.model)
        assert not bad, f"seed {w.seed}: {bad[:4]}"
    m.umount()
    bad = audit_volume(v)
    assert not bad, f"seed {[w.seed for _, w in trees]}: audit: {bad[:4]}"


def one(seed, ops, *format_opts, mount=()):
    with Volume(aquifer(), "--enable-acl", *format_opts) as v:
        m = v.mount(aquifer(), "a", *mount)
        os.mkdir(m.mnt + "/w")
        w = fsmodel.Workload(seed, lambda: m.mnt + "/w", big_every=200)
        w.seed = seed
        steps(w, ops)
        bad = fsmodel.compare(m.mnt + "/w", w.model)
        assert not bad, f"seed {seed}: {bad[:4]}"
        finish(v, [("w", w)])


def two(seed, ops):
    with Volume(aquifer(), "--enable-acl", "--block-size", "64K") as v:
        a, b = v.mount(aquifer(), "a", *NOCACHE), v.mount(aquifer(), "b", *NOCACHE)
        os.mkdir(a.mnt + "/w")
        rnd = random.Random(seed)
        w = fsmodel.Workload(seed, lambda: rnd.choice([a, b]).mnt + "/w", big_every=200)
        w.seed = seed
        steps(w, ops)
        finish(v, [("w", w)])


def at_once(seed, ops):
    with Volume(aquifer(), "--enable-acl", "--trash-days", "0") as v:
        mounts = [v.mount(aquifer(), "a"), v.mount(aquifer(), "b")]
        trees, errors = [], []

        def work(i):
            try:
                steps(trees[i][1], ops)
            except Exception as e:
                errors.append(str(e))

        for i in range(4):
            root = f"{mounts[i % 2].mnt}/t{i}"
            os.mkdir(root)
            w = fsmodel.Workload(seed + i, lambda root=root: root, big_every=200)
            w.seed = seed + i
            trees.append((f"t{i}", w))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        assert not errors, errors[0]
        finish(v, trees)


p = argparse.ArgumentParser()
p.add_argument("--soak", action="store_true")
p.add_argument("--ops", type=int)
p.add_argument("--seed", type=int, default=int(os.environ.get("AQUIFER_SEED", time.time() * 1000 % 1e9)))
a = p.parse_args()
n = a.ops or (100_000 if a.soak else 3000)
os.umask(0)
r = Report()
print("seed", a.seed, flush=True)
r.check(f"one mount, {n} operations", one, a.seed, n)
r.check(f"one mount, no trash, lz4, {n // 3} operations", one, a.seed + 1, n // 3, "--trash-days", "0", "--compress", "lz4", "--block-size", "64K")
r.check(f"one mount, writeback, {n // 3} operations", one, a.seed + 2, n // 3, mount=("--writeback",))
r.check(f"two mounts in turns, {n} operations", two, a.seed + 3, n)
r.check(f"two mounts at once, 4 x {n // 4} operations", at_once, a.seed + 10, n // 4)
r.end()
