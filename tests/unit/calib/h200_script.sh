#!/usr/bin/env bash
# calib/h200.sh as it runs on a machine with a GPU, with stand-ins for the two programs and for NVIDIA's tools: what it
# calls, what it writes, how it ends when something is wrong, and that the same command goes on where the last stopped.
set -euo pipefail
script=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "failed: $*"; cat "$work/said" "$work/tree/results/log.txt" 2>/dev/null || true; exit 1; }

# A tree with the script, programs that write down how they were called, and NVIDIA's tools.
fresh() {
  rm -rf "$work/tree" "$work/bin"
  mkdir -p "$work/tree/calib" "$work/tree/build-gpu" "$work/bin"
  cp "$script" "$work/tree/calib/"
  : >"$work/calls"
  cat >"$work/tree/build-gpu/gpu_bench" <<'X'
#!/usr/bin/env bash
echo "gpu_bench $*" >>"$WORK/calls"
exit "${BENCH_STATUS:-0}"
X
  cat >"$work/tree/build-gpu/tessella-calib" <<'X'
#!/usr/bin/env bash
echo "calib $*" >>"$WORK/calls"
out=results
case $1 in
  run)
    sleep "${RUN_SECONDS:-0}"
    [ -s $out/raw.csv ] || cat "$WORK/rows" >$out/raw.csv
    echo "{\"complete\": ${COMPLETE:-true}}" >$out/run.json ;;
  fit) [ ! -e $out/profile.yaml ] || { echo "has a profile already"; exit 2; }; echo profile >$out/profile.yaml ;;
  validate) exit "${PAIR_STATUS:-0}" ;;
esac
X
  for tool in nvidia-smi compute-sanitizer; do
    printf '#!/usr/bin/env bash\necho "%s $*" >>"$WORK/calls"\n' $tool >"$work/bin/$tool"
  done
  chmod +x "$work"/tree/build-gpu/* "$work"/bin/*
  rows 9.0e-4 8.8e-4 ok
}

# Rows: seconds of the default and of the best algorithm for 8192^3, and the status of one more kernel.
rows() {
  {
    echo "op,kernel,dtype,dims,ranks,temperature,median_s,mad_s,ci95,n,outliers,throttled,batch,flops,bytes,footprint,error,clock_mhz,power_w,temperature_c,status,note"
    for row in "gemm,,bf16,m=8192;n=8192;k=8192,$1,1.0995e12,4e8" "gemm,best,bf16,m=8192;n=8192;k=8192,$2,1.0995e12,4e8" \
      "memcpy,device_to_device,,bytes=4294967296,2.0e-3,0,8.6e9"; do
      IFS=, read -r op kernel dtype dims seconds flops bytes <<<"$row"
      echo "$op,$kernel,$dtype,$dims,1,cold,$seconds,0,0,11,0,0,1,$flops,$bytes,1,0,,,,ok,"
    done
    echo "norm_fwd,,,rows=1;cols=1,1,cold,0,0,0,0,0,0,1,0,0,1,0,,,,$3,\"a note, with a comma\""
  } >"$work/rows"
}

# ends STATUS VARIABLE=VALUE...: one run of the script.
ends() {
  local wanted=$1 status=0
  shift
  env WORK="$work" OUT=results PATH="$work/bin:$PATH" "$@" bash "$work/tree/calib/h200.sh" >"$work/said" 2>&1 || status=$?
  [ "$status" -eq "$wanted" ] || fail "exit code $status instead of $wanted with: $*"
}
called() { grep -c -- "$1" "$work/calls" || true; }
says() { grep -q -- "$1" "$work/said" || fail "does not say: $1"; }

fresh
ends 0
[ "$(called 'calib run .*--ep 8,16,32,64')" -eq 2 ] || fail "the two models' shapes"
[ "$(called 'calib compare results')" -eq 1 ] || fail "the comparison with published times"
[ "$(called 'calib validate --backend cuda --max-error 5')" -eq 1 ] || fail "the pair"
[ "$(called 'compute-sanitizer --tool .*kns=tessella')" -eq 2 ] || fail "memcheck and racecheck of our kernels"
says "1221.7 TFLOPS by default"
says "4300 GB/s"
for file in raw.csv run.json profile.yaml log.txt compare.txt checks.txt; do
  [ -e "$work/tree/results/$file" ] || fail "no $file"
done
# Again: what needs to pass once is not repeated, measuring goes on, and the profile is made anew.
ends 0
[ "$(called '^gpu_bench ')" -eq 1 ] || fail "the benches were tested twice"
[ "$(called 'compute-sanitizer')" -eq 2 ] || fail "checked twice"
[ "$(called 'calib fit')" -eq 2 ] || fail "the profile is not made of all rows"

fresh
ends 2 BENCH_STATUS=77
says "no usable GPU"
[ "$(called 'calib run')" -eq 0 ] || fail "measures without a GPU"

fresh
rows 1.1e-3 8.8e-4 ok
ends 1
says "GEMM at 90 %.*FAILED"
says "fit .*passed" # a failed step does not take the others with it

fresh
rows 9.0e-4 8.8e-4 wrong_result
ends 1
says "no kernel is wrong .*FAILED"

fresh
ends 1 PAIR_STATUS=1
says "overlapped pair.*FAILED"

fresh # a profile that this script did not write is never replaced
mkdir -p "$work/tree/results"
echo mine >"$work/tree/results/profile.yaml"
ends 1
[ "$(cat "$work/tree/results/profile.yaml")" = mine ] || fail "another profile was replaced"

fresh # time runs out: nothing fails, and the next call goes on
ends 3 LIMIT=25 RUN_SECONDS=3 COMPLETE=false
says "UNFINISHED"
ends 0

fresh # a machine without NVIDIA's tools
rm "$work"/bin/*
ends 0
says "SKIPPED: no compute-sanitizer"
echo passed
