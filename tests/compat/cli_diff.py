#!/usr/bin/env python3
"""Runs the same command lines with this program and with the original client and compares what scripts see.

    cli_diff.py --ours build/aquifer [--theirs juicefs] [--keep] [pattern]

Compared: exit code, stdout, and stderr as level and message (time, pid, function and place are dropped). A case may ask
for less where the wording is ours. Volumes and mounts live in a temporary folder. Needs FUSE for the part with a mount.
Ends with 'N passed, N failed'; the exit code is 1 if anything failed.
"""
import argparse
import difflib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

LINE = re.compile(r"^(?:\[\S+\] )?\d{4}/\d\d/\d\d [\d:.]+ juicefs\[\d+\] <(\w+)>: (.*?)(?: \[[^\[\]]*@[^\[\]]*\])?$", re.S)
# What only one of the two says, and nobody parses.
NOISE = ("Set storage tier: not supported", "The latency to database is too high", "flush session 0", "close session 0")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Result:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err


def log_lines(text):
    """[(level, message)], with the lines that belong to a message of several lines joined."""
    joined = []
    for line in text.splitlines():
        if LINE.match(line) or not joined:
            joined.append(line)
        else:
            joined[-1] += "\n" + line
    out = []
    for line in joined:
        m = LINE.match(line)
        level, message = (m.group(1), m.group(2)) if m else ("-", line)
        if not message.startswith(NOISE):
            out.append((level, message))
    return out


class Bench:
    def __init__(self, ours, theirs, folder):
        self.programs = {"ours": ours, "theirs": theirs}
        self.folder = folder
        self.passed = self.failed = 0
        self.pattern = ""

    def run(self, who, args, stdin="", env=None, cwd=None):
        # The name decides how the program behaves: both are started as "juicefs".
        p = subprocess.run([os.path.join(self.folder, who + "-bin", "juicefs")] + args, input=stdin, capture_output=True, text=True,
                           errors="surrogateescape", env={**os.environ, **(env or {})}, cwd=cwd or self.folder, timeout=120)
        return Result(p.returncode, p.stdout, p.stderr)

    def clean(self, who, text):
        text = text.replace(os.path.join(self.folder, who), "<DIR>").replace(self.folder, "<TOP>")
        return UUID.sub("<UUID>", text)

    def judge(self, name, problems):
        if problems:
            self.failed += 1
            print("FAIL", name)
            for p in problems:
                print("    " + p.replace("\n", "\n    "))
        else:
            self.passed += 1

    def case(self, args, out="same", err="same", code="same", stdin="", env=None, cwd=None, edit=None):
        """args may hold {d}, the folder that each program has for itself. out: same, none (not compared), or a function
        that makes both comparable. err: same, level (of the last line), first (line of all), none."""
        name = " ".join(args) or "(nothing)"
        if self.pattern not in name:
            return
        results = {}
        for who in ("ours", "theirs"):
            mine = [a.replace("{d}", os.path.join(self.folder, who)) for a in args]
            r = self.run(who, mine, stdin, env, cwd.replace("{d}", os.path.join(self.folder, who)) if cwd else None)
            r.out, r.err = self.clean(who, r.out), self.clean(who, r.err)
            results[who] = r
        a, b = results["ours"], results["theirs"]
        problems = []
        if code == "same" and a.code != b.code:
            problems.append(f"exit code {a.code}, theirs {b.code}; stderr: {a.err[-300:]!r}")
        left, right = a.out, b.out
        if callable(out):
            left, right = out(left), out(right)
        if out != "none" and left != right:
            left, right = (x if isinstance(x, list) else str(x).splitlines() for x in (left, right))
            problems.append("stdout:\n" + "\n".join(difflib.unified_diff(right, left, "theirs", "ours", lineterm="", n=1)))
        la, lb = log_lines(a.err), log_lines(b.err)
        if edit:
            la, lb = edit(la), edit(lb)
        if err == "level":
            la, lb = [x[0] for x in la[-1:]], [x[0] for x in lb[-1:]]
        elif err == "first":
            la, lb = [(x[0], x[1].split("\n")[0]) for x in la], [(x[0], x[1].split("\n")[0]) for x in lb]
        if err != "none" and la != lb:
            problems.append(f"stderr:\n  ours   {la}\n  theirs {lb}")
        self.judge(name, problems)

    def check(self, name, good, detail=""):
        if self.pattern in name:
            self.judge(name, [] if good else [detail or "does not hold"])


def setting(path):
    with sqlite3.connect(path) as db:
        return json.loads(db.execute("select value from jfs_setting where name='format'").fetchone()[0])


def head(n):
    return lambda text: "\n".join(text.splitlines()[:n])


def mdtest(b):
    """Both make the same tree; what ours adds leaves nothing behind."""
    trees, said = {}, {}
    tree = """select e.name, e.type, n.mode, n.nlink, n.length, p.name, count(*) from jfs_edge e join jfs_node n using (inode)
              left join jfs_edge p on p.inode = e.parent group by 1, 2, 3, 4, 5, 6 order by 1, 6"""

    def lines(result):
        return [re.sub(r" in \S+ \(\d+ ", " in T (N ", m) for _, m in log_lines(result.err) if re.match(r"Created? \d|Looked|Listed|Renamed|Removed", m)]

    for who in ("ours", "theirs"):
        folder = os.path.join(b.folder, who)
        url = f"sqlite3://{folder}/md.db"
        b.run(who, ["format", url, "mdvol", "--bucket", f"{folder}/mdob"])
        r = b.run(who, ["mdtest", url, "/t", "--threads", "2", "--dirs", "2", "--depth", "2", "--files", "3", "--write", "1000",
                        "--cache-dir", f"{folder}/mdcache"])
        said[who] = lines(r)
        with sqlite3.connect(f"{folder}/md.db") as db:
            trees[who] = (r.code, db.execute(tree).fetchall())
    b.check("mdtest makes the same tree", trees["ours"] == trees["theirs"] and trees["ours"][0] == 0 and len(trees["ours"][1]) > 20, str(trees))
    b.check("mdtest says the same", said["ours"] == said["theirs"] and len(said["ours"]) == 3, str(said))
    b.case(["mdtest", "sqlite3://{d}/md.db", "/t"], err="level")
    b.case(["mdtest", "sqlite3://{d}/md.db"], out=head(2))
    folder = os.path.join(b.folder, "ours")
    url, log = f"sqlite3://{folder}/md.db", f"{folder}/md.log"
    r = b.run("ours", ["mdtest", url, "/u", "--all", "--threads", "3", "--files", "4", "--write", "10", "--access-log", log, "--cache-dir", f"{folder}/mdcache"])
    b.check("mdtest --all says what it did", r.code == 0 and lines(r)[1:] == [
        "Created 13 dirs in T (N dirs/s)", "Created 156 files in T (N files/s)", "Looked up 156 files in T (N files/s)",
        "Listed 13 dirs in T (N dirs/s)", "Renamed 156 files in T (N files/s)", "Removed 156 files in T (N files/s)",
        "Removed 13 dirs in T (N dirs/s)"], r.err)
    with sqlite3.connect(f"{folder}/md.db") as db:
        left = db.execute("select cast(e.name as text) from jfs_edge e join jfs_edge p on p.inode = e.parent where p.name = 'u'").fetchall()
        sessions = db.execute("select count(*) from jfs_session2").fetchone()[0]
    b.check("mdtest --all takes its tree away", left == [], str(left))
    b.check("mdtest leaves no session, nor when it fails", sessions == 0, str(sessions))
    with open(log) as f:
        text = f.read()
    made = re.findall(r"\] create \(", text)
    b.check("mdtest copies the access log", len(made) == 156, str(len(made)))
    b.check("mdtest copies the log to its end", re.search(r"\] rmdir \(\d+,test-dir\.0-0\)", text) and text.endswith("\n"), text[-200:])
    for args, word in ((["--threads", "0"], '"threads"'), (["--write", "-1"], '"write"'), (["--depth", "60"], "60 levels"), (["--access-log", "/nowhere/x"], "/nowhere/x")):
        r = b.run("ours", ["mdtest", url, "/v", *args])
        b.check(f"mdtest {' '.join(args)}", r.code == 1 and word in r.err and "FATAL" in r.err, r.err)
    r = b.run("ours", ["mdtest", url, "//"])
    b.check("mdtest at the root", r.code == 1 and "below the root" in r.err, r.err)


def grammar(b):
    url = "sqlite3://{d}/g.db"
    b.case(["format", url, "gram", "--bucket", "{d}/gob"])
    help_head = head(2)   # 'Incorrect Usage' and an empty line; the help below is in other words
    for args in (["xyz"], ["help"], ["-q", "xyz"], ["list"], ["quota", "xyz", url], ["quota", "--path", "set", url],
                 ["status", "--zzz"], ["status", "-x=3"], ["status", "-hq"], ["status", "--", url], ["status", url, "-"],
                 ["status", "-h", "--zzz"], ["--log-id"], ["status", url, "--log-id"],
                 ["status"], ["status", "a", "b", "c"], ["format", url], ["quota", "list"], ["quota", "set", "a", "b"], ["clone", "x"],
                 ["destroy", "x"], ["gc"], ["summary"], ["info"], ["rmr"], ["compact"], ["warmup", "--zz"],
                 ["fsck", "--repair", url], ["warmup", "--evict", "--check", "/"], ["warmup"],
                 ["quota", "get", url], ["quota", "set", url, "--uid", "0"], ["quota", "set", url, "--uid", "1", "--gid", "2"],
                 ["quota", "set", url, "--uid", "1", "--path", "/"], ["quota", "set", url, "--gid", "1", "--path", "/"],
                 ["status", "--session=0x4d", url, "-q"], ["quota", "--generate-bash-completion"],
                 ["status", "--generate-bash-completion"], ["status", "foo://x"], ["-q", "status", url, "-s", "77"]):
        b.case(args)
    for args in (["--zzz", "status"], ["--more", "status", url], ["-v=abc"], ["status", "-s"], ["status", "--session"], ["status", "-s="],
                 ["status", "-s", "abc"], ["status", "-h", "-s", "abc"], ["status", "-s", "99999999999999999999999", url],
                 ["status", "--more=abc", url], ["format", url, "gram", "--trash-days"], ["format", url, "gram", "--trash-days", "x"],
                 ["config", url, "--inodes", "-1"], ["config", url, "--changelog-max-age", "30"], ["config", url, "--inodes", "1e3"],
                 ["config", url, "--dir-stats=maybe"], ["gc", url, "--threads", "many"]):
        b.case(args, out=help_head)
    for args in ([], ["-h"], ["--help"], ["format", "-h"], ["status", "x", "-h"], ["quota"], ["quota", "set", "-h"], ["config", "--help"], [""]):
        b.case(args, out=head(1))
    for args in (["version"], ["--version"], ["-V", "status"], ["version", "a", "b"]):
        b.case(args, out=lambda t: re.sub(r"1\.4\.\S+", "V", t))
    b.case(["--log-level", "error", "status", url])
    b.case(["status", url, "--quiet"])
    b.case(["--log-id", "abc", "status", url])


def volumes(b):
    url = "sqlite3://{d}/v.db"
    bad = [("Va", []), ("v2", []), ("volume", ["--compress", "gzip"]), ("volume", ["--shards", "300"]), ("volume", ["--trash-days", "-3"]),
           ("volume", ["--storage", "nope"]), ("volume", ["--encrypt-rsa-key", "{d}/none.pem"])]
    for name, flags in bad:
        b.case(["format", url, name, "--bucket", "{d}/vob"] + flags, err="level")
    b.case(["format", url, "volume", "--block-size", "4X", "--bucket", "{d}/vob"])
    b.case(["format", url, "volume", "--capacity", "4MB", "--bucket", "{d}/vob"], err="level")
    b.case(["format", "sqlite3:///nonexistent/dir/x.db", "volume"], err="level")
    for command in (["status"], ["config"], ["gc"], ["fsck"], ["destroy"], ["restore"], ["quota", "list"]):
        b.case(command + ["sqlite3://{d}/empty.db"] + (["x"] if command[0] in ("destroy", "restore") else []),
               edit=lambda lines: [(l, m.replace("Load setting", "load setting")) for l, m in lines])
    b.case(["format", url, "volume", "--bucket", "vob", "--capacity", "10", "--inodes", "5000", "--trash-days", "0", "--access-key", "ak",
            "--secret-key", "sk", "--session-token", "tok", "--block-size", "100K", "--compress", "lz4", "--enable-acl"], cwd="{d}")
    b.case(["format", url, "volume", "--bucket", "{d}/vob", "--capacity", "20", "--trash-days", "5"])
    b.case(["format", url, "volume", "--no-update", "--block-size", "1M"])
    b.case(["format", url, "other"])
    b.case(["format", url, "volume", "--block-size", "1M"])
    b.case(["format", url, "volume", "--hash-prefix"])
    b.case(["format", "sqlite3://{d}/v2.db", "volume", "--bucket", "{d}/vob"])
    b.case(["format", "sqlite3://{d}/v3.db", "volume3", "--bucket", "{d}/vob", "--block-size", "1K"], err="first")
    b.case(["format", "sqlite3://{d}/v4.db", "volume4", "--bucket", "{d}/vob", "--block-size", "100M", "--storage-class", "IA", "--tag", "a=b"], err="first")
    b.case(["status", url])
    b.case(["status", url, "-m"])
    b.case(["status", url, "-s", "9"])
    b.case(["config", url])
    same = lambda p: {k: v for k, v in setting(p).items() if k not in ("UUID", "SecretKey", "SessionToken", "Bucket")}
    b.check("stored setting", same(f"{b.folder}/ours/v.db") == same(f"{b.folder}/theirs/v.db"),
            f"{same(f'{b.folder}/ours/v.db')}\n{same(f'{b.folder}/theirs/v.db')}")

    changes = [["--trash-days", "3"], ["--trash-days", "3"], ["--trash-days", "-1"], ["--trash-days=-1"], ["--inodes", "1000000", "--capacity", "1T"],
               ["--capacity", "5X"], ["--inodes", "0", "--capacity", "0"], ["--capacity", "1.5G"], ["--access-key", "yy"],
               ["--secret-key", "xx"], ["--upload-limit", "500", "--download-limit", "1.5G"], ["--upload-limit", "5X"],
               ["--bucket", "{d}/elsewhere/"], ["--bucket", "{d}/vob"], ["--min-client-version", "1.4.0"], ["--min-client-version", "1.3.0"],
               ["--max-client-version", "1.9.0"], ["--max-client-version", "zz"], ["--enable-acl=false"], ["--enable-acl"], ["--dir-stats=false"],
               ["--dir-stats"], ["--changelog"], ["--changelog-max-age", "3h", "--changelog-max-lines", "5"], ["--changelog=false"],
               ["--user-group-quota"], ["--user-group-quota=false"], ["--tier", "4", "--storage-class", "IA"], ["--tier", "1", "--storage-class", "IA"],
               ["--storage-class", "IA"], ["--tag", "a=b"], ["--ranger-rest-url", "http://x", "--ranger-service", "y"], ["--zzz"], ["--yes"]]
    for flags in changes:
        b.case(["config", url] + flags)
    b.case(["config", url, "--trash-days", "0"])                        # end of input is a no
    b.case(["config", url, "--trash-days", "0"], stdin="n\n")
    b.case(["config", url, "--trash-days", "0"], stdin="yes\n")
    b.case(["config", url, "--trash-days", "0", "-y"])
    b.case(["config", url])
    b.check("stored setting after config", same(f"{b.folder}/ours/v.db") == same(f"{b.folder}/theirs/v.db"),
            f"{same(f'{b.folder}/ours/v.db')}\n{same(f'{b.folder}/theirs/v.db')}")
    b.case(["config", url, "--max-client-version", "1.4.0", "-y"], out="none")
    b.case(["status", url], err="level")
    b.case(["config", url, "--max-client-version", "1.9.0", "--force"])
    b.case(["gc", url])
    b.case(["fsck", url])
    b.case(["destroy", url, "123"])
    uuid = {who: setting(f"{b.folder}/{who}/v.db")["UUID"] for who in ("ours", "theirs")}
    for flags, stdin in (([], ""), (["-y"], "")):
        # The UUID differs: one case each, by hand.
        results = {}
        for who in ("ours", "theirs"):
            r = b.run(who, ["destroy", f"sqlite3://{b.folder}/{who}/v.db", uuid[who]] + flags, stdin)
            results[who] = (r.code, b.clean(who, r.out), [(l, re.sub(r"Deleted \d+", "Deleted N", m)) for l, m in log_lines(b.clean(who, r.err))])
        b.check("destroy " + " ".join(flags), results["ours"] == results["theirs"], f"{results['ours']}\n{results['theirs']}")
    b.case(["status", url])


def across(b):
    """Each program on the volume of the other."""
    for maker, user in (("ours", "theirs"), ("theirs", "ours")):
        url = f"sqlite3://{b.folder}/{maker}/x.db"
        r = b.run(maker, ["format", url, "cross", "--bucket", f"{b.folder}/{maker}/xob", "--secret-key", "s3cret", "--access-key", "a"])
        b.check(f"{maker} formats", r.code == 0, r.err)
        outs = {}
        for who in (maker, user):
            outs[who] = [(x.code, x.out) for x in (b.run(who, c) for c in (
                ["status", url], ["config", url], ["quota", "list", url], ["status", "-m", url], ["quota", "check", url]))]
        b.check(f"{user} reads what {maker} made", outs[maker] == outs[user], f"{outs[maker]}\n{outs[user]}")
        r = b.run(user, ["config", url, "--capacity", "5", "--trash-days", "7"])
        b.check(f"{user} changes what {maker} made", r.code == 0 and "capacity: 0 B -> 5.0 GiB" in r.out, r.out + r.err)
        r = b.run(maker, ["config", url])
        b.check(f"{maker} sees it", '"Capacity": 5368709120' in r.out and '"TrashDays": 7' in r.out, r.out)


def quotas(b):
    for who in ("ours", "theirs"):
        b.run(who, ["format", f"sqlite3://{b.folder}/{who}/q.db", "quotas", "--bucket", f"{b.folder}/{who}/qob"])
    url = "sqlite3://{d}/q.db"
    for args in (["list"], ["ls"], ["set", "--path", "/none"], ["set", "--path", "/n", "--create", "--inodes", "10000"], ["list"],
                 ["set", "--path", "/d", "--create", "--capacity", "1", "--inodes", "100"], ["get", "--path", "/d"], ["list"],
                 ["set", "--path", "/d", "--capacity", "0"], ["list"], ["get", "--path", "/d"], ["set", "--uid", "1000", "--capacity", "1"],
                 ["set", "--gid", "100", "--inodes", "5"], ["get", "--uid", "1000"], ["get", "--uid", "7"], ["get", "--gid", "100"], ["list"],
                 ["set", "--path", "/d", "--capacity", "512M"], ["set", "--path", "/d", "--capacity", "5X"],
                 ["set", "--uid", "2000", "--capacity", "1T", "--inodes", "1000000"], ["list"], ["check", "--path", "/d"],
                 ["delete", "--path", "/d"], ["delete", "--path", "/d"], ["del", "--path", "/none"], ["delete", "--uid", "1000"], ["list"],
                 ["get", "--path", "/d"], ["delete"], ["check", "--path", "/none"], ["set", "--path", "/"], ["list"]):
        b.case(["quota"] + args + [url])


def encryption(b):
    keys = {}
    for name, more in (("plain", []), ("locked", ["-aes256", "-passout", "pass:secret"])):
        keys[name] = f"{b.folder}/{name}.pem"
        subprocess.run(["openssl", "genrsa"] + more + ["-out", keys[name], "2048"], check=True, capture_output=True)
    url = "sqlite3://{d}/e.db"
    b.case(["format", url, "secret", "--bucket", "{d}/eob", "--encrypt-rsa-key", keys["locked"]], err="level")
    b.case(["format", url, "secret", "--bucket", "{d}/eob", "--encrypt-rsa-key", keys["locked"]], err="level", env={"JFS_RSA_PASSPHRASE": "wrong"})
    b.case(["format", url, "secret", "--bucket", "{d}/eob", "--encrypt-rsa-key", keys["plain"], "--encrypt-algo", "rot13"], err="level")
    b.case(["format", url, "secret", "--bucket", "{d}/eob", "--encrypt-rsa-key", keys["locked"]], env={"JFS_RSA_PASSPHRASE": "secret"})
    b.case(["config", url])
    b.case(["gc", url], err="level")
    b.case(["gc", url], err="level", env={"JFS_RSA_PASSPHRASE": "wrong"})
    b.case(["gc", url], env={"JFS_RSA_PASSPHRASE": "secret"})
    b.case(["format", url, "secret", "--bucket", "{d}/eob", "--encrypt-algo", "chacha20-rsa"], err="none", env={"JFS_RSA_PASSPHRASE": "secret"})
    b.case(["config", url])
    for who, other in (("ours", "theirs"), ("theirs", "ours")):
        r = b.run(who, ["fsck", f"sqlite3://{b.folder}/{other}/e.db"], env={"JFS_RSA_PASSPHRASE": "secret"})
        b.check(f"{who} opens the encrypted volume of {other}", r.code == 0, r.err)
    for who in ("ours", "theirs"):
        with sqlite3.connect(f"{b.folder}/{who}/e.db") as db:
            text = db.execute("select value from jfs_setting where name='format'").fetchone()[0]
            db.execute("update jfs_setting set value=? where name='format'", (text.replace('"MetaVersion": 1', '"MetaVersion": 2'),))
    for command in (["status"], ["gc"], ["quota", "list"], ["fsck"]):
        b.case(command + [url], err="level")
    for who in ("ours", "theirs"):
        with sqlite3.connect(f"{b.folder}/{who}/e.db") as db:
            db.execute("update jfs_setting set value='{damaged' where name='format'")
    for command in (["status"], ["config"], ["gc"], ["format"]):
        b.case(command + [url] + (["secret"] if command == ["format"] else []), err="level")


def trash(b):
    """Each program restores and cleans a volume of its own that the original client has filled in the same way."""
    hours = {}
    for who in ("ours", "theirs"):
        url, mnt = f"sqlite3://{b.folder}/{who}/t.db", f"{b.folder}/{who}/mnt"
        os.makedirs(mnt)
        b.run("theirs", ["format", url, "trash", "--bucket", f"{b.folder}/{who}/tob", "--block-size", "64K"])
        r = b.run("theirs", ["mount", "-d", url, mnt, "--cache-dir", f"{b.folder}/{who}/cache", "--no-usage-report", "--backup-meta", "0",
                             "--log", f"{b.folder}/{who}/mnt.log", "--metrics", "127.0.0.1:0"])
        if r.code != 0:
            print("SKIP the part with trash:", r.err[-200:])
            return
        try:
            for name in ("a/b/c", "a/d", "keep/x"):
                os.makedirs(f"{mnt}/{name}", exist_ok=True)
            for name in ("a/1", "a/b/2", "a/b/c/3", "a/d/4", "keep/5", "keep/x/6", "7"):
                with open(f"{mnt}/{name}", "wb") as f:
                    f.write(name.encode() * 1000)
            with open(f"{mnt}/many", "ab", buffering=0) as f:
                for i in range(3):
                    f.write(bytes(1000))
                    os.fsync(f.fileno())
            b.run("theirs", ["quota", "set", "--path", "/keep", "--capacity", "1", url])
            time.sleep(1)
            b.run("theirs", ["rmr", f"{mnt}/a"])
            for name in ("keep/5", "keep/x/6", "7"):
                os.remove(f"{mnt}/{name}")
            with open(f"{mnt}/7", "w") as f:
                f.write("in the way")
            hours[who] = sorted(os.listdir(f"{mnt}/.trash"))
        finally:
            b.run("theirs", ["umount", mnt])
    url = "sqlite3://{d}/t.db"

    def tree(who):
        with sqlite3.connect(f"{b.folder}/{who}/t.db") as db:
            return sorted(db.execute("select parent, name, type from jfs_edge where parent < 9000000000000000000").fetchall())

    def sums(who):
        with sqlite3.connect(f"{b.folder}/{who}/t.db") as db:
            return (db.execute("select inode, used_space, used_inodes from jfs_dir_quota order by inode").fetchall(),
                    db.execute("select inode, used_space, used_inodes from jfs_dir_stats where inode < 9000000000000000000 order by inode").fetchall())

    def without_usage(text):
        return [line.rstrip(",") for line in text.splitlines() if not re.search("Used|AvailableSpace|TrashSlice", line)]

    b.check("same trash", tree("ours") == tree("theirs") and len(hours["ours"]) == len(hours["theirs"]) == 1, str(hours))
    young = {"JFS_GC_SKIPPEDTIME": "0"}
    for who in ("ours", "theirs"):
        b.run(who, ["quota", "check", "--repair", "--path", "/keep", f"sqlite3://{b.folder}/{who}/t.db"])
    # Two mounts of the original client do not always arrive at the same usage, nor compact the same chunks in the background.
    b.case(["status", "-m", url], out=without_usage)
    b.case(["restore", url, "2020-01-01-01"])
    b.case(["restore", "--zz", url, "x"])
    for flags in ([], ["--put-back"]):
        for who in ("ours", "theirs"):
            r = b.run(who, ["restore"] + flags + [f"sqlite3://{b.folder}/{who}/t.db"] + hours[who])
            b.check(f"{who} restore {' '.join(flags)}", r.code == 0, r.err)
        b.check(f"same tree after restore {' '.join(flags)}", tree("ours") == tree("theirs"), f"{tree('ours')}\n{tree('theirs')}")
    names = {row[1] for row in tree("ours")}
    b.check("all is back", {b"1", b"2", b"3", b"4", b"5", b"6", b"c"} <= names, str(names))
    b.check("same quota and statistics", sums("ours") == sums("theirs"), f"{sums('ours')}\n{sums('theirs')}")
    b.case(["quota", "list", url])
    r = b.run("ours", ["quota", "check", "--path", "/keep", f"sqlite3://{b.folder}/ours/t.db"])
    b.check("quota is right after restore", r.code == 0, r.err)
    time.sleep(1.1)
    b.case(["gc", url], env=young)
    b.case(["gc", "--compact", url], env=young, edit=lambda lines: [x for x in lines if not x[1].startswith("scanned")])
    b.case(["gc", url], env=young, edit=lambda lines: [x for x in lines if not x[1].startswith("scanned")])
    b.case(["fsck", url])
    b.case(["config", url, "--trash-days", "0", "-y"])
    for _ in range(2):
        for who in ("ours", "theirs"):
            r = b.run(who, ["gc", "--delete", f"sqlite3://{b.folder}/{who}/t.db"], env=young)
            b.check(f"{who} gc --delete", r.code == 0, r.err)
    # The empty folder of the hour stays a little longer with us.
    b.case(["status", "-m", url], out=without_usage)
    b.case(["fsck", url])

    def objects(who):
        # Without the slices' ids: a mount may skip one.
        return sorted(f.split("_", 1)[1] for _, _, fs in os.walk(f"{b.folder}/{who}/tob/trash/chunks") for f in fs)
    b.check("same objects at the end", objects("ours") == objects("theirs"), f"{objects('ours')}\n{objects('theirs')}")
    r = b.run("theirs", ["fsck", f"sqlite3://{b.folder}/ours/t.db", "--path", "/", "-r"])
    b.check("theirs finds nothing wrong with what ours did", r.code == 0 and "ERROR" not in r.err and "WARNING" not in r.err.replace("<WARNING>: Set", ""), r.err)


def on_their_mount(b):
    on_a_mount(b, "theirs")


def on_our_mount(b):
    on_a_mount(b, "ours")


def on_a_mount(b, host):
    """Both programs' commands on a mount that `host` serves."""
    shutil.rmtree(f"{b.folder}/mob", ignore_errors=True)
    for old in ("m.db", "m.db-wal", "m.db-shm"):
        if os.path.exists(f"{b.folder}/{old}"):
            os.remove(f"{b.folder}/{old}")
    mnt = f"{b.folder}/mnt"
    url = f"sqlite3://{b.folder}/m.db"
    os.makedirs(mnt, exist_ok=True)
    b.run("theirs", ["format", url, "mounted", "--bucket", f"{b.folder}/mob", "--block-size", "1M"])
    r = b.run(host, ["mount", "-d", url, mnt, "--cache-dir", f"{b.folder}/cache", "--no-usage-report", "--backup-meta", "0", "--log", f"{b.folder}/mnt.log",
                         "--metrics", "127.0.0.1:0"])
    if r.code != 0:
        print("SKIP the part with a mount:", r.err[-200:])
        return
    try:
        os.makedirs(f"{mnt}/d/e")
        os.makedirs(f"{mnt}/empty")
        files = {"d/big": 9 << 20, "d/small": 3, "d/e/f5k": 5000, "top": 12345678, "zero": 0}
        for name, size in files.items():
            with open(f"{mnt}/{name}", "wb") as f:
                f.write(os.urandom(size))
        os.symlink("small", f"{mnt}/d/sl")
        os.link(f"{mnt}/d/small", f"{mnt}/d/e/hl")
        with open(f"{mnt}/slices", "ab", buffering=0) as f:
            for i in range(3):   # five would be compacted by the mount at the first read
                f.write(b"%d\n" % i)
                os.fsync(f.fileno())
        with open(f"{mnt}/gone", "w") as f:
            f.write("abc")
        os.remove(f"{mnt}/gone")
        time.sleep(2)
        for args in (["info", "mnt/d/big"], ["info", "mnt/d"], ["info", "mnt"], ["info", "mnt/zero"],
                     ["info", "--raw", "mnt/slices"], ["info", "mnt/slices"], ["info", "-r", "mnt/d"], ["info", "-r", "--strict", "mnt"],
                     ["info", "mnt/d/big", "mnt/none", "/etc", "mnt/top"], ["info", "mnt/d", "mnt/e"],
                     ["summary", "mnt"], ["summary", "mnt", "--csv"], ["summary", "-d", "1", "-e", "1", "mnt"], ["summary", "mnt/d/big"],
                     ["summary", "-d", "20", "-e", "200", "mnt/d"], ["summary", "/etc"], ["summary", "mnt/none"], ["summary", "--strict", "mnt/d", "--csv", "-d", "3"],
                     ["summary", "-d", "0", "mnt"], ["summary", "-e", "2", "-d", "3", "mnt"],
                     ["status", url], ["status", "-m", url], ["status", "-s", "1", url],
                     ["clone", "mnt/d", "mnt/d/x"], ["clone", "/etc", "mnt/q"], ["clone", "mnt/none", "mnt/q"], ["clone", "mnt/d", f"{b.folder}/zz"],
                     ["clone", "mnt/top", "mnt/nodir/x"], ["clone", "mnt/top", "mnt/d"],
                     ["rmr", "mnt/none"], ["rmr", "mnt/none/x"], ["rmr", f"{b.folder}/cache"],
                     ["warmup", "mnt/d"], ["warmup", "--check", "mnt/d", "mnt/top"], ["warmup", "--evict", "mnt"], ["warmup", "--check", "mnt"],
                     ["warmup", "mnt/top", "/etc"], ["warmup", "/etc"], ["warmup", "mnt/none"], ["warmup", "-f", "nofile"],
                     ["compact", "mnt/none"], ["compact", "/etc"], ["compact", "mnt/d"],
                     ["gc", url], ["fsck", url], ["fsck", url, "--path", "/d"], ["fsck", url, "--path", "/d/big"],
                     ["stats", "/etc"], ["stats", "mnt", "--schema", ""], ["profile", "/etc"], ["profile", "mnt", "--interval", "0"],
                     ["bench", "mnt", "--block-size", "0"], ["bench", "mnt", "-p", "0"], ["bench", "mnt", "--big-file-size", "0", "--small-file-count", "0"],
                     ["objbench", "ob/", "--block-size", "0"], ["stats"], ["profile"], ["bench"], ["objbench"], ["debug"]):
            b.case(args)
        # Figures differ, so only the shape of tables is compared.
        def shape(text):
            return [re.sub(r" +", " ", re.sub(r"[-+]{3,}", "-", re.sub(r"[\d.]+[KMGB]?", "N", line))) for line in text.splitlines()]
        quiet = {"SKIP_DROP_CACHES": "true"}
        for args in (["stats", "mnt", "-c", "1", "-l", "1", "--schema", "tufmcog"], ["stats", "mnt", "-c", "1", "--schema", "ufxmc"]):
            b.case(args, out=lambda t: [line for line in t.splitlines() if not re.search(r"\d", line)])
        b.case(["bench", "mnt", "--big-file-size", "4", "--small-file-count", "3", "-p", "2"], env=quiet, out=shape)
        b.case(["bench", "mnt", "--big-file-size", "0", "--small-file-count", "3"], env=quiet, out=shape)
        log = f"{b.folder}/access.log"
        with open(log, "w") as f:
            for i in range(40):
                f.write(f"2026.12.01 08:58:{i // 10:02}.592896 [uid:{i % 3},gid:0,pid:{i}] {('read', 'write', 'getattr')[i % 3]} (1): - OK <0.{i:06}>\n")
            f.write("#\n")
        for args in ([], ["-u", "1"], ["-p", "3,14,25"], ["-g", "7"]):
            b.case(["profile", log, "--interval", "0", *args])
        # A file with two names in the tree is one node or two.
        b.case(["fsck", url, "--path", "/d", "-r"], edit=lambda lines: [(l, re.sub(r"Checked \d", "Checked N", m)) for l, m in lines])
        b.case(["info", "mnt/d/sl"], out=lambda t: sorted(t.splitlines()))   # the order of several paths is open
        b.case(["info", "-i", "2", "3"], cwd=mnt, out=lambda t: sorted(t.splitlines()))
        b.case(["info", "-i", "99999"], cwd=mnt)
        b.case(["info", "-i", "abc"], cwd=mnt, err="level")
        for who in ("ours", "theirs"):
            b.run(who, ["clone", "mnt/d", f"mnt/c-{who}"])
        trees = {who: sorted(os.path.relpath(os.path.join(p, n), f"{mnt}/c-{who}") for p, ds, fs in os.walk(f"{mnt}/c-{who}") for n in ds + fs)
                 for who in ("ours", "theirs")}
        b.check("clone", trees["ours"] == trees["theirs"] and len(trees["ours"]) == 6, str(trees))
        with open(f"{mnt}/d/big", "rb") as x, open(f"{mnt}/c-ours/big", "rb") as y:
            b.check("clone has the bytes", x.read() == y.read())
        r = b.run("ours", ["clone", "mnt/d", "mnt/c-ours"])
        b.check("clone over something", r.code == 1 and "already exists" in r.err, r.err)
        r = b.run("ours", ["clone", "mnt/d", "mnt/empty/"])
        b.check("clone into a folder", r.code == 0 and os.path.exists(f"{mnt}/empty/d/big"), r.err)
        r = b.run("ours", ["clone", "-p", "mnt/d", "mnt/kept"])
        b.check("clone keeps times", r.code == 0 and int(os.stat(f"{mnt}/kept/big").st_mtime) == int(os.stat(f"{mnt}/d/big").st_mtime), r.err)
        r = b.run("ours", ["rmr", "mnt/c-ours", "mnt/c-theirs"])
        b.check("rmr", r.code == 0 and r.out == "" and not os.path.exists(f"{mnt}/c-ours") and not os.path.exists(f"{mnt}/c-theirs"), r.err)
        r = b.run("ours", ["rmr", "--skip-trash", "mnt/kept"])
        b.check("rmr past the trash", r.code == 0 and not os.path.exists(f"{mnt}/kept"), r.err)
        r = b.run("ours", ["compact", "mnt/slices"])
        b.check("compact", r.code == 0 and "success" in r.err, r.err)
        r = b.run("ours", ["info", "--raw", "mnt/slices"])
        b.check("compacted to one slice", len([l for l in r.out.splitlines() if re.match(r"\|\s+\d", l)]) == 1, r.out)
        young = {"JFS_GC_SKIPPEDTIME": "0"}
        time.sleep(1.1)
        b.case(["gc", url], env=young)
        b.case(["fsck", url])
        leak = f"{b.folder}/mob/mounted/chunks/0/0/99999_0_5"
        with open(leak, "w") as f:
            f.write("leak\n")
        time.sleep(1.1)
        b.case(["gc", url], env=young)
        r = b.run("ours", ["gc", "--delete", url], env=young)
        b.check("gc deletes leaks", r.code == 0 and not os.path.exists(leak), r.err)
        b.case(["fsck", url])
        block = subprocess.run(["find", f"{b.folder}/mob/mounted/chunks", "-name", "*_3_1048576"], capture_output=True, text=True).stdout.split()[0]
        os.remove(block)

        def paths_of(lines):
            return sorted((level, re.sub(r"(for file [^:]+): .*|Checked \d+", r"\1", m)) for level, m in lines)
        b.case(["fsck", url], edit=paths_of)
        b.case(["fsck", url, "--path", "/d", "-r"], edit=paths_of)
    finally:
        r = b.run(host, ["umount", mnt])
        if r.code != 0:
            b.run(host, ["umount", "-f", mnt])


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--ours", default=os.environ.get("AQUIFER", os.path.join(ROOT, "build", "aquifer")))
    p.add_argument("--theirs", default=os.environ.get("JUICEFS") or shutil.which("juicefs"))
    p.add_argument("--keep", action="store_true", help="leave the temporary folder")
    p.add_argument("--only", default="", help="one part: grammar, volumes, across, quotas, encryption, trash, mdtest, on_their_mount, on_our_mount")
    p.add_argument("pattern", nargs="?", default="", help="only cases whose command line holds this text")
    a = p.parse_args()
    if not a.theirs:
        print("SKIPPED: the juicefs 1.4.2 program is not installed (scripts/install-deps --tests)\n0 passed, 0 failed, 1 skipped")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="cli-diff-")
    for who, program in (("ours", a.ours), ("theirs", a.theirs)):
        os.makedirs(f"{folder}/{who}-bin")
        os.makedirs(f"{folder}/{who}")
        os.symlink(os.path.abspath(program), f"{folder}/{who}-bin/juicefs")
    b = Bench(a.ours, a.theirs, folder)
    b.pattern = a.pattern
    try:
        for part in (grammar, volumes, across, quotas, encryption, trash, mdtest, on_their_mount, on_our_mount):
            if a.only in ("", part.__name__):
                part(b)
    finally:
        if not a.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{b.passed} passed, {b.failed} failed")
    sys.exit(1 if b.failed else 0)


if __name__ == "__main__":
    main()
