package local

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/quantize"
	"quern/formats/gguf"
)

// A model the machine cannot hold is refused before anything is read, with what
// it could hold.
func TestRefusedByMemory(t *testing.T) {
	const mib = 1 << 20
	for _, tt := range []struct {
		name  string
		path  string
		o     engine.ModelOptions
		limit int64
		want  string // "" fits
	}{
		{"fits", "", engine.ModelOptions{}, 64 * mib, ""},
		{"the cache gives way", "", engine.ModelOptions{Slots: 1 << 16}, 64 * mib, ""},
		{"shorter", small, engine.ModelOptions{ContextLength: 1 << 20, Batch: 32}, 32 * mib, "context_length: "},
		{"smaller cache", "", engine.ModelOptions{CacheBytes: 200 * mib}, 64 * mib, "cache_memory: "},
		{"fewer bits", "testdata", engine.ModelOptions{Batch: 32}, 15 * mib, "quantize: "},
		{"nothing", "", engine.ModelOptions{}, 5 * mib, "raise memory_limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := tt.o
			o.Name, o.Path = "m", tt.path
			if tt.path == "testdata" {
				o.Path = filepath.Join(t.TempDir(), "f32.gguf")
				original, err := gguf.Parse(builtin.GGUF())
				if err != nil {
					t.Fatal(err)
				}
				hf := t.TempDir()
				publish(t, hf, original)
				if err := quantize.File(t.Context(), quantize.Options{Source: hf, Target: o.Path, Type: "f32"}); err != nil {
					t.Fatal(err)
				}
			}
			opts := engine.Options{MemoryLimit: tt.limit}
			if o.Path != "" {
				opts.Models = []engine.ModelOptions{o}
			} else {
				opts.Defaulted = o
			}
			e := open(t, opts)
			err := e.Load(t.Context(), e.Models()[0].ID)
			var known *engine.Error
			switch {
			case tt.want == "":
				if err != nil {
					t.Error(err)
				} else if s := e.Stats().Models[0]; s.WeightBytes+s.CacheBytes > tt.limit {
					t.Errorf("%d bytes of %d", s.WeightBytes+s.CacheBytes, tt.limit)
				}
			case !errors.As(err, &known) || known.Code != engine.CodeOutOfMemory || !strings.Contains(known.Message, tt.want) || !strings.Contains(known.Message, "compute"):
				t.Errorf("Load: %v; want %q", err, tt.want)
			default:
				t.Log(known.Message)
			}
		})
	}
}
