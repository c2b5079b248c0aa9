#!/usr/bin/env bash
# Whole those tests that take a sample of their cases in a plain go test; then that, the README's command.
. "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

QUERN_TEST_WHOLE=1 go test -run '^Test(Random.*|DraftsChangeNothing|TimesChangeNothing|RealVocabularies|Fixtures|Mutated|Distributions|Conversations|Growing|Walks|FormWalks|Hostile|RecordersAgreeOnRandomRecordings|EncodeSimple|DamagedWeights|SharedSchemas|Kept|LongWords|CutInside|Backend|Differ|FormBesideToolsOfEveryFormat)$' \
  ./engine/{sched,grammar,grammar/schema,wire,wire/rules,onnx,sample,tts,tts/g2p,tts/kokoro,tts/lang,token,token/internal/pretoken,graph,local,cuda} ./bench/diarise ./httpapi
go test ./...
