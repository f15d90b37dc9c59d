#!/usr/bin/env python3
"""Proof that the checks which judge a volume can fail: damage is planted on purpose, and each check must name it.

A misplaced block (right name, wrong folder) passes JuiceFS's fsck and gc: only reading it back finds it, and that is proved too.
"""
import os
import shutil
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import fsmodel
from audit import audit
from judge import fsck, gc_counts, judge, quota_check
from volume import Report, Volume, juicefs, run


def fresh(binary):
    v = Volume(binary, "--enable-acl", "--trash-days", "0", "--block-size", "64K")
    os.umask(0)
    m = v.mount(binary, "first")
    os.mkdir(m.mnt + "/d", 0o755)
    m.umount()
    run(binary, "quota", "set", v.meta, "--path", "/d", "--capacity", "10", "--inodes", "1000")
    m = v.mount(binary, "b")
    w = fsmodel.Workload(7, lambda: m.mnt + "/d")
    for _ in range(80):
        w.step()
    m.umount()
    return v, w


def blocks(v):
    return [p for p in v.objects() if "/chunks/" in p]


def sql(v, *statements):
    db = sqlite3.connect(v.dir + "/meta.db")
    for s in statements:
        db.execute(s)
    db.commit()
    db.close()


def expect_clean(binary):
    v, w = fresh(binary)
    with v:
        judge(binary, v, [("--path", "/d")])
        assert not audit(v.dir + "/meta.db", shared=True), audit(v.dir + "/meta.db", shared=True)
        m = v.mount(binary, "again")
        bad = fsmodel.compare(m.mnt + "/d", w.model)
        m.umount()
        assert not bad, bad


def misplaced(binary):
    v, w = fresh(binary)
    with v:
        live = set()
        for p in blocks(v):
            d = os.path.join(os.path.dirname(os.path.dirname(p)), "77")
            os.makedirs(d, exist_ok=True)
            os.rename(p, os.path.join(d, os.path.basename(p)))
            live.add(p)
        assert live, "no block to move"
        assert gc_counts(binary, v)["leaked"] == 0, "gc has learned to look at folders: this proof is out of date"
        m = v.mount(binary, "again", "--io-retries", "1")
        bad = fsmodel.compare(m.mnt + "/d", w.model)
        m.umount()
        assert bad, "reading back did not notice the misplaced blocks"


def leaked(binary):
    v, _ = fresh(binary)
    with v:
        p = blocks(v)[0]
        shutil.copy(p, os.path.join(os.path.dirname(p), "999999_0_100"))
        assert gc_counts(binary, v)["leaked"] == 1, "gc did not count the leaked block"


def lost(binary):
    v, _ = fresh(binary)
    with v:
        for p in blocks(v)[:3]:
            os.unlink(p)
        assert fsck(binary, v), "fsck did not notice lost blocks"


def short(binary):
    v, w = fresh(binary)
    with v:
        n = 0
        for p in blocks(v):
            size = os.path.getsize(p)
            if size > 10:
                os.truncate(p, size - 5)
                n += 1
        assert n
        m = v.mount(binary, "again", "--io-retries", "1")
        bad = fsmodel.compare(m.mnt + "/d", w.model)
        m.umount()
        assert bad, "reading back did not notice short blocks"


def wrong_nlink(binary):
    v, _ = fresh(binary)
    with v:
        sql(v, "update jfs_node set nlink = nlink + 3 where type = 2 and inode > 1 and inode in (select inode from jfs_edge)")
        assert fsck(binary, v, "--path", "/", "-r"), "fsck did not notice a wrong link count"


def wrong_stat(binary):
    v, _ = fresh(binary)
    with v:
        sql(v, "update jfs_dir_stats set used_space = used_space + 40960")
        assert any("statistics" in line for line in audit(v.dir + "/meta.db")), "the audit did not notice wrong statistics"


def wrong_quota(binary):
    v, _ = fresh(binary)
    with v:
        assert not quota_check(binary, v, "--path", "/d")
        sql(v, "update jfs_dir_quota set used_inodes = used_inodes + 5")
        assert quota_check(binary, v, "--path", "/d"), "quota check did not notice wrong usage"
        assert any("quota" in line for line in audit(v.dir + "/meta.db"))


def wrong_reference(binary):
    v, _ = fresh(binary)
    with v:
        sql(v, "update jfs_chunk_ref set refs = refs + 1 where chunkid in (select max(chunkid) from jfs_chunk_ref)")
        assert any("references" in line for line in audit(v.dir + "/meta.db"))


def wrong_counter(binary):
    v, _ = fresh(binary)
    with v:
        sql(v, "update jfs_counter set value = value + 4096 where name = 'usedSpace'")
        assert any("usedSpace" in line for line in audit(v.dir + "/meta.db"))


def lost_entry(binary):
    v, _ = fresh(binary)
    with v:
        sql(v, "delete from jfs_edge where type = 1 and inode = (select max(inode) from jfs_edge where type = 1)")
        assert any("has no entry" in line for line in audit(v.dir + "/meta.db"))


r = Report()
b = juicefs()
if not b:
    r.skip("planted damage", "no juicefs program")
else:
    for f in (expect_clean, misplaced, leaked, lost, short, wrong_nlink, wrong_stat, wrong_quota,
              wrong_reference, wrong_counter, lost_entry):
        r.check(f"planted damage: {f.__name__}", f, b)
r.end()
