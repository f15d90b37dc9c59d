"""A plain model of a POSIX file system, a random workload over it, and a comparison of a mounted tree with it.

The workload is a stream of operations from one seed. Each operation runs on the model and, through a real path, on a mount;
both must agree on the outcome (success, or which errno). Afterwards `compare` walks a mount and reports every difference in
type, bytes, mode, owner, times that were set, extended attributes, ACL, link counts and link targets.
"""
import errno
import os
import random
import stat
import struct

ACL_ACCESS, ACL_DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


class Node:
    __slots__ = ("kind", "data", "mode", "uid", "gid", "mtime", "xattrs", "target", "nlink", "children", "parent_count")

    def __init__(self, kind, mode):
        self.kind, self.mode = kind, mode
        self.uid = self.gid = 0
        self.data = bytearray()
        self.mtime = None          # ns, only while known (set explicitly and nothing written since)
        self.xattrs = {}
        self.target = None
        self.nlink = 1
        self.children = {} if kind == "dir" else None


class Model:
    def __init__(self):
        self.root = Node("dir", 0o755)

    def walk(self, path):
        node = self.root
        for part in [p for p in path.split("/") if p]:
            node = node.children[part]
        return node

    def split(self, path):
        head, _, name = path.rpartition("/")
        return self.walk(head), name

    def all(self):
        """every (path, node), the root left out"""
        stack = [("", self.root)]
        while stack:
            path, node = stack.pop()
            for name, child in node.children.items():
                yield f"{path}/{name}", child
                if child.kind == "dir":
                    stack.append((f"{path}/{name}", child))


def acl_bytes(entries):
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)


class Workload:
    """Random operations on `model`; `root()` gives the real directory to use for the next operation."""

    def __init__(self, seed, root, acl=True, xattr=True, max_file=1 << 20, big_every=0, links=True, nodes=400,
                 nlink=lambda root: True, empty_xattrs=True):
        self.rnd = random.Random(seed)
        self.model = Model()
        self.root, self.acl, self.xattr, self.max_file, self.big_every = root, acl, xattr, max_file, big_every
        self.links, self.nodes = links, nodes
        self.empty_xattrs = empty_xattrs
        self.nlink = nlink        # does this mount show link counts without the links in the trash?
        self.serial = 0
        self.count = 0
        self.log = []

    # ---- choosing ----
    def dirs(self):
        out = [""]
        for path, node in self.model.all():
            if node.kind == "dir":
                out.append(path)
        return out

    def pick(self, kinds):
        items = [p for p, n in self.model.all() if n.kind in kinds]
        return self.rnd.choice(items) if items else None

    def new_path(self):
        self.serial += 1
        r = self.rnd
        name = r.choice([f"f{self.serial}", f"näme {self.serial}", f"x{self.serial}" + "y" * r.randrange(0, 60), f".h{self.serial}"])
        return f"{r.choice(self.dirs())}/{name}"

    def bytes(self, n):
        r = self.rnd
        if n > 4096 and r.random() < 0.3:
            return bytes([r.randrange(256)]) * n     # compressible
        return r.randbytes(n)

    def size(self):
        r = self.rnd
        if self.big_every and r.randrange(self.big_every) == 0:
            return r.randrange(1 << 20, 10 << 20)
        return r.choice([0, 1, r.randrange(1, 100), 4096, r.randrange(1, 70000), r.randrange(1, self.max_file)])

    # ---- running ----
    def step(self):
        r = self.rnd
        ops = ["create"] * 10 + ["write"] * 12 + ["append"] * 5 + ["truncate"] * 4 + ["rename"] * 6 + ["unlink"] * 5 + ["mkdir"] * 4 + \
              ["rmdir"] * 3 + ["chmod"] * 3 + ["chown"] * 2 + ["utimes"] * 3 + ["symlink"] * 2 + ["read"] * 8 + ["stat"] * 3 + ["listdir"] * 2 + \
              ["punch"] * 2 + ["errors"] * 3 + ["exchange"] + ["copyrange"]
        if self.links:
            ops += ["link"] * 3
        if self.xattr:
            ops += ["setxattr"] * 3 + ["removexattr"]
        if self.acl:
            ops += ["setacl"] * 2
        op = r.choice(ops)
        total = sum(1 for _ in self.model.all())
        if total > self.nodes and op in ("create", "mkdir", "symlink", "link"):
            op = r.choice(["unlink", "rmdir", "rename"])
        self.count += 1
        root = self.root()
        note = getattr(self, "op_" + op)(root)
        if note:
            self.log.append(f"{self.count} {os.path.basename(root)} {op} {note}")
            del self.log[:-200]

    def expect(self, what, want, fn, *args, **kw):
        try:
            out = fn(*args, **kw)
            got = 0
        except OSError as e:
            out, got = None, e.errno
        if got != want:
            raise AssertionError(f"{what}: errno {errno.errorcode.get(got, got)}, expected {errno.errorcode.get(want, want)}")
        return out

    def op_create(self, root):
        path, n = self.new_path(), self.size()
        data = self.bytes(n)
        mode = self.rnd.choice([0o644, 0o600, 0o755, 0o664])
        parent, name = self.model.split(path)
        fd = os.open(root + path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        view = memoryview(data)
        while view:
            k = os.write(fd, view[:self.rnd.randrange(1, 300000)])
            view = view[k:]
        os.fchmod(fd, mode)
        os.close(fd)
        node = Node("file", mode)
        node.data = bytearray(data)
        inherit(parent, node)
        parent.children[name] = node
        return f"{path} {n}"

    def op_write(self, root):
        path = self.pick(("file",))
        if not path:
            return
        node = self.model.walk(path)
        off = self.rnd.choice([0, self.rnd.randrange(0, len(node.data) + 1), len(node.data), len(node.data) + self.rnd.randrange(0, 200000)])
        data = self.bytes(self.size())
        fd = os.open(root + path, os.O_RDWR)
        done = 0
        while done < len(data):
            done += os.pwrite(fd, data[done:done + 262144], off + done)
        if self.rnd.random() < 0.3:
            os.fsync(fd)
        if self.rnd.random() < 0.3:     # read through the same descriptor before it is closed
            got = os.pread(fd, 65536, off)
            want = (bytes(node.data[:off]).ljust(off, b"\0") + data + bytes(node.data[off + len(data):]))[off:off + 65536]
            assert got == want, f"{path}: pread after pwrite differs at {off}"
        os.close(fd)
        if data:
            if len(node.data) < off:
                node.data.extend(bytes(off - len(node.data)))
            node.data[off:off + len(data)] = data
            node.mtime = None
        return f"{path} {off}+{len(data)}"

    def op_append(self, root):
        path = self.pick(("file",))
        if not path:
            return
        node = self.model.walk(path)
        fd = os.open(root + path, os.O_WRONLY | os.O_APPEND)
        n = 0
        for _ in range(self.rnd.randrange(1, 5)):
            data = self.bytes(self.rnd.randrange(1, 5000))
            os.write(fd, data)
            node.data.extend(data)
            n += len(data)
        os.close(fd)
        node.mtime = None
        return f"{path} +{n}"

    def op_truncate(self, root):
        path = self.pick(("file",))
        if not path:
            return
        node = self.model.walk(path)
        n = self.rnd.choice([0, self.rnd.randrange(0, len(node.data) + 1), len(node.data) + self.rnd.randrange(0, 300000)])
        os.truncate(root + path, n)
        node.mtime = None       # as on a local disk, even if the length stays
        if n < len(node.data):
            del node.data[n:]
        else:
            node.data.extend(bytes(n - len(node.data)))
        return f"{path} {n}"

    def op_punch(self, root):
        path = self.pick(("file",))
        if not path:
            return
        node = self.model.walk(path)
        if not node.data:
            return
        off = self.rnd.randrange(len(node.data))
        n = self.rnd.randrange(1, len(node.data) - off + 1)
        fd = os.open(root + path, os.O_RDWR)
        fallocate(fd, 3, off, n)      # punch hole, keep size
        os.close(fd)
        node.data[off:off + n] = bytes(n)
        node.mtime = None
        return f"{path} {off}+{n}"

    def op_copyrange(self, root):
        src, dst = self.pick(("file",)), self.pick(("file",))
        if not src or src == dst or self.model.walk(src) is self.model.walk(dst):
            return
        a, b = self.model.walk(src), self.model.walk(dst)
        if not a.data:
            return
        so, do = self.rnd.randrange(len(a.data)), self.rnd.randrange(len(b.data) + 1)
        n = self.rnd.randrange(1, len(a.data) - so + 1)
        fa, fb = os.open(root + src, os.O_RDONLY), os.open(root + dst, os.O_RDWR)
        done = 0
        try:
            while done < n:
                k = os.copy_file_range(fa, fb, n - done, so + done, do + done)
                if not k:
                    raise AssertionError(f"copy_file_range {src} {so + done} gave 0 of {n - done}")
                done += k
        finally:
            os.close(fa)
            os.close(fb)
        b.data[do:do + n] = a.data[so:so + n]
        b.mtime = None
        return f"{src} {so}+{n} -> {dst} {do}"

    def op_read(self, root):
        path = self.pick(("file",))
        if not path:
            return
        node = self.model.walk(path)
        off = self.rnd.randrange(0, len(node.data) + 10)
        n = self.rnd.choice([1, 4096, 131072, 1 << 21])
        fd = os.open(root + path, os.O_RDONLY)
        got = b""
        while len(got) < n:
            piece = os.pread(fd, n - len(got), off + len(got))
            if not piece:
                break
            got += piece
        os.close(fd)
        want = bytes(node.data[off:off + n])
        if got != want:
            raise AssertionError(f"{path}: read {off}+{n} differs: {first_difference(got, want)}")
        return

    def op_stat(self, root):
        path = self.pick(("file", "dir", "link"))
        if path:
            check_stat(root, path, self.model.walk(path), self.nlink(root))

    def op_listdir(self, root):
        path = self.rnd.choice(self.dirs())
        got, want = sorted(os.listdir(root + path)), sorted(self.model.walk(path).children)
        if got != want:
            raise AssertionError(f"listdir {path}: missing {set(want) - set(got)}, extra {set(got) - set(want)}")

    def op_mkdir(self, root):
        path = self.new_path()
        parent, name = self.model.split(path)
        os.mkdir(root + path, 0o755)
        os.chmod(root + path, 0o755)
        node = Node("dir", 0o755)
        inherit(parent, node)
        parent.children[name] = node
        return path

    def op_rmdir(self, root):
        path = self.pick(("dir",))
        if not path:
            return
        node = self.model.walk(path)
        self.expect(f"rmdir {path}", errno.ENOTEMPTY if node.children else 0, os.rmdir, root + path)
        if not node.children:
            parent, name = self.model.split(path)
            del parent.children[name]
        return path

    def op_symlink(self, root):
        path = self.new_path()
        target = self.rnd.choice(["a", "/etc/passwd", "../x", "t" * self.rnd.randrange(1, 1000)])
        os.symlink(target, root + path)
        parent, name = self.model.split(path)
        node = Node("link", 0o777)
        node.target = target
        node.gid = parent.gid if parent.mode & 0o2000 else 0
        parent.children[name] = node
        return path

    def op_link(self, root):
        src = self.pick(("file",))
        if not src:
            return
        dst = self.new_path()
        os.link(root + src, root + dst)
        node = self.model.walk(src)
        node.nlink += 1
        parent, name = self.model.split(dst)
        parent.children[name] = node
        return f"{src} {dst}"

    def look(self, root, *paths):
        """Linux answers ESTALE when a rename's own lookup finds a directory that another host has moved (it cannot re-hang the cached
        dentry while it holds the rename lock). Looking beforehand, without that lock, re-hangs it."""
        for p in paths:
            try:
                os.lstat(root + p)
            except OSError:
                pass

    def op_unlink(self, root):
        path = self.pick(("file", "link"))
        if not path:
            return
        os.unlink(root + path)
        parent, name = self.model.split(path)
        parent.children.pop(name).nlink -= 1
        return path

    def op_rename(self, root):
        src = self.pick(("file", "dir", "link"))
        if not src:
            return
        dst = self.new_path() if self.rnd.random() < 0.6 else (self.pick(("file", "dir", "link")) or self.new_path())
        a = self.model.walk(src)
        dparent, dname = self.model.split(dst)
        b = dparent.children.get(dname)
        want = 0
        if a.kind == "dir" and (dst + "/").startswith(src + "/"):
            want = errno.EINVAL if dst != src else 0
        elif b is not None and a is not b:
            if a.kind == "dir" and b.kind != "dir":
                want = errno.ENOTDIR
            elif a.kind != "dir" and b.kind == "dir":
                want = errno.EISDIR
            elif b.kind == "dir" and b.children:
                want = errno.ENOTEMPTY
        if (src + "/").startswith(dst + "/") and src != dst:     # the target is an ancestor of the source
            want = errno.ENOTEMPTY
        self.look(root, src, dst)
        self.expect(f"rename {src} {dst}", want, os.rename, root + src, root + dst)
        if want == 0 and src != dst and a is not b:
            sparent, sname = self.model.split(src)
            del sparent.children[sname]
            if b is not None:
                b.nlink -= 1
            dparent.children[dname] = a
        return f"{src} {dst}"

    def op_exchange(self, root):
        a, b = self.pick(("file", "link", "dir")), self.pick(("file", "link", "dir"))
        if not a or a == b or (a + "/").startswith(b + "/") or (b + "/").startswith(a + "/"):
            return
        if self.model.walk(a) is self.model.walk(b):
            return
        self.look(root, a, b)
        renameat2(root + a, root + b, 2)
        pa, na = self.model.split(a)
        pb, nb = self.model.split(b)
        pa.children[na], pb.children[nb] = pb.children[nb], pa.children[na]
        return f"{a} {b}"

    def op_chmod(self, root):
        path = self.pick(("file", "dir"))
        if not path:
            return
        node = self.model.walk(path)
        mode = self.rnd.choice([0o600, 0o644, 0o755, 0o777, 0o4755, 0o2755, 0o1777, 0o444])
        os.chmod(root + path, mode)
        node.mode = mode
        if ACL_ACCESS in node.xattrs:
            node.xattrs[ACL_ACCESS] = acl_chmod(node.xattrs[ACL_ACCESS], mode)
        return f"{path} {mode:o}"

    def op_chown(self, root):
        path = self.pick(("file", "dir"))
        if not path:
            return
        node = self.model.walk(path)
        uid, gid = self.rnd.randrange(0, 5) * 1000, self.rnd.randrange(0, 5) * 1000
        os.chown(root + path, uid, gid, follow_symlinks=False)
        node.uid, node.gid = uid, gid
        if node.kind == "file":
            node.mode &= ~0o4000
            if node.mode & 0o010:
                node.mode &= ~0o2000
        return f"{path} {uid}:{gid}"

    def op_utimes(self, root):
        path = self.pick(("file",))
        if not path:
            return
        t = self.rnd.choice([self.rnd.randrange(0, 2_000_000_000), 1, 0]) * 10**9 + self.rnd.choice([0, 1000, 999_999_000, 123_456_789])
        os.utime(root + path, ns=(t, t))
        self.model.walk(path).mtime = t
        return f"{path} {t}"

    def op_setxattr(self, root):
        path = self.pick(("file", "dir"))
        if not path:
            return
        name, value = f"user.a{self.rnd.randrange(4)}", self.rnd.randbytes(self.rnd.choice([0 if self.empty_xattrs else 2, 1, 20, 3000]))
        os.setxattr(root + path, name, value)
        self.model.walk(path).xattrs[name] = value
        return f"{path} {name} {len(value)}"

    def op_removexattr(self, root):
        path = self.pick(("file", "dir"))
        if not path:
            return
        node, name = self.model.walk(path), f"user.a{self.rnd.randrange(4)}"
        self.expect(f"removexattr {path} {name}", 0 if name in node.xattrs else errno.ENODATA, os.removexattr, root + path, name)
        node.xattrs.pop(name, None)
        return f"{path} {name}"

    def op_setacl(self, root):
        path = self.pick(("file", "dir"))
        if not path:
            return
        node, r = self.model.walk(path), self.rnd
        mask = r.choice([4, 5, 6, 7])
        named = sorted(r.sample(range(1000, 1010), r.randrange(1, 3)))
        entries = [(1, r.choice([6, 7]), 0xFFFFFFFF)] + [(2, r.choice([4, 5, 7]), u) for u in named] + \
                  [(4, r.choice([4, 5]), 0xFFFFFFFF), (16, mask, 0xFFFFFFFF), (32, r.choice([0, 4]), 0xFFFFFFFF)]
        kind = ACL_DEFAULT if node.kind == "dir" and r.random() < 0.3 else ACL_ACCESS
        os.setxattr(root + path, kind, acl_bytes(entries))
        node.xattrs[kind] = acl_bytes(entries)
        if kind == ACL_ACCESS:
            node.mode = (node.mode & 0o7000) | entries[0][1] << 6 | mask << 3 | entries[-1][1]
        return f"{path} {kind}"

    def op_errors(self, root):
        r = self.rnd
        what = r.randrange(6)
        some = self.pick(("file",))
        if what == 0:
            self.expect("open missing", errno.ENOENT, os.open, f"{root}/no-such-{self.count}", os.O_RDONLY)
        elif what == 1 and some:
            self.expect("create existing", errno.EEXIST, os.open, root + some, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        elif what == 2 and some:
            self.expect("lookup below a file", errno.ENOTDIR, os.stat, f"{root}{some}/x")
        elif what == 3 and some:
            self.expect("rmdir of a file", errno.ENOTDIR, os.rmdir, root + some)
        elif what == 4:
            self.expect("long name", errno.ENAMETOOLONG, os.mkdir, f"{root}/{'n' * 256}")
        elif what == 5:
            d = self.pick(("dir",))
            if d:
                self.expect("unlink of a directory", errno.EISDIR, os.unlink, root + d)


def inherit(parent, node):
    """group of a set-group-id parent, and its default ACL (symlinks never inherit); the workload chmods files and directories right after creating them"""
    if parent.mode & 0o2000:
        node.gid = parent.gid
    rule = parent.xattrs.get(ACL_DEFAULT)
    if rule is None:
        return
    if node.kind == "dir":
        node.xattrs[ACL_DEFAULT] = rule
    node.xattrs[ACL_ACCESS] = acl_chmod(rule, node.mode)


def acl_chmod(rule, mode):
    out = rule[:4]
    has_mask = any(struct.unpack_from("<HHI", rule, i)[0] == 16 for i in range(4, len(rule), 8))
    for i in range(4, len(rule), 8):
        tag, rights, ident = struct.unpack_from("<HHI", rule, i)
        if tag == 1:
            rights = mode >> 6 & 7
        elif tag == 16 or (tag == 4 and not has_mask):
            rights = mode >> 3 & 7
        elif tag == 32:
            rights = mode & 7
        out += struct.pack("<HHI", tag, rights, ident)
    return out


def fallocate(fd, mode, off, n):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.fallocate(fd, mode, ctypes.c_long(off), ctypes.c_long(n)):
        raise OSError(ctypes.get_errno(), "fallocate")


def renameat2(a, b, flags):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, a.encode(), -100, b.encode(), flags):
        raise OSError(ctypes.get_errno(), f"renameat2 {a} {b}")


def first_difference(got, want):
    if len(got) != len(want):
        return f"{len(got)} bytes, expected {len(want)}"
    for i, (x, y) in enumerate(zip(got, want)):
        if x != y:
            return f"byte {i} is {x:#x}, expected {y:#x}"
    return "equal"


def check_stat(root, path, node, nlink=True):
    st = os.lstat(root + path)
    kind = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link"}[stat.S_IFMT(st.st_mode)]
    problems = []
    if kind != node.kind:
        problems.append(f"is a {kind}, expected a {node.kind}")
    if node.kind != "link" and stat.S_IMODE(st.st_mode) != node.mode:
        problems.append(f"mode {stat.S_IMODE(st.st_mode):o}, expected {node.mode:o}")
    if (st.st_uid, st.st_gid) != (node.uid, node.gid):
        problems.append(f"owner {st.st_uid}:{st.st_gid}, expected {node.uid}:{node.gid}")
    if node.kind == "file":
        if st.st_size != len(node.data):
            problems.append(f"size {st.st_size}, expected {len(node.data)}")
        if node.mtime is not None and st.st_mtime_ns != node.mtime:
            problems.append(f"mtime {st.st_mtime_ns}, expected {node.mtime}")
        if nlink and st.st_nlink != node.nlink:
            problems.append(f"{st.st_nlink} links, expected {node.nlink}")
    if node.kind == "dir":
        want = 2 + sum(1 for c in node.children.values() if c.kind == "dir")
        if st.st_nlink != want:
            problems.append(f"{st.st_nlink} links, expected {want}")
    if problems:
        raise AssertionError(f"{path}: " + "; ".join(problems))


def expect_trees(root, trees, nlink, who):
    """`trees`: (folder below `root`, workload). Raises when what is there is not what the workload's model says."""
    for sub, w in trees:
        bad = compare(f"{root}/{sub}", w.model, nlink=nlink)
        if bad:
            raise AssertionError(f"seed {w.seed}, {who} sees in {sub}: {bad[:3]}")


def compare(root, model, acl=True, xattr=True, nlink=True, internal=(".trash", ".accesslog", ".config", ".stats", ".control")):
    """Every difference between the tree at `root` and the model, as lines."""
    bad = []

    def walk(path, node):
        if path:
            try:
                check_stat(root, path, node, nlink)
            except (AssertionError, OSError) as e:
                bad.append(str(e))
                if isinstance(e, OSError):
                    return
        try:
            if node.kind == "dir":
                got = [n for n in os.listdir(root + path) if path or n not in internal]
                if len(got) != len(set(got)):
                    bad.append(f"{path}: listed twice: {[n for n in set(got) if got.count(n) > 1]}")
                if set(got) != set(node.children):
                    bad.append(f"{path}: missing {set(node.children) - set(got)}, extra {set(got) - set(node.children)}")
                for name in sorted(set(got) & set(node.children)):
                    walk(f"{path}/{name}", node.children[name])
            elif node.kind == "file":
                with open(root + path, "rb") as f:
                    data = f.read()
                if data != node.data:
                    bad.append(f"{path}: {first_difference(data, bytes(node.data))}")
            else:
                if os.readlink(root + path) != node.target:
                    bad.append(f"{path}: points to {os.readlink(root + path)!r}, expected {node.target!r}")
            if xattr and node.kind != "link":
                names = [n for n in os.listxattr(root + path) if n.startswith("user.") or (acl and n.startswith("system.posix_acl"))]
                values = {n: os.getxattr(root + path, n) for n in names}
                for kind in (ACL_ACCESS, ACL_DEFAULT):
                    if acl and kind in node.xattrs and kind not in values:
                        try:
                            values[kind] = os.getxattr(root + path, kind)
                        except OSError:
                            pass
                want = {k: v for k, v in node.xattrs.items() if acl or not k.startswith("system.")}
                if path and values != want:
                    bad.append(f"{path}: xattrs {values}, expected {want}")
        except OSError as e:
            bad.append(f"{path}: {e}")

    walk("", model.root)
    return bad
