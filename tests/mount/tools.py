#!/usr/bin/env python3
"""The commands that measure and explain a live mount: stats, profile, bench, objbench, debug, why. Real output of real mounts."""
import json
import os
import re
import subprocess
import sys
import time
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import Report, Volume, aquifer

QUIET = {"SKIP_DROP_CACHES": "true"}


def expect(condition, what):
    if not condition:
        raise RuntimeError(what)


def out(*cmd, code=0, timeout=60):
    p = subprocess.run([aquifer(), *map(str, cmd)], capture_output=True, text=True, env={**os.environ, **QUIET}, timeout=timeout)
    expect(p.returncode == code, f"{cmd}: exit {p.returncode}\n{p.stdout}{p.stderr}")
    return p.stdout


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
        os.fsync(f.fileno())


def stats(m):
    lines = out("stats", m.mnt, "-c", 2, "-l", 1, "--schema", "ufmcog").splitlines()
    expect(len(lines) == 4, lines)
    expect(lines[0].startswith("---------usage---------") and lines[1].startswith(" cpu   mem   buf  cache| ops   lat "), lines[:2])
    expect({len(line) for line in lines} == {len(lines[0])}, "the columns are not aligned")
    expect(re.match(r" *\d+\.\d%  *\d+[KM]", lines[2]), lines[2])
    expect(out("stats", m.mnt, "-c", 1, "--schema", "fr").startswith("Warning: no item defined for r\n"), "the unknown letter")
    out("stats", "/tmp", code=1)


def profile(m):
    log = m.volume.dir + "/access.log"
    with open(log, "wb") as f:
        reader = subprocess.Popen(["cat", m.mnt + "/.accesslog"], stdout=f)
        time.sleep(0.5)
        for i in range(3):
            write(f"{m.mnt}/p{i}", b"x")
        time.sleep(1.5)
        reader.kill()
        reader.wait()
    text = out("profile", log, "--interval", 0)
    expect(re.search(r"^create  +3 ", text, re.M) and re.search(r"^fsync  +3 ", text, re.M), text)
    expect("create" not in out("profile", log, "--interval", 0, "-p", 1), "the filter by process")
    live = subprocess.Popen([aquifer(), "profile", m.mnt, "--interval", "1"], stdout=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL)
    time.sleep(0.7)
    for _ in range(5):
        os.listdir(m.mnt)
    time.sleep(2.5)
    live.terminate()
    text = live.communicate(timeout=20)[0]
    expect(text.count("> JuiceFS Profiling") >= 2 and "readdir" in text, text)


def bench(m):
    text = out("bench", m.mnt, "--big-file-size", "8M", "--small-file-count", 5, "-p", 2)
    expect("Benchmark finished!" in text and "\033" not in text, text)
    for row in ("Write big file", "Read big file", "Write small file", "Read small file", "Stat file", "FUSE operation", "Put object"):
        expect(re.search(rf"\| +{row} \| +[\d.]+ ", text), f"{row}\n{text}")
    expect(not [n for n in os.listdir(m.mnt) if "benchmark" in n], "files are left behind")
    other = out("bench", m.volume.dir, "--big-file-size", "8M", "--small-file-count", 0)
    expect("FUSE operation" not in other and "Write big file" in other, other)


def objbench(v):
    folder = v.dir + "/bench-objects"
    text = out("objbench", folder, "--big-object-size", "8M", "--small-objects", 5)
    expect(text.count("pass |") == 12 and text.count("failed") == 0, text)
    expect(re.search(r"\| +upload objects \| +[\d.]+ MiB/s ", text) and re.search(r"\| +delete objects \| +[\d.]+ objects/s ", text), text)
    expect(os.listdir(folder) == [], "objects or folders are left behind")
    text = out("objbench", folder, "--big-object-size", "8M", "--small-objects", 0, "--skip-functional-tests")
    expect("Functional" not in text and "skipped" in text, text)
    out("objbench", folder, "--block-size", 0, code=1)


def debug(m):
    folder = m.volume.dir + "/debug"
    text = out("debug", "--out-dir", folder, "--stats-sec", 1, m.mnt)
    expect("Platform:" in text and "Mount Command:" in text and m.mnt in text, text)
    names = os.listdir(folder)
    archive = [n for n in names if n.endswith(".zip")][0]
    with zipfile.ZipFile(f"{folder}/{archive}") as z:
        expect(z.testzip() is None, "the archive is damaged")
        inside = {n: z.read(n) for n in z.namelist()}
    for name in ("system-info.log", "config.txt", "stats.txt", "stats.1s.txt", "juicefs.log", "pprof/juicefs.cmdline.txt"):
        expect(inside.get(name), f"{name} is missing or empty")
        with open(f"{folder}/{archive[:-4]}/{name}", "rb") as f:
            expect(f.read() == inside[name], name)
    expect(json.loads(inside["config.txt"])["Format"]["Name"] == "vol", "the settings")
    out("debug", "/tmp", code=1)


def why_names_the_limit(v):
    """4 MiB through 16 Mbps take two seconds, and the limit is what costs them"""
    m = v.mount(aquifer(), "limited", "--download-limit", "16", "--cache-size", "0")
    try:
        os.mkdir(m.mnt + "/slow")
        os.mkdir(m.mnt + "/quiet")
        data = os.urandom(12 << 20)
        write(m.mnt + "/slow/file", data)
        write(m.mnt + "/quiet/small", b"x")
        m.umount()
        m = v.mount(aquifer(), "limited", "--download-limit", "16", "--cache-size", "0")
        with open(m.mnt + "/slow/file", "rb") as f:
            expect(f.read() == data, "the bytes")
        for path in (m.mnt, m.mnt + "/slow", m.mnt + "/slow/file"):
            r = json.loads(out("why", "--json", path))
            expect(max(r["stages_us"], key=r["stages_us"].get) == "limit", f"{path}: {r['stages_us']}")
            row = r["slowest"][0]
            expect(row["op"] == "read" and row["path"] == "/slow/file" and row["us"] > 200_000, row)
            expect(abs(sum(row["stages_us"].values()) - row["us"]) < 100, row)
            text = out("why", path)
            expect("The bandwidth limit costs the time" in text and "/slow/file" in text, text)
        quiet = json.loads(out("why", "--json", m.mnt + "/quiet"))
        expect(all(r["path"].startswith("/quiet") for r in quiet["slowest"]), quiet)
        with open(m.mnt + "/.stats") as f:
            expect("juicefs_stage_seconds_total_read_limit" in f.read(), "stage times in the statistics")
    finally:
        m.umount()


def why_elsewhere():
    out("why", "/tmp", code=1)
    out("why", "/tmp/none/at/all", code=1)


r = Report()
with Volume(aquifer(), "--trash-days", "0") as v:
    m = v.mount(aquifer(), "a")
    r.check("stats", stats, m)
    r.check("profile", profile, m)
    r.check("bench", bench, m)
    r.check("debug", debug, m)
    r.check("objbench", objbench, v)
    m.umount()
    r.check("why names the bandwidth limit", why_names_the_limit, v)
    r.check("why away from a mount", why_elsewhere)
r.end()
