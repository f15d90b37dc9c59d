#!/usr/bin/env python3
"""Dumps of both clients from the same random volume are the same bytes; what one wrote the other loads, and the volume that comes of it is
sound and reads back in full. Compressed and uncompressed, JSON and binary.

  dump.py [--seed N] [--ops N]
"""
import argparse
import difflib
import gzip
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import fsmodel
from audit import audit
from volume import Report, Volume, aquifer, juicefs, run

# What JuiceFS's load makes anew: the next ids, the links of trash folders (which nobody keeps elsewhere).
ANEW = re.compile(rb'"next(Inodes|Chunk|Session)": \d+|(?<="inode":9223372032828)[^\n]*"nlink":\d+')


def read(path):
    with open(path, "rb") as f:
        return f.read()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=int(os.environ.get("AQUIFER_SEED", time.time() * 1000 % 1e9)))
    p.add_argument("--ops", type=int, default=800)
    p.add_argument("--soak", action="store_true")
    a = p.parse_args()
    theirs = juicefs()
    if not theirs:
        sys.exit(77)
    ours = aquifer()
    os.umask(0)
    r = Report()
    print("seed", a.seed, flush=True)
    with Volume(ours, "--enable-acl", "--trash-days", "1") as v:
        m = v.mount(ours, "a")
        os.mkdir(m.mnt + "/w")
        # JuiceFS loses every extended attribute when it loads a binary backup that holds an empty one.
        w = fsmodel.Workload(a.seed, lambda: m.mnt + "/w", empty_xattrs=False)
        for _ in range(a.ops * (10 if a.soak else 1)):
            w.step()
        run(ours, "quota", "set", v.meta, "--path", "/w", "--capacity", "10", "--inodes", "100000")
        run(ours, "quota", "set", v.meta, "--uid", "7", "--inodes", "1000")
        m.umount()
        d = v.dir

        def same_json():
            run(ours, "dump", v.meta, d + "/ours.json")
            run(theirs, "dump", v.meta, d + "/theirs.json")
            assert read(d + "/ours.json") == read(d + "/theirs.json"), f"{d}: the dumps differ"
            return f"{os.path.getsize(d + '/ours.json')} bytes"

        def more_json():
            run(ours, "dump", v.meta, "--skip-trash", d + "/ours-st.json")
            run(theirs, "dump", v.meta, "--skip-trash", d + "/theirs-st.json")
            assert read(d + "/ours-st.json") == read(d + "/theirs-st.json"), "without the trash"
            run(ours, "dump", v.meta, "--subdir", "/w", d + "/ours-sub.json")
            run(theirs, "dump", v.meta, "--subdir", "/w", d + "/theirs-sub.json")
            assert read(d + "/ours-sub.json") == read(d + "/theirs-sub.json"), "of a sub-directory"
            reload(ours, d + "/ours-sub.json", same=False)
            out = subprocess.run([ours, "dump", v.meta], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
            assert out == read(d + "/ours.json"), "to stdout"

        def compressed():
            run(ours, "dump", v.meta, d + "/z.json.gz")
            run(ours, "dump", v.meta, d + "/z.json.zstd")
            assert gzip.decompress(read(d + "/z.json.gz")) == read(d + "/ours.json")
            for who, f in ((theirs, "/z.json.gz"), (theirs, "/z.json.zstd"), (ours, "/z.json.gz"), (ours, "/z.json.zstd")):
                reload(who, d + f)

        def reload(loader, path, *opts, exact=False, same=True):
            url = f"sqlite3://{d}/copy.db"
            for f in os.listdir(d):
                if f.startswith("copy.db"):
                    os.unlink(f"{d}/{f}")
            run(loader, "load", *opts, url, path)
            run(theirs, "dump", url, d + "/copy.json")
            got, want = read(d + "/copy.json"), read(d + "/ours.json")
            if not exact:
                got, want = ANEW.sub(b"", got), ANEW.sub(b"", want)
            if same and got != want:
                lines = list(difflib.unified_diff(want.decode().splitlines(), got.decode().splitlines(), lineterm="", n=0))
                raise AssertionError(f"loaded from {path} by {loader}: another volume: {[x[:200] for x in lines[3:7]]}")
            bad = audit(d + "/copy.db")
            if loader == ours:
                assert not bad, f"loaded from {path}: {bad[:3]}"
            out = run(theirs, "fsck", url, "--path", "/", "-r").stdout
            assert "ERROR" not in out, out[-500:]

        def binary():
            run(ours, "dump", "--binary", "--keep-secret-key", v.meta, d + "/ours.bin")
            run(theirs, "dump", "--binary", "--keep-secret-key", v.meta, d + "/theirs.bin")
            for who, f in ((ours, "/ours.bin"), (ours, "/theirs.bin"), (theirs, "/ours.bin"), (theirs, "/theirs.bin")):
                reload(who, d + f, "--binary", exact=True)
            a1 = run(ours, "load", "--binary", "--stat", d + "/theirs.bin").stdout
            b1 = run(theirs, "load", "--binary", "--stat", d + "/theirs.bin").stdout
            cut = lambda t: t[t.index("Backup Version"):]
            assert cut(a1) == cut(b1), a1

        def contents():
            """the volume as loaded by us, mounted by them"""
            reload(ours, d + "/ours.json", exact=True)
            os.replace(f"{d}/copy.db", f"{d}/meta.db")
            for f in ("meta.db-wal", "meta.db-shm"):
                if os.path.exists(f"{d}/{f}"):
                    os.unlink(f"{d}/{f}")
            for f in ("copy.db-wal", "copy.db-shm"):
                if os.path.exists(f"{d}/{f}"):
                    os.replace(f"{d}/{f}", f"{d}/{f.replace('copy', 'meta')}")
            for who, label in ((theirs, "j"), (ours, "b")):
                m2 = v.mount(who, label)
                bad = fsmodel.compare(m2.mnt + "/w", w.model, nlink=label == "b")
                assert not bad, f"{label}: {bad[:3]}"
                m2.umount()

        def automatic():
            """of a mount, in turn with one of JuiceFS: rotated, loadable, no more often than asked for"""
            folder = f"{v.dir}/obj/vol/meta"
            env = {"SKIP_BACKUP_META_CHECK": "true"}
            old = "dump-2020-01-01-000000.json.gz"
            os.makedirs(folder, exist_ok=True)
            for name in (old, "mine.json.gz"):
                open(f"{folder}/{name}", "w").close()
            mounts = [v.mount(ours, "b1", "--backup-meta", "6s", env=env), v.mount(ours, "b2", "--backup-meta", "6s", env=env),
                      v.mount(theirs, "b3", "--backup-meta", "6s", env=env)]
            begun = time.time()
            found = lambda: sorted(n for n in os.listdir(folder) if n.startswith("dump-20") and n != old)
            while len(found()) < 3 and time.time() < begun + 40:
                time.sleep(0.2)
            took, names = time.time() - begun, found()
            stamp = os.getxattr(mounts[0].mnt, "lastBackup")
            for m2 in mounts:
                m2.umount()
            assert len(names) >= 3, names
            assert took > 6 * (len(names) - 2), f"{names} in {took:.1f} s: more often than every 6 s"
            assert b"T" in stamp, stamp
            assert os.path.exists(f"{folder}/mine.json.gz") and not os.path.exists(f"{folder}/{old}"), "rotation"
            for name in names:
                for who in (ours, theirs):
                    reload(who, f"{folder}/{name}", same=False)
            return f"{len(names)} in {took:.0f} s"

        def refused():
            for args, word in ((("load", v.meta, d + "/ours.json"), "is used by volume"),
                               (("load", f"sqlite3://{d}/no.db", d + "/absent"), "absent"),
                               (("load", f"sqlite3://{d}/no.db", d + "/cut.json"), "not JSON"),
                               (("load", f"sqlite3://{d}/no.db", d + "/cut.json.gz"), "cut off"),
                               (("load", "--binary", f"sqlite3://{d}/no.db", d + "/ours.json"), "segment"),
                               (("dump", v.meta, "--subdir", "/nothing", d + "/x.json"), "nothing"),
                               (("dump", v.meta, d + "/no/dir/x.json"), "no such file")):
                p = run(ours, *args, check=False)
                assert p.returncode and word in p.stdout, f"{args}: {p.returncode} {p.stdout[-300:]}"
            assert not os.path.exists(d + "/x.json") and not os.path.exists(d + "/x.json.tmp")
            run(ours, "load", f"sqlite3://{d}/no.db", d + "/ours.json")     # what failed before left the database empty

        with open(d + "/cut.json", "wb") as f:
            run(ours, "dump", v.meta, d + "/whole.json")
            f.write(read(d + "/whole.json")[:-100])
        with open(d + "/cut.json.gz", "wb") as f:
            f.write(gzip.compress(read(d + "/whole.json"))[:-100])
        r.check("JSON: the same bytes", same_json)
        r.check("JSON: parts", more_json)
        r.check("compressed", compressed)
        r.check("binary", binary)
        r.check("refused", refused)
        r.check("contents", contents)
        r.check("automatic backup", automatic)
    r.end()


main()
