#!/usr/bin/env python3
"""Crashes and hangs of a mount.

worker   kill -9 of the worker while processes are inside read, write, create, mkdir, rename, unlink, fsync and readdir, and others hold an
         open-unlinked file, flock and POSIX locks, an appending descriptor and a mapping. The supervisor's next worker goes on over the
         same descriptor: nothing hangs, no call sees an error of the crash (EIO of fsync and close alone may say that unsynced data was
         lost), nothing is done twice, and it is back within two seconds.
both     kill -9 of supervisor and worker: after a new mount everything that fsync acknowledged is there, and JuiceFS's checks are clean.
stopped  SIGSTOP of the worker: it is dumped, killed and replaced in the stated time.

  kills.py [--soak] [--seed N]       12 kills of each kind, 50 with --soak
"""
import argparse
import errno
import fcntl
import mmap
import multiprocessing as mp
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "compat"))
from audit import audit_volume
from judge import judge
from volume import Report, Volume, aquifer, juicefs, run

HEARTBEAT = 2
BACK_WITHIN = 2.0
STOPPED_WITHIN = 60.0


class Worker(mp.Process):
    """Does one kind of work in its own directory until told to stop; sends ('bad', text) on anything that must not happen."""

    def __init__(self, kind, root, stop, out, seed):
        super().__init__(daemon=True)
        self.kind, self.root, self.stop, self.out, self.rnd = kind, f"{root}/{kind}", stop, out, random.Random(seed)
        self.rounds = 0

    def run(self):
        try:
            os.makedirs(self.root, exist_ok=True)
            i = 0
            while not self.stop.is_set():
                getattr(self, "do_" + self.kind)(i)
                i += 1
            self.out.put(("done", self.kind, i))
        except OSError as e:
            self.out.put(("bad", self.kind, f"{errno.errorcode.get(e.errno, e.errno)} in round {i}: {e}"))
        except Exception as e:
            self.out.put(("bad", self.kind, f"round {i}: {type(e).__name__}: {e}"))

    def do_create(self, i):
        p = f"{self.root}/f{i}"
        os.close(os.open(p, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.stat(p)

    def do_mkdir(self, i):
        p = f"{self.root}/d{i}"
        os.mkdir(p)
        if i % 2:
            os.rmdir(p)
            assert not os.path.exists(p)

    def do_rename(self, i):
        a, b = f"{self.root}/a{i % 3}", f"{self.root}/b{i % 3}"
        if i < 3:
            os.close(os.open(a, os.O_CREAT | os.O_WRONLY))
        if os.path.exists(a):
            os.rename(a, b)
        else:
            os.rename(b, a)

    def do_unlink(self, i):
        p = f"{self.root}/u{i}"
        os.close(os.open(p, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.link(p, p + "l")
        os.unlink(p)
        os.symlink("x", p)
        os.unlink(p)
        os.unlink(p + "l")

    def do_fsync(self, i):
        """what fsync acknowledged stays; EIO is honest when unsynced data died with the worker"""
        p = f"{self.root}/s{i % 20}"
        data = self.rnd.randbytes(self.rnd.randrange(1, 200_000))
        fd = os.open(p, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(fd, data)
            os.fsync(fd)
            acknowledged = True
        except OSError as e:
            if e.errno != errno.EIO:
                raise
            acknowledged = False
        try:
            os.close(fd)
        except OSError as e:
            if e.errno != errno.EIO:
                raise
        if acknowledged:
            with open(p, "rb") as f:
                got = f.read()
            assert got == data, f"{p}: {len(got)} bytes after fsync, {len(data)} were written"

    def do_read(self, i):
        p = f"{self.root}/r"
        if i == 0:
            with open(p, "wb") as f:
                f.write(bytes(range(256)) * 20000)
                f.flush()
                os.fsync(f.fileno())
            self.fd = os.open(p, os.O_RDONLY)
        off = self.rnd.randrange(0, 5_000_000)
        got = os.pread(self.fd, 65536, off)
        want = (bytes(range(256)) * 258)[off % 256:][:min(65536, 5_120_000 - off)]
        assert got == want, f"read at {off} differs"

    def do_write(self, i):
        p = f"{self.root}/w{i % 10}"
        fd = os.open(p, os.O_CREAT | os.O_WRONLY)
        try:
            for k in range(5):
                os.pwrite(fd, bytes([i % 256]) * 50_000, k * 50_000)
        except OSError as e:
            if e.errno != errno.EIO:
                raise
        try:
            os.close(fd)
        except OSError as e:
            if e.errno != errno.EIO:
                raise

    def do_readdir(self, i):
        if i == 0:
            for k in range(300):
                os.close(os.open(f"{self.root}/e{k}", os.O_CREAT | os.O_WRONLY))
        got = os.listdir(self.root)
        assert len(got) == 300 and len(set(got)) == 300, f"{len(got)} entries listed, {len(set(got))} different"


KINDS = ["create", "mkdir", "rename", "unlink", "fsync", "read", "write", "readdir"]


class Held:
    """Descriptors, locks and a mapping that live through all kills."""

    def __init__(self, root):
        self.root = root
        self.gone = os.open(f"{root}/gone", os.O_CREAT | os.O_RDWR)
        os.write(self.gone, b"still here" * 1000)
        os.fsync(self.gone)
        os.unlink(f"{root}/gone")
        for name in ("flock", "plock"):
            with open(f"{root}/{name}", "w") as f:
                f.write("x" * 100)
        self.flock = os.open(f"{root}/flock", os.O_RDWR)
        fcntl.flock(self.flock, fcntl.LOCK_EX)
        self.plock = os.open(f"{root}/plock", os.O_RDWR)
        fcntl.lockf(self.plock, fcntl.LOCK_EX, 10, 5)
        self.append = os.open(f"{root}/append", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self.appended = 0
        with open(f"{root}/map", "wb") as f:
            f.write(b"mapped" * 20000)
            f.flush()
            os.fsync(f.fileno())
        self.mapfd = os.open(f"{root}/map", os.O_RDONLY)
        self.map = mmap.mmap(self.mapfd, 0, prot=mmap.PROT_READ)

    def check(self, other):
        assert os.pread(self.gone, 20000, 0) == b"still here" * 1000, "the open-unlinked file lost its bytes"
        assert os.fstat(self.gone).st_nlink == 0
        libc_drop(self.mapfd)
        assert self.map[:] == b"mapped" * 20000, "the mapping differs"
        for i in range(3):
            os.write(self.append, b"%07d\n" % (self.appended + i))
        try:
            os.fsync(self.append)
            self.appended += 3
        except OSError as e:
            if e.errno != errno.EIO:
                raise
            self.resync()
        data = open(f"{self.root}/append", "rb").read().split(b"\n")[:-1]
        assert len(data) >= self.appended and all(len(x) == 7 for x in data), f"{len(data)} appended records, {self.appended} acknowledged"
        for name, how in (("flock", lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)),
                          ("plock", lambda fd: fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5))):
            fd = os.open(f"{other}/{name}", os.O_RDWR)
            try:
                how(fd)
                raise AssertionError(f"the second mount got the {name} that is held")
            except OSError as e:
                assert e.errno in (errno.EAGAIN, errno.EACCES), f"{name}: {e}"
            finally:
                os.close(fd)

    def resync(self):
        data = open(f"{self.root}/append", "rb").read()
        self.appended = len(data) // 8

    def close(self):
        self.map.close()
        for fd in (self.gone, self.flock, self.plock, self.append, self.mapfd):
            try:
                os.close(fd)
            except OSError as e:
                assert e.errno == errno.EIO


def libc_drop(fd):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)


def wait_back(m, old_pid, limit):
    t = time.time()
    while time.time() - t < limit + 30:
        try:
            pid = m.config()["Pid"]
            if pid != old_pid:
                return time.time() - t
        except OSError as e:
            raise AssertionError(f"the mount answered {e} after the kill")
        time.sleep(0.02)
    raise AssertionError(f"no new worker after {time.time() - t:.0f} s")


def work(root, seed):
    stop, out = mp.Event(), mp.Queue()
    workers = [Worker(k, root, stop, out, seed + i) for i, k in enumerate(KINDS)]
    [w.start() for w in workers]
    return stop, out, workers


def finish(stop, out, workers):
    stop.set()
    bad, done = [], {}
    for _ in workers:
        try:
            kind, name, what = out.get(timeout=60)
        except Exception:
            bad.append("a process hangs")
            break
        if kind == "bad":
            bad.append(f"{name}: {what}")
        else:
            done[name] = what
    for w in workers:
        w.join(5)
        if w.is_alive():
            os.kill(w.pid, signal.SIGKILL)
    assert not bad, "; ".join(bad)
    return done


def drain(out):
    import queue
    try:
        while True:
            kind, name, what = out.get_nowait()
            if kind == "bad":
                raise AssertionError(f"{name}: {what}")
    except queue.Empty:
        pass


def collect(v):
    """A block that was stored, and whose commit died with the worker, is garbage: our gc finds and removes it."""
    run(aquifer(), "gc", "--delete", v.meta, env={"JFS_GC_SKIPPEDTIME": "-100"})


def worker_kills(kills, seed):
    rnd = random.Random(seed)
    with Volume(aquifer(), "--trash-days", "0", "--block-size", "256K") as v:
        a = v.mount(aquifer(), "a", "--heartbeat", str(HEARTBEAT))
        b = v.mount(aquifer(), "b", "--heartbeat", str(HEARTBEAT))
        held = Held(a.mnt)
        stop, out, workers = work(a.mnt, seed)
        slowest = 0
        try:
            for i in range(kills):
                time.sleep(rnd.uniform(0.2, 1.2))
                pid = a.config()["Pid"]
                os.kill(pid, signal.SIGKILL)
                took = wait_back(a, pid, BACK_WITHIN)
                slowest = max(slowest, took)
                assert took < BACK_WITHIN, f"kill {i + 1}: back after {took:.1f} s"
                held.check(b.mnt)
                drain(out)
        finally:
            stop.set()
        done = finish(stop, out, workers)
        time.sleep(6 * HEARTBEAT)
        held.check(b.mnt)
        held.close()
        a.umount()
        b.umount()
        bad = [line for line in audit_volume(v, shared=True)]
        assert not bad, f"audit: {bad[:4]}"
        collect(v)
        if juicefs():
            judge(juicefs(), v)
        return f"slowest return {slowest:.2f} s; rounds {done}"


def both_kills(kills, seed):
    rnd = random.Random(seed)
    with Volume(aquifer(), "--trash-days", "0", "--block-size", "256K") as v:
        acknowledged = {}
        for i in range(kills):
            m = v.mount(aquifer(), "a", "--heartbeat", str(HEARTBEAT))
            for name, data in acknowledged.items():
                with open(f"{m.mnt}/{name}", "rb") as f:
                    assert f.read() in data, f"kill {i}: {name} differs from what fsync acknowledged"
            procs = subprocess.Popen([sys.executable, "-c", f"""
import os, sys, random
rnd = random.Random({seed + i})
os.makedirs({m.mnt!r} + '/t{i}', exist_ok=True)
k = 0
while True:
    p = 't{i}/f%d' % (k % 50)
    data = rnd.randbytes(rnd.randrange(1, 300000))
    fd = os.open({m.mnt!r} + '/' + p + '.new', os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.write(fd, data); os.fsync(fd); os.close(fd)
    os.rename({m.mnt!r} + '/' + p + '.new', {m.mnt!r} + '/' + p)
    d = os.open({m.mnt!r} + '/t{i}', os.O_RDONLY); os.fsync(d); os.close(d)
    sys.stdout.write('%s %d %d\\n' % (p, {seed + i}, k)); sys.stdout.flush()
    k += 1
"""], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            time.sleep(rnd.uniform(0.3, 1.0))
            pid, ppid = m.pids()
            os.kill(ppid, signal.SIGKILL)
            os.kill(pid, signal.SIGKILL)
            time.sleep(0.1)
            subprocess.run(["umount", "-l", m.mnt])
            v.mounts.remove(m)
            procs.kill()
            lines = procs.stdout.read().splitlines()
            procs.wait()
            again = random.Random(seed + i)
            draw = lambda: again.randbytes(again.randrange(1, 300000))
            for line in lines:
                acknowledged[line.split()[0]] = (draw(),)
            # The one under way when all was killed: done already or not, both are right.
            name = f"t{i}/f{len(lines) % 50}"
            if name in acknowledged:
                acknowledged[name] += (draw(),)
        m = v.mount(aquifer(), "last")
        for name, data in acknowledged.items():
            with open(f"{m.mnt}/{name}", "rb") as f:
                assert f.read() in data, f"{name} differs from what fsync acknowledged"
        m.umount()
        bad = audit_volume(v, shared=True)
        bad = [b for b in bad if "slice" not in b]      # a slice stored and not yet committed is garbage for gc, not damage
        assert not bad, f"audit: {bad[:4]}"
        collect(v)
        if juicefs():
            judge(juicefs(), v)
        return f"{len(acknowledged)} files acknowledged"


def stopped():
    with Volume(aquifer()) as v:
        m = v.mount(aquifer(), "a", "--heartbeat", str(HEARTBEAT))
        fd = os.open(m.mnt + "/f", os.O_CREAT | os.O_RDWR)
        os.write(fd, b"x" * 1000)
        os.fsync(fd)
        pid = m.config()["Pid"]
        os.kill(pid, signal.SIGSTOP)
        took = wait_back(m, pid, STOPPED_WITHIN)
        assert took < STOPPED_WITHIN, f"replaced after {took:.0f} s"
        assert os.pread(fd, 2000, 0) == b"x" * 1000
        os.close(fd)
        return f"replaced after {took:.1f} s"


def descriptors():
    """everything that supervisor and worker hold is close-on-exec"""
    with Volume(aquifer()) as v:
        m = v.mount(aquifer(), "a")
        open_ones = []
        for pid in m.pids():
            for fd in os.listdir(f"/proc/{pid}/fdinfo"):
                if int(fd) <= 2:
                    continue
                flags = int(next(l for l in open(f"/proc/{pid}/fdinfo/{fd}") if l.startswith("flags:")).split()[1], 8)
                if not flags & os.O_CLOEXEC:
                    open_ones.append(f"{pid}: {os.readlink(f'/proc/{pid}/fd/{fd}')}")
        assert not open_ones, open_ones


p = argparse.ArgumentParser()
p.add_argument("--soak", action="store_true")
p.add_argument("--kills", type=int)
p.add_argument("--only", default="")
p.add_argument("--seed", type=int, default=int(os.environ.get("AQUIFER_SEED", time.time() * 1000 % 1e9)))
a = p.parse_args()
n = a.kills or (50 if a.soak else 12)
r = Report()
print("seed", a.seed, flush=True)
for name, fn, args in ((f"{n} kills of the worker", worker_kills, (n, a.seed)), (f"{n} kills of supervisor and worker", both_kills, (n, a.seed)),
                       ("a stopped worker is replaced", stopped, ()), ("descriptors are close-on-exec", descriptors, ())):
    if a.only in name:
        r.check(name, fn, *args)
r.end()
