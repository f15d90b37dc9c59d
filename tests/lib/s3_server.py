"""Servers of the S3 protocol on free loopback ports, started and stopped by the tests, and a proxy that spoils what goes through it."""
import http.client
import os
import random
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time

from volume import ROOT, free_port, juicefs, run

ACCESS, SECRET = "testaccess", "testsecret-0123456789"


def program(name):
    for place in (os.path.join(ROOT, "build", "tools", "venv", "bin", name), shutil.which(name)):
        if place and os.access(place, os.X_OK):
            return place
    return None


class Server:
    """One process; `url` of the server, `keys`, and what it cannot store (`refuses`)."""
    refuses = ""

    def __init__(self, name, cmd, port, env=None, keys=(ACCESS, SECRET)):
        self.name, self.port, self.keys = name, port, keys
        self.url = f"http://127.0.0.1:{port}"
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(cmd, stdout=self.log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        for _ in range(150):
            try:
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
                c.request("GET", "/")
                c.getresponse().read()
                return
            except OSError:
                if self.process.poll() is not None:
                    break
                time.sleep(0.2)
        self.log.seek(0)
        tail = self.log.read()[-1500:].decode(errors="replace")
        self.close()
        raise RuntimeError(f"{name} does not start: {tail}")

    def environment(self):
        return {"ACCESS_KEY": self.keys[0], "SECRET_KEY": self.keys[1]}

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Gateway(Server):
    """`juicefs gateway`: MinIO's front over a volume of its own."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="aquifer-gateway-", dir=os.environ.get("AQUIFER_TEST_TMP", "/var/tmp"))
        meta = f"sqlite3://{self.dir}/meta.db"
        try:
            run(juicefs(), "format", "--storage", "file", "--bucket", self.dir + "/obj/", meta, "gateway")
            port = free_port()
            super().__init__("juicefs gateway", [juicefs(), "gateway", "--no-usage-report", "--multi-buckets", "--keep-etag", "--object-meta",
                                                 "--backup-meta", "0", "--cache-dir", self.dir + "/cache", meta, f"127.0.0.1:{port}"],
                             port, {"MINIO_ROOT_USER": ACCESS, "MINIO_ROOT_PASSWORD": SECRET})
        except BaseException:
            shutil.rmtree(self.dir, ignore_errors=True)
            raise

    def close(self):
        super().close()
        shutil.rmtree(self.dir, ignore_errors=True)


class Moto(Server):
    """A mock that keeps objects in memory and checks no signature."""
    refuses = "\n"

    def __init__(self):
        port = free_port()
        super().__init__("moto", [program("moto_server"), "-H", "127.0.0.1", "-p", str(port)], port)


class Given:
    """A server that somebody else runs: AQUIFER_S3_SERVER=http://host:port,access,secret (Ceph RGW, MinIO …)."""
    name, refuses = "the given server", ""

    def __init__(self):
        self.url, *self.keys = os.environ["AQUIFER_S3_SERVER"].split(",")
        self.port = int(self.url.rsplit(":", 1)[1])

    environment = Server.environment

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def servers():
    """(name, constructor or None, why not)"""
    yield ("juicefs gateway", Gateway, "") if juicefs() else ("juicefs gateway", None, "no juicefs program")
    yield ("moto", Moto, "") if program("moto_server") else ("moto", None, "moto_server is not installed (scripts/install-deps --tests)")
    if os.environ.get("AQUIFER_S3_SERVER"):
        yield "the given server", Given, ""


class TlsFront:
    """TLS in front of a server, with a certificate of its own making for the name `localhost` (and no address)."""

    def __init__(self, port):
        self.to = port
        self.dir = tempfile.mkdtemp(prefix="aquifer-tls-")
        self.certificate = self.dir + "/cert.pem"
        run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
            "-keyout", self.dir + "/key.pem", "-out", self.certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.dir + "/key.pem")
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        self.url, self.wrong_name = f"https://localhost:{self.port}", f"https://127.0.0.1:{self.port}"
        self.context = context
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            with self.context.wrap_socket(client, server_side=True) as front, socket.create_connection(("127.0.0.1", self.to)) as back:
                back_reader = threading.Thread(target=self.pump, args=(back, front), daemon=True)
                back_reader.start()
                self.pump(front, back)
                back.shutdown(socket.SHUT_RDWR)
                back_reader.join()
        except OSError:
            pass

    @staticmethod
    def pump(source, target):
        try:
            while data := source.recv(1 << 17):
                target.sendall(data)
        except OSError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        shutil.rmtree(self.dir, ignore_errors=True)


class SpoilingProxy:
    """TCP in front of a server, one request a connection. `spoil(method, path, n)` names what happens to the n-th request for that method
    and path: None, "500", "503", "slow" (SlowDown), "reset" (in the middle of the answer), "cut" (the answer ends early), "stall" (in the
    middle of the answer), "drop" (the connection ends before the answer, the request was carried out)."""

    ERRORS = {"500": ("500 Internal Server Error", "InternalError"), "503": ("503 Service Unavailable", "ServiceUnavailable"),
              "slow": ("503 Slow Down", "SlowDown")}

    def __init__(self, port, spoil):
        self.to, self.spoil = port, spoil
        self.seen, self.spoiled, self.stop = {}, [], threading.Event()
        self.lock = threading.Lock()
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.stop.set()
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def accept(self):
        while not self.stop.is_set():
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.guarded, args=(client,), daemon=True).start()

    def guarded(self, client):
        try:
            self.one(client)
        except OSError:
            pass
        finally:
            client.close()

    @staticmethod
    def message(sock, body=True):
        """head, body of a message with a length"""
        data = b""
        while b"\r\n\r\n" not in data:
            more = sock.recv(65536)
            if not more:
                return None, b""
            data += more
        head, _, rest = data.partition(b"\r\n\r\n")
        size = 0
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        while body and len(rest) < size:
            more = sock.recv(1 << 20)
            if not more:
                break
            rest += more
        return head, rest

    def one(self, client):
        head, body = self.message(client)
        if head is None:
            return
        method, target = head.split(b" ")[:2]
        key = (method.decode(), target.decode().split("?")[0])
        with self.lock:
            n = self.seen[key] = self.seen.get(key, 0) + 1
        fault = self.spoil(*key, n)
        if fault:
            with self.lock:
                self.spoiled.append((fault, *key))
        if fault in self.ERRORS:
            status, code = self.ERRORS[fault]
            text = f"<Error><Code>{code}</Code><Message>spoiled</Message></Error>"
            client.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode())
            return
        # One request a connection, so that every one is seen. Host is what was signed, so the head goes on unchanged but for that.
        with socket.create_connection(("127.0.0.1", self.to)) as server:
            server.sendall(head + b"\r\nConnection: close\r\n\r\n" + body)
            answer, data = self.message(server, method != b"HEAD")
        if answer is None or fault == "drop":
            return
        lines = [line for line in answer.split(b"\r\n") if not line.lower().startswith(b"connection:")]
        whole = b"\r\n".join(lines) + b"\r\nConnection: close\r\n\r\n" + data
        if fault in ("reset", "cut", "stall"):
            client.sendall(whole[:len(whole) - max(1, len(data) // 2)])
            if fault == "stall":
                self.stop.wait(60)
            if fault == "reset":
                time.sleep(0.05)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        client.sendall(whole)


def randomly(seed, share, kinds):
    """A `spoil` that hits the first attempts of a share of all requests, never more than three in a row."""
    def spoil(method, path, n):
        rnd = random.Random(f"{seed} {method} {path} {n}")
        return rnd.choice(kinds) if n <= 3 and rnd.random() < share else None
    return spoil
