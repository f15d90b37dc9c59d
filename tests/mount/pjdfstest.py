#!/usr/bin/env python3
"""pjdfstest on a mount and on the machine's own file system: nothing may fail on the mount that does not fail there."""
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import Report, Volume, aquifer

r = Report()
if not shutil.which("pjdfstest"):
    r.skip("pjdfstest", "the program is not installed (scripts/install-deps --tests; needs cargo)")
    r.end()

CONFIG = """
[features]
posix_fallocate = {}
utimensat = {}
utime_now = {}
rename_ctime = {}
[settings]
naptime = 0.2
allow_remount = false
[dummy_auth]
entries = [["nobody", "nogroup"], ["daemon", "daemon"], ["bin", "bin"]]
"""


def failures(where, dir):
    conf = dir + "/pjd.toml"
    with open(conf, "w") as f:
        f.write(CONFIG)
    os.makedirs(where, exist_ok=True)
    os.chmod(where, 0o777)
    p = subprocess.run(["pjdfstest", "-c", conf, "-p", where], cwd=where, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    text = re.sub(r"\x1b\[[0-9;]*m", "", p.stdout)
    out, total = {}, 0
    for line in text.splitlines():
        m = re.match(r"(\S+::\S+)\s+(ok|skipped|FAILED|failed)", line)
        if m:
            total += 1
            if m[2].lower() == "failed":
                out[m[1]] = line
    if not total:
        raise RuntimeError("pjdfstest ran nothing:\n" + text[-1500:])
    return out, total, text


with Volume(aquifer(), "--trash-days", "0") as v:
    native, n, _ = failures(v.dir + "/native", v.dir)
    m = v.mount(aquifer(), "a")
    ours, total, text = failures(m.mnt + "/pjd", v.dir)
    print(f"{total} tests; the native file system fails {len(native)}: {', '.join(sorted(native))}")

    def nothing_new():
        new = sorted(set(ours) - set(native))
        assert not new, f"fail here and not natively: {new}\n" + "\n".join(l for l in text.splitlines() if "panicked" in l)[:3000]

    r.passed += total - len(ours)
    r.check("pjdfstest: no failure that the native file system does not have", nothing_new)
r.end()
