package settings

import (
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"quern/engine"
	"quern/httpapi"
	"quern/kernels/quant"
)

// Print writes the settings in force, as a configuration of the same meaning.
func (s *Loaded) Print(w io.Writer) error {
	from := "defaults, environment and flags"
	if s.File != "" {
		from = s.File + ", environment and flags"
	}
	b, err := yaml.Marshal(&s.Settings)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "# effective settings, from %s\n%s", from, b)
	return err
}

// Layers are those that run on the GPU; nil is all.
func (s *Settings) Layers() *int {
	if s.GPULayers < 0 {
		return nil
	}
	return &s.GPULayers
}

// EngineOptions translates s for local.New.
func (s *Settings) EngineOptions(log *slog.Logger) engine.Options {
	o := engine.Options{
		Dirs:    s.ModelDirs,
		Builtin: s.Builtin,
		Aliases: s.Aliases,

		VoiceAliases: s.VoiceAliases,
		Defaults:     map[engine.Kind]string{},
		Threads:      s.Threads,
		InFileOrder:  !s.Repack,
		Device:       s.Device,
		GPULayers:    s.Layers(),
		LoadTimeout:  s.LoadTimeout.std(),
		MemoryWait:   s.MemoryWait.std(),
		KeepAlive:    s.KeepAlive.std(),
		MemoryLimit:  int64(s.MemoryLimit),
		Defaulted:    s.ModelDefaults.options(),
		PrefixCache:  engine.PrefixCache{Dir: s.PrefixCache.Dir, Size: int64(s.PrefixCache.Size)},
		Log:          log,

		NoToolFallback: s.Tools.Fallback == "error",
	}
	for _, m := range s.Models {
		o.Models = append(o.Models, m.options())
	}
	for kind, name := range map[engine.Kind]string{
		engine.KindChat:           s.Defaults.Chat,
		engine.KindCompletion:     s.Defaults.Completion,
		engine.KindEmbedding:      s.Defaults.Embedding,
		engine.KindRerank:         s.Defaults.Rerank,
		engine.KindClassification: s.Defaults.Classification,
		engine.KindSpeech:         s.Defaults.Speech,
		engine.KindTranscription:  s.Defaults.Transcription,
	} {
		if name != "" {
			o.Defaults[kind] = name
		}
	}
	return o
}

// CacheNumber is quant's name for the type of the KV cache; Invalid, the zero value, when
// it is not set.
func (m *Model) CacheNumber() quant.Type { return cacheTypes[m.CacheType] }

// Preloads reports whether a model of s is loaded at start.
func (s *Settings) Preloads(m *Model) bool {
	return m.options().Or(s.ModelDefaults.options()).Preloads()
}

func (m *Model) options() engine.ModelOptions {
	return engine.ModelOptions{
		Name:          m.Name,
		Path:          m.Path,
		Fetch:         m.Fetch,
		ContextLength: m.ContextLength,
		Slots:         m.Slots,
		Queue:         m.Queue,
		Batch:         m.Batch,
		CacheType:     m.CacheNumber(),
		CacheBytes:    int64(m.CacheMemory),
		Speculation:   m.Speculation,
		Draft:         m.Draft,
		DraftTokens:   m.DraftTokens,
		ChatTemplate:  m.ChatTemplate,
		ToolFormat:    m.ToolFormat,
		Quantize:      m.Quantize,
		Detector:      m.VAD,
		Diarize:       engine.Diarizer(m.Diarize),
		Lexicon:       m.Lexicon,
		Adapters:      m.adapters(),
		Preload:       m.Preload,
		KeepAlive:     m.KeepAlive.std(),

		QueryPrefix: m.QueryPrefix, DocumentPrefix: m.DocumentPrefix, Matryoshka: m.Matryoshka,
		Sampling: engine.Sampling{
			Temperature:   m.Sampling.Temperature,
			TopP:          m.Sampling.TopP,
			TopK:          m.Sampling.TopK,
			MinP:          m.Sampling.MinP,
			RepeatPenalty: m.Sampling.RepeatPenalty,
			MaxTokens:     m.Sampling.MaxTokens,
		},
	}
}

// adapters are in the order of their names.
func (m *Model) adapters() []engine.Adapter {
	var list []engine.Adapter
	for _, name := range slices.Sorted(maps.Keys(m.Adapters)) {
		list = append(list, engine.Adapter{Name: name, Path: m.Adapters[name], Scale: float64(m.AdapterScales[name])})
	}
	return list
}

var cacheTypes = map[string]quant.Type{
	"f16": quant.F16, "f32": quant.F32, "q8_0": quant.Q8_0, "q4_0": quant.Q4_0, "bf16": quant.BF16, "fp8": quant.F8_E4M3,
}

// APIOptions translates s for httpapi.New.
func (s *Settings) APIOptions(e httpapi.Engine, version string, log *slog.Logger) httpapi.Options {
	o := httpapi.Options{
		Engine:            e,
		NoAuth:            s.Auth.None || s.TLS.ClientCA != "",
		ManageAll:         s.Manage == "all",
		AllowedHosts:      s.AllowedHosts,
		AllowedOrigins:    s.CORS.AllowedOrigins,
		JSONBody:          int64(s.Limits.JSONBody),
		Upload:            int64(s.Limits.Upload),
		TempFiles:         int64(s.Limits.TempFiles),
		SpeechChars:       s.Limits.SpeechChars,
		MaxN:              s.Limits.MaxN,
		MaxLogprobs:       s.Limits.MaxLogprobs,
		CompletionsTokens: s.CompletionsTokens,
		DefaultMaxTokens:  s.DefaultMaxTokens,
		ReasoningField:    httpapi.ReasoningField(s.ReasoningField),
		ReasoningBudgets:  s.ReasoningBudgets,
		RequestTimeout:    s.RequestTimeout.orOff(),
		RequestTimeouts:   map[string]time.Duration{},
		LoadTimeout:       s.LoadTimeout.std(),
		MemoryWait:        s.MemoryWait.std(),
		StreamWrite:       s.StreamWrite.orOff(),
		Stall:             s.StallTimeout.orOff(),
		KeepAlive:         s.KeepAliveInterval.orOff(),
		HeaderDelay:       s.HeaderDelay.orOff(),
		ShutdownDelay:     s.ShutdownDelay.std(),
		ShutdownGrace:     s.ShutdownGrace.orOff(),
		Realtime: httpapi.Realtime{
			Sessions: s.Realtime.Sessions, Message: int64(s.Realtime.Message), Events: s.Realtime.Events, Items: s.Realtime.Items,
			Audio: s.Realtime.Audio.std(), Step: s.Realtime.Step.orOff(), Idle: s.Realtime.Idle.orOff(), Total: s.Realtime.Total.orOff(),
		},
		Responses: httpapi.Responses{
			Off: s.Responses.Store == "off", Bytes: int64(s.Responses.Bytes), Count: s.Responses.Count, Age: s.Responses.Age.orOff(),
			Background: s.Responses.Background, OwnTools: s.Responses.OtherTools == "refuse",
		},
		MetricsPublic: s.Metrics.Public,
		VLLMNames:     &s.Metrics.VLLMNames,
		Page:          s.Page,
		Version:       version,
		Log:           log,
	}
	for path, d := range s.RequestOverrides {
		o.RequestTimeouts[path] = d.orOff()
	}
	o.Keys = s.Keys()
	return o
}

// Keys are the API keys.
func (s *Settings) Keys() []httpapi.Key {
	var list []httpapi.Key
	for _, k := range s.Auth.Keys {
		key := httpapi.Key{Name: k.Name, Manage: k.Manage, Limit: httpapi.Limit{Requests: k.Requests, Tokens: k.Tokens, Streams: k.Streams}}
		// check has made sure of 64 hexadecimal digits.
		if n, err := hex.Decode(key.SHA256[:], []byte(k.SHA256)); err != nil || n != len(key.SHA256) {
			panic(fmt.Sprintf("quern: hash of key %q was not checked", k.Name))
		}
		list = append(list, key)
	}
	return list
}
