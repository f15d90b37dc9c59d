"""An audit of a volume on Redis, straight from the stored bytes and independent of both clients (docs/formats/metadata.md)."""
import collections
import struct

ROOT, TRASH = 1, 0x7FFFFFFF10000000


def space(n):
    return max(4096, (n + 4095) // 4096 * 4096)


def read_all(raw):
    nodes, entries = {}, {}
    for key in raw.keys("i[0-9]*"):
        b = raw("GET", key)
        kind = struct.unpack_from(">H", b, 1)[0] >> 12
        nlink, length, _, parent = struct.unpack_from(">IQIQ", b, 47)
        nodes[int(key[1:])] = (kind, nlink, length, parent)
    for key in raw.keys("d[0-9]*"):
        for name, value in raw.hash(key).items():
            entries[int(key[1:]), name] = struct.unpack(">BQ", value)
    return nodes, entries


def audit(raw, sums=True):
    """Lines that say what is wrong. sums: directory statistics too, which drift a little where JuiceFS writes from several clients."""
    bad = []
    nodes, entries = read_all(raw)
    links, subdirs, stats = collections.Counter(), collections.Counter(), collections.defaultdict(lambda: [0, 0, 0])
    for (parent, name), (kind, ino) in entries.items():
        node = nodes.get(ino)
        if node is None:
            bad.append(f"entry {name!r} of {parent}: node {ino} is missing")
            continue
        if parent not in nodes:
            bad.append(f"entry {name!r}: its directory {parent} is missing")
        if node[0] != kind:
            bad.append(f"entry {name!r} of {parent}: type {kind}, its node says {node[0]}")
        if node[3] not in (0, parent):
            bad.append(f"entry {name!r} of {parent}: its node says {node[3]}")
        links[ino] += 1
        subdirs[parent] += kind == 2
        length = node[2] if kind == 1 else 0
        for i, n in enumerate((length, space(length), 1)):
            stats[parent][i] += n
    held = {int(i) for key in raw.keys("session[0-9]*") for i in raw("SMEMBERS", key)} | {int(i) for i in raw("ZRANGE", "detachedNodes", 0, -1)}
    used, inodes = 0, 0
    for ino, (kind, nlink, length, parent) in nodes.items():
        if ino in (ROOT, TRASH):
            continue
        used += space(length if kind == 1 else 0)
        inodes += 1
        if not links[ino] and ino not in held:
            bad.append(f"node {ino} (type {kind}) has no entry")
        if kind == 2 and ino < TRASH and parent < TRASH and nlink != 2 + subdirs[ino]:
            bad.append(f"directory {ino}: nlink {nlink}, {subdirs[ino]} directories inside")
        if kind != 2 and links[ino] and nlink != links[ino]:
            bad.append(f"node {ino}: nlink {nlink}, {links[ino]} entries")
        if parent == 0 and links[ino]:
            counted = sum(int(n) for n in raw.hash(f"p{ino}").values())
            if counted != links[ino]:
                bad.append(f"node {ino}: {counted} links counted by parent, {links[ino]} entries")
    for name, want in (("usedSpace", used), ("totalInodes", inodes)):
        if int(raw("GET", name) or 0) != want:
            bad.append(f"{name}: {raw('GET', name)}, counted {want}")
    if sums:
        for i, name in enumerate(("dirDataLength", "dirUsedSpace", "dirUsedInodes")):
            for ino, n in raw.hash(name).items():
                if int(n) != stats[int(ino)][i] and int(ino) != TRASH:
                    bad.append(f"{name} of {int(ino)}: {int(n)}, counted {stats[int(ino)][i]}")
    # Who holds which slice: records in chunks, of live files and of those that wait for deletion.
    holders, delayed = collections.Counter(), collections.Counter()
    for key in raw.keys("c[0-9]*_*"):
        for record in raw("LRANGE", key, 0, -1):
            _, id_, size, off, length = struct.unpack(">IQIII", record)
            if id_:
                holders[b"k%d_%d" % (id_, size)] += 1
    for value in raw.hash("delSlices").values():
        for at in range(0, len(value), 12):
            delayed[b"k%d_%d" % struct.unpack_from(">QI", value, at)] += 1
    refs = raw.hash("sliceRef")
    for field, n in holders.items():
        if int(refs.get(field, 0)) + 1 != n + delayed[field]:
            bad.append(f"slice {field.decode()}: {int(refs.get(field, 0)) + 1} holders stored, {n} counted")
    log = raw("LLEN", "txnLog")
    if log and int(raw("GET", "txnLastLog")) < log:
        bad.append("the change log has more entries than its last version")
    for key in raw.keys("lock[fp][0-9]*"):
        for owner in raw.hash(key):
            if not raw("SISMEMBER", b"locked" + owner.split(b"_")[0], key):
                bad.append(f"{key.decode()}: the lock of {owner.decode()} is not in the index of its session")
    return bad
