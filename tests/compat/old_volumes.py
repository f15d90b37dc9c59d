#!/usr/bin/env python3
"""Volumes of older releases: databases without the columns and tables that came later open, work, and stay readable for JuiceFS.

A database of 1.0 has no nanosecond, ACL and tier columns and no tables for quotas, ACL, detached nodes and the change log; pre-1.0
clients also left a `session` table with heartbeats. Such databases are made here from a fresh one by taking those parts away.
"""
import os
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import Report, Volume, aquifer, juicefs, run

NEW_COLUMNS = {"1.0": ["atimensec", "mtimensec", "ctimensec", "access_acl_id", "default_acl_id", "tier_id"],
               "1.1": ["access_acl_id", "default_acl_id", "tier_id"], "1.2": ["tier_id"], "1.3": ["tier_id"]}
NEW_TABLES = {"1.0": ["dir_stats", "dir_quota", "detached_node", "acl", "user_group_quota", "delegation_token", "change_log"],
              "1.1": ["acl", "user_group_quota", "delegation_token", "change_log"], "1.2": ["user_group_quota", "delegation_token", "change_log"],
              "1.3": ["user_group_quota", "delegation_token", "change_log"]}


def age(path, release):
    """Make the database look as `release` left it."""
    db = sqlite3.connect(path)
    for t in NEW_TABLES[release]:
        db.execute(f"drop table if exists jfs_{t}")
    for c in NEW_COLUMNS[release]:
        db.execute(f"alter table jfs_node drop column {c}")
    if release == "1.0":
        db.execute("create table jfs_session (sid integer primary key not null, heartbeat integer not null, info blob null)")
        db.execute("insert into jfs_session values (99, 1, x'7b7d')")
    value = db.execute("select value from jfs_setting").fetchone()[0]
    import json
    f = json.loads(value)
    for k in ("Tiers", "DirStats", "EnableACL", "MinClientVersion"):
        f.pop(k, None)
    db.execute("update jfs_setting set value = ?", (json.dumps(f),))
    db.commit()
    db.close()


def old(release, maker):
    theirs = juicefs()
    with Volume(maker) as v:
        m = v.mount(maker, "maker")
        os.makedirs(m.mnt + "/d/e")
        for i in range(5):
            with open(f"{m.mnt}/d/{i}", "wb") as f:
                f.write(os.urandom(100_000))
        want = {i: open(f"{m.mnt}/d/{i}", "rb").read() for i in range(5)}
        m.umount()
        age(v.dir + "/meta.db", release)
        out = run(aquifer(), "status", v.meta).stdout
        assert '"UUID"' in out
        a = v.mount(aquifer(), "a")
        for i in range(5):
            assert open(f"{a.mnt}/d/{i}", "rb").read() == want[i], f"file {i} differs"
        os.utime(a.mnt + "/d/0", ns=(123456789, 987654321))
        with open(a.mnt + "/d/new", "w") as f:
            f.write("new")
        os.rename(a.mnt + "/d/1", a.mnt + "/d/e/one")
        assert os.stat(a.mnt + "/d/0").st_mtime_ns == 987654321
        a.umount()
        b = v.mount(theirs, "b")
        assert open(b.mnt + "/d/new").read() == "new"
        assert open(b.mnt + "/d/e/one", "rb").read() == want[1]
        assert os.stat(b.mnt + "/d/0").st_mtime_ns == 987654321
        b.umount()


r = Report()
if not juicefs():
    r.skip("old volumes", "no juicefs program")
else:
    for release in NEW_COLUMNS:
        r.check(f"a database of {release}", old, release, juicefs())
r.end()
