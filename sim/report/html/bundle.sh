#!/bin/sh
# Makes the page of HTML reports: bundle.sh SOURCE WORK OUT.cpp. Fetches the locked libraries into WORK with npm and
# bundles them with the scripts and styles of SOURCE. Without npm or a registry OUT.cpp says what is missing, so that
# everything else is built all the same.
set -eu
source=$1 work=$2 out=$3

without_page() {
  echo "going on without the HTML report: $1" >&2
  cat >"$out" <<TEXT
#include "sim/report/html_page.h"
namespace tessella {
std::string_view html_page() { return {}; }
std::string_view html_page_missing() { return "$1"; }
} // namespace tessella
TEXT
  exit 0
}

again="then 'touch sim/report/html/package.json' and build again"
command -v npm >/dev/null && command -v node >/dev/null ||
  without_page "npm was not there when this program was built; install nodejs and npm, $again"
mkdir -p "$work"
if [ ! -e "$work/node_modules" ] || ! cmp -s "$source/package-lock.json" "$work/package-lock.json"; then
  cp "$source/package.json" "$source/package-lock.json" "$work/"
  (cd "$work" && npm ci --no-audit --no-fund --loglevel=error </dev/null >npm.log 2>&1) || {
    cat "$work/npm.log" >&2
    rm -rf "$work/node_modules" "$work/package-lock.json"
    without_page "'npm ci' failed when this program was built; give it a way to its registry, $again"
  }
fi
cp "$source/bundle.mjs" "$work/"
node "$work/bundle.mjs" "$source" "$work" "$out"
