#!/usr/bin/env bash
# A sweep as an array job on a real Slurm: a controller and two node daemons of this test's own, on this machine. One node
# dies in the middle of a shard; Slurm gives the shard to the other node, where the same command resumes. Merged, the
# shards must equal a sweep of one process, and merging again must change nothing.
# usage: array_job.sh TESSELLA; exit code 77: skipped, with the reason.
set -euo pipefail
tessella=$(readlink -f "$1")
export TESSELLA_HOME=$PWD
nodes=(n0 n1)
ports=(17611 17612)

skip() { echo "skipped: $*"; exit 77; }
for program in munged slurmctld slurmd sbatch; do
  command -v "$program" >/dev/null || skip "no $program (Debian: munge, slurm-wlm)"
done
[ "$(id -u)" -eq 0 ] || skip "node daemons start as root only"
host=$(hostname)

work=$(mktemp -d)
declare -A daemon
stop() {
  for pid in "${daemon[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
fail() {
  echo "failed: $*"
  tail -n 20 "$work"/*.out "$work"/*.log 2>/dev/null || true
  exit 1
}
# until_true SECONDS COMMAND...: false when it is never true.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.2
  done
}

mkdir "$work/munge" "$work/state"
chmod 700 "$work/munge"
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 400 "$work/munge/key"
cat >"$work/slurm.conf" <<TEXT
ClusterName=tessella
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=17601
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket,cred_expire=5
SlurmUser=root
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/builtin
ReturnToService=2
JobRequeue=1
KillWait=2
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SlurmctldPidFile=$work/controller.pid
SlurmdPidFile=$work/%n.pid
SlurmctldLogFile=$work/controller.log
SlurmdLogFile=$work/%n.log
$(for i in 0 1; do echo "NodeName=${nodes[i]} NodeHostname=$host NodeAddr=127.0.0.1 Port=${ports[i]} CPUs=1"; done)
PartitionName=all Nodes=n0,n1 Default=YES State=UP
TEXT
printf 'CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n' >"$work/cgroup.conf"
export SLURM_CONF=$work/slurm.conf
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --log-file="$work/munge/log" --seed-file="$work/munge/seed" >"$work/munged.out" 2>&1 &
daemon[munged]=$!
until_true 5 test -S "$work/munge/socket" || skip "munged does not start: $(tail -n 1 "$work/munged.out")"
slurmctld -D -c >"$work/controller.out" 2>&1 &
daemon[controller]=$!
for node in "${nodes[@]}"; do
  slurmd -D -N "$node" >"$work/$node.out" 2>&1 &
  daemon[$node]=$!
done
idle() { [ "$(sinfo -h -t idle -o %D)" = 2 ]; }
until_true 20 idle || skip "no Slurm of our own here: $(tail -n 1 "$work/controller.out" "$work/n0.out")"

cat >"$work/job.yaml" <<TEXT
experiment: job
model: toy
cluster: {topology: h100_node_8, profile: h100_sxm/2026-11-29-published}
parallelism: {pp: 2, ep: 4}
batch: {mbs: 1, gbs: 512, seq: 512}
routing: {kind: generator}
TEXT
cat >"$work/sweep.yaml" <<TEXT
sweep: array
experiment: job.yaml
grid:
  parallelism.ep: [1, 4]
  simulation.seed: {from: 1, to: 2000}
TEXT
cd "$work"
"$tessella" sweep sweep.yaml --db whole.db >/dev/null 2>&1 &
whole=$!

sbatch --array=0-3 -o "$work/task-%a.out" --open-mode=append --wrap \
  "echo on \$SLURMD_NODENAME; echo \$PPID \$\$ >processes-\$SLURMD_NODENAME; exec $tessella sweep sweep.yaml --threads 1" >/dev/null || fail "sbatch"
victim=
running_on_n0() {
  victim=$(squeue -h -t R -w n0 -o %K | head -n 1)
  [ -n "$victim" ] && [ -s "sweep.$victim-of-4.db-wal" ]
}
until_true 20 running_on_n0 || fail "no task runs on n0"
# The node dies: its daemon, what supervises the job, and the job itself. Slurm then finds it down.
# shellcheck disable=SC2046 # two process ids
kill -9 "${daemon[n0]}" $(cat processes-n0)
scontrol update nodename=n0 state=down reason="killed by the test"
finished() { [ -z "$(squeue -h)" ]; }
until_true 90 finished || fail "the array job does not end: $(squeue)"
grep -q "on n0" "task-$victim.out" && grep -q "on n1" "task-$victim.out" ||
  fail "shard $victim did not move to the other node"

wait "$whole" || fail "the sweep of one process"
"$tessella" merge merged.db sweep.*-of-4.db >merge.out || fail "merge"
"$tessella" merge merged.db sweep.*-of-4.db | grep -qv " 0 added" && fail "a second merge added rows"
"$tessella" merge merged.db whole.db | grep -q ": 0 added, 4000 the same, 0 in conflict" ||
  fail "the shards differ from the whole"
echo "shard $victim was requeued from n0 to n1; 4000 rows as in one process"
