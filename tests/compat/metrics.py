#!/usr/bin/env python3
"""The same work on a mount of each client: what JuiceFS exports (`.stats`, /metrics), ours does too, under the same names and labels.

Not compared: what only a Go program has, the automatic backup, network bytes of the process (there is no network on this volume), and
calls that the two clients' kernels or engines make differently."""
import os
import re
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import Report, Volume, aquifer, juicefs

UNLIKE = re.compile(r"juicefs_(go_|last_backup_duration|last_successful_backup|process_network_|process_virtual_memory_max_bytes|"
                    r"(fuse_ops|meta_ops)_\w+_(StatFS|statfs|getattr|GetAttr|access|opendir|releasedir)$)")


def work(mnt):
    with open(mnt + "/a", "w") as f:
        f.write("x" * 100_000)
    os.mkdir(mnt + "/d")
    os.symlink("a", mnt + "/s")
    os.readlink(mnt + "/s")
    os.link(mnt + "/a", mnt + "/l")
    os.rename(mnt + "/l", mnt + "/l2")
    os.unlink(mnt + "/l2")
    os.rmdir(mnt + "/d")
    os.chmod(mnt + "/a", 0o600)
    os.truncate(mnt + "/a", 50_000)
    os.setxattr(mnt + "/a", "user.k", b"v")
    os.getxattr(mnt + "/a", "user.k")
    os.listxattr(mnt + "/a")
    os.removexattr(mnt + "/a", "user.k")
    with open(mnt + "/a") as f:
        f.read()
    os.listdir(mnt)
    try:
        os.rmdir(mnt + "/absent")
    except FileNotFoundError:
        pass


def stats(m):
    with open(m.mnt + "/.stats") as f:
        return {line.split()[0]: float(line.split()[1]) for line in f}


def exported(m):
    """name and label names of every sample"""
    with urllib.request.urlopen(f"http://{m.config()['Port']['PrometheusAgent']}/metrics", timeout=10) as f:
        text = f.read().decode()
    out = set()
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, labels = re.match(r"(\w+)(?:\{(.*)\})? ", line).groups()
            out.add((name, tuple(sorted(re.findall(r'(\w+)="', labels or "")))))
    return out


def main():
    r = Report()
    theirs = juicefs()
    if not theirs:
        sys.exit(77)
    seen = {}
    for label, binary in (("ours", aquifer()), ("theirs", theirs)):
        with Volume(binary) as v:
            m = v.mount(binary, label, "--heartbeat", "1")
            work(m.mnt)
            seen[label] = (stats(m), exported(m))

    def names():
        missing = [n for n in seen["theirs"][0] if n not in seen["ours"][0] and not UNLIKE.match(n)]
        assert not missing, f"not in .stats: {missing}"
        return f"{len(seen['theirs'][0])} names"

    def labels():
        missing = [x for x in seen["theirs"][1] if x not in seen["ours"][1] and not UNLIKE.match(x[0])]
        assert not missing, f"not exported: {missing}"
        return f"{len(seen['theirs'][1])} samples"

    def values():
        ours = seen["ours"][0]
        for name, want in (("meta_ops_total_Rename", 1), ("meta_ops_total_Link", 1), ("fuse_ops_total_mkdir", 1), ("subdir_info", 1),
                           ("fuse_ops_io_errors_ENOENT", None), ("total_space", 1 << 50)):
            got = ours["juicefs_" + name]
            assert got == want if want is not None else got >= 1, f"{name}: {got}, expected {want}"
        for name in ("cpu_usage", "memory", "uptime"):
            assert ours["juicefs_" + name] > 0, name

    r.check(".stats names", names)
    r.check("/metrics names and labels", labels)
    r.check("values", values)
    r.end()


main()
