"""Volumes and mounts of either client, for the test programs. Everything lives in one temporary folder and is cleaned up."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def aquifer():
    return os.environ.get("AQUIFER", os.path.join(ROOT, "build", "aquifer"))


def juicefs():
    """The other client, or None with the reason printed once."""
    path = os.environ.get("JUICEFS") or shutil.which("juicefs")
    if path and os.path.realpath(path) != os.path.realpath(aquifer()):
        return path
    print("SKIPPED: the juicefs 1.4.2 program is not installed (scripts/install-deps installs it)", flush=True)
    return None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run(*cmd, check=True, env=None, timeout=300, **kw):
    p = subprocess.run([str(c) for c in cmd], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                       env={**os.environ, **(env or {})}, timeout=timeout, **kw)
    if check and p.returncode:
        raise RuntimeError(f"{' '.join(map(str, cmd))}: exit {p.returncode}\n{p.stdout[-3000:]}")
    return p


class Mount:
    def __init__(self, volume, binary, label, opts=(), env=None):
        self.volume, self.binary, self.label = volume, binary, label
        self.mnt = os.path.join(volume.dir, "mnt-" + label)
        self.cache = os.path.join(volume.dir, "cache-" + label)
        self.log = os.path.join(volume.dir, f"log-{label}")
        os.makedirs(self.mnt, exist_ok=True)
        run(binary, "mount", "-d", "--no-usage-report", "--enable-xattr", "--cache-dir", self.cache, "--log", self.log,
            *opts, volume.meta, self.mnt, env={**volume.env, **(env or {})}, timeout=60)
        volume.mounts.append(self)

    def config(self):
        with open(self.mnt + "/.config") as f:
            return json.load(f)

    def pids(self):
        c = self.config()
        return c["Pid"], c["PPid"]

    def umount(self):
        if self in self.volume.mounts:
            self.volume.mounts.remove(self)
        p = run(self.binary, "umount", self.mnt, check=False)
        if p.returncode:
            run("umount", "-l", self.mnt, check=False)
        for _ in range(100):        # the client goes on flushing after the unmount
            if not os.path.ismount(self.mnt):
                break
            time.sleep(0.1)
        deadline = time.time() + 20
        while time.time() < deadline and subprocess.run(["pgrep", "-f", f" {re.escape(self.mnt)}$"], stdout=subprocess.DEVNULL).returncode == 0:
            time.sleep(0.1)
        if p.returncode:
            raise RuntimeError(f"umount {self.mnt}: {p.stdout}")


class Volume:
    """One volume on SQLite (or where `meta` says) and a local directory."""
    number = 0

    def __init__(self, binary, *format_opts, name="vol", env=None, tmp=None, meta=None):
        self.dir = tempfile.mkdtemp(prefix="aquifer-test-", dir=tmp or os.environ.get("AQUIFER_TEST_TMP", "/var/tmp"))
        os.chmod(self.dir, 0o755)
        # AQUIFER_TEST_META: the same suites on another engine, e.g. redis://127.0.0.1:6379/{n} ({n}: the number of the volume, from 1).
        Volume.number += 1
        other = os.environ.get("AQUIFER_TEST_META", "").replace("{n}", str(Volume.number))
        self.meta, self.bucket, self.name = meta or other or f"sqlite3://{self.dir}/meta.db", self.dir + "/obj/", name
        self.env, self.mounts = env or {}, []
        bucket = self.bucket
        if "--shards" in format_opts:
            bucket = self.dir + "/obj%d/"
        self.format_output = run(binary, "format", "--storage", "file", "--bucket", bucket, *format_opts, self.meta, name,
                                 env=self.env).stdout

    def mount(self, binary, label, *opts, env=None):
        return Mount(self, binary, label, opts, env)

    def objects(self):
        for top in sorted(os.listdir(self.dir)):
            if top.startswith("obj"):
                for base, _, files in os.walk(os.path.join(self.dir, top)):
                    for f in files:
                        yield os.path.join(base, f)

    def close(self, keep=False):
        for m in list(self.mounts):
            try:
                m.umount()
            except Exception as e:
                print("  cleaning up:", e, file=sys.stderr)
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        keep = kind is not None and os.environ.get("AQUIFER_KEEP")
        self.close(keep=bool(keep))
        if keep:
            print("kept:", self.dir)


class Report:
    """Named checks; ends with `N passed, N failed` and an exit code."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, fn, *args, **kw):
        t = time.time()
        try:
            note = fn(*args, **kw)
        except Exception as e:      # a failed check is a result
            self.failed += 1
            print(f"FAILED  {name} ({time.time() - t:.1f} s): {type(e).__name__}: {e}", flush=True)
            if os.environ.get("AQUIFER_TRACE"):
                import traceback
                traceback.print_exc()
            return False
        self.passed += 1
        print(f"ok      {name} ({time.time() - t:.1f} s){': ' + str(note) if note else ''}", flush=True)
        return True

    def skip(self, name, why):
        self.skipped += 1
        print(f"SKIPPED {name}: {why}", flush=True)

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        sys.exit(1 if self.failed else 0)
