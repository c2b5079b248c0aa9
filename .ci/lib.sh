# What the steps share. Every step begins with
#   . "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# which leaves it in the root of the checkout, with a folder $scratch of its own and a
# folder $shared that lives as long as .ci/run.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec </dev/null
fixtures=$(cd .. && pwd)/shared/fixtures # where that is

STATICCHECK=honnef.co/go/tools/cmd/staticcheck@v0.8.2
DEADCODE=golang.org/x/tools/cmd/deadcode@v0.42.0
ASMFMT=github.com/klauspost/asmfmt/cmd/asmfmt@v1.3.2
CLANG_VERSION=22
BINARYEN_VERSION=123.0.0

scratch=$(mktemp -d)
shared=${CI_SCRATCH:-$scratch}
server=
cleanup() {
  local status=$?
  if [ "$status" -ne 0 ] && [ -s "$scratch/log" ]; then
    echo "the end of the server's log:" >&2
    tail -n 30 "$scratch/log" >&2
  fi
  [ -z "$server" ] || kill -KILL "$server" 2>/dev/null || true
  rm -rf "$scratch"
}
trap cleanup EXIT

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# install PACKAGE...: from Debian.
install() {
  apt-get update -q
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"
}

# silent CMD...: fails when the command prints anything.
silent() {
  local out
  out=$("$@")
  [ -z "$out" ] || fail "$*:"$'\n'"$out"
}

# need COMMAND PACKAGE...: installs the packages where the command is missing.
need() {
  local tool=$1
  shift
  command -v "$tool" >/dev/null || install "$@"
}

# npm_install: what package.json of the current folder names.
npm_install() { npm install --ignore-scripts --no-audit --no-fund --loglevel=error "$@"; }

# cpu_level: the level of this machine's CPU, as quern names it.
cpu_level() { go run ./cmd/quern version --json | sed -n 's/.*"cpu_level":"\([a-z0-9]*\)".*/\1/p'; }

# build_quern: makes $shared/quern, the static binary.
build_quern() {
  [ -x "$shared/quern" ] || CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$shared/quern" ./cmd/quern
}

# build_reranker: makes the folder $shared/reranker, a model of ONNX.
build_reranker() {
  [ -d "$shared/reranker" ] || go run ./bench/onnx -reranker "$shared/reranker"
}

# start_server FLAG...: quern with the built-in model and, where ../shared is, a recogniser and
# a reranker; what it keeps is its own. Sets $base, $key and $server; stop_server ends it.
start_server() {
  build_quern
  need curl curl ca-certificates
  key=ci-$RANDOM$RANDOM$RANDOM
  cat >"$scratch/quern.yaml" <<YAML
listen: 127.0.0.1:0
aliases: {ci/tiny: quern-tiny}
YAML
  if [ -d "$fixtures" ]; then
    build_reranker
    printf 'builtin: true\nmodels: [{name: quern-tiny-ear, path: "%s"}, {name: quern-tiny-ranker, path: "%s"}]\n' \
      "$fixtures/whisper/hf_tiny" "$shared/reranker" >>"$scratch/quern.yaml"
  fi
  : >"$scratch/out" # the loop below may read it before the server's shell opens it
  XDG_DATA_HOME=$scratch/data QUERN_API_KEY=$key "$shared/quern" serve --config "$scratch/quern.yaml" "$@" >"$scratch/out" 2>"$scratch/log" &
  server=$!
  base=
  for _ in $(seq 300); do
    base=$(sed -n 's/^quern is listening on //p' "$scratch/out")
    if [ -n "$base" ] && curl -sf "$base/readyz" >/dev/null; then break; fi
    kill -0 "$server" || fail "the server ended"
    sleep 0.1
  done
  curl -sf "$base/readyz" || fail "the server is not ready after 30 s"
  cat "$scratch/out"
}

# stop_server: a server that is asked to stop ends with 0, and has not crashed.
stop_server() {
  local pid=$server
  server=
  kill -TERM "$pid"
  wait "$pid" || fail "the server did not end well"
  if grep -n 'panic\|DATA RACE' "$scratch/log"; then fail "the server's log shows a crash"; fi
}
