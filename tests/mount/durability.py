#!/usr/bin/env python3
"""Where the promises of docs/semantics.md meet the system calls: what syncs the metadata's log to disk, seen by strace of the worker."""
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import Report, Volume, aquifer

r = Report()
if not shutil.which("strace"):
    r.skip("durability", "strace is not installed")
    r.end()


def syncs(mount, work):
    """How often the worker synced the log while `work` ran."""
    pid = mount.config()["Pid"]
    out = mount.volume.dir + "/strace"
    p = subprocess.Popen(["strace", "-f", "-qq", "-y", "-e", "trace=fsync,fdatasync", "-o", out, "-p", str(pid)], stderr=subprocess.DEVNULL)
    time.sleep(0.7)
    work()
    time.sleep(0.2)
    p.terminate()
    p.wait()
    return sum("-wal>" in line for line in open(out))


def create(m, flags=0):
    def work():
        fd = os.open(f"{m.mnt}/f{time.time_ns()}", os.O_CREAT | os.O_WRONLY | flags)
        os.write(fd, b"x")
        os.close(fd)
    return work


def fsync(m):
    def work():
        fd = os.open(m.mnt + "/synced", os.O_CREAT | os.O_WRONLY)
        os.write(fd, b"x")
        os.fsync(fd)
        os.close(fd)
    return work


def fsyncdir(m):
    def work():
        fd = os.open(m.mnt, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
    return work


def expect(n, at_least, what):
    assert (n > 0) == at_least, f"{what}: the log was synced {n} times"
    return f"{n} syncs"


with Volume(aquifer()) as v:
    m = v.mount(aquifer(), "a")
    for name, work, want in (("create, write, close: no sync", create(m), False), ("fsync", fsync(m), True), ("fsync of a directory", fsyncdir(m), True),
                             ("O_SYNC write", create(m, os.O_SYNC), True)):
        r.check(name, lambda: expect(syncs(m, work), want, name))
    m.umount()
    m = v.mount(aquifer(), "b", "--power-safe")
    r.check("--power-safe: every change", lambda: expect(syncs(m, create(m)), True, "create"))
r.end()
