#!/usr/bin/env bash
# What a user meets on a full disk or with little shared memory: an exit code and a sentence, rows that are kept, and the
# same command going on once there is room. In a mount namespace of its own.
# usage: full_disk.sh TESSELLA_CALIB; exit code 77: skipped, with the reason.
set -euo pipefail
calib=$(readlink -f "$1")
if [ "${2:-}" != inside ]; then
  unshare --mount true 2>/dev/null || { echo "skipped: no mount namespaces here (needs root)"; exit 77; }
  exec unshare --mount "$0" "$calib" inside
fi
work=$(mktemp -d)
trap 'umount "$work/small" 2>/dev/null || true; rm -rf "$work"' EXIT
fail() { echo "failed: $*"; cat "$work"/said* 2>/dev/null || true; exit 1; }

measure() { timeout 120 "$calib" run --backend host --model toy --seq 128 --budget "$1" -o "$2"; }

mkdir "$work/small"
mount -t tmpfs -o size=64k tmpfs "$work/small"
measure 1s "$work/small/run" >"$work/said" 2>&1 || fail "a first run"
before=$(cat "$work/small/run/raw.csv")
head -c 100k /dev/zero >"$work/small/others" 2>/dev/null || true
status=0
measure 1s "$work/small/run" >"$work/said" 2>&1 || status=$?
[ "$status" -eq 2 ] || fail "exit code $status of a full disk"
grep -q "No space left on device" "$work/said" || fail "does not say that the disk is full"
case $(cat "$work/small/run/raw.csv") in "$before"*) ;; *) fail "rows are lost" ;; esac
rm "$work/small/others"
measure 1s "$work/small/run" >"$work/said" 2>&1 || fail "the same command does not go on"
case $(cat "$work/small/run/raw.csv") in "$before"*) ;; *) fail "rows were changed" ;; esac

mount -t tmpfs -o size=20m tmpfs /dev/shm
pids=()
for rank in 0 1 2; do
  RANK=$rank WORLD_SIZE=3 LOCAL_RANK=$rank timeout 60 "$calib" run --backend host --model toy --seq 128 --budget 5s \
    --rendezvous "$work/meet" -o "$work/ranks" >"$work/said$rank" 2>&1 &
  pids+=($!)
done
for rank in 0 1 2; do
  status=0
  wait "${pids[$rank]}" || status=$?
  [ "$status" -eq 2 ] || fail "rank $rank: exit code $status without room in /dev/shm"
done
grep -q "MiB in /dev/shm: No space left on device" "$work/said0" || fail "rank 0 does not say what is missing"
echo passed
