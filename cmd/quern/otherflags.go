package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// otherFlags are the names of flags in other programs (llama.cpp, Ollama, vLLM, whisper.cpp)
// and quern's in place of them: a flag, or a text for users of serve.
var otherFlags = map[string]string{
	"host": "--listen HOST:PORT", "port": "--listen HOST:PORT", "bind": "--listen HOST:PORT", "addr": "--listen HOST:PORT", "address": "--listen HOST:PORT",
	"ctx-size": "--context-length", "num-ctx": "--context-length", "n-ctx": "--context-length", "max-model-len": "--context-length", "context-size": "--context-length",
	"n-gpu-layers": "--gpu-layers", "ngl": "--gpu-layers", "num-gpu": "--gpu-layers",
	"tensor-parallel-size": "--device cuda:0,1", "gpu-memory-utilization": "--memory-limit",
	"parallel": "--slots", "np": "--slots", "max-num-seqs": "--slots",
	"cache-type-k": "--cache-type", "cache-type-v": "--cache-type", "kv-cache-dtype": "--cache-type",
	"model-draft": "--draft", "speculative-model": "--draft", "draft-max": "--draft-tokens",
	"alias": "--model NAME=FILE", "served-model-name": "--model NAME=FILE", "hf-repo": "--model hub:OWNER/NAME",
	"models-dir": "--models", "model-dir": "--models", "keepalive": "--keep-alive", "quantization": "--quantize",
	"n-predict": "--max-tokens", "predict": "--max-tokens", "num-predict": "--max-tokens", "n-prompt": "--pp", "n-gen": "--tg", "repetitions": "--reps",
	"temp": "--temperature", "system-prompt": "--system", "json-schema": "--schema", "json-schema-file": "--schema", "lora": "--adapter",
	"output-file": "--out", "lang": "--language", "beam-size": "--beams", "output-srt": "--format srt", "output-vtt": "--format vtt", "output-json": "--format json",
	"verbose": "--log-level debug",

	"api-key": "the variable QUERN_API_KEY, or auth: in the configuration", "api-key-file": "auth: with key_file in the configuration",
	"ssl-key-file": "tls: in the configuration", "ssl-cert-file": "tls: in the configuration", "ssl-keyfile": "tls: in the configuration", "ssl-certfile": "tls: in the configuration",
	"chat-template": "models[].chat_template in the configuration", "chat-template-file": "models[].chat_template_file in the configuration",
	"lora-modules": "models[].adapters in the configuration", "metrics": "/metrics, which is always there",
}

// arguments are flags of other programs for what is an argument of some of quern's commands.
var arguments = map[string]string{"model": "MODEL", "m": "MODEL", "prompt": "PROMPT", "p": "PROMPT", "text": "TEXT", "file": "FILE", "f": "FILE"}

// instead is cmd's flag in place of another program's, "" for none; known: it is one of otherFlags or arguments.
func instead(cmd *cobra.Command, unknown *pflag.NotExistError) (words string, known bool) {
	name := unknown.GetSpecifiedName()
	if short := unknown.GetSpecifiedShortnames(); short != "" {
		name = short
	}
	if word, ok := arguments[name]; ok && strings.Contains(cmd.Use, word) {
		return "; the " + strings.ToLower(word) + " is an argument: " + strings.TrimSuffix(cmd.UseLine(), " [flags]"), true
	}
	words, known = otherFlags[name]
	flag, isFlag := strings.CutPrefix(words, "--")
	flag, _, _ = strings.Cut(flag, " ")
	if !known || isFlag && cmd.Flags().Lookup(flag) == nil || !isFlag && cmd.Name() != "serve" {
		return "", known
	}
	return "; quern has " + words, true
}
