package settings

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strings"
	"sync"

	"quern/engine"
	"quern/engine/device"
	"quern/engine/quantize"
	"quern/engine/transcribe"
	"quern/engine/wire"
	"quern/httpapi"
	jobsstore "quern/httpapi/jobs"
)

// The headings that settings and flags stand under.
const (
	General = "Flags"
	Server  = "Server"
	Models  = "Models"
	Compute = "Compute"
	Limits  = "Limits"
	Log     = "Log"
)

// Sections are the headings in their order.
var Sections = []string{General, Server, Models, Compute, Limits, Log}

// Commands by what they do with settings.
const (
	reading = "serve batch run inspect bench tokenize run-onnx quantize say transcribe pull list rm doctor"
	storing = "serve batch run inspect bench quantize tokenize say transcribe pull list rm doctor"
	pulling = "serve batch run tokenize say transcribe pull"
)

// table is every setting, in the order of the example. Flags, variables, the file's
// keys, help, quern.example.yaml and the tables of README.md and docs/configuration.md come
// from it: `go generate` writes the last three.
//
// A default stands here or, where a package below uses it too, as a constant there
// that the row names. Callers must not modify it.
var table = sync.OnceValue(makeTable)

func makeTable() []row {
	return []row{
		{flag: "config", short: "c", env: "QUERN_CONFIG", section: General, commands: reading,
			help: "settings `file`", unset: "quern.yaml here, else in the user's configuration folder"},
		{env: "XDG_CONFIG_HOME", section: General, help: "the user's configuration folder on Linux", unset: "~/.config"},

		{key: "listen", flag: "listen", short: "l", env: "QUERN_LISTEN", section: Server, commands: "serve",
			help: "`address` to serve on; port 0 takes a free one, and unix:/PATH is a socket for programs of this machine that may open the file", def: "127.0.0.1:8080", parse: listenAddress},
		{key: "auth", section: Server, live: true,
			help: "none, or keys of the API, each with one of key, key_file, key_env and sha256; an address other machines can reach needs keys or none"},
		{key: "auth[].name", section: Server, help: "what logs and metrics show", example: "example"},
		{key: "auth[].key", section: Server, help: "the key itself"},
		{key: "auth[].key_file", section: Server, help: "file that holds it", file: true, example: "/etc/quern/example.key"},
		{key: "auth[].key_env", section: Server, help: "variable that holds it"},
		{key: "auth[].sha256", section: Server, help: "its hash: printf %s KEY | sha256sum"},
		{key: "auth[].manage", section: Server, def: false, help: "its holder may pull and remove models"},
		{key: "auth[].requests_per_minute", section: Server, unit: "requests", def: 0, help: "of its holder; more get 429; 0 is no limit"},
		{key: "auth[].tokens_per_minute", section: Server, unit: "tokens", def: 0, help: "read and made for its holder; when they are used up requests get 429; 0 is no limit"},
		{key: "auth[].streams", section: Server, unit: "answers", def: 0, help: "under way for its holder at a time, streamed or not; more get 429; 0 is no limit"},
		{env: "QUERN_API_KEY", section: Server, commands: "serve",
			help: "a key clients must send, beside those of the file",
			set: func(s *Settings, v []string) error {
				s.Auth = auth{Keys: append(s.Auth.Keys, authKey{Name: "QUERN_API_KEY", Key: v[0]})}
				return nil
			}},
		{flag: "no-auth", section: Server, commands: "serve", switches: true,
			help: "serve without API keys even on a public address (auth: none)",
			set:  func(s *Settings, _ []string) error { s.Auth = auth{None: true}; return nil }},
		{key: "manage", flag: "manage", env: "QUERN_MANAGE", section: Server, commands: "serve", one: []string{"auto", "all", "none"}, def: "auto",
			help: "`who` may have models pulled from the hub and removed over the API: auto is callers of this machine where there are no keys, and keys with manage: true; all is all clients that may call"},
		{key: "allowed_hosts", section: Server,
			help: "names this server is reached by, beside loopback and private addresses; checked on a loopback address without keys"},
		{key: "cors.allowed_origins", section: Server, def: httpapi.DefaultOrigins(), parse: origin,
			help: "pages that may call the API from a browser; * stands for anything, once in a name"},
		{key: "request_timeout", flag: "request-timeout", section: Server, commands: "serve",
			help: "`time` a request that is not streamed may take, loading not counted; 0 is no limit", def: httpapi.DefaultRequestTimeout},
		{key: "request_timeout_overrides", section: Server, help: "the same for single paths", example: "/v1/embeddings: 5m"},
		{key: "stream_write_timeout", section: Server, def: httpapi.DefaultStreamWrite,
			help: "a client that does not read for so long is dropped; 0 is no limit"},
		{key: "stall_timeout", section: Server, def: Duration(0), help: "no progress for so long ends a stream; 0 is off"},
		{key: "keepalive_interval", section: Server, def: httpapi.DefaultKeepAlive, help: "a comment is sent in streams that are quiet for so long; 0 is off"},
		{key: "header_delay", section: Server, def: httpapi.DefaultHeaderDelay,
			help: "a stream's header waits for its first token, at most so long; 0 is no limit"},
		{key: "shutdown_delay", section: Server, def: Duration(0),
			help: "after SIGTERM /readyz answers 503 and everything else goes on for so long, so that load balancers send no more; then shutdown_grace begins"},
		{key: "shutdown_grace", section: Server, def: httpapi.DefaultShutdownGrace, help: "running requests get this long after SIGTERM"},
		{key: "tls.cert", section: Server, file: true, live: true, help: "certificate with its chain, PEM: the API is served over TLS, HTTP/2 too"},
		{key: "tls.key", section: Server, file: true, live: true, help: "its key, PEM"},
		{key: "tls.client_ca", section: Server, file: true, live: true,
			help: "certificates, PEM, that those of clients have to be signed by; clients without one are turned away, and keys are not needed"},
		{key: "operations.listen", flag: "operations-listen", section: Server, commands: "serve", parse: optionalAddress,
			help: "second `address`, as 127.0.0.1:9090, without keys and TLS, for monitoring: /metrics, /readyz, /livez and profiles", unset: "none"},
		{key: "operations.pprof", section: Server, one: []string{"auto", "on", "off"}, def: "auto",
			help: "serve /debug/pprof/ there, whose profiles may hold texts: auto is on a loopback address only"},
		{key: "metrics.public", section: Server, def: false, help: "serve /metrics without a key"},
		{key: "metrics.vllm_names", section: Server, def: true, help: "also under the names that dashboards made for vLLM use"},
		{key: "instance", section: Server, def: AutoInstance, parse: instance,
			help: "what the header x-quern-instance calls this server: auto is a random id of each start, which identifies no machine, and off leaves the header out"},
		{key: "audit.file", section: Server, file: true,
			help: "a line of JSON for each request is written there: client, model, tokens, status, and no text of the request or the reply; SIGHUP reopens it", unset: "none"},
		{key: "traces.endpoint", env: "OTEL_EXPORTER_OTLP_ENDPOINT", section: Server, commands: "serve", parse: collector,
			help: "collector that spans of requests are sent to as OpenTelemetry has it, OTLP over HTTP; /v1/traces is added to an address without a path", unset: "none"},
		{key: "traces.sample", section: Server, in: between(0, 1), def: float32(1), help: "share of requests that are traced, of those without a traceparent that says it"},
		{key: "traces.service", env: "OTEL_SERVICE_NAME", section: Server, commands: "serve", def: "quern", help: "what traces call this server"},
		{env: "NOTIFY_SOCKET", section: Server, help: "socket of a service manager, as systemd sets it, that is notified when the server is ready and when it ends", unset: "none"},
		{key: "page", section: Server, def: true, help: "serve the page people use at /; what it does goes through the API and its keys"},

		{flag: "model", short: "m", section: Models, commands: "serve batch", many: true,
			help: "serve `[NAME=]FILE`, hub:OWNER/NAME[:QUANT], or the model of that name in the configuration",
			set:  (*Settings).selectModels},
		{key: "models", section: Models, help: "models by name; what is not here is fetched, at start where preload says so, else when a request first asks for it"},
		{key: "models[].name", section: Models, help: "what requests call it", unset: "the file's name", example: "small"},
		{key: "models[].path", section: Models, file: true, example: "models/llama-3.2-1b-q4_k_m.gguf",
			help: "a file, a folder that holds one model, or hub:OWNER/NAME[:QUANT|/FILE][@REVISION]"},
		{key: "models[].context_length", flag: "context-length", section: Models, commands: "serve batch run", unit: "tokens",
			help: "context `tokens` of one request", unset: fmt.Sprintf("the model's own, at most %d", engine.DefaultContext), example: "4096"},
		{key: "models[].slots", flag: "slots", section: Models, commands: "serve batch", unit: "sequences", in: from(1),
			help: "sequences decoded together, a `number`", def: engine.DefaultSlots},
		{key: "models[].queue", section: Models, unit: "requests", in: from(1), help: "requests that may wait; others get 503", def: engine.DefaultQueue},
		{key: "models[].batch", section: Models, unit: "rows", in: from(1), help: "rows of one step", def: engine.DefaultBatch},
		{key: "models[].cache_type", flag: "cache-type", section: Models, commands: "serve batch run bench", one: []string{"f16", "f32", "q8_0", "q4_0", "bf16", "fp8"},
			help: "number `type` of the KV cache, q4_0 on CPUs only, fp8 on GPUs only; long prompts are read faster with bf16 where the processor has AVX512_BF16", def: strings.ToLower(engine.DefaultCacheType.String())},
		{key: "models[].cache_memory", section: Models, help: "of the KV cache",
			unset: "context × slots, at most a quarter of memory_limit", example: "2GiB"},
		{key: "models[].speculation", flag: "speculation", section: Models, commands: "serve run", one: engine.Speculations, def: engine.DefaultSpeculation,
			help: "where drafts of what comes next are from, a `word`: lookup is what followed the same tokens before, draft that or what a smaller model says, mtp that or what the model's own drafting layer (nextn) does; replies are the same with all"},
		{key: "models[].draft", flag: "draft", section: Models, commands: "serve run", example: "small",
			help: "the `model` that drafts, and has speculation be draft, beside no other but off: the name or file of a smaller one with the same vocabulary"},
		{key: "models[].draft_tokens", flag: "draft-tokens", section: Models, commands: "serve run", unit: "tokens", in: between(1, engine.MostDraftTokens),
			help: "most `tokens` of a draft; for none, speculation is off", def: engine.DefaultDraftTokens},
		{key: "models[].quantize", flag: "quantize", section: Models, commands: "serve batch run bench", parse: quantization,
			help: "number `type` weights of 16 and 32 bits become when they are loaded: q8_0, q4_k_m, …", unset: "as they are", example: "q4_k_m"},
		{key: "models[].chat_template", section: Models, help: "instead of the file's", example: `"…"`},
		{key: "models[].chat_template_file", section: Models, file: true, help: "file that holds it"},
		{key: "models[].tool_format", parse: toolFormat, help: "how answers write tool calls and thinking, a name of the wire formats; none reads neither", section: Models,
			unset: "what the chat template shows", example: "hermes-json"},
		{key: "models[].vad", flag: "vad", section: Models, commands: "serve batch transcribe", file: true, parse: detector,
			help: "`file` of the Silero detector of speech, for recognisers", unset: "a built-in one, by energy", example: "silero-v6.2.0-ggml.bin"},
		{key: "models[].diarize", section: Models, help: "networks with which recognisers find who speaks"},
		{key: "models[].diarize.segmentation", flag: "segmentation", section: Models, commands: "serve batch transcribe", file: true, parse: speakers(func(d *engine.Diarizer) *string { return &d.Segmentation }),
			help: "`file` of pyannote's segmentation, an ONNX graph, that finds when each of a few speakers speaks", unset: "none", example: "segmentation-3.0.onnx"},
		{key: "models[].diarize.embedding", flag: "embedding", section: Models, commands: "serve batch transcribe", file: true, parse: speakers(func(d *engine.Diarizer) *string { return &d.Embedding }),
			help: "`file` of a network of voices of WeSpeaker, 3D-Speaker or NeMo, an ONNX graph, that distinguishes voices", unset: "none", example: "campplus.onnx"},
		{key: "models[].diarize.plda", flag: "plda", section: Models, commands: "serve batch transcribe", file: true, parse: speakers(func(d *engine.Diarizer) *string { return &d.PLDA }),
			help: "`folder` with xvec_transform.npz and plda.npz of that network: speakers are found by VBx", unset: "none: by agglomeration", example: "plda"},
		{key: "models[].lexicon", flag: "lexicon", section: Models, commands: "serve say", file: true, parse: lexicon,
			help: "`file` of words and how voices say them: PLS, JSON, or a word and its phonemes a line", unset: "none", example: "names.pls"},
		{key: "models[].adapters", section: Models, file: true, example: "{sql: adapters/sql.gguf}",
			help: "LoRA adapters by name, GGUF files or folders as PEFT writes them; requests call the model NAME:ADAPTER"},
		{key: "models[].adapter_scales", section: Models, in: between(-100, 100), unset: "1", example: "{sql: 0.5}",
			help: "what the effect of an adapter is multiplied by"},
		{key: "models[].preload", section: Models, help: "load at start", def: false},
		{key: "models[].keep_alive", section: Models, in: limit{never: true}, help: "idle time after which it is unloaded",
			unset: "keep_alive", example: "never"},
		{key: "models[].query_prefix", section: Models, help: "what input_type of embeddings puts before queries",
			unset: "what is known of the model", example: `"query: "`},
		{key: "models[].document_prefix", section: Models, help: "and before documents", unset: "what is known of the model", example: `"passage: "`},
		{key: "models[].matryoshka", section: Models, help: "vectors may be cut with dimensions", unset: "what is known of the model", example: "true"},
		{key: "models[].sampling", section: Models, help: "what requests get that do not say"},
		{key: "models[].sampling.temperature", section: Models, in: between(0, 2), help: "of the probabilities; 0 takes the likeliest token", def: engine.DefaultTemperature, example: "0.7"},
		{key: "models[].sampling.top_p", section: Models, in: between(0, 1), help: "keeps the likeliest tokens up to this share; 1 is all", unset: "1", example: "0.95"},
		{key: "models[].sampling.top_k", section: Models, unit: "tokens", help: "keeps so many of the likeliest; 0 is all", unset: "0", example: "40"},
		{key: "models[].sampling.min_p", section: Models, in: between(0, 1), help: "keeps what has this share of the likeliest's probability", unset: "0", example: "0.05"},
		{key: "models[].sampling.repeat_penalty", section: Models, in: above(0), help: "of tokens that came already; 1 is off", unset: "1", example: "1.1"},
		{key: "models[].sampling.max_tokens", section: Models, unit: "tokens", in: from(1), help: "most of a chat reply", unset: "default_max_tokens", example: "1024"},
		{key: "model_defaults", section: Models, help: "what an entry of models does not say; the same keys without name and path"},
		{key: "model_dirs", flag: "models", env: "QUERN_MODELS", section: Models, commands: storing, file: true,
			help: "`folder` whose model files are served too; what is pulled goes into the first", unset: "the store in the user's data folder",
			set: func(s *Settings, v []string) error {
				s.ModelDirs = nil
				for _, d := range v {
					s.ModelDirs = append(s.ModelDirs, filepath.SplitList(d)...)
				}
				return nil
			}},
		{env: "XDG_DATA_HOME", section: Models, help: "the user's data folder on Linux", unset: "~/.local/share"},
		{key: "hub.endpoint", env: "HF_ENDPOINT", section: Models, commands: pulling, help: "a mirror instead of the Hugging Face hub"},
		{key: "hub.token_file", section: Models, file: true, help: "holds a token for gated models", unset: "HF_TOKEN, else the hub's own file"},
		{key: "hub.pull", section: Models, def: true, help: "fetch models that are not here; false only finds those that are"},
		{env: "HF_TOKEN", also: []string{"HUGGING_FACE_HUB_TOKEN"}, section: Models, commands: pulling,
			help: "token for gated and private repositories; wins over hub.token_file"},
		{env: "HF_TOKEN_PATH", section: Models, help: "file that holds it, where neither HF_TOKEN nor hub.token_file says", unset: "token in HF_HOME"},
		{env: "HF_HOME", section: Models, commands: pulling, help: "where the hub's own tools keep tokens and files", unset: "huggingface in XDG_CACHE_HOME"},
		{env: "HF_HUB_CACHE", also: []string{"HUGGINGFACE_HUB_CACHE"}, section: Models,
			help: "where they keep files, which are not fetched again", unset: "hub in HF_HOME"},
		{env: "XDG_CACHE_HOME", section: Models, help: "the user's cache folder on Linux", unset: "~/.cache"},
		{env: "QUERN_OFFLINE", also: []string{"HF_HUB_OFFLINE"}, section: Models, commands: pulling, help: "1 keeps quern from asking the hub"},
		{env: "HTTPS_PROXY", also: []string{"https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"}, section: Models,
			help: "proxy the hub is asked through, as usual"},
		{key: "builtin", flag: "builtin", section: Models, commands: "serve batch", def: false,
			help: "serve the built-in model beside others (alone it is always there)"},
		{key: "aliases", section: Models, live: true, help: "other names for models, for clients that insist on one", example: "gpt-4o-mini: small"},
		{key: "tools.fallback", section: Models, one: []string{"generic", "error"}, def: "generic",
			help: "tools of requests to a model whose template shows none: generic describes them in the system message, error refuses them"},
		{key: "reasoning_field", section: Models, one: httpapi.ReasoningFields(), def: string(httpapi.DefaultReasoningField),
			help: "where chats show what a model thinks: in one of these fields of the message, in both, or inline: in its content, between <think> and </think>"},
		{key: "reasoning_budgets", section: Models, example: "low: 1024",
			help: "most tokens of thinking by reasoning_effort, of chats that name no budget; 0 is no thinking"},
		{key: "voice_aliases", section: Models, example: "narrator: af_bella(2)+af_sky",
			help: "names for voices and mixtures of them; they win over OpenAI's names and the ids of ElevenLabs' stock voices, which need no listing"},
		{key: "defaults", section: Models, help: "models of requests that name none; default the only one of that kind, what is built in only where there is no other"},
		{key: "defaults.chat", section: Models, help: "of chats"},
		{key: "defaults.completion", section: Models, help: "of texts to be continued"},
		{key: "defaults.embedding", section: Models, help: "of vectors"},
		{key: "defaults.rerank", section: Models, help: "of rankings"},
		{key: "defaults.classification", section: Models, help: "of classes"},
		{key: "defaults.speech", section: Models, help: "of texts to be spoken"},
		{key: "defaults.transcription", section: Models, help: "of recordings"},
		{key: "keep_alive", flag: "keep-alive", section: Models, commands: "serve batch", in: limit{above: true, never: true}, def: engine.DefaultKeepAlive,
			help: "idle `time` after which a model is unloaded; never keeps it"},
		{key: "load_timeout", section: Models, in: above(0), def: engine.DefaultLoadTimeout, help: "how long a request waits for its model, a pull of it included"},
		{key: "memory_wait", section: Models, in: above(0), def: engine.DefaultMemoryWait, help: "of that, how long for memory that models in use hold; then 503"},
		{key: "prefix_cache.dir", flag: "prefix-cache", section: Models, commands: "serve", file: true,
			help: "`folder` that keeps what models computed of prompts, to be found after a restart; servers may share it", unset: "it is in memory only"},
		{key: "prefix_cache.size", section: Models, in: above(0), def: Size(engine.DefaultPrefixCache), help: "bytes it may take; what was used last stays"},
		{key: "warm_up", section: Models, def: true, help: "models loaded at start do a token of work before the server is ready"},

		{key: "threads", flag: "threads", short: "t", env: "QUERN_THREADS", section: Compute, in: between(0, maxThreads), def: 0,
			commands: "serve batch run bench run-onnx quantize say transcribe", help: "compute threads, a `number`; 0 is one per core, or what a container may use"},
		{key: "device", flag: "device", env: "QUERN_DEVICE", section: Compute, commands: "serve batch run bench say transcribe", def: "auto", parse: deviceName,
			help: "where models run, a `name`: auto, cpu, cuda or cuda:0,1"},
		{key: "gpu_layers", flag: "gpu-layers", section: Compute, commands: "serve batch run bench", in: from(-1), unit: "layers", def: -1,
			help: "how many layers of a text model, the last ones, run on the GPU, a `number`; -1 is all"},
		{key: "repack", flag: "repack", section: Compute, commands: "serve batch run bench", def: true,
			help: "copy weights that the processor multiplies faster in another order than the file's: with AVX-512 all of two to eight bits but MXFP4, experts' too. Loading takes longer, by a fifth of a second for a gigabyte; the memory is the same, but of the process and not of the file"},
		{key: "round_floats", flag: "round-floats", section: Compute, commands: "serve batch run bench", def: false,
			help: "multiply weights of F16 and BF16 as bf16 numbers where that is faster: AVX-512 with AVX512_BF16, but not AMX. Prompts go about 1.6 times as fast; each factor is rounded by up to 2⁻⁹"},
		{key: "memory_limit", flag: "memory-limit", section: Compute, commands: "serve batch run say transcribe", def: Size(0),
			help: "memory loaded models may use, a `size`; 0 is what is free at start"},
		{env: "QUERN_CPU", section: Compute, commands: "serve bench", unset: "what the CPU has",
			help: "highest CPU level used, for measurements: generic, avx2, avx512 or amx; on arm64 generic, neon or dotprod"},
		{env: "QUERN_CUDA_WGMMA", section: Compute, help: "off leaves out the kernels for H100 and H200, as a failed check at start does"},
		{env: "QUERN_LIBCUDA", section: Compute, help: "file of NVIDIA's driver library, libcuda", unset: "libcuda.so.1 where it usually is"},
		{env: "GOMEMLIMIT", section: Compute, help: "memory the Go heap should not pass", unset: "7/8 of a container's limit, less the caches of models"},
		{env: "GOMAXPROCS", section: Compute, help: "processors of the Go scheduler", unset: "two more than compute threads"},
		{env: "QUERN_TEST_AMX", section: Compute, help: "of tests: the thread that executes AMX instructions for this process"},

		{key: "default_max_tokens", section: Limits, unit: "tokens", def: 0,
			help: "most tokens of a chat reply when neither request nor model says; 0 is what is left of the context"},
		{key: "completions_max_tokens", section: Limits, in: from(1), unit: "tokens", def: httpapi.DefaultCompletionsTokens,
			help: "most tokens of a reply of /v1/completions when the request does not say; in requests -1 is as many as the context holds"},
		{key: "limits.json_body", section: Limits, in: above(0), def: Size(httpapi.DefaultJSONBody), help: "a request in JSON"},
		{key: "limits.upload", section: Limits, in: above(0), def: Size(httpapi.DefaultUpload), help: "audio to be transcribed"},
		{key: "limits.temp_files", section: Limits, in: above(0), def: Size(httpapi.DefaultTempFiles),
			help: "in the folder TMPDIR names, of all requests together: uploads, JSON bodies over 64 KiB until they are worked on, WAV answers that are not streamed; then 503"},
		{key: "limits.speech_chars", section: Limits, in: from(1), unit: "characters", def: httpapi.DefaultSpeechChars, help: "text to be spoken"},
		{key: "limits.max_n", section: Limits, in: from(1), unit: "replies", def: httpapi.DefaultMaxN, help: "replies one request may ask for"},
		{key: "limits.max_logprobs", section: Limits, in: between(1, httpapi.MostLogprobs), def: httpapi.DefaultMaxLogprobs,
			help: "alternatives a token of /v1/completions"},
		{key: "realtime.sessions", section: Limits, in: from(1), unit: "sessions", def: httpapi.DefaultRealtimeSessions, help: "of /v1/realtime at a time, and of /v1/speech-to-text/realtime, and as many of …/stream-input; then 503"},
		{key: "realtime.message", section: Limits, in: above(0), def: Size(httpapi.DefaultRealtimeMessage), help: "one event of a client"},
		{key: "realtime.events_per_second", section: Limits, in: from(1), unit: "events", def: httpapi.DefaultRealtimeEvents, help: "of a client; more wait"},
		{key: "realtime.items", section: Limits, in: from(1), unit: "items", def: httpapi.DefaultRealtimeItems, help: "of a conversation"},
		{key: "realtime.audio", section: Limits, in: above(0), def: httpapi.DefaultRealtimeAudio, help: "sound of a turn, and of a session that is not transcribed yet"},
		{key: "realtime.step", section: Limits, def: httpapi.DefaultRealtimeStep, help: "new sound before a turn under way is transcribed again, in sessions that show text as it comes; 0 is off: turns are transcribed when they end"},
		{key: "realtime.idle", section: Limits, def: httpapi.DefaultRealtimeIdle, help: "a session without an event for so long ends; 0 is no limit"},
		{key: "realtime.total", section: Limits, def: httpapi.DefaultRealtimeTotal, help: "a session lasts no longer; 0 is no limit"},
		{key: "responses.store", section: Limits, one: []string{"memory", "jobs", "off"}, def: "memory",
			help: "where /v1/responses keeps what requests may go on from: memory, which each process has for itself, so that behind a balancer a client has to stay with one; jobs, the store of files and batches, which outlives the process, and which several share where it is a cluster; off keeps nothing"},
		{key: "responses.bytes", section: Limits, in: above(0), def: Size(httpapi.DefaultResponsesBytes), help: "of stored responses; in memory the key that holds most loses its oldest, in jobs the oldest of all goes"},
		{key: "responses.count", section: Limits, in: from(1), unit: "responses", def: httpapi.DefaultResponsesCount, help: "in memory, the same"},
		{key: "responses.age", section: Limits, def: httpapi.DefaultResponsesAge, help: "a response is forgotten so long after it was made, or last gone on from; 0 is no limit"},
		{key: "responses.background", section: Limits, in: from(1), unit: "responses", def: httpapi.DefaultResponsesBackground, help: "being made in the background at a time; then 503"},
		{key: "responses.other_tools", section: Limits, one: []string{"ignore", "refuse"}, def: "ignore",
			help: "tools that OpenAI runs itself, as web_search, which some agents send always: ignore leaves them out, with a warning"},
		{key: "jobs.store", flag: "jobs", env: "QUERN_JOBS", section: Limits, commands: "serve", parse: jobsStore, def: "embedded",
			help: "`where` files and batches are kept: embedded, which is in jobs.dir, off, or the addresses of a JetStream cluster that several servers share, as nats://a,nats://b"},
		{key: "jobs.dir", section: Limits, file: true, help: "folder of the embedded store; nothing is made there before the first file", unset: "jobs beside the store of models"},
		{key: "jobs.replicas", section: Limits, in: between(1, 5), unit: "copies", def: 1, help: "of everything, in a cluster"},
		{key: "jobs.max_bytes", section: Limits, in: above(0), def: Size(jobsstore.DefaultMaxBytes),
			help: "contents of files; results and lines that wait have a quarter of it each. Then 507"},
		{key: "jobs.ttl", section: Limits, def: jobsstore.DefaultTTL, help: "files and batches are removed so long after they were made; 0 is never"},
		{key: "jobs.workers", section: Limits, in: between(0, 1024), unit: "lines", def: jobsstore.DefaultWorkers,
			help: "of batches that this server runs at a time, in what other requests leave; 0 only keeps files and batches"},
		{key: "jobs.credentials", section: Limits, file: true, help: "file of credentials for the cluster"},
		{key: "jobs.tls", section: Limits, help: "of the connection to the cluster"},
		{key: "jobs.tls.ca", section: Limits, file: true, help: "certificates that vouch for the cluster", unset: "those of the system"},
		{key: "jobs.tls.cert", section: Limits, file: true, help: "certificate this server shows the cluster"},
		{key: "jobs.tls.key", section: Limits, file: true, help: "its key"},
		{env: "TMPDIR", section: Limits, help: "folder of temporary files; on Windows TMP", unset: "/tmp"},

		{key: "log.level", live: true, flag: "log-level", env: "QUERN_LOG_LEVEL", section: Log, commands: "serve batch run tokenize say transcribe pull",
			help: "least `level` logged", one: []string{"debug", "info", "warn", "error"}, def: "info", quiet: "warn"},
		{key: "log.format", flag: "log-format", env: "QUERN_LOG_FORMAT", section: Log, commands: "serve batch run tokenize say transcribe pull",
			help: "`format` of the log", one: []string{"text", "json"}, def: "text"},
	}
}

// maxThreads bounds the compute threads. They spin while they wait for each other.
const maxThreads = 1024

func optionalAddress(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	return address(s)
}

// Unix begins addresses that are sockets of this machine.
const Unix = "unix:"

func listenAddress(s string) (string, error) {
	path, ok := strings.CutPrefix(s, Unix)
	if !ok {
		return address(s)
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%q: write %s and the whole path of the socket, as %s/run/quern.sock", s, Unix, Unix)
	}
	return s, nil
}

func address(s string) (string, error) {
	if _, _, err := net.SplitHostPort(s); err != nil {
		return "", fmt.Errorf("%q is not HOST:PORT, for example 127.0.0.1:8080 or :8080", s)
	}
	return s, nil
}

// collector is the address of one.
func collector(s string) (string, error) {
	if s == "" {
		return "", nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q is no address such as http://127.0.0.1:4318", s)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/v1/traces"
	}
	return u.String(), nil
}

// AutoInstance is the instance that is called by a random id, and NoInstance the one that
// answers do not name.
const AutoInstance, NoInstance = "auto", "off"

// instance is the name of a server in a header.
func instance(s string) (string, error) {
	const most, letters = 64, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if s == "" || len(s) > most || strings.Trim(s, letters+"0123456789._-") != "" {
		return "", fmt.Errorf("%q is not auto, off, or 1 to %d letters, digits, dots, dashes and underscores", s, most)
	}
	return s, nil
}

func origin(s string) (string, error) {
	if strings.Count(s, "*") > 1 {
		return "", fmt.Errorf("%q has more than one *", s)
	}
	return s, nil
}

func deviceName(s string) (string, error) {
	s = strings.ToLower(s)
	return s, device.Check(s)
}

// toolFormat is the name of a wire format.
func toolFormat(s string) (string, error) {
	if _, ok := wire.Find(s); ok || s == "" {
		return s, nil
	}
	return s, fmt.Errorf("%q is no wire format; there are %s", s, strings.Join(wire.Names(), ", "))
}

// quantization is the type that weights are quantised to when they are loaded.
func quantization(s string) (string, error) { return strings.ToLower(s), quantize.Check(s) }

func lexicon(s string) (string, error) {
	if s == "" {
		return s, nil
	}
	_, err := engine.OpenLexicon(s)
	return s, err
}

// speakers checks one of the files of diarization.
func speakers(of func(*engine.Diarizer) *string) func(string) (string, error) {
	return func(s string) (string, error) {
		var d engine.Diarizer
		*of(&d) = s
		return s, transcribe.CheckSpeakers(d)
	}
}

func detector(s string) (string, error) {
	_, err := transcribe.OpenDetector(s)
	return s, err
}
