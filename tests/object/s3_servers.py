#!/usr/bin/env python3
"""The behaviour suite of object stores over real servers of the S3 protocol, started here: `juicefs gateway`, moto, and the one that
AQUIFER_S3_SERVER=http://host:port,access,secret names."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from s3_server import TlsFront, servers
from volume import ROOT, Report, aquifer, run

FILTER = "*Behaviour*/s3:*Behaviour*/minio:*Behaviour*/s3_*"
SECRETS = re.compile(r"testsecret-0123456789")


def behaviour(server):
    bucket = f"{server.url}/behaviour"
    env = {"AQUIFER_TEST_S3": bucket, "AQUIFER_TEST_S3_KEYS": ":".join(server.keys), "AQUIFER_TEST_S3_REFUSES": server.refuses}
    p = run(os.path.join(ROOT, "build", "tests", "object_tests"), f"--gtest_filter={FILTER}", check=False, env=env)
    assert p.returncode == 0 and "SKIPPED" not in p.stdout, p.stdout[-3000:]
    m = re.search(r"PASSED\s+\] (\d+) tests", p.stdout)
    assert m and int(m[1]) >= 48, p.stdout[-500:]
    return f"{m[1]} tests"


def benchmark(server):
    p = run(aquifer(), "objbench", "--storage", "s3", "--block-size", "1M", "--big-object-size", "16M", "--small-objects", "20",
            f"{server.url}/objbench", env=server.environment())
    failed = [line for line in p.stdout.splitlines() if re.search(r"\|\s+(basic|sync)\s.*\|", line) and not re.search(r"pass|not support", line)]
    assert not failed, failed
    return f"{len(re.findall('pass', p.stdout))} functional tests"


def wrong_keys(server):
    """A refusal is a clear text without the secret, at the first try."""
    p = run(aquifer(), "objbench", "--storage", "s3", f"{server.url}/behaviour", check=False,
            env={"ACCESS_KEY": server.keys[0], "SECRET_KEY": "testsecret-0123456789-wrong"})
    assert p.returncode != 0 and re.search("403|401", p.stdout), p.stdout
    assert not SECRETS.search(p.stdout), "the secret is in the output"


def environment_keys(server):
    """From the environment of the service, and from a profile file."""
    bare = {"ACCESS_KEY": "", "SECRET_KEY": "", "HOME": "/nonexistent"}
    for storage, names in (("s3", ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")), ("minio", ("MINIO_ACCESS_KEY", "MINIO_SECRET_KEY"))):
        run(aquifer(), "objbench", "--skip-functional-tests", "--storage", storage, "--big-object-size", "1M", "--block-size", "1M", "--small-objects", "1",
            f"{server.url}/objbench", env={**bare, **dict(zip(names, server.keys))})
    p = run(aquifer(), "objbench", "--storage", "s3", f"{server.url}/objbench", check=False, env=bare)
    assert p.returncode != 0 and "--access-key" in p.stdout, p.stdout


def tls(server):
    """Trusted: the whole suite. Not trusted, or for another name: refused, unless told not to look."""
    with TlsFront(server.port) as front:
        keys = {"AQUIFER_TEST_S3_KEYS": ":".join(server.keys), "AQUIFER_TEST_S3_REFUSES": server.refuses}
        tests = os.path.join(ROOT, "build", "tests", "object_tests")
        p = run(tests, f"--gtest_filter={FILTER}", check=False,
                env={**keys, "AQUIFER_TEST_S3": front.url + "/behaviour", "SSL_CERT_FILE": front.certificate})
        assert p.returncode == 0 and "SKIPPED" not in p.stdout, p.stdout[-3000:]
        bench = lambda url, **env: run(aquifer(), "objbench", "--skip-functional-tests", "--storage", "s3", "--big-object-size", "5M", "--block-size", "5M",
                                       "--small-objects", "1", url, check=False, env={**server.environment(), **env})
        trusted = {"SSL_CERT_FILE": front.certificate}
        for url, env, expected in ((front.url, {}, "not trusted"), (front.wrong_name, trusted, "not trusted"),
                                   (front.wrong_name + "/objbench?tls-insecure-skip-verify=true", {}, None), (front.url + "/objbench", trusted, None)):
            p = bench(url if "/objbench" in url else url + "/objbench", **env)
            if expected:
                assert p.returncode != 0 and expected in p.stdout, f"{url}: {p.stdout[-500:]}"
            else:
                assert p.returncode == 0, f"{url}: {p.stdout[-500:]}"
        return "suite, wrong name, unknown certificate, verification off"


r = Report()
for name, make, why in servers():
    if not make:
        r.skip(name, why)
        continue
    try:
        server = make()
    except Exception as e:
        r.check(f"start {name}", lambda: (_ for _ in ()).throw(e))
        continue
    with server:
        r.check(f"behaviour suite over {name}", behaviour, server)
        r.check(f"objbench over {name}", benchmark, server)
        r.check(f"keys from the environment, {name}", environment_keys, server)
        r.check(f"TLS in front of {name}", tls, server)
        if name != "moto":      # which checks no signature
            r.check(f"wrong keys at {name}", wrong_keys, server)
r.end()
