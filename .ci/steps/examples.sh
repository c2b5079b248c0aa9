#!/usr/bin/env bash
# The examples run against a server, and all languages print the same.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

need python3 python3-minimal
need node nodejs npm
need jq jq
start_server
export OPENAI_BASE_URL=$base/v1 OPENAI_API_KEY=$key
cp -r examples "$scratch/"
(cd "$scratch/examples" && npm_install)

# run TASK LANGUAGE [FILE]
run() {
  local task=$1 language=$2
  shift 2
  case $language in
    curl) "$scratch/examples/$task/$task.sh" "$@" ;;
    Python) python3 "$scratch/examples/$task/$task.py" "$@" ;;
    JavaScript) node "$scratch/examples/$task/$task.mjs" "$@" ;;
    Go) go run "./examples/$task" "$@" ;;
  esac
}

# prints WANT GOT WHAT
prints() {
  echo "$3: $2"
  [ "$2" = "$1" ] || fail "$3 prints \"$2\", want \"$1\""
}

paris='The capital of France is Paris.'
near='1.00  What is the capital of France?
0.96  What is the capital of Italy?
0.09  Tell me a story about a cat.'
run chat curl >"$scratch/events"
prints "$paris" "$(sed -n 's/^data: {/{/p' "$scratch/events" | jq -rj '.choices[0].delta.content // ""')" 'chat, curl'
[ "$(grep . "$scratch/events" | tail -n 1)" = 'data: [DONE]' ] || fail "the stream of chat.sh has no end"
prints '3 vectors of 256' "$(run embed curl | jq -r '"\(.data | length) vectors of \(.data[0].embedding | length)"')" 'embed, curl'
prints "$paris" "$(run schema curl | jq -r '.choices[0].message.content | fromjson.answer')" 'schema, curl'
for language in Python JavaScript Go; do
  prints "$paris" "$(run chat $language)" "chat, $language"
  prints "$paris" "$(run schema $language)" "schema, $language"
  prints "$near" "$(run embed $language)" "embed, $language"
done

for language in curl Python JavaScript Go; do
  prints 'It is 21 degrees in Oslo.' "$(run tools $language)" "tools, $language"
done

for language in curl Python JavaScript Go; do
  prints "wrote $scratch/$language.mp3" "$(run speak $language "$scratch/$language.mp3")" "speak, $language"
  cmp "$scratch/$language.mp3" "$scratch/curl.mp3"
done
[ "$(wc -c <"$scratch/curl.mp3")" -gt 4000 ] || fail "speak.sh writes $(wc -c <"$scratch/curl.mp3") bytes"

if [ -d "$fixtures" ]; then
  heard=$(run transcribe curl "$fixtures/whisper/jfk.wav")
  [ -n "$heard" ] || fail "transcribe.sh prints nothing"
  for language in curl Python JavaScript Go; do
    prints "$heard" "$(run transcribe $language "$fixtures/whisper/jfk.wav")" "transcribe, $language"
  done
else
  echo "skipped: transcribe takes a model of ../shared, which is not here"
fi
stop_server
