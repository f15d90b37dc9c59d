#!/usr/bin/env python3
"""Runs the suites one after the other, each with a time budget, and ends with `N passed, N failed, N skipped`.

A suite is a command whose output ends with such a line (or with ctest's), and whose exit code is 0 when all is well. A suite that
exits with 77 could not run here and has said why.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PY = [sys.executable or "python3"]


def suites(soak):
    """name, command, time budget in seconds (CI size), fast?"""
    s = ["--soak"] if soak else []
    chosen = [
        ("layers", PY + ["tests/layers/check.py"], 60, True),
        ("unit", ["ctest", "--test-dir", "build", "-j2", "--output-on-failure", "--timeout", "300", *([] if soak else ["--repeat", "until-pass:2"])], 600, True),
        ("cases", PY + ["tests/mount/cases.py", *s], 600, False),
        ("pjdfstest", PY + ["tests/mount/pjdfstest.py", *s], 600, False),
        ("fsx", PY + ["tests/mount/fsx.py", *s], 600, False),
        ("model on mounts", PY + ["tests/model/mounts.py", *s], 600, False),
        ("planted damage", PY + ["tests/compat/damage.py", *s], 300, False),
        ("live sharing", PY + ["tests/compat/live.py", *s], 900, False),
        ("Redis beside JuiceFS", PY + ["tests/compat/redis.py", *s], 600, False),
        ("suites on Redis", PY + ["tests/mount/on_redis.py", *s], 900, False),
        ("S3 servers", PY + ["tests/object/s3_servers.py", *s], 600, False),
        ("S3 sharing and faults", PY + ["tests/compat/s3.py", *s], 600, False),
        ("old volumes", PY + ["tests/compat/old_volumes.py", *s], 300, False),
        ("command line beside JuiceFS", PY + ["tests/compat/cli_diff.py"], 300, False),
        ("dump and load", PY + ["tests/compat/dump.py", *s], 300, False),
        ("metrics beside JuiceFS", PY + ["tests/compat/metrics.py"], 120, False),
        ("bad input", PY + ["tests/mount/bad_input.py", *s], 600, False),
        ("crash", PY + ["tests/crash/kills.py", *s], 900, False),
        ("huge directory", PY + ["tests/mount/huge_dir.py", *s], 600, False),
        ("memory bound", PY + ["tests/mount/memory.py", *s], 300, False),
        ("coherent caches", PY + ["tests/mount/coherence.py", *s], 120, False),
        ("durability", PY + ["tests/mount/durability.py"], 120, False),
        ("one file", PY + ["tests/mount/one_file.py", *s], 300, False),
        ("tools", PY + ["tests/mount/tools.py"], 300, False),
        ("real programs", PY + ["tests/mount/programs.py", *s], 900, False),
    ]
    if soak:    # three more builds of everything
        chosen += [
            ("sanitizers", ["bash", "tests/sanitizers.sh", *s], 1500, False),
            ("fuzz", ["bash", "tests/fuzz/run.sh", *s], 1800, False),
        ]
    return chosen


def counts(text):
    """passed, failed, skipped of the last line that tells"""
    for line in reversed(text.splitlines()[-60:]):
        m = re.match(r"(?:\w+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", line.strip())
        if m:
            return int(m[1]), int(m[2]), int(m[3] or 0)
        m = re.match(r"\d+% tests passed, (\d+) tests? failed out of (\d+)", line.strip())
        if m:
            return int(m[2]) - int(m[1]), int(m[1]), 0
    return None


def run(name, cmd, budget):
    print(f"\n=== {name}", flush=True)
    env = {**os.environ, "PATH": os.environ["PATH"]}
    tools = os.path.join(ROOT, "build", "tools")
    for sub in ("venv/bin", "bin"):
        env["PATH"] += os.pathsep + os.path.join(tools, sub)
    venv = os.path.join(tools, "venv", "bin", "juicefs")
    if "JUICEFS" not in env and os.path.exists(venv):
        env["JUICEFS"] = venv
    t = time.time()
    p = subprocess.Popen(cmd, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                         start_new_session=True)
    lines = []

    def late(*_):
        os.killpg(p.pid, signal.SIGTERM)
        lines.append(f"{name}: stopped after its budget of {budget} s")
        print(lines[-1], flush=True)

    signal.signal(signal.SIGALRM, late)
    signal.alarm(budget)
    for line in p.stdout:
        print("  " + line, end="", flush=True)
        lines.append(line)
    rc = p.wait()
    signal.alarm(0)
    got = counts("".join(line if line.endswith("\n") else line + "\n" for line in lines))
    seconds = time.time() - t
    if got is None:
        got = (0, 0, 1) if rc == 77 else (1, 0, 0) if rc == 0 else (0, 1, 0)
    elif rc and rc != 77 and not got[1]:
        got = (got[0], 1, got[2])
    return got, seconds


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--soak", action="store_true")
    p.add_argument("--fast", action="store_true")
    p.add_argument("--only", default="")
    p.add_argument("--list", action="store_true")
    a = p.parse_args()
    chosen = [s for s in suites(a.soak) if (not a.fast or s[3]) and re.search(a.only, s[0])]
    if a.list:
        print("\n".join(s[0] for s in chosen))
        return
    if not a.fast and os.geteuid() != 0:
        sys.exit("scripts/test mounts file systems: run it as root (or `scripts/test --fast`)")
    if not chosen:
        sys.exit(f"no suite matches {a.only!r}; `scripts/test --list` names them")
    if not a.soak:      # the same run every time; --soak explores
        os.environ.setdefault("AQUIFER_SEED", "1202")
    rows = []
    for name, cmd, budget, _ in chosen:
        rows.append((name, *run(name, cmd, budget * 20 if a.soak else budget)))
    print("\n=== summary")
    for name, (ok, bad, skipped), seconds in rows:
        print(f"  {name:28} {ok:6} passed {bad:4} failed {skipped:4} skipped {seconds:7.0f} s")
    total = [sum(r[1][i] for r in rows) for i in range(3)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    sys.exit(1 if total[1] or not total[0] else 0)


main()
