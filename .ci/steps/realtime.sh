#!/usr/bin/env bash
# The realtime clients of the openai package against a server: text and sound, both ways
# where ../shared has a recogniser and speech for it. There Chromium talks to it, too.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need node nodejs
need npm npm
start_server
cp -r bench/realtime "$scratch/realtime"
(cd "$scratch/realtime" && npm_install)
want=6 ear=
if [ -d "$fixtures" ]; then want=10 ear=1; fi
(cd "$scratch/realtime" && BASE_URL=$base API_KEY=$key EAR=$ear AUDIO=$fixtures/whisper/jfk.wav node realtime.mjs) | tee "$scratch/checks" || fail "a check failed"
grep -q "^$want passed, 0 failed" "$scratch/checks" || fail "not all of the $want checks passed"
if [ -n "$ear" ]; then
  need chromium chromium
  (cd "$scratch/realtime" && BASE_URL=$base API_KEY=$key AUDIO=$fixtures/whisper/jfk.wav CHROMIUM=$(command -v chromium) node talk.mjs) || fail "the Talk view"
fi
stop_server
