#!/usr/bin/env python3
"""Bad input of every kind: a clear error that names the value, a failing exit code, nothing lost, nothing half-written, no crash."""
import errno
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import Report, Volume, aquifer, run

r = Report()
A = aquifer()


def refused(args, *words, env=None, rc=1):
    p = run(A, *args, check=False, env=env, timeout=60)
    assert p.returncode == rc, f"exit {p.returncode}, expected {rc}: {p.stdout[-500:]}"
    for w in words:
        assert re.search(w, p.stdout), f"{w!r} is not in: {p.stdout[-500:]}"
    return p.stdout


def temp():
    return tempfile.mkdtemp(prefix="aquifer-bad-", dir=os.environ.get("AQUIFER_TEST_TMP", "/var/tmp"))


def unformatted():
    d = temp()
    for cmd in (["status"], ["config"], ["mount", "URL", d + "/mnt"], ["gc"], ["fsck"]):
        args = [c.replace("URL", f"sqlite3://{d}/none.db") for c in cmd] + ([f"sqlite3://{d}/none.db"] if "URL" not in cmd else [])
        refused(args, "not formatted|no such|cannot open")
    assert not os.path.exists(d + "/none.db"), "a reading command created the database"
    shutil.rmtree(d)


def not_a_database():
    d = temp()
    with open(d + "/junk.db", "wb") as f:
        f.write(b"this is no database at all\n" * 400)
    before = open(d + "/junk.db", "rb").read()
    refused(["status", f"sqlite3://{d}/junk.db"], "junk.db")
    refused(["format", "--bucket", d + "/obj", f"sqlite3://{d}/junk.db", "vol"], "junk.db")
    assert open(d + "/junk.db", "rb").read() == before
    shutil.rmtree(d)


def damaged_setting():
    for damage in ("not json", '{"Name": 5, "UUID": []}', "", '{"Name":"vol","UUID":"x","BlockSize":"many"}', "[" * 100000):
        with Volume(A) as v:
            db = sqlite3.connect(v.dir + "/meta.db")
            db.execute("update jfs_setting set value = ?", (damage,))
            db.commit()
            db.close()
            refused(["status", v.meta], "setting|format|Name|BlockSize|JSON|json")


def newer_version():
    with Volume(A) as v:
        db = sqlite3.connect(v.dir + "/meta.db")
        f = json.loads(db.execute("select value from jfs_setting").fetchone()[0])
        f["MetaVersion"] = 2
        db.execute("update jfs_setting set value = ?", (json.dumps(f),))
        db.commit()
        refused(["mount", v.meta, v.dir + "/m"], "2|version")
        f["MetaVersion"], f["MinClientVersion"] = 1, "9.0.0"
        db.execute("update jfs_setting set value = ?", (json.dumps(f),))
        db.commit()
        db.close()
        refused(["mount", v.meta, v.dir + "/m"], "9.0.0")


def damaged_pages():
    with Volume(A, "--trash-days", "0") as v:
        m = v.mount(A, "a")
        for i in range(300):
            with open(f"{m.mnt}/file-number-{i}", "w") as f:
                f.write("x")
        m.umount()
        size = os.path.getsize(v.dir + "/meta.db")
        with open(v.dir + "/meta.db", "r+b") as f:
            for page in range(2, size // 4096):
                f.seek(page * 4096)
                f.write(b"\xa5" * 200)
        p = run(A, "status", v.meta, check=False)
        assert p.returncode == 1 and "meta.db" in p.stdout or "corrupt" in p.stdout or "malformed" in p.stdout, p.stdout[-300:]


def wrong_values():
    d = temp()
    url, bucket = f"sqlite3://{d}/m.db", d + "/obj"
    refused(["format", "--bucket", bucket, url, "Bad_Name"], "Bad_Name")
    refused(["format", "--bucket", bucket, url, "ab"], "ab")
    refused(["format", "--bucket", bucket, "--block-size", "4X", url, "vol"], "4X")
    refused(["format", "--bucket", bucket, "--trash-days", "abc", url, "vol"], "abc")
    refused(["format", "--bucket", bucket, "--trash-days", "-1", url, "vol"], "trash")
    refused(["format", "--bucket", bucket, "--compress", "brotli", url, "vol"], "brotli")
    refused(["format", "--bucket", bucket, "--storage", "floppy", url, "vol"], "floppy")
    refused(["format", "--bucket", bucket, "--shards", "1000", url, "vol"], "1000|shards")
    refused(["format", "--no-such-flag", url, "vol"], "no-such-flag")
    refused(["format", "--bucket", bucket, "--encrypt-rsa-key", d + "/missing.pem", url, "vol"], "missing.pem")
    with open(d + "/bad.pem", "w") as f:
        f.write("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")
    refused(["format", "--bucket", bucket, "--encrypt-rsa-key", d + "/bad.pem", url, "vol"], "key|PEM")
    refused(["nonsense"], "No help topic for 'nonsense'", rc=3)
    refused(["status", "foo://x/1"], "foo")
    refused(["status"], "at least 1")
    left = [f for f in os.listdir(d) if not f.endswith(".pem")]
    assert not left, f"refused commands left {left}"
    shutil.rmtree(d)


def keys():
    d = temp()
    subprocess.run(["openssl", "genrsa", "-aes256", "-passout", "pass:sesame", "-out", d + "/k.pem", "2048"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    opts = ["--encrypt-rsa-key", d + "/k.pem"]
    with Volume(A, *opts, env={"JFS_RSA_PASSPHRASE": "sesame"}) as v:
        m = v.mount(A, "a")
        with open(m.mnt + "/f", "w") as f:
            f.write("secret text")
        m.umount()
        for e in ({"JFS_RSA_PASSPHRASE": "wrong"}, {"JFS_RSA_PASSPHRASE": ""}):
            out = refused(["mount", v.meta, v.dir + "/x"], "passphrase|JFS_RSA_PASSPHRASE|key", env=e)
            assert "sesame" not in out and (not e["JFS_RSA_PASSPHRASE"] or "wrong" not in out.replace("wrong passphrase", ""))
        m = v.mount(A, "b")
        assert open(m.mnt + "/f").read() == "secret text"
        m.umount()
        for p in v.objects():
            assert b"secret text" not in open(p, "rb").read()
    shutil.rmtree(d)


def tmpfs(path, size):
    os.makedirs(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], check=True)


def full_objects():
    """object storage is full: ENOSPC or EIO at write, fsync or close; what was acknowledged stays"""
    d = temp()
    tmpfs(d + "/small", "12m")
    try:
        url = f"sqlite3://{d}/m.db"
        run(A, "format", "--bucket", d + "/small/obj", "--trash-days", "0", url, "vol")
        os.makedirs(d + "/mnt")
        run(A, "mount", "-d", "--cache-size", "0", "--io-retries", "1", "--log", d + "/log", url, d + "/mnt")
        try:
            with open(d + "/mnt/ok", "wb") as f:
                f.write(b"k" * 3_000_000)
            failed = None
            try:
                for i in range(10):
                    fd = os.open(f"{d}/mnt/big{i}", os.O_CREAT | os.O_WRONLY)
                    try:
                        os.write(fd, os.urandom(4_000_000))
                        os.fsync(fd)
                    finally:
                        os.close(fd)
            except OSError as e:
                failed = e.errno
            assert failed in (errno.ENOSPC, errno.EIO), f"a full store answered {failed}"
            assert open(d + "/mnt/ok", "rb").read() == b"k" * 3_000_000
            for i in range(10):
                try:
                    os.unlink(f"{d}/mnt/big{i}")
                except FileNotFoundError:
                    pass
            import time
            for _ in range(60):
                try:
                    with open(d + "/mnt/again", "wb") as f:
                        f.write(b"a" * 3_000_000)
                    break
                except OSError:
                    time.sleep(0.5)
            assert open(d + "/mnt/again", "rb").read() == b"a" * 3_000_000, "the mount did not recover after space came back"
        finally:
            run(A, "umount", d + "/mnt", check=False)
    finally:
        subprocess.run(["umount", "-l", d + "/small"])
        shutil.rmtree(d, ignore_errors=True)


def full_cache():
    d = temp()
    tmpfs(d + "/small", "6m")
    try:
        with Volume(A) as v:
            for opts in ((), ("--writeback",)):
                os.makedirs(v.dir + "/mnt", exist_ok=True)
                run(A, "mount", "-d", "--cache-dir", d + "/small/c", "--log", v.dir + "/log", *opts, v.meta, v.dir + "/mnt")
                data = {i: os.urandom(1_500_000) for i in range(12)}
                for i, x in data.items():
                    with open(f"{v.dir}/mnt/f{i}", "wb") as f:
                        f.write(x)
                for _ in range(2):
                    for i, x in data.items():
                        assert open(f"{v.dir}/mnt/f{i}", "rb").read() == x
                run(A, "umount", "--flush", v.dir + "/mnt")
            m = v.mount(A, "fresh")
            for i, x in data.items():
                assert open(f"{m.mnt}/f{i}", "rb").read() == x, f"f{i} was lost"
            m.umount()
    finally:
        subprocess.run(["umount", "-l", d + "/small"])
        shutil.rmtree(d, ignore_errors=True)


def full_metadata():
    d = temp()
    tmpfs(d + "/small", "3m")
    try:
        url = f"sqlite3://{d}/small/m.db"
        run(A, "format", "--bucket", d + "/obj", url, "vol")
        os.makedirs(d + "/mnt")
        run(A, "mount", "-d", "--cache-dir", d + "/cache", "--log", d + "/log", url, d + "/mnt")
        try:
            made, failed = [], None
            for i in range(200_000):
                try:
                    os.close(os.open(f"{d}/mnt/file-with-a-rather-long-name-{i:06d}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
                    made.append(i)
                except OSError as e:
                    failed = e.errno
                    break
            assert failed == errno.ENOSPC, f"a full database answered {errno.errorcode.get(failed, failed)} after {len(made)} files"
            names = set(os.listdir(d + "/mnt"))
            assert all(f"file-with-a-rather-long-name-{i:06d}" in names for i in made), "an acknowledged file is gone"
        finally:
            run(A, "umount", d + "/mnt", check=False)
    finally:
        subprocess.run(["umount", "-l", d + "/small"])
        shutil.rmtree(d, ignore_errors=True)


def flipped_objects():
    """a flipped bit in a compressed or encrypted object is EIO, never wrong bytes; other files read on"""
    import glob
    d = temp()
    subprocess.run(["openssl", "genrsa", "-out", d + "/k.pem", "2048"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for opts in (["--compress", "zstd"], ["--compress", "lz4"], ["--encrypt-rsa-key", d + "/k.pem"]):
        with Volume(A, *opts) as v:
            m = v.mount(A, "a")
            want = bytes(range(256)) * 1200
            for n in ("bad", "good"):
                with open(f"{m.mnt}/{n}", "wb") as f:
                    f.write(n.encode() + want)
            m.umount()
            blocks = sorted((p for p in v.objects() if "/chunks/" in p), key=lambda p: int(os.path.basename(p).split("_")[0]))
            wrong = 0
            original = open(blocks[0], "rb").read()
            for at in (0, 1, 5, len(original) // 2, len(original) - 1):
                with open(blocks[0], "wb") as f:
                    f.write(original[:at] + bytes([original[at] ^ 0x10]) + original[at + 1:])
                m = v.mount(A, f"m{at}", "--io-retries", "1")
                try:
                    got = open(m.mnt + "/bad", "rb").read()
                    if opts[0].startswith("--encrypt"):
                        raise AssertionError(f"a flipped byte {at} of an encrypted object was served")
                    wrong += got != b"bad" + want      # lz4 and zstd frames carry no checksum: not every flip can be seen
                except OSError as e:
                    assert e.errno == errno.EIO, e
                assert open(m.mnt + "/good", "rb").read() == b"good" + want
                m.umount()
            for cut in (0, 1, len(original) // 2):
                with open(blocks[0], "wb") as f:
                    f.write(original[:cut])
                m = v.mount(A, f"c{cut}", "--io-retries", "1")
                try:
                    open(m.mnt + "/bad", "rb").read()
                    raise AssertionError(f"an object cut to {cut} bytes was served")
                except OSError as e:
                    assert e.errno == errno.EIO, e
                m.umount()
    shutil.rmtree(d)


def unreadable_object():
    with Volume(A, "--block-size", "64K") as v:
        m = v.mount(A, "a")
        with open(m.mnt + "/f", "wb") as f:
            f.write(os.urandom(300_000))
        m.umount()
        for p in v.objects():
            if "_1_" in p:
                os.unlink(p)
                os.mkdir(p)
        m = v.mount(A, "b", "--io-retries", "1")
        fd = os.open(m.mnt + "/f", os.O_RDONLY)
        assert len(os.pread(fd, 4096, 0)) == 4096
        try:
            os.pread(fd, 4096, 70_000)
            raise AssertionError("an unreadable object was served")
        except OSError as e:
            assert e.errno == errno.EIO
        os.close(fd)
        m.umount()


def flipped_cache():
    """a flipped bit in a cache file: the block is fetched anew, the bytes are right"""
    with Volume(A) as v:
        data = os.urandom(3_000_000)
        m = v.mount(A, "a")
        with open(m.mnt + "/f", "wb") as f:
            f.write(data)
        assert open(m.mnt + "/f", "rb").read() == data

        def cached():
            return [os.path.join(base, name) for base, _, files in os.walk(m.cache) for name in files
                    if re.fullmatch(r"\d+_\d+_\d+", name)]

        deadline = time.time() + 20     # blocks are cached beside the reads that fetch them
        while not cached() and time.time() < deadline:
            time.sleep(0.1)
        n = 0
        for path in cached():
            for at in (0, 40_000, os.path.getsize(path) - 1):
                with open(path, "r+b") as f:
                    f.seek(at)
                    c = f.read(1)
                    f.seek(at)
                    f.write(bytes([c[0] ^ 1]))
            n += 1
        assert n, "nothing was cached"
        m.umount()
        m = Volume.mount(v, A, "a")
        assert open(m.mnt + "/f", "rb").read() == data, "a damaged cache file was served"
        for path in cached():
            os.truncate(path, 1000)
        subprocess.run("echo 3 > /proc/sys/vm/drop_caches", shell=True)
        assert open(m.mnt + "/f", "rb").read() == data, "a short cache file was served"


def impossible_names():
    with Volume(A) as v:
        m = v.mount(A, "a").mnt
        for name, want in (("n" * 256, errno.ENAMETOOLONG), ("n" * 255, 0), ("\u00e4" * 127, 0), (" ", 0), ("-rf", 0), ("a\nb", 0), ("\x01", 0)):
            try:
                os.mkdir(f"{m}/{name}")
                got = 0
            except OSError as e:
                got = e.errno
            assert got == want, f"mkdir of {name!r}: {errno.errorcode.get(got, got)}"
        os.mkdir(m.encode() + b"/\xff\xfe not utf-8")
        assert b"\xff\xfe not utf-8" in os.listdir(m.encode())
        for size, want in ((1 << 57, errno.EFBIG), ((1 << 63) - 1, errno.EFBIG)):
            open(m + "/big", "w").close()
            try:
                os.truncate(m + "/big", size)
                got = 0
            except OSError as e:
                got = e.errno
            assert got == want, f"truncate to {size}: {errno.errorcode.get(got, got)}"
        os.truncate(m + "/big", 1 << 50)
        assert os.stat(m + "/big").st_size == 1 << 50
        fd = os.open(m + "/big", os.O_RDWR)
        os.pwrite(fd, b"end", (1 << 50) - 3)
        os.fsync(fd)
        assert os.pread(fd, 10, (1 << 50) - 5) == b"\0\0end"
        os.close(fd)


def damaged_records():
    """rows that do not decode: EIO for that file, everything else goes on"""
    with Volume(A) as v:
        m = v.mount(A, "a")
        for n in ("a", "b"):
            with open(f"{m.mnt}/{n}", "w") as f:
                f.write("content of " + n)
        ino = os.stat(m.mnt + "/a").st_ino
        m.umount()
        db = sqlite3.connect(v.dir + "/meta.db")
        db.execute("update jfs_chunk set slices = x'0102030405' where inode = ?", (ino,))
        db.commit()
        db.close()
        m = v.mount(A, "b", "--io-retries", "1")
        try:
            open(m.mnt + "/a").read()
            raise AssertionError("a damaged chunk was served")
        except OSError as e:
            assert e.errno == errno.EIO
        assert open(m.mnt + "/b").read() == "content of b"


for f in (unformatted, not_a_database, damaged_setting, newer_version, damaged_pages, wrong_values, keys, full_objects, full_cache, full_metadata,
          flipped_objects, unreadable_object, flipped_cache, impossible_names, damaged_records):
    if len(sys.argv) < 2 or sys.argv[1].startswith("--") or sys.argv[1] in f.__name__:
        r.check(f.__name__.replace("_", " "), f)
r.end()
