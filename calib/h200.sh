#!/usr/bin/env bash
# Everything one GPU can tell, in about ten minutes: are the benches right, how fast is the card, what do two models
# need, and does an overlapped pair take as long as predicted. `calib/h200.sh help` says how.
set -uo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." || exit

base=${BASE:-h200_sxm/2026-11-29-published}
out=${OUT:-calib/profiles/h200_sxm/$(date -u +%F)-run}
limit=${LIMIT:-580}
export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
pack=build-gpu
failed=0
unfinished=0
summary=()

help() {
  cat <<TEXT
usage: calib/h200.sh [run | pack | help]

  run    build (or take what pack left), then test, measure, compare, fit and check on GPU 0;
         writes raw.csv, run.json, profile.yaml, residuals.csv, pair.txt, compare.txt, checks.txt, log.txt, steps.txt;
         the same command goes on where the last one stopped: rows are kept, steps that passed are not repeated
  pack   build here what a GPU machine without a compiler or our libraries needs, into $pack/;
         that machine still needs CUDA 13's libraries and NCCL

settings: OUT    folder for the results (now $out)
          BASE   profile for what one GPU cannot measure (now $base)
          LIMIT  seconds for everything after the build (now $limit); a machine lent for ten minutes ends the script,
                 so the script ends itself before that
exit code: 0 all steps passed; 1 a step failed, its name is in the summary; 2 no usable GPU or program;
           3 nothing failed, but time ran out: run it again
example:   LIMIT=580 OUT=calib/profiles/h200_sxm/2026-12-01-run calib/h200.sh
TEXT
}

say() { printf '%s\n' "$*" >&2; }

build_here() {
  ./dev setup && ninja -C build --quiet calib/cli/tessella-calib tests/gpu/gpu_bench && mkdir -p "$pack/lib" &&
    cp build/calib/cli/tessella-calib build/tests/gpu/gpu_bench "$pack/"
}

# The system's own libraries and CUDA's stay where they are.
pack_libraries() {
  local program library
  for program in "$pack/tessella-calib" "$pack/gpu_bench"; do
    ldd "$program" | awk '$3 ~ /^\// {print $3}' | grep -v -E 'cuda|/lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so' |
      while read -r library; do cp -L "$library" "$pack/lib/"; done
  done
}

# Where cuBLASLt and NCCL lie on a machine that does not have them where the build had them. cuDNN is loaded only when
# attention is measured, so the loader does not miss it: it is looked for all the same.
find_libraries() {
  local missing name found
  export LD_LIBRARY_PATH=$PWD/$pack/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  missing=$(ldd "$pack/tessella-calib" "$pack/gpu_bench" 2>/dev/null | awk '/not found/ {print $1}' | sort -u)
  for name in $missing; do
    found=$(find /usr /opt -name "$name" -print -quit 2>/dev/null)
    [ -n "$found" ] || { say "error: this machine has no $name (CUDA 13 and NCCL are needed)"; return 1; }
    LD_LIBRARY_PATH+=:$(dirname "$found")
  done
  found=$(find /usr /opt -name 'libcudnn.so.9' -print -quit 2>/dev/null)
  if [ -n "$found" ]; then
    LD_LIBRARY_PATH+=:$(dirname "$found")
  else
    say "note: this machine has no libcudnn.so.9; attention is measured as gemm+softmax, and the rows say so"
  fi
}

left() { echo $((limit - SECONDS)); }

# step NAME COMMAND...: what it prints goes on screen and into the log. Commands limit themselves with `limited`.
step() {
  local name=$1 begin=$SECONDS status=0
  shift
  if [ "$(left)" -lt 5 ]; then
    unfinished=1
    skip "$name" "no time left; run it again"
    return 3
  fi
  say "== $name"
  "$@" 2>&1 | tee -a "$out/log.txt" >&2
  status=${PIPESTATUS[0]}
  local verdict=passed
  case $status in
    0) echo "$name" >>"$out/steps.txt" ;;
    3) verdict="UNFINISHED: run it again" unfinished=1 ;;
    124 | 137) verdict="FAILED (took too long)" failed=1 ;;
    *) verdict="FAILED (exit code $status)" failed=1 ;;
  esac
  summary+=("$(printf '%-44s %-28s %4d s' "$name" "$verdict" $((SECONDS - begin)))")
  return "$status"
}

# The same, for what needs to pass only once.
step_once() {
  if grep -qsxF "$1" "$out/steps.txt"; then
    skip "$1" "passed before"
  else
    step "$@"
  fi
}

# limited SECONDS COMMAND...: no longer than that, nor than the time left; cut off by the latter it is unfinished (3).
limited() {
  local most=$1 status=0
  shift
  [ "$(left)" -gt "$most" ] || most=$(left)
  [ "$most" -ge 1 ] || return 3
  timeout --kill-after=10 "$most" "$@" || status=$?
  if [ "$status" -eq 124 ] && [ "$(left)" -lt 2 ]; then return 3; fi
  return "$status"
}

skip() { summary+=("$(printf '%-44s %s' "$1" "SKIPPED: $2")"); }

# $1: memcheck or racecheck, of our own kernels: those of the libraries are not ours to mend, and take minutes.
sanitize() {
  limited 150 compute-sanitizer --tool "$1" --error-exitcode 9 --kernel-name kns=tessella "$pack/gpu_bench" \
    --test-case="Every GPU bench*" 2>&1 | tail -n 40 | tee -a "$out/checks.txt"
  return "${PIPESTATUS[0]}"
}

# Rates of the two kernels that everything is held against, from the raw table; fails below 90 % of the best algorithm.
rates() {
  awk -F, '
    NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    $at["status"] != "ok" || $at["temperature"] != "cold" { next }
    $1 == "gemm" && $3 == "bf16" && $4 == "m=8192;n=8192;k=8192" { rate[$2] = $at["flops"] / $at["median_s"] * 1e-12 }
    $1 == "memcpy" && $4 == "bytes=4294967296" { copy = $at["bytes"] / $at["median_s"] * 1e-9 }
    END {
      printf "GEMM 8192^3 bf16: %.1f TFLOPS by default, %.1f TFLOPS the best of cuBLASLt\n", rate[""], rate["best"]
      printf "device copy: %.0f GB/s read and written\n", copy
      exit !(rate["best"] > 0 && rate[""] >= 0.9 * rate["best"] && copy > 0)
    }' "$out/raw.csv"
}

# measure SECONDS FLAGS...: the program ends itself; the limit is for one that hangs.
measure() {
  local budget=$1 status=0
  shift
  [ $(($(left) - 15)) -gt "$budget" ] || budget=$(($(left) - 15))
  [ "$budget" -ge 5 ] || return 3
  limited $((budget + 60)) "$pack/tessella-calib" run --backend cuda -o "$out" --budget "${budget}s" "$@" || status=$?
  [ "$status" -ne 0 ] || ! grep -q '"complete": false' "$out/run.json" || status=3
  return "$status"
}

# A kernel that computes something else than its reference, or does not run, fails the run; its rows say why.
sound() {
  awk -F, '
    NR == 1 { for (i = 1; i <= NF; ++i) at[$i] = i; next }
    { for (i = 1; i <= NF; ++i) if ($i == "wrong_result" || $i == "failed") { print; ++bad } }
    END { printf "%d rows, %d of them wrong or failed\n", NR - 1, bad; exit bad > 0 }' "$out/raw.csv"
}

compare() {
  "$pack/tessella-calib" compare "$out" calib/reference/h200_gemm.csv --max-error 10 | tee "$out/compare.txt"
  return "${PIPESTATUS[0]}"
}

pair() {
  limited 60 "$pack/tessella-calib" validate --backend cuda --max-error 5 -o "$out"
}

# A profile that an earlier call of this script made of fewer of these rows is made again; any other is left alone.
fit() {
  if grep -qsxF fit "$out/steps.txt"; then rm -f "$out/profile.yaml" "$out"/residuals.*; fi
  "$pack/tessella-calib" fit --run "$out" --base "$base" --model qwen3_235b_a22b -o "$out"
}

run_all() {
  if [ ! -x "$pack/tessella-calib" ] || [ ! -x "$pack/gpu_bench" ]; then
    build_here || { say "error: the build failed"; return 2; }
  fi
  find_libraries || return 2
  mkdir -p "$out" || { say "error: cannot write to $out"; return 2; }
  SECONDS=0
  { date -u; nvidia-smi; } >>"$out/log.txt" 2>&1 || say "note: no nvidia-smi; the benches find out whether there is a GPU"
  local status=0
  step_once "benches compute what their references say" limited 180 "$pack/gpu_bench" || status=$?
  [ "$status" -ne 77 ] || { say "error: the program finds no usable GPU; the reason is in the last lines"; return 2; }
  step "published GEMMs, measured" measure 40 --reference calib/reference/h200_gemm.csv
  step "Qwen3-235B at EP 8 to 64, overlap matrix" measure 140 --model qwen3_235b_a22b --ep 8,16,32,64
  step "Qwen3-Next-80B at EP 8 to 64" measure 100 --model qwen3_next_80b_a3b --ep 8,16,32,64
  step "no kernel is wrong" sound
  step "GEMM at 90 % of the best, copy rate" rates
  step "within 10 % of published GEMMs" compare
  step_once "overlapped pair predicted within 5 %" pair
  step fit fit
  if command -v compute-sanitizer >/dev/null; then
    step_once "memcheck of our kernels" sanitize memcheck
    step_once "racecheck of our kernels" sanitize racecheck
  else
    skip "memcheck, racecheck" "no compute-sanitizer on this machine"
  fi
  printf '%s\n' "${summary[@]}" | tee -a "$out/log.txt"
  [ "$failed" -eq 0 ] || return 1
  [ "$unfinished" -eq 0 ] || return 3
}

case ${1:-run} in
  run) run_all ;;
  pack) build_here && pack_libraries && say "copy the tree with $pack/ to the GPU machine and call: calib/h200.sh" ;;
  help | -h | --help) help ;;
  *) help >&2; exit 2 ;;
esac
