#!/usr/bin/env python3
"""One volume whose objects lie on an S3 server, and both clients on it.

  s3.py [--soak] [--only REGEX]

Sharing: each client formats, both mount, each reads what the other wrote, live and with an empty cache; fsck and gc of juicefs 1.4.2 end
clean. Faults: through a proxy that answers 500, 503 and SlowDown, resets, cuts off and stalls; what is read is right or an error, and the
number of requests has a bound.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from judge import fsck, gc_counts
from s3_server import Gateway, Moto, SpoilingProxy, program, randomly, servers
from volume import Report, Volume, aquifer, juicefs, run

SIZES = [0, 1, 4096, 65536, 65537, 1 << 20, 5 << 20]
NOCACHE = ("--attr-cache", "0", "--entry-cache", "0", "--dir-entry-cache", "0")
FORMATS = [("plain", []), ("lz4", ["--compress", "lz4"]), ("encrypted", ["--encrypt-rsa-key", "KEY"]),
           ("encrypted lz4", ["--encrypt-rsa-key", "KEY", "--compress", "lz4"])]


class S3Volume(Volume):
    """A Volume whose objects go to a server."""

    def __init__(self, binary, storage, bucket, keys, *format_opts):
        self.dir = tempfile.mkdtemp(prefix="aquifer-test-", dir=os.environ.get("AQUIFER_TEST_TMP", "/var/tmp"))
        os.chmod(self.dir, 0o755)
        self.meta, self.bucket, self.name = f"sqlite3://{self.dir}/meta.db", bucket, "vol"
        self.env, self.mounts = {}, []
        try:
            self.format_output = run(binary, "format", "--storage", storage, "--bucket", bucket, "--access-key", keys[0], "--secret-key", keys[1],
                                     "--block-size", "64K", "--trash-days", "0", *format_opts, self.meta, self.name).stdout
        except BaseException:
            self.close()
            raise
        assert keys[1] not in self.format_output, "the secret key is in the output"


def content(rnd, size):
    """Half of it compresses."""
    return b"".join(rnd.randbytes(512) + bytes(512) for _ in range(size // 1024 + 1))[:size]


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)


def same(mnt, files):
    for name, data in files.items():
        with open(f"{mnt}/{name}", "rb") as f:
            got = f.read()
        assert got == data, f"{mnt}/{name}: {len(got)} bytes of {len(data)}, {'different' if len(got) == len(data) else 'wrong length'}"
        for off in {0, len(data) // 3, max(0, len(data) - 100)}:
            with open(f"{mnt}/{name}", "rb") as f:
                f.seek(off)
                assert f.read(100) == data[off:off + 100], f"{mnt}/{name} at {off}"


def sharing(server, storage, formatter, opts, number):
    rnd = random.Random(number)
    with tempfile.TemporaryDirectory() as keys:
        key = keys + "/key.pem"
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, stderr=subprocess.DEVNULL)
        opts = [key if o == "KEY" else o for o in opts]
        # Not by the formatting client: juicefs names a location, which RGW refuses.
        run(aquifer(), "objbench", "--skip-functional-tests", "--storage", "s3", "--big-object-size", "1M", "--block-size", "1M", "--small-objects", "1",
            f"{server.url}/share-{number}", env=server.environment())
        with S3Volume(formatter, storage, f"{server.url}/share-{number}", server.keys, *opts) as v:
            a, b = v.mount(aquifer(), "a", *NOCACHE), v.mount(juicefs(), "b", *NOCACHE)
            files = {}
            for who, m in (("a", a), ("b", b)):
                for size in SIZES:
                    files[f"{who}{size}"] = content(rnd, size)
                    write(f"{m.mnt}/{who}{size}", files[f"{who}{size}"])
            same(a.mnt, files)
            same(b.mnt, files)
            # Each goes on in a file of the other, and removes one.
            for m, name, off in ((a, "b5242880", 100_000), (b, "a5242880", 3_000_000), (a, "b4096", 4096), (b, "a65537", 7)):
                more = content(rnd, 70_000)
                with open(f"{m.mnt}/{name}", "r+b") as f:
                    f.seek(off)
                    f.write(more)
                data = files[name]
                files[name] = data[:off] + more + data[off + len(more):]
            os.unlink(f"{a.mnt}/b1048576")
            os.unlink(f"{b.mnt}/a1048576")
            del files["b1048576"], files["a1048576"]
            a.umount()
            b.umount()
            for binary, label in ((aquifer(), "fresh-a"), (juicefs(), "fresh-b")):
                m = v.mount(binary, label)
                same(m.mnt, files)
                m.umount()
            run(juicefs(), "gc", v.meta, "--compact", "--delete", env={"JFS_GC_SKIPPEDTIME": "-100"})
            bad = fsck(juicefs(), v)
            assert not bad, bad[:5]
            counts = gc_counts(juicefs(), v)
            assert not counts["leaked"] and counts["scanned"] == counts["valid"] > 0, counts
            mine = run(aquifer(), "fsck", v.meta, check=False)
            assert mine.returncode == 0, mine.stdout[-500:]
            m = v.mount(aquifer(), "last")
            same(m.mnt, files)
            secret = server.keys[1]
            for label in ("a", "fresh-a", "last"):
                with open(f"{v.dir}/log-{label}", errors="replace") as f:
                    assert secret not in f.read(), f"the secret key is in log-{label}"
            m.umount()
            return f"{len(files)} files, {counts['scanned']} objects"


class Spoiled:
    """A volume of aquifer behind a proxy, and a mount of it."""

    def __init__(self, server, spoil, *mount_opts):
        self.proxy = SpoilingProxy(server.port, lambda *a: self.spoil(*a))
        self.spoil = lambda *_: None
        bucket = f"faults-{random.getrandbits(32):x}"
        self.volume = S3Volume(aquifer(), "minio", f"{self.proxy.url}/{bucket}", server.keys)
        self.mount = self.volume.mount(aquifer(), "m", *mount_opts)
        self.spoil = spoil

    def requests(self, method):
        return sum(n for (m, path), n in self.proxy.seen.items() if m == method and "/chunks/" in path)

    def again(self):
        """with an empty cache"""
        spoil, self.spoil = self.spoil, lambda *_: None
        self.mount.umount()
        self.mount = self.volume.mount(aquifer(), f"m{time.time_ns()}", "--get-timeout", "3")
        self.spoil = spoil

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.spoil = lambda *_: None
        self.proxy.stop.set()
        self.volume.close()
        self.proxy.close()


def passing_faults(server, kinds):
    """A third of all requests fails, up to three times: everything is written and read as if nothing were."""
    rnd = random.Random(7)
    data = content(rnd, 1 << 20)
    with Spoiled(server, randomly(7, 0.34, kinds), "--get-timeout", "3", "--put-timeout", "3") as s:
        write(s.mount.mnt + "/f", data)
        puts = s.requests("PUT")
        s.again()
        same(s.mount.mnt, {"f": data})
        gets = s.requests("GET")
        spoiled = len(s.proxy.spoiled)
        assert spoiled >= 5, f"only {spoiled} requests were spoiled"
        assert 16 <= puts <= 16 * 4 and gets <= 16 * 8, (puts, gets)
        return f"{spoiled} of {puts} puts and {gets} gets spoiled"


def lasting(server, method, kind):
    """No request goes through any more: an error, after so many attempts and no more."""
    data = content(random.Random(9), 65536)
    opts = ("--io-retries", "2", "--get-timeout", "2", "--put-timeout", "2")
    with Spoiled(server, lambda *_: None, *opts) as s:
        write(s.mount.mnt + "/f", data)
        if method == "GET":
            s.mount.umount()
            s.mount = s.volume.mount(aquifer(), "again", *opts)
        before = s.requests(method)
        s.spoil = lambda m, path, n: kind if m == method and "/chunks/" in path else None
        t = time.time()
        try:
            if method == "GET":
                with open(s.mount.mnt + "/f", "rb") as f:
                    got = f.read()
            else:
                with open(s.mount.mnt + "/g", "wb") as f:
                    f.write(data)
                    f.flush()
                    os.fsync(f.fileno())
                got = None
        except OSError as e:
            seconds, requests = time.time() - t, s.requests(method) - before
            assert 1 <= requests <= 12, f"{requests} requests"
            assert seconds < 60, f"{seconds:.0f} s"
            return f"{e.strerror}, {requests} requests in {seconds:.1f} s"
        raise AssertionError(f"no error; {None if got is None else got == data}")


def damaged_object(server):
    """Bytes that do not match their checksum are not handed out."""
    with Spoiled(server, lambda *_: None, "--io-retries", "1") as s:
        data = content(random.Random(11), 65536)
        write(s.mount.mnt + "/f", data)
        s.mount.umount()
        real = SpoilingProxy.message

        def flipped(sock, body=True):
            head, rest = real(sock, body)
            if head and head.startswith(b"HTTP/1.1 206") and len(rest) == 65536:
                rest = rest[:1000] + bytes([rest[1000] ^ 1]) + rest[1001:]
            return head, rest

        s.proxy.message = flipped
        m = s.volume.mount(aquifer(), "n", "--io-retries", "1")
        try:
            with open(m.mnt + "/f", "rb") as f:
                got = f.read()
        except OSError as e:
            with open(s.volume.dir + "/log-n") as f:
                assert "checksum" in f.read()
            return e.strerror
        raise AssertionError(f"read {'the right' if got == data else 'damaged'} bytes")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--soak", action="store_true")
    p.add_argument("--only", default="")
    a = p.parse_args()
    r = Report()
    wanted = lambda name: re.search(a.only, name)
    number = 0
    for name, make, why in servers():
        if not make or not juicefs():
            r.skip(f"sharing over {name}", why or "no juicefs program")
            continue
        if name == "moto" and not a.soak:      # the gateway has shown it; moto serves the faults
            continue
        with make() as server:
            for label, opts in FORMATS:
                for storage, formatter in (("s3", aquifer()), ("minio", juicefs())):
                    number += 1
                    title = f"sharing over {name}: {storage}, {label}, formatted by {'aquifer' if formatter == aquifer() else 'juicefs'}"
                    if wanted(title):
                        r.check(title, sharing, server, storage, formatter, opts, number)
    make = Moto if program("moto_server") else Gateway if juicefs() else None
    if not make:
        r.skip("faults", "neither moto_server nor juicefs is installed")
        r.end()
    with make() as server:
        for kinds in (["500", "503", "slow"], ["reset", "cut"], ["drop"], ["stall"]):
            if wanted(f"faults that pass: {kinds}"):
                r.check(f"faults that pass: {', '.join(kinds)}", passing_faults, server, kinds)
        for method in ("GET", "PUT"):
            for kind in ("500", "slow", "drop", *(("reset", "cut", "stall") if method == "GET" else ())):
                if wanted(f"faults that last: {method} {kind}"):
                    r.check(f"faults that last: {method} {kind}", lasting, server, method, kind)
        if wanted("faults: a damaged object"):
            r.check("faults: a damaged object", damaged_object, server)
    r.end()


main()
