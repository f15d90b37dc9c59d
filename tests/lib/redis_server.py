"""A redis-server of one test: on a free port of the loopback interface, in a folder of its own, ended with the test. And a client of
few lines, so that tests look at the stored bytes without either file system."""
import os
import shutil
import socket
import subprocess
import tempfile
import time

from volume import free_port


def available():
    if shutil.which("redis-server"):
        return True
    print("SKIPPED: redis-server is not installed (scripts/install-deps --tests installs it)", flush=True)
    return False


class Raw:
    """Commands as lists, answers as bytes, int, None and lists."""

    def __init__(self, port, db=0):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.file = self.sock.makefile("rb")
        self("SELECT", db)

    def __call__(self, *words):
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        self.sock.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise RuntimeError(rest.decode())
        if kind == b":":
            return int(rest)
        if kind == b"$":
            if rest == b"-1":
                return None
            data = self.file.read(int(rest) + 2)
            return data[:-2]
        if kind == b"*":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]
        return rest

    def keys(self, pattern):
        cursor, found = b"0", set()
        while True:
            cursor, page = self("SCAN", cursor, "MATCH", pattern, "COUNT", 10000)
            found.update(page)
            if cursor == b"0":
                return found

    def hash(self, key):
        flat = self("HGETALL", key)
        return dict(zip(flat[::2], flat[1::2]))

    def close(self):
        self.file.close()
        self.sock.close()


class RedisServer:
    def __init__(self, *options):
        self.dir = tempfile.mkdtemp(prefix="aquifer-redis-", dir=os.environ.get("AQUIFER_TEST_TMP", "/var/tmp"))
        for _ in range(5):
            self.port = free_port()
            self.process = subprocess.Popen(["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.dir, "--save", "",
                                             "--appendonly", "no", "--logfile", self.dir + "/log", *options])
            for _ in range(200):
                try:
                    Raw(self.port).close()
                    return
                except OSError:
                    if self.process.poll() is not None:
                        break
                    time.sleep(0.05)
        raise RuntimeError("redis-server does not start")

    def url(self, db=0):
        return f"redis://127.0.0.1:{self.port}/{db}"

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
