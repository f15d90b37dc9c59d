#!/usr/bin/env python3
"""A huge directory: the first entry comes at once, a listing is complete and without doubles while another mount creates and deletes,
positions stay valid, and `rm -r` ends in one pass. 20,000 entries (200,000 with AQUIFER_HUGE), 5 million with --soak.

The entries are put into the database directly (as hard links of one file would be too slow to make one by one at 5 million).
"""
import ctypes
import os
import sqlite3
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import Report, Volume, aquifer

N = 5_000_000 if "--soak" in sys.argv else int(os.environ.get("AQUIFER_HUGE", 60_000))
libc = ctypes.CDLL(None, use_errno=True)
libc.opendir.restype = ctypes.c_void_p
libc.readdir.restype = ctypes.c_void_p
libc.readdir.argtypes = libc.telldir.argtypes = libc.closedir.argtypes = [ctypes.c_void_p]
libc.telldir.restype = ctypes.c_long
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]


def name_of(entry):
    return ctypes.string_at(entry + 19)      # struct dirent: 8 ino, 8 off, 2 reclen, 1 type


def fill(v, ino, n):
    """n empty files in directory `ino`, straight into the tables"""
    db = sqlite3.connect(v.dir + "/meta.db", isolation_level=None)
    db.execute("pragma synchronous=off")
    first = db.execute("select value from jfs_counter where name='nextInode'").fetchone()[0]
    db.execute("begin immediate")
    db.execute("update jfs_counter set value = value + ? where name='nextInode'", (n,))
    now = int(time.time() * 1e6)
    db.executemany("insert into jfs_node(inode,type,flags,mode,uid,gid,atime,mtime,ctime,atimensec,mtimensec,ctimensec,nlink,length,rdev,parent,"
                   "access_acl_id,default_acl_id,tier_id) values(?,1,0,420,0,0,?,?,?,0,0,0,1,0,0,?,0,0,0)",
                   ((first + i, now, now, now, ino) for i in range(n)))
    db.executemany("insert into jfs_edge(parent,name,inode,type) values(?,?,?,1)", ((ino, b"file%08d" % i, first + i) for i in range(n)))
    db.execute("update jfs_counter set value = value + ? where name='totalInodes'", (n,))
    db.execute("update jfs_counter set value = value + ? where name='usedSpace'", (n * 4096,))
    db.execute("update jfs_dir_stats set used_space = used_space + ?, used_inodes = used_inodes + ? where inode = ?", (n * 4096, n, ino))
    db.execute("commit")
    db.close()


def rss(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("RssAnon"):
            return int(line.split()[1])
    return 0


r = Report()
with Volume(aquifer(), "--trash-days", "0") as v:
    a = v.mount(aquifer(), "a")
    os.mkdir(a.mnt + "/huge")
    fill(v, os.stat(a.mnt + "/huge").st_ino, N)
    time.sleep(1.1)

    def first_entry():
        t = time.time()
        with os.scandir(a.mnt + "/huge") as it:
            next(it)
        took = time.time() - t
        assert took < 0.1, f"the first entry took {took * 1000:.0f} ms"
        return f"{took * 1000:.1f} ms"

    def complete():
        """while a second mount creates and deletes other names"""
        b = v.mount(aquifer(), "b")
        stop = threading.Event()

        def disturb():
            i = 0
            while not stop.is_set():
                p = f"{b.mnt}/huge/other{i % 500:03d}"
                try:
                    os.unlink(p) if os.path.exists(p) else os.close(os.open(p, os.O_CREAT | os.O_WRONLY))
                except FileNotFoundError:
                    pass
                i += 1

        t = threading.Thread(target=disturb)
        t.start()
        try:
            with os.scandir(a.mnt + "/huge") as it:
                names = [e.name for e in it]
        finally:
            stop.set()
            t.join()
            b.umount()
        assert len(names) == len(set(names)), f"{len(names) - len(set(names))} names came twice"
        stay = [n for n in names if n.startswith("file")]
        assert len(stay) == N, f"{N - len(stay)} names are missing"
        for p in os.listdir(a.mnt + "/huge") if N <= 100_000 else []:
            if p.startswith("other"):
                os.unlink(f"{a.mnt}/huge/{p}")

    def positions():
        d = libc.opendir((a.mnt + "/huge").encode())
        places, names = [], []
        for i in range(min(N, 30_000)):
            where = libc.telldir(d)
            e = libc.readdir(d)
            if not e:
                break
            if i % 1000 == 7:
                places.append(where)
                names.append(name_of(e))
        for where, want in list(zip(places, names))[::-1]:
            libc.seekdir(d, where)
            got = name_of(libc.readdir(d))
            assert got == want, f"seekdir: {got}, expected {want}"
        libc.closedir(d)
        return f"{len(places)} positions, backwards"

    def memory():
        pid = a.config()["Pid"]
        before = rss(pid)
        open_dirs = []
        for _ in range(16):
            d = libc.opendir((a.mnt + "/huge").encode())
            for _ in range(min(N, 20_000)):
                libc.readdir(d)
            open_dirs.append(d)
        grown = rss(pid) - before
        [libc.closedir(d) for d in open_dirs]
        assert grown / 16 < 1024, f"{grown / 16:.0f} KiB a handle"
        return f"{grown / 16:.0f} KiB a handle"

    def remove():
        t = time.time()
        p = subprocess.run(["rm", "-r", a.mnt + "/huge"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert p.returncode == 0, p.stdout[-500:]
        return f"{N / (time.time() - t):.0f} entries/s"

    r.check(f"first of {N} entries within 100 ms", first_entry)
    r.check("complete and without doubles under changes", complete)
    r.check("seekdir finds the same entries again", positions)
    r.check("memory of an open directory", memory)
    r.check("rm -r ends in one pass", remove)
r.end()
