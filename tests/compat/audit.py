"""An audit of a volume's SQLite database, straight from the tables and independent of both clients.

Edges and nodes name each other, types agree, parents and link counts are right, directory statistics, usage counters and quotas are
the sums that they claim to be, and every slice is referenced as often as the records say. Docs: docs/formats/metadata*.md.
"""
import collections
import re
import sqlite3
import struct
import sys

TRASH = 0x7FFFFFFF10000000
ROOT = 1


def space(n):
    return max(4096, (n + 4095) // 4096 * 4096)


def audit_volume(v, shared=False):
    """The audit of a test's volume, on whichever engine it lies."""
    m = re.fullmatch(r"redis://127\.0\.0\.1:(\d+)/(\d+)", v.meta)
    if not m:
        return audit(v.dir + "/meta.db", shared)
    from redis_audit import audit as audit_redis
    from redis_server import Raw
    raw = Raw(int(m[1]), int(m[2]))
    bad = audit_redis(raw, sums=not shared)
    raw.close()
    return bad


def audit(path, shared=False):
    """Lines that say what is wrong. shared: a JuiceFS client wrote too, whose sums (directory statistics,
    usage, quotas) drift a little by themselves (two of its mounts alone do), so only structure and references are judged."""
    db = sqlite3.connect(path)
    db.text_factory = bytes
    bad = []
    rows = lambda q: db.execute(q).fetchall()
    nodes = {r[0]: r for r in rows("select inode, type, nlink, length, parent, uid, gid from jfs_node")}
    edges = rows("select parent, name, inode, type from jfs_edge")
    sustained = {r[0] for r in rows("select inode from jfs_sustained")}
    detached = {r[0] for r in rows("select inode from jfs_detached_node")}
    links, subdirs, children = collections.Counter(), collections.Counter(), collections.defaultdict(list)
    parents = collections.defaultdict(set)
    for parent, name, inode, kind in edges:
        node = nodes.get(inode)
        if node is None:
            bad.append(f"entry {name!r} of {parent}: node {inode} is missing")
            continue
        if node[1] != kind:
            bad.append(f"entry {name!r} of {parent}: type {kind}, its node {inode} says {node[1]}")
        if parent not in nodes:
            bad.append(f"entry {name!r}: its directory {parent} is missing")
        links[inode] += 1
        parents[inode].add(parent)
        children[parent].append(node)
        if kind == 2:
            subdirs[parent] += 1
    for ino, (_, kind, nlink, length, parent, uid, gid) in nodes.items():
        if ino in (ROOT, TRASH):
            continue
        if not links[ino] and ino not in sustained and ino not in detached:
            bad.append(f"node {ino} (type {kind}) has no entry")
        if kind == 2:
            if ino < TRASH and parent < TRASH and nlink != 2 + subdirs[ino]:
                bad.append(f"directory {ino}: nlink {nlink}, but {subdirs[ino]} directories inside")
            if links[ino] > 1:
                bad.append(f"directory {ino} has {links[ino]} entries")
        elif links[ino] and nlink != links[ino]:
            bad.append(f"node {ino}: nlink {nlink}, but {links[ino]} entries")
        if parent and links[ino] and parent not in parents[ino]:
            bad.append(f"node {ino}: parent {parent}, but its entries are in {sorted(parents[ino])}")
        if not parent and links[ino] == 1 and nlink == 1 and kind == 2:
            bad.append(f"directory {ino}: no parent")
    for ino, length, sp, inodes in [] if shared else rows("select inode, data_length, used_space, used_inodes from jfs_dir_stats"):
        if ino not in nodes:
            bad.append(f"statistics of {ino}: no such directory")
            continue
        if ino >= TRASH or nodes[ino][4] >= TRASH:
            continue
        want = (sum(n[3] for n in children[ino] if n[1] == 1), sum(space(n[3] if n[1] == 1 else 0) for n in children[ino]), len(children[ino]))
        if (length, sp, inodes) != want:
            bad.append(f"statistics of {ino}: length, space, inodes {(length, sp, inodes)}, expected {want}")
    counters = dict(rows("select name, value from jfs_counter"))
    live = [n for i, n in nodes.items() if i not in (ROOT, TRASH)]
    want = (sum(space(n[3] if n[1] == 1 else 0) for n in live), len(live))
    got = (counters.get(b"usedSpace"), counters.get(b"totalInodes"))
    if got != want and not shared:
        bad.append(f"counters usedSpace, totalInodes {got}, expected {want}")

    refs = collections.Counter()
    for ino, index, slices in rows("select inode, indx, cast(slices as blob) from jfs_chunk"):
        if len(slices) % 24:
            bad.append(f"chunk {index} of {ino}: {len(slices)} bytes")
            continue
        for i in range(0, len(slices), 24):
            pos, sid, size, off, n = struct.unpack_from(">IQIII", slices, i)
            if pos + n > 1 << 26 or (sid and off + n > size):
                bad.append(f"chunk {index} of {ino}: impossible record {(pos, sid, size, off, n)}")
            if sid:
                refs[(sid, size)] += 1
    delayed = collections.Counter()
    for _, items in rows("select chunkid, slices from jfs_delslices"):
        for i in range(0, len(items), 12):
            delayed[struct.unpack_from(">QI", items, i)] += 1
    stored = {(i, s): n for i, s, n in rows("select chunkid, size, refs from jfs_chunk_ref")}
    for k, n in refs.items():
        if stored.get(k) != n + delayed[k]:
            bad.append(f"slice {k}: {stored.get(k)} references stored, {n} records and {delayed[k]} delayed")
    for k, n in stored.items():
        if n > 0 and k not in refs and k not in delayed:
            bad.append(f"slice {k}: {n} references stored, but no record names it")

    def subtree(ino):
        total, count, stack = 0, 0, [ino]
        while stack:
            for n in children[stack.pop()]:
                total, count = total + space(n[3] if n[1] == 1 else 0), count + 1
                if n[1] == 2:
                    stack.append(n[0])
        return total, count

    for ino, sp, inodes in [] if shared else rows("select inode, used_space, used_inodes from jfs_dir_quota"):
        if ino in nodes and (sp, inodes) != subtree(ino):
            bad.append(f"quota of directory {ino}: used {(sp, inodes)}, expected {subtree(ino)}")
    return bad


if __name__ == "__main__":
    problems = audit(sys.argv[1])
    print("\n".join(problems) or "nothing wrong")
    sys.exit(1 if problems else 0)
