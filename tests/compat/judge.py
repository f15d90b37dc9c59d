"""The other client's own checks of a volume: fsck of the tree, quota check, and gc with every object old enough to be judged."""
import os
import contextlib
import re
import sqlite3
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import run


def gc_counts(binary, volume):
    """Counts of gc's last line. Negative skip time: nothing is too young."""
    out = run(binary, "gc", volume.meta, env={**volume.env, "JFS_GC_SKIPPEDTIME": "-100", "DISPLAY_PROGRESSBAR": "false"}).stdout
    m = re.search(r"scanned (\d+) objects, (\d+) valid, (\d+) pending delete \((\d+) bytes\), (\d+) compacted \((\d+) bytes\), "
                  r"(\d+) leaked \((\d+) bytes\), (\d+) delslices \((\d+) bytes\), (\d+) delfiles \((\d+) bytes\), (\d+) skipped", out)
    if not m:
        raise AssertionError("gc printed no counts:\n" + out[-2000:])
    names = "scanned valid pending pending_bytes compacted compacted_bytes leaked leaked_bytes delslices delslices_bytes delfiles delfiles_bytes skipped".split()
    return dict(zip(names, map(int, m.groups())))


# A directory without a statistics record is legal and JuiceFS's own mounts leave some behind.
MISSING_STAT = r"usage stat of .* is missing or broken|Stat of path .* should be synced"


def fsck(binary, volume, *args):
    """Problem lines of fsck; [] = clean."""
    p = run(binary, "fsck", volume.meta, *args, check=False, env={**volume.env, "DISPLAY_PROGRESSBAR": "false"})
    bad = [line for line in p.stdout.splitlines() if re.search(r"<(ERROR|FATAL|WARNING)>", line) and "Set storage tier" not in line
           and "latency to database" not in line and "AOF is not enabled" not in line]
    other = [line for line in bad if not re.search(MISSING_STAT, line)]
    if len(other) < len(bad) and len(other) == 1 and "check: some errors occurred" in other[0]:
        return []
    if p.returncode and not bad:
        bad = [f"exit {p.returncode}: {p.stdout[-500:]}"]
    return bad


def beyond_the_scan(volume, word, owner):
    """How many inodes of an owner the scan for user and group quotas passes over: all that are neither files nor directories."""
    with contextlib.closing(sqlite3.connect(volume.dir + "/meta.db")) as db:
        return db.execute(f"SELECT count(*) FROM jfs_node WHERE {word}=? AND type NOT IN (1, 2)", (owner,)).fetchone()[0]


def quota_check(binary, volume, *selector):
    """Problem lines. A scan of users and groups leaves symlinks, pipes and devices out and a running client counts them; the difference
    must be exactly those. The scan counts the root as well, which belongs to uid and gid 0."""
    p = run(binary, "quota", "check", volume.meta, *selector, check=False, env=volume.env)
    bad = [line for line in p.stdout.splitlines() if re.search(r"<(ERROR|FATAL|WARNING)>", line)
           and "Set storage tier" not in line and "latency to database" not in line and "AOF is not enabled" not in line]
    if selector[0] == "--path":
        return bad + ([f"exit {p.returncode}"] if p.returncode else [])
    rest = []
    for line in bad:
        m = re.search(r"([ug]id):(\d+): usage\(([\d,]+), .*actual usage\(([\d,]+),", line)
        if m:
            off = int(m[3].replace(",", "")) - int(m[4].replace(",", ""))
            beyond = beyond_the_scan(volume, m[1], int(m[2]))
            if off == beyond or (m[2] == "0" and off == beyond - 1):
                continue
            line += f" (of which {beyond} are beyond the scan)"
        elif "user/group quota is inconsistent" in line:
            continue
        rest.append(line)
    return rest


def judge(binary, volume, quotas=()):
    """All checks; raises with what is wrong."""
    bad = fsck(binary, volume)
    bad += fsck(binary, volume, "--path", "/", "-r")
    for selector in quotas:
        bad += quota_check(binary, volume, *selector)
    counts = gc_counts(binary, volume)
    if counts["leaked"] or counts["skipped"]:
        bad.append(f"gc: {counts}")
    if bad:
        raise AssertionError("; ".join(bad[:10]))
    return counts
