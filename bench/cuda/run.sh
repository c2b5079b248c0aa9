#!/bin/sh
# Measures quern on a machine with an NVIDIA GPU, driver and nothing else.
#
#   bench/cuda/run.sh build [DIR]     here: programs into DIR (.gpu), to be carried
#   bench/cuda/run.sh [FLAGS]         there: all stages, in ten minutes at most
#   bench/cuda/run.sh -stages twin    only some: which kernel is the first that
#                                     gives something else than the interpreter;
#                                     check,gemm: how fast products are; -help tells
#
# Without a device it says so at once. It ends at the first wrong kernel, which it
# names; -on measures speeds all the same.
#
# The programs are looked for in $QUERN_GPU (.gpu). Results go to $OUT/cuda.jsonl,
# or ./cuda.jsonl.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = build ]; then
	dir=${2:-.gpu}
	mkdir -p "$dir"
	for p in cmd/quern bench/cuda bench/ggufgen; do
		CGO_ENABLED=0 GOOS=linux GOARCH="${GOARCH:-amd64}" go build -trimpath -ldflags='-s -w' -tags cuda -o "$dir/${p##*/}" "./$p"
	done
	cp "$here/torch_peer.py" "$dir/"
	ls -l "$dir"
	exit
fi
# A container's /dev/shm may be too small for 16 GB of F16.
room=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
if [ "${room:-0}" -lt 20000000 ]; then
	set -- -dir "${TMPDIR:-/tmp}/quern-bench" "$@"
fi
dir=${QUERN_GPU:-.gpu}
if [ ! -x "$dir/cuda" ]; then
	echo "no programs in $dir; make them first: bench/cuda/run.sh build $dir" >&2
	exit 1
fi
dir=$(cd "$dir" && pwd)
exec "$dir/cuda" -out "${OUT:-.}/cuda.jsonl" "$@"
