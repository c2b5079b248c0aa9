package ggml_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/formats/ggml"
	"quern/kernels/quant"
)

// A file writes numbers and text.
type file struct{ bytes.Buffer }

func (f *file) ints(v ...int32) *file {
	for _, x := range v {
		binary.Write(&f.Buffer, binary.LittleEndian, x)
	}
	return f
}

func (f *file) text(s string) *file {
	f.ints(int32(len(s)))
	f.WriteString(s)
	return f
}

func (f *file) tensor(name string, typ int32, data []byte, dims ...int32) *file {
	f.ints(int32(len(dims)), int32(len(name)), typ).ints(dims...)
	f.WriteString(name)
	f.Write(data)
	return f
}

// small is a Whisper file of two tokens and one tensor.
func small() *file {
	f := new(file)
	f.WriteString(ggml.Magic)
	f.ints(6, 4, 32, 2, 1, 8, 32, 2, 1, 2, 1) // sizes
	f.ints(2, 3, 0, 0, 0, 0, 0, 0x3f800000)   // two bands of three bins
	return f.ints(2).text("a").text(" b")
}

// llama is how llama.cpp's files began before GGUF: seven sizes and the tokens.
func llama() *file {
	f := new(file)
	f.WriteString(ggml.Magic)
	return f.ints(32000, 4096, 256, 32, 32, 128, 1).text(" \u2047 ").text("").text("").text("\x00").text("\x01")
}

func detector() *file {
	f := new(file)
	f.WriteString(ggml.Magic)
	f.text(ggml.Silero).ints(6, 2, 0, 512, 64, 1, 129, 128, 3, 128, 128, 128, 1)
	return f.tensor("w", 0, make([]byte, 4), 1)
}

func TestWhisper(t *testing.T) {
	f := small().tensor("b", 0, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0x40}, 1, 2)
	f.tensor("w", 2, make([]byte, 36), 32, 2)
	set, err := ggml.Parse(f.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Meta.Strings("whisper.tokens"); len(got) != 2 || got[1] != " b" {
		t.Errorf("tokens %q", got)
	}
	if got := set.Meta.Floats("whisper.mel_filters"); len(got) != 6 || got[5] != 1 {
		t.Errorf("mel filters %v", got)
	}
	if n, _ := set.Meta.Int("whisper.audio_ctx"); n != 4 {
		t.Errorf("audio_ctx %d, want 4", n)
	}
	b, _ := set.Tensor("b")
	if b.Shape[0] != 2 || b.Shape[1] != 1 || b.Type != quant.F32 || len(b.Data) != 8 {
		t.Errorf("b is %v %v of %d bytes", b.Type, b.Shape, len(b.Data))
	}
	if w, _ := set.Tensor("w"); w.Type != quant.Q4_0 || w.Shape[0] != 2 || w.Shape[1] != 32 {
		t.Errorf("w is %v %v", w.Type, w.Shape)
	}
}

func TestDetector(t *testing.T) {
	set, err := ggml.Parse(detector().Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Meta.Ints("silero.encoder"); len(got) != 3 || got[1] != 128 {
		t.Errorf("encoder %v", got)
	}
	if set.Meta.String(ggml.KindKey) != ggml.Silero || set.Len() != 1 {
		t.Errorf("%s of %d tensors", set.Meta.String(ggml.KindKey), set.Len())
	}
}

func TestBad(t *testing.T) {
	cut := small().Bytes()
	for _, tt := range []struct {
		name, want string
		data       []byte
		is         error
	}{
		{"empty", "no ggml magic", nil, ggml.ErrFormat},
		{"magic alone", "the header is cut short", []byte(ggml.Magic), ggml.ErrFormat},
		{"vocabulary cut", "the vocabulary is cut short", cut[:len(cut)-1], ggml.ErrFormat},
		{"tensor cut", `tensor "w" runs past the end`, small().tensor("w", 0, nil, 4).Bytes(), ggml.ErrFormat},
		{"no whole blocks", "no whole blocks of Q8_0", small().tensor("w", 8, nil, 16, 2).Bytes(), ggml.ErrFormat},
		{"twice", `"w" occurs twice`, small().tensor("w", 1, make([]byte, 2), 1).tensor("w", 1, make([]byte, 2), 1).Bytes(), ggml.ErrFormat},
		{"five dimensions", "a tensor of 5 dimensions", small().tensor("w", 1, nil, 1, 1, 1, 1, 1).Bytes(), ggml.ErrFormat},
		{"huge dimensions", "dimension 1 of a tensor", small().tensor("w", 1, nil, 1<<30, 4).Bytes(), ggml.ErrFormat},
		{"number type", `tensor "w" has number type 16 IQ2_XXS`, small().tensor("w", 16, nil, 1).Bytes(), ggml.ErrUnsupported},
		{"language model", "a ggml file from before GGUF", llama().Bytes(), ggml.ErrUnsupported},
		{"other detector", `a ggml model called "silero-08k"`, append([]byte(ggml.Magic), "\x0a\x00\x00\x00silero-08k"...), ggml.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ggml.Parse(tt.data)
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %v with %q", err, tt.is, tt.want)
			}
		})
	}
}

func TestPublished(t *testing.T) {
	for _, tt := range []struct {
		path, kind string
		tensors    int
	}{
		{"whisper/ggml-tiny-f16.bin", ggml.Whisper, 167},
		{"whisper/ggml-tiny-q8_0.bin", ggml.Whisper, 167},
		{"vad/silero-v6.2.0-ggml.bin", ggml.Silero, 15},
	} {
		set, err := ggml.Open(fixtures.Path(t, tt.path))
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		if got := set.Meta.String(ggml.KindKey); got != tt.kind || set.Len() != tt.tensors {
			t.Errorf("%s: %s of %d tensors, want %s of %d", tt.path, got, set.Len(), tt.kind, tt.tensors)
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(small().tensor("w", 2, make([]byte, 36), 32, 2).Bytes())
	f.Add(detector().Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := ggml.Parse(data)
		if err != nil {
			if !errors.Is(err, ggml.ErrFormat) && !errors.Is(err, ggml.ErrUnsupported) {
				t.Errorf("error %v wraps no sentinel", err)
			}
			return
		}
		sum := byte(0)
		for w := range set.All() {
			if n, ok := w.Type.Size(w.Elems()); !ok || n != len(w.Data) {
				t.Fatalf("%s: %d bytes, want %d", w.Name, len(w.Data), n)
			}
			for _, b := range w.Data {
				sum += b
			}
		}
	})
}

func TestSniff(t *testing.T) {
	dir := t.TempDir()
	for name, tt := range map[string]struct{ data, want string }{
		"whisper":  {"lmgg\x99\xca\x00\x00\x00", ggml.Whisper},
		"detector": {"lmgg\x0a\x00\x00\x00silero-16k", ggml.Silero},
		"magic":    {"lmgg", ggml.Whisper}, // cut short, which Parse says
		"short":    {"lmg", ""},
		"other":    {"GGUF\x03\x00\x00\x00", ""},
		"empty":    {"", ""},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tt.data), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := ggml.Sniff(path); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if got := ggml.Sniff(path); got != "" {
			t.Errorf("%s: %q, want none", path, got)
		}
	}
}
