#!/usr/bin/env bash
# Builds every fuzz target and runs each for a while (12 s, an hour with --soak); ends with counts.
set -uo pipefail
cd "$(dirname "$0")/../.."
seconds=12
[[ ${1:-} = --soak ]] && seconds=3600
if ! command -v clang++-14 >/dev/null && ! command -v clang++ >/dev/null; then
  echo "SKIPPED fuzzing: clang is not installed (scripts/install-deps --tests)"
  echo "0 passed, 0 failed, 1 skipped"
  exit 77
fi
pass=0 fail=0
for file in tests/fuzz/*.cc; do
  target=$(basename "$file" .cc)
  if SECONDS_EACH=$seconds nice tests/fuzz/build "$target"; then pass=$((pass + 1)); else fail=$((fail + 1)); echo "FAILED  $target"; fi
done
echo "$pass passed, $fail failed"
(( fail == 0 && pass > 0 ))
