#!/usr/bin/env python3
"""The shape of the tree: includes point one way, rules of the file system stay out of the stores, files stay one idea long."""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SRC = os.path.join(ROOT, "src")

# folder -> what it may include (itself always)
MAY = {
    "base": [],
    "meta/model": ["base"],
    "meta/store": ["base", "meta/model"],
    "meta/ops": ["base", "meta/model", "meta/store", "meta/jobs"],
    "meta/jobs": ["base", "meta/model", "meta/store", "meta/ops"],
    "meta/dump": ["base", "meta/model", "meta/store", "meta/ops"],
    "object": ["base"],
    "chunk": ["base", "object", "meta/model"],
    "vfs": ["base", "object", "chunk", "meta/model", "meta/store", "meta/ops"],
    "access/fuse": ["base", "meta/model", "meta/store", "meta/ops", "chunk", "vfs"],
    "cli": None,      # the only place that links everything
}
# A store maps records and knows no rule: words that only a rule needs.
RULES = re.compile(r"\b(Code::(exists|notEmpty|notDirectory|isDirectory|notPermitted|accessDenied|quotaExceeded|tooManyLinks|notFound)|kTrashIno|isTrash)\b")


def folder(path):
    rel = os.path.relpath(path, SRC)
    for name in sorted(MAY, key=len, reverse=True):
        if rel.startswith(name + "/"):
            return name
    return None


def main():
    bad, files, longest = [], 0, 0
    for base, _, names in os.walk(SRC):
        for n in names:
            if not n.endswith((".h", ".cc")):
                continue
            path = os.path.join(base, n)
            here, rel = folder(path), os.path.relpath(path, ROOT)
            text = open(path, encoding="utf-8").read()
            files += 1
            lines = text.count("\n")
            longest = max(longest, lines)
            if lines > 1200:
                bad.append(f"{rel}: {lines} lines: more than one idea")
            if n.endswith(".h") and "#pragma once" not in text:
                bad.append(f"{rel}: no #pragma once")
            for inc in re.findall(r'^#include "([^"]+)"', text, re.M):
                target = folder(os.path.join(SRC, inc))
                if target is None:
                    bad.append(f"{rel}: includes {inc}, which is in no known folder")
                elif here and target != here and MAY[here] is not None and target not in MAY[here]:
                    bad.append(f"{rel}: {here} may not include {target} ({inc})")
            # txn.h is the contract itself; below it are the mappings
            if here == "meta/store" and n != "txn.h" and not n.endswith("_test.cc"):
                for m in RULES.finditer(text):
                    line = text.count("\n", 0, m.start()) + 1
                    bad.append(f"{rel}:{line}: a rule of the file system in a store: {m.group(0)}")
    print("\n".join(bad))
    print(f"{files} files, the longest has {longest} lines")
    print(f"{1 if not bad else 0} passed, {len(bad)} failed")
    sys.exit(1 if bad else 0)


main()
