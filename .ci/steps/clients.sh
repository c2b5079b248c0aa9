#!/usr/bin/env bash
# Real SDKs against a server: LangChain, Vercel's, Anthropic's, Ollama's and OpenAI's for
# responses, in JavaScript and Go (bench/clients), and OpenAI's and ElevenLabs'
# (../shared/clients, where that is).
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# checks WANT SCRIPT: runs a script in this folder and wants at least WANT checks to pass.
checks() {
  local want=$1 script=$2 passed
  BASE_URL=$base API_KEY=$key CHAT_MODEL=quern-tiny EMBED_MODEL=quern-tiny TTS_MODEL=tts-1 \
    RERANK_MODEL=quern-tiny-ranker AUDIO=${fixtures-}/whisper/jfk.wav node "$script" | tee "$scratch/checks" || fail "$script"
  passed=$(sed -n 's/^\([0-9]*\) passed, 0 failed.*/\1/p' "$scratch/checks")
  [ "${passed:-0}" -ge "$want" ] || fail "$script: only ${passed:-0} checks passed, want $want"
}

need node nodejs npm
start_server
cp -r bench/clients "$scratch/bench"
cd "$scratch/bench"
npm_install
checks 31 langchain.mjs
checks 59 vercel.mjs
checks 16 anthropic.mjs
checks 11 ollama.mjs
checks 23 responses.mjs
checks 10 batches.mjs
(cd openaigo && go build -o ../openai-go .)
./openai-go -base "$base" -key "$key" | tee "$scratch/checks" || fail openai-go
grep -q '^6 passed, 0 failed' "$scratch/checks" || fail "not all of the 6 checks of openai-go passed"

if [ ! -d "$fixtures" ]; then
  echo "skipped: ../shared is not here"
  stop_server
  exit
fi
cp -r "$fixtures/../clients" "$scratch/clients"
cd "$scratch/clients"
npm_install
checks 60 openai.mjs
OPENAI_PKG=openai6 checks 60 openai.mjs
checks 30 raw.mjs
checks 21 elevenlabs.mjs
stop_server
