#!/usr/bin/env python3
"""The program, copied alone into a bare root (libc, its loader, and a shell: what a minimal Debian has), formats, mounts and writes.
Its shared libraries are a checked list."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import Report, aquifer

ALLOWED = {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}


def shared(path):
    out = subprocess.run(["ldd", path], stdout=subprocess.PIPE, text=True).stdout
    return {os.path.basename(m) for m in re.findall(r"^\s*(\S+)", out, re.M)}, re.findall(r"(/\S+)", out)


def libraries():
    names, _ = shared(aquifer())
    extra = names - ALLOWED
    assert not extra, f"needs {extra}"
    return ", ".join(sorted(names))


def bare_root():
    root = tempfile.mkdtemp(prefix="aquifer-root-", dir="/var/tmp")
    try:
        for d in ("dev", "proc", "tmp", "mnt", "var", "usr/bin"):
            os.makedirs(f"{root}/{d}")
        shutil.copy(aquifer(), root + "/usr/bin/aquifer")
        for tool in ("/bin/sh", "/bin/cat", "/bin/ls", "/bin/umount"):
            shutil.copy(tool, root + "/usr/bin/")
        for program in (aquifer(), "/bin/sh", "/bin/ls", "/bin/umount"):
            for lib in shared(program)[1]:
                os.makedirs(root + os.path.dirname(lib), exist_ok=True)
                shutil.copy(lib, root + lib)
        script = f"""
            mount -t proc proc {root}/proc && mount --bind /dev {root}/dev || exit 9
            chroot {root} /usr/bin/sh -ec '
              export PATH=/usr/bin HOME=/
              aquifer -q format --storage file --bucket /var/obj sqlite3:///var/m.db bare
              aquifer mount -d --log /var/log.txt --cache-dir /var/cache sqlite3:///var/m.db /mnt
              echo hello > /mnt/file
              aquifer umount /mnt
              aquifer mount -d --log /var/log.txt --cache-dir /var/cache2 sqlite3:///var/m.db /mnt
              cat /mnt/file
              aquifer umount /mnt'
        """
        p = subprocess.run(["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        assert p.returncode == 0 and "hello" in p.stdout, f"exit {p.returncode}: {p.stdout[-1500:]}"
    finally:
        shutil.rmtree(root, ignore_errors=True)


r = Report()
r.check("shared libraries", libraries)
r.check("runs alone in a bare root", bare_root)
r.end()
