package main

import (
	"log/slog"

	"quern/engine"
)

// engineOptions translates s for engine.New.
func (s *settings) engineOptions(log *slog.Logger) engine.Options {
	o := engine.Options{
		Dirs:        s.ModelDirs,
		Builtin:     s.Builtin,
		Aliases:     s.Aliases,
		Defaults:    map[engine.Kind]string{},
		Threads:     s.Threads,
		Device:      string(s.Device),
		GPULayers:   s.layers(),
		LoadTimeout: s.LoadTimeout.std(),
		KeepAlive:   s.KeepAlive.std(),
		MemoryLimit: int64(s.MemoryLimit),
		Defaulted:   s.ModelDefaults.options(),
		Log:         log,
	}
	for _, m := range s.Models {
		o.Models = append(o.Models, m.options())
	}
	for kind, name := range map[engine.Kind]string{
		engine.KindChat:          s.Defaults.Chat,
		engine.KindCompletion:    s.Defaults.Completion,
		engine.KindEmbedding:     s.Defaults.Embedding,
		engine.KindRerank:        s.Defaults.Rerank,
		engine.KindSpeech:        s.Defaults.Speech,
		engine.KindTranscription: s.Defaults.Transcription,
	} {
		if name != "" {
			o.Defaults[kind] = name
		}
	}
	return o
}

func (m *modelSettings) options() engine.ModelOptions {
	return engine.ModelOptions{
		Name:          m.Name,
		Path:          m.Path,
		Fetch:         m.fetch,
		ContextLength: m.ContextLength,
		Slots:         m.Slots,
		Queue:         m.Queue,
		Batch:         m.Batch,
		CacheType:     m.CacheType.number(),
		CacheBytes:    int64(m.CacheMemory),
		ChatTemplate:  m.ChatTemplate,
		Quantize:      string(m.Quantize),
		Detector:      m.VAD,
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
