#!/usr/bin/env bash
# Codecs beside other people's, and all cases of which a plain go test takes a sample.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

missing=
for tool in ffmpeg mpg123 opusenc oggdec flac lame faad; do
  command -v "$tool" >/dev/null || missing=1
done
if [ -n "$missing" ]; then
  install ffmpeg mpg123 opus-tools vorbis-tools flac lame faad
fi
QUERN_TEST_WHOLE=1 go test -count=1 ./codecs/...
QUERN_TEST_WHOLE=1 go test -count=1 -run Containers ./engine/asr
if [ -d ../shared/fixtures/audio ]; then go run ./bench/codecs -check -speed=false; fi
if command -v chromium >/dev/null; then
  go run ./bench/codecs -samples "$scratch/samples"
  node bench/codecs/chromium.mjs "$scratch/samples"
else
  echo "no chromium: the browser check is skipped"
fi
