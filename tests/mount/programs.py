#!/usr/bin/env python3
"""Real programs on a mount: git, SQLite in both journal modes, PostgreSQL under pgbench, rsync, tar, pip, npm, and building this project."""
import os
import shutil
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from volume import ROOT, Report, Volume, aquifer

soak = "--soak" in sys.argv
r = Report()


def sh(cmd, cwd=None, user=None, timeout=900, env=None):
    p = subprocess.run(["bash", "-euo", "pipefail", "-c", cmd], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       errors="replace", timeout=timeout, env={**os.environ, **(env or {})})
    if p.returncode:
        raise AssertionError(f"exit {p.returncode}: {p.stdout[-1200:]}")
    return p.stdout


def needs(tool):
    path = shutil.which(tool)
    if not path:
        r.skip(tool, f"{tool} is not installed")
    return path


def git(m):
    sh(f"git init -q src && cd src && cp -r {ROOT}/src {ROOT}/docs . && git add -A && "
       "git -c user.name=t -c user.email=t@t commit -qm one && cd .. && git clone -q --no-local src copy && cd copy && "
       "git -c user.name=t -c user.email=t@t commit -q --allow-empty -m two && git gc -q --aggressive --prune=now && git fsck --full --strict && "
       "test -z \"$(git status --porcelain)\" && cd .. && rm -r src copy", cwd=m)


def sqlite(m, mode):
    path = f"{m}/db-{mode}"
    db = sqlite3.connect(path)
    assert db.execute(f"pragma journal_mode={mode}").fetchone()[0] == mode, "the mode was not taken"
    db.execute("create table t(a integer primary key, b text)")
    for i in range(200):
        with db:
            db.executemany("insert into t(b) values(?)", [("x" * (i % 97),)] * 20)
        if i % 10 == 0:
            with db:
                db.execute("delete from t where a % 7 = ?", (i % 7,))
    db.execute("vacuum")
    assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
    db.close()
    db = sqlite3.connect(path)
    assert db.execute("pragma integrity_check").fetchone()[0] == "ok"
    db.close()


def rsync(m):
    src = f"{m}/from"
    sh(f"mkdir from && cp -r {ROOT}/src from/ && cd from && ln src/main.cc hard && ln -s src soft && setfattr -n user.k -v 1 hard && "
       "setfacl -m u:1000:r hard && truncate -s 3M sparse && chown 1000:1000 src && chmod 4755 src/main.cc", cwd=m)
    sh("rsync -aHAX from/ to/ && test -z \"$(rsync -aHAXnci --delete from/ to/)\" && diff -r --no-dereference from to && "
       "[ $(stat -c %i to/hard) = $(stat -c %i to/src/main.cc) ] && getfacl -cn to/hard | grep -q user:1000:r && rm -r from to", cwd=m)


def tar(m):
    sh(f"tar -C {ROOT} -cf - src tests docs scripts | tar -xf - && tar -C {ROOT} -cf - src tests docs scripts | tar -df - && rm -r src tests docs scripts", cwd=m)


def build(m):
    sh(f"mkdir b && tar -C {ROOT} --exclude=./build --exclude=./.git -cf - . | tar -xf - -C b && cd b && "
       "cmake -S . -B build -G Ninja -DAQUIFER_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug >/dev/null && ninja -C build " + ("aquifer" if soak else "base meta_model") + " && cd .. && rm -r b",
       cwd=m, timeout=3000)


def pip(m):
    sh("python3 -m venv --without-pip v || python3 -m venv v; python3 -m pip install -q --target lib six && PYTHONPATH=lib python3 -c 'import six' && rm -rf v lib", cwd=m)


def npm(m):
    sh("mkdir n && cd n && npm init -y >/dev/null && npm install --no-audit --no-fund -s is-number && node -e \"require('is-number')\" && cd .. && rm -r n", cwd=m)


def postgres(m):
    base = sorted(os.listdir("/usr/lib/postgresql"))[-1]
    bin = f"/usr/lib/postgresql/{base}/bin"
    data = f"{m}/pg"
    os.makedirs(data)
    shutil.chown(data, "postgres", "postgres")
    os.chmod(data, 0o700)
    seconds = 60 if soak else 8
    run_as = f"setpriv --reuid=postgres --regid=postgres --clear-groups"
    sh(f"{run_as} {bin}/initdb -D {data} -A trust >/dev/null && "
       f"{run_as} {bin}/pg_ctl -D {data} -w -o \"-c listen_addresses='' -c unix_socket_directories='{data}'\" -l {data}/log start >/dev/null", cwd=m)
    try:
        sh(f"{run_as} {bin}/createdb -h {data} bench && {run_as} {bin}/pgbench -q -h {data} -i -s 2 bench >/dev/null 2>&1 && "
           f"{run_as} {bin}/pgbench -h {data} -c 4 -T {seconds} bench", cwd=m)
    finally:
        sh(f"{run_as} {bin}/pg_ctl -D {data} -m fast -w stop >/dev/null", cwd=m)
    sh(f"{run_as} {bin}/pg_ctl -D {data} -w -o \"-c listen_addresses='' -c unix_socket_directories='{data}'\" -l {data}/log start >/dev/null", cwd=m)
    out = sh(f"{run_as} {bin}/psql -h {data} -At -c 'select count(*) from pgbench_accounts' bench", cwd=m)
    sh(f"{run_as} {bin}/pg_ctl -D {data} -m fast -w stop >/dev/null", cwd=m)
    assert out.strip() == "200000", out


with Volume(aquifer(), "--enable-acl") as v:
    m = v.mount(aquifer(), "a").mnt
    if needs("git"):
        r.check("git: clone, gc, fsck", git, m)
    for mode in ("wal", "delete"):
        r.check(f"SQLite, journal mode {mode}", sqlite, m, mode)
    if needs("rsync"):
        r.check("rsync -aHAX", rsync, m)
    r.check("tar", tar, m)
    if os.path.isdir("/usr/lib/postgresql"):
        r.check("PostgreSQL under pgbench", postgres, m)
    else:
        r.skip("PostgreSQL", "the server is not installed")
    if needs("pip3") or needs("pip"):
        r.check("pip install", pip, m)
    if needs("npm"):
        r.check("npm install", npm, m)
    r.check("building this project" if soak else "building a part of this project", build, m)
r.end()
