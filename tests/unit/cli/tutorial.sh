#!/usr/bin/env bash
# Runs every command of a tutorial in order: `sh` blocks line by line, with the exit code that a comment names (else 0);
# `yaml` and `json` blocks become the file that their first line names.
# usage: tutorial.sh TESSELLA TUTORIAL.md
set -euo pipefail
tessella=$(readlink -f "$1")
text=$(readlink -f "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in models topologies calib experiments; do ln -s "$PWD/$folder" "$work/$folder"; done
mkdir "$work/bin"
ln -s "$tessella" "$work/bin/tessella"
PATH=$work/bin:$PATH
cd "$work"

commands=0
failed=0
run() {
  local line=$1 want=0 got=0
  [[ $line =~ \#\ exit\ code\ ([0-9]+) ]] && want=${BASH_REMATCH[1]}
  bash -c "$line" >out 2>&1 </dev/null || got=$?
  commands=$((commands + 1))
  [ "$got" -eq "$want" ] && return
  failed=$((failed + 1))
  printf 'exit code %s, not %s: %s\n' "$got" "$want" "$line"
  tail -n 20 out
}

block=
file=
while IFS= read -r line; do
  if [[ $line == '```'* ]]; then
    block=${line#'```'}
    file=
  elif [ "$block" = sh ]; then
    run "$line"
  elif [ "$block" = yaml ] || [ "$block" = json ]; then
    if [ -z "$file" ]; then
      file=${line##* }
      mkdir -p "$(dirname "$file")"
      : >"$file"
    else
      printf '%s\n' "$line" >>"$file"
    fi
  fi
done <"$text"
[ "$commands" -ge 10 ] || { echo "only $commands commands found"; exit 1; }
echo "$((commands - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
