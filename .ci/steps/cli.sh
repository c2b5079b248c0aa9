#!/usr/bin/env bash
# The command line.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

build_quern
need ffmpeg ffmpeg
answer=$("$shared/quern" run --temperature 0 "What is the capital of France?")
echo "$answer"
case $answer in *Paris*) ;; *) fail "quern run does not know Paris" ;; esac
[ "$(echo "What is the capital of France?" | "$shared/quern" run --temperature 0 quern-tiny)" = "$answer" ] || fail "quern run does not read a pipe"
[ "$("$shared/quern" --version)" = "$("$shared/quern" version)" ] || fail "quern --version is not quern version"
"$shared/quern" tokenize --ids "Hello world"
"$shared/quern" phonemize "Dr. Smith paid \$5."
"$shared/quern" say -o "$scratch/hello.mp3" "Hello there. This is a test."
# From the file: of a pipe ffmpeg warns that the tag's length is not that of the input.
[ -z "$(ffmpeg -v warning -i "$scratch/hello.mp3" -f null - 2>&1)" ] || fail "ffmpeg complains about the MP3"
