package gguf_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// TestDefaultKinds checks the types of values without a kind: those
// llama.cpp's loader accepts.
func TestDefaultKinds(t *testing.T) {
	for _, tt := range []struct {
		key  string
		v    weights.Value
		want weights.Kind
	}{
		{"llama.block_count", int64(22), weights.Uint32},
		{"llama.context_length", int64(math.MaxUint32), weights.Uint32},
		{"general.parameter_count", int64(math.MaxUint32 + 1), weights.Int64},
		{"some.offset", int64(-1), weights.Int32},
		{"some.far_offset", int64(math.MinInt32 - 1), weights.Int64},
		{"some.hash", uint64(1 << 63), weights.Uint64},
		{"llama.rope.freq_base", 1e4, weights.Float32},
		{"llama.attention.layer_norm_rms_epsilon", 1e-5, weights.Float32},
		{"some.infinity", math.Inf(1), weights.Float32},
		{"some.googol", 1e100, weights.Float64},
		{"some.googols", []float64{1, 1e100}, weights.Float64},
		{"tokenizer.ggml.add_bos_token", true, weights.Bool},
		{"tokenizer.ggml.model", "llama", weights.String},
		{"tokenizer.ggml.tokens", []string{"a"}, weights.String},
		{"tokenizer.ggml.token_type", []int64{1, 3, 6}, weights.Int32},
		{"tokenizer.ggml.scores", []float64{-1.5}, weights.Float32},
		{"tokenizer.ggml.precompiled_charsmap", []int64{0, 255}, weights.Uint8},
		{"some.large", []int64{math.MaxUint32}, weights.Int64},
		{"some.flags", []bool{true}, weights.Bool},
		{"some.rows", []weights.Value{[]int64{1}, []int64{-2}}, weights.Int32},
		{"split.no", int64(0), weights.Uint16},
	} {
		var m weights.Meta
		m.Set(tt.key, tt.v)
		data := write(t, &m)
		if tt.key == "split.no" { // not in a Set's metadata
			if i := bytes.Index(data, []byte("split.no")) + len("split.no"); data[i] != tU16 {
				t.Errorf("%s is stored as type %d, want %d", tt.key, data[i], tU16)
			}
			continue
		}
		set, err := gguf.Parse(data)
		if err != nil {
			t.Errorf("%s: %v", tt.key, err)
			continue
		}
		if got := set.Meta.Kind(tt.key); got != tt.want {
			t.Errorf("%s: %v is stored as %v, want %v", tt.key, tt.v, got, tt.want)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	broken := errors.New("broken")
	ok := func(w io.Writer) error { _, err := w.Write(make([]byte, 16)); return err }
	tensor := func(name string, typ quant.Type, data func(io.Writer) error, shape ...int) []gguf.Stream {
		return []gguf.Stream{{Name: name, Type: typ, Shape: shape, Data: data}}
	}
	meta := func(key string, v weights.Value, k weights.Kind) *weights.Meta {
		m := new(weights.Meta)
		m.SetKind(key, v, k)
		return m
	}
	deep := weights.Value([]int64{1})
	for range 8 {
		deep = []weights.Value{deep}
	}
	for _, tt := range []struct {
		name    string
		meta    *weights.Meta
		tensors []gguf.Stream
		want    string
	}{
		{"empty key", meta("", true, 0), nil, "a key of 0 bytes"},
		{"long key", meta(strings.Repeat("k", 1<<17), true, 0), nil, "a key of 131072 bytes"},
		{"Go int", meta("k", 1, 0), nil, `"k": cannot store a int`},
		{"nil", meta("k", nil, 0), nil, "cannot store a <nil>"},
		{"scalar among arrays", meta("k", []weights.Value{int64(1)}, 0), nil, "cannot store a int64"},
		{"deep", meta("k", deep, 0), nil, "nested more than 8 deep"},
		{"too large for its kind", meta("k", int64(256), weights.Uint8), nil, "256 (int64) cannot be stored as uint8"},
		{"too small for its kind", meta("k", int64(-1), weights.Uint64), nil, "cannot be stored as uint64"},
		{"string as integer", meta("k", "1", weights.Int32), nil, "cannot be stored as int32"},
		{"integers as strings", meta("k", []int64{1}, weights.String), nil, "cannot be stored as string"},
		{"unknown kind", meta("k", int64(1), 99), nil, "Kind(99)"},
		{"bad alignment", meta("general.alignment", int64(12), 0), nil, "general.alignment is 12"},
		{"empty name", nil, tensor("", quant.F32, ok, 4), "a name of 0 bytes"},
		{"long name", nil, tensor(strings.Repeat("n", 64), quant.F32, ok, 4), "a name of 64 bytes"},
		{"same name", nil, append(tensor("t", quant.F32, ok, 4), tensor("t", quant.F32, ok, 4)...), `"t" occurs twice`},
		{"no shape", nil, tensor("t", quant.F32, ok), "0 dimensions"},
		{"five dimensions", nil, tensor("t", quant.F32, ok, 1, 1, 1, 1, 4), "5 dimensions"},
		{"zero dimension", nil, tensor("t", quant.F32, ok, 4, 0), "shape [4 0]"},
		{"negative dimension", nil, tensor("t", quant.F32, ok, -4), "shape [-4]"},
		{"shape wraps", nil, tensor("t", quant.F32, ok, math.MaxInt/2, 4), "shape ["},
		{"bytes wrap", nil, tensor("t", quant.F32, ok, math.MaxInt/2), "more bytes than can be counted"},
		{"half a block", nil, tensor("t", quant.Q8_0, ok, 2, 16), "rows of 16, but Q8_0 packs 32"},
		{"activation type", nil, tensor("t", quant.ActQ8_32, ok, 256), "ActQ8_32 is stored in no file"},
		{"data short", nil, tensor("t", quant.F32, ok, 5), `"t": 4 of 20 bytes are missing`},
		{"data long", nil, tensor("t", quant.F32, ok, 3), `"t": 4 bytes too many`},
		{"data fails", nil, tensor("t", quant.F32, func(io.Writer) error { return broken }, 4), "broken"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := tt.meta
			if m == nil {
				m = new(weights.Meta)
			}
			err := gguf.Write(io.Discard, m, tt.tensors)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Write: %v; want %q", err, tt.want)
			}
		})
	}
	t.Run("writer fails", func(t *testing.T) {
		err := gguf.Write(failing{broken}, new(weights.Meta), tensor("t", quant.F32, ok, 4))
		if !errors.Is(err, broken) {
			t.Errorf("Write: %v, want %v", err, broken)
		}
	})
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestWriteAlignment(t *testing.T) {
	var m weights.Meta
	m.Set("general.alignment", int64(4096))
	data := write(t, &m, stream(t, "a", quant.F32, 1, 3), stream(t, "b", quant.F32, 2, 3))
	set, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := set.Tensor("b")
	if len(data) != 3*4096 || &data[2*4096] != &b.Data[0] {
		t.Errorf("%d bytes, b begins with % x; want 12288 and b on its own page", len(data), b.Data[:4])
	}
}
