#!/usr/bin/env bash
# The unit, conformance and model tests once more under AddressSanitizer with UBSan, and under ThreadSanitizer.
set -uo pipefail
cd "$(dirname "$0")/.."
pass=0 fail=0
for preset in asan tsan; do
  cmake --preset "$preset" >/dev/null && cmake --build --preset "$preset" >"build/$preset.log" 2>&1 || { tail -20 "build/$preset.log"; echo "FAILED  building $preset"; fail=$((fail + 1)); continue; }
  # A test that must fail shows that the sanitizer is on.
  AQUIFER_MODEL_OPS=${AQUIFER_MODEL_OPS:-2000} ASAN_OPTIONS=detect_leaks=1 TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp halt_on_error=1" \
    ctest --test-dir "build/$preset" -j2 --output-on-failure --timeout 600 -Q -O "build/$preset-tests.log"
  rc=$?
  line=$(grep -E '[0-9]+% tests passed' "build/$preset-tests.log" | tail -1)
  n=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$line"); bad=$(sed -E 's/.*passed, ([0-9]+) tests? failed.*/\1/' <<<"$line")
  if [[ $rc -ne 0 || -z $n ]]; then grep -E '(Failed|Timeout|ERROR: |WARNING: ThreadSanitizer)' "build/$preset-tests.log" | sort | uniq -c | head -20; fi
  pass=$((pass + ${n:-0} - ${bad:-0})) fail=$((fail + ${bad:-1}))
  echo "$preset: ${line:-no tests ran}"
done
echo "$pass passed, $fail failed"
(( fail == 0 && pass > 0 ))
