#!/usr/bin/env bash
# Real programs against a server: LangChain, LlamaIndex, Mastra, Continue's adapters, an MCP
# server's tools, the SDKs of Vercel, Anthropic, Ollama and OpenAI for responses, in JavaScript
# and Go, ElevenLabs' WebSockets, Cohere's clients, and what llama-server's clients ask (bench/clients), and the SDKs of OpenAI and
# ElevenLabs (../shared/clients, where that is).
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# checks WANT SCRIPT: runs a script in this folder and wants at least WANT checks to pass.
checks() {
  local want=$1 script=$2 passed
  BASE_URL=$base API_KEY=$key CHAT_MODEL=quern-tiny EMBED_MODEL=quern-tiny TTS_MODEL=tts-1 \
    RERANK_MODEL=quern-tiny-ranker AUDIO=${fixtures-}/whisper/jfk.wav node "$script" | tee "$scratch/checks" || fail "$script"
  passed=$(sed -n 's/^\([0-9]*\) passed, 0 failed.*/\1/p' "$scratch/checks")
  [ "${passed:-0}" -ge "$want" ] || fail "$script: only ${passed:-0} checks passed, want $want"
}

# go_checks WANT NAME FOLDER: the same for a program in Go.
go_checks() {
  local want=$1 name=$2
  (cd "$3" && go build -o "../$name" .)
  "./$name" -base "$base" -key "$key" | tee "$scratch/checks" || fail "$name"
  grep -q "^$want passed, 0 failed" "$scratch/checks" || fail "not all of the $want checks of $name passed"
}

need node nodejs npm
export MASTRA_TELEMETRY_DISABLED=1
build_quern
go run ./bench/infill "$scratch/infill.gguf"
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
checks 8 llamaindex.mjs
checks 8 elevenlabs.mjs
checks 7 mastra.mjs
checks 10 mcp.mjs
checks 13 continue.mjs
checks 3 cohere.mjs # 8 where there is a model that ranks
go_checks 6 openai-go openaigo
go_checks 8 anthropic-sdk-go anthropicgo
stop_server
start_server --builtin --model "quern-tiny-infill=$scratch/infill.gguf"
checks 12 llamaserver.mjs
stop_server

if [ ! -d "$fixtures" ]; then
  echo "skipped: ../shared is not here"
  exit
fi
start_server
cp -r "$fixtures/../clients" "$scratch/clients"
cd "$scratch/clients"
npm_install
checks 60 openai.mjs
OPENAI_PKG=openai6 checks 60 openai.mjs
checks 30 raw.mjs
checks 21 elevenlabs.mjs
stop_server
