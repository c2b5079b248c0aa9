#!/usr/bin/env bash
# Real SDKs against a server. Needs ../shared/clients.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# The checks that need what quern does not have yet: tools and responses. One name a line,
# as the scripts spell it; a name no script has is an error. (The built-in model keeps to
# the schema of response_format json_schema, but does not end its strings in time.)
NOT_YET='
chat: tool call, required
chat: tool call, named, streamed
chat: tool round trip
chat: runTools helper
chat: response_format json_schema
responses: plain
responses: stream
responses: function call, streamed
'

if [ ! -d ../shared/clients ]; then
  echo "skipped: ../shared is not here"
  exit
fi
start_server
cp -r ../shared/clients "$scratch/clients"
(cd "$scratch/clients" && npm_install)
while IFS= read -r name; do
  [ -n "$name" ] || continue
  grep -qF "t('$name'" "$scratch/clients/openai.mjs" "$scratch/clients/raw.mjs" || fail "no client check is called \"$name\""
done <<<"$NOT_YET"
# shellcheck disable=SC2016 # the dollar signs are JavaScript's
only=$(node -e '
  const names = process.argv[1].split("\n").filter(Boolean).map((n) => n.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  console.log(`^(?!(?:${names.join("|")})$)`);
' "$NOT_YET")
# clients WANT SCRIPT: runs a script and wants at least WANT checks to pass.
clients() {
  local want=$1 script=$2 passed
  (cd "$scratch/clients" && BASE_URL=$base API_KEY=$key CHAT_MODEL=quern-tiny EMBED_MODEL=quern-tiny TTS_MODEL=tts-1 \
    RERANK_MODEL=quern-tiny-ranker ONLY=$only AUDIO=$fixtures/whisper/jfk.wav node "$script") | tee "$scratch/checks" || fail "$script"
  passed=$(sed -n 's/^\([0-9]*\) passed, 0 failed.*/\1/p' "$scratch/checks")
  [ "${passed:-0}" -ge "$want" ] || fail "$script: only ${passed:-0} checks passed, want $want"
}
clients 60 openai.mjs
OPENAI_PKG=openai6 clients 60 openai.mjs
clients 30 raw.mjs
clients 21 elevenlabs.mjs
stop_server
