#!/usr/bin/env python3
"""--memory-max: a mount in a control group of its own under mixed load, looked at ten times a second. What the group is charged for, heap,
kernel objects and page cache, clean or dirty, never passes the promise; nothing is refused by the kernel, nothing killed, no operation fails, and
all that is read is what was written.

  memory.py [--soak] [--seconds N] [--beside] [--only NAME]

--soak: ten minutes each, and the same load without a bound for comparison. --beside: JuiceFS in the same control group too, reported only."""
import argparse
import mmap
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import Report, Volume, aquifer, juicefs

MIB = 1 << 20


class Group:
    """A control group below ours (version 1 or 2); None where none can be made."""

    def __init__(self, limit):
        self.v1 = next((l.split(":")[2].strip() for l in open("/proc/self/cgroup") if "memory" in l.split(":")[1].split(",")), None)
        top = "/sys/fs/cgroup/memory" if self.v1 is not None else "/sys/fs/cgroup"
        own = self.v1 if self.v1 is not None else next(l.split("::")[1].strip() for l in open("/proc/self/cgroup") if "::" in l)
        base = top + own if os.path.isdir(top + own) else top       # a container may see its own group as the root
        self.path = f"{base}/aquifer-test-{os.getpid()}-{time.time_ns()}"
        os.mkdir(self.path)
        try:
            self.write("memory.limit_in_bytes" if self.v1 is not None else "memory.max", limit)
        except OSError:
            os.rmdir(self.path)
            raise

    def write(self, name, value):
        with open(f"{self.path}/{name}", "w") as f:
            f.write(str(value))

    def read(self, name):
        with open(f"{self.path}/{name}") as f:
            return f.read()

    def enter(self):
        self.write("cgroup.procs", os.getpid())

    def usage(self):
        return int(self.read("memory.usage_in_bytes" if self.v1 is not None else "memory.current"))

    def parts(self):
        s = dict((a, int(b)) for a, b in (l.split() for l in self.read("memory.stat").splitlines()))
        if self.v1 is not None:
            return {"anonymous": s["total_rss"], "page cache": s["total_cache"], "dirty": s.get("total_dirty", 0) + s.get("total_writeback", 0),
                    "kernel": int(self.read("memory.kmem.usage_in_bytes"))}
        return {"anonymous": s["anon"], "page cache": s["file"], "dirty": s["file_dirty"] + s["file_writeback"], "kernel": s.get("kernel", s.get("slab", 0))}

    def refusals(self):
        """Charges that the kernel could not meet at once, and kills."""
        if self.v1 is not None:
            kills = dict(l.split() for l in self.read("memory.oom_control").splitlines()).get("oom_kill", "0")
            return int(self.read("memory.failcnt")), int(kills)
        e = dict(l.split() for l in self.read("memory.events").splitlines())
        return int(e["max"]), int(e["oom_kill"])

    def close(self):
        for _ in range(100):
            try:
                return os.rmdir(self.path)
            except OSError:
                time.sleep(0.1)


def can_bound():
    try:
        Group(64 * MIB).close()
        return None
    except (OSError, StopIteration) as e:
        return f"no control group with a memory limit can be made here ({e})"


class Load:
    """Writers, readers and small files at the same time on `mnt`; every byte that is read is checked."""
    PIECE = MIB

    def __init__(self, mnt, seconds, big, seed):
        self.mnt, self.big, self.end = mnt, big, time.time() + seconds
        self.done = {"MiB written": 0, "MiB read": 0, "random reads": 0, "small files": 0}
        self.faults, self.lock, self.rng = [], threading.Lock(), random.Random(seed)
        block = random.Random(seed).randbytes(self.PIECE)
        self.pieces = [block[i * 997:] + block[:i * 997] for i in range(16)]

    def count(self, what, n=1):
        with self.lock:
            self.done[what] += n

    def guarded(self, work, seed):
        rng = random.Random(seed)
        while time.time() < self.end:
            try:
                work(rng)
            except FileNotFoundError:
                time.sleep(0.05)
            except Exception as e:      # every failure counts
                self.faults.append(f"{work.__name__}: {type(e).__name__}: {e}")
                time.sleep(0.2)

    def piece(self, name, i):
        return self.pieces[(sum(name.encode()) * 7 + i) % 16]

    def write(self, rng):
        # Under another name first: a reader beside a truncation may see zeros on any FUSE file system (docs/semantics.md).
        name = f"big{rng.randrange(12)}.{threading.get_ident() % 1000}"
        with open(f"{self.mnt}/new-{name}", "wb", buffering=0) as f:
            for i in range(self.big):
                if time.time() > self.end:
                    return
                f.write(self.piece(name, i))
                self.count("MiB written")
        os.rename(f"{self.mnt}/new-{name}", f"{self.mnt}/{name}")

    def some(self, rng):
        names = [n for n in os.listdir(self.mnt) if n.startswith("big")]
        if not names:
            raise FileNotFoundError
        return rng.choice(names)

    def read(self, rng):
        name = self.some(rng)
        with open(f"{self.mnt}/{name}", "rb", buffering=0) as f:
            for i in range(self.big):
                got = f.read(self.PIECE)
                if len(got) < self.PIECE or time.time() > self.end:
                    return
                assert got == self.piece(name, i), f"{name}: wrong bytes in MiB {i}"
                self.count("MiB read")

    def jump(self, rng):
        name = self.some(rng)
        fd = os.open(f"{self.mnt}/{name}", os.O_RDONLY | os.O_DIRECT)
        try:
            page = mmap.mmap(-1, 4096)
            n = os.fstat(fd).st_size // 4096
            for _ in range(200 if n else 0):
                at = rng.randrange(n)
                if time.time() > self.end or os.preadv(fd, [page], at * 4096) < 4096:
                    return
                place = at * 4096 % self.PIECE
                assert page[:] == self.piece(name, at * 4096 // self.PIECE)[place:place + 4096], f"{name}: wrong bytes in page {at}"
                self.count("random reads")
        finally:
            os.close(fd)

    def small(self, rng):
        folder = f"{self.mnt}/d{threading.get_ident() % 1000}-{rng.randrange(40)}"
        os.makedirs(folder, exist_ok=True)
        for k in range(40):
            if time.time() > self.end:
                return
            size = rng.choice([1000, 20000, 131072])
            with open(f"{folder}/f{k}", "wb", buffering=0) as f:
                f.write(self.pieces[k % 16][:size])
            with open(f"{folder}/f{k}", "rb", buffering=0) as f:
                assert f.read() == self.pieces[k % 16][:size], f"{folder}/f{k}"
            self.count("small files")

    def run(self):
        jobs = [self.write, self.write, self.read, self.jump, self.small, self.small]
        threads = [threading.Thread(target=self.guarded, args=(w, i)) for i, w in enumerate(jobs)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()


def loaded(binary, promise, limit, seconds, big, cache, *options):
    """One run: what was done, the peaks of the group's account, its refusals, faults."""
    group = Group(limit)
    with Volume(binary, "--trash-days", "0") as v:
        v.env = {}
        cache_dir = tempfile.mkdtemp(prefix="aquifer-cache-", dir=cache or v.dir)
        mnt = v.dir + "/mnt"
        os.mkdir(mnt)
        try:
            p = subprocess.run([binary, "mount", "-d", "--no-usage-report", "--cache-dir", cache_dir, "--log", v.dir + "/log", *options, v.meta, mnt],
                               preexec_fn=group.enter, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            assert p.returncode == 0, p.stdout[-500:]
            load, peak, stop = Load(mnt, seconds, big, 7), {}, threading.Event()

            def look():
                while not stop.wait(0.1):
                    for k, n in {"charged": group.usage(), **group.parts()}.items():
                        peak[k] = max(peak.get(k, 0), n)

            looker = threading.Thread(target=look)
            looker.start()
            load.run()
            stop.set()
            looker.join()
            shown = ""
            if promise:
                shown = next(l for l in open(mnt + "/.stats") if "memory_charged_peak_bytes" in l)
            refusals = group.refusals()
        finally:
            subprocess.run([binary, "umount", mnt], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
            shutil.rmtree(cache_dir, ignore_errors=True)
            for _ in range(100):
                if not group.read("cgroup.procs").split():
                    break
                time.sleep(0.1)
            group.close()
    note = ", ".join(f"{k} {n // MIB} MiB" for k, n in peak.items()) + "; " + ", ".join(f"{n} {k}" for k, n in load.done.items())
    return load, peak, refusals, shown, note


def within(promise_mib, limit_mib, seconds, big, cache, *options):
    load, peak, refusals, shown, note = loaded(aquifer(), promise_mib, limit_mib * MIB, seconds, big, cache, "--memory-max", str(promise_mib), *options)
    assert not load.faults, load.faults[:3]
    assert all(load.done.values()), load.done
    assert peak["charged"] <= promise_mib * MIB, note
    assert refusals == (0, 0), f"failed charges and kills: {refusals}; {note}"
    assert int(float(shown.split()[1])) > 0, shown
    return note


def beside_others():
    """Who starts the mount is in its group and holds more than the promise: that is not the mount's, and nobody else's memory is taken back."""
    group = Group(1024 * MIB)
    starter = "import subprocess, sys\nheld = bytearray(400 << 20)\nprint(subprocess.run(sys.argv[1:]).returncode, flush=True)\nsys.stdin.read()\n"
    with Volume(aquifer()) as v:
        mnt = v.dir + "/mnt"
        os.mkdir(mnt)
        p = subprocess.Popen([sys.executable, "-c", starter, aquifer(), "mount", "-d", "--no-usage-report", "--cache-dir", v.dir + "/cache",
                              "--log", v.dir + "/log", "--memory-max", "256", v.meta, mnt],
                             preexec_fn=group.enter, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert "0\n" in p.stdout.readline(), "the mount did not start"
            time.sleep(2.5)     # it looks who else is there once a second
            peak = float(next(l for l in open(mnt + "/.stats") if "memory_charged_peak_bytes" in l).split()[1])
            assert 0 < peak < 200 * MIB, f"charged {peak / MIB:.0f} MiB"
            assert group.usage() > 400 * MIB, "the group holds less than its other process"
        finally:
            subprocess.run([aquifer(), "umount", mnt], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)
            p.communicate("")
            group.close()
    return f"charged {peak / MIB:.0f} MiB"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--soak", action="store_true")
    p.add_argument("--seconds", type=float)
    p.add_argument("--beside", action="store_true")
    p.add_argument("--only", default="")
    a = p.parse_args()
    r = Report()
    why = can_bound()
    if why:
        r.skip("a mount in a bounded control group", why)
        r.end()
    seconds = a.seconds or (600 if a.soak else 20)
    big = 24 if seconds < 100 else 160       # MiB a file; 24 of them: a data set many times the bound
    cases = [
        ("192 MiB, cache on disk", within, (192, 256, seconds, big, None, "--cache-size", "512")),
        ("192 MiB, cache in memory", within, (192, 256, seconds, big, "/dev/shm", "--cache-size", "512")),
        ("128 MiB, the least", within, (128, 160, seconds / 2, big, None, "--cache-size", "512")),
        ("192 MiB, staged writes", within, (192, 256, seconds / 2, big, None, "--cache-size", "512", "--writeback")),
    ]
    cases.append(("a group shared with who started the mount", beside_others, ()))
    for name, fn, args in cases:
        if a.only in name:
            r.check(name, fn, *args)
    if a.soak:
        *_, note = loaded(aquifer(), 0, 8 << 30, seconds, big, None, "--cache-size", "512")
        print("  for comparison, without a bound:", note)
    if a.beside and juicefs():
        load, _, refusals, _, note = loaded(juicefs(), 0, 256 * MIB, seconds, big, None, "--cache-size", "512", "--buffer-size", "32")
        print(f"  JuiceFS in 256 MiB: failed charges {refusals[0]}, kills {refusals[1]}, faults {len(load.faults)}; {note}")
    r.end()


main()
