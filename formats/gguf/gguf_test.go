package gguf_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// stream returns a tensor of bytes counting up from first.
func stream(t testing.TB, name string, typ quant.Type, first byte, shape ...int) gguf.Stream {
	n := 1
	for _, d := range shape {
		n *= d
	}
	data := make([]byte, sizeOf(t, typ, n))
	for i := range data {
		data[i] = first + byte(i)
	}
	return gguf.Stream{Name: name, Type: typ, Shape: shape, Data: func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}}
}

func write(t testing.TB, meta *weights.Meta, tensors ...gguf.Stream) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gguf.Write(&b, meta, tensors); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sample is a small file with something of everything.
func sample(t testing.TB) []byte {
	return write(t, everyKind(),
		stream(t, "token_embd.weight", quant.Q8_0, 1, 3, 64),
		stream(t, "output_norm.weight", quant.F32, 2, 5),
		stream(t, "experts.weight", quant.F16, 3, 2, 3, 4),
		stream(t, "last.weight", quant.Q4_K, 4, 1, 256))
}

func everyKind() *weights.Meta {
	m := new(weights.Meta)
	m.SetKind("general.architecture", "llama", weights.String)
	m.SetKind("u8", int64(255), weights.Uint8)
	m.SetKind("i8", int64(-128), weights.Int8)
	m.SetKind("u16", int64(65535), weights.Uint16)
	m.SetKind("i16", int64(-32768), weights.Int16)
	m.SetKind("u32", int64(4294967295), weights.Uint32)
	m.SetKind("i32", int64(-2147483648), weights.Int32)
	m.SetKind("u64", int64(7), weights.Uint64)
	m.SetKind("u64 above", uint64(math.MaxUint64), weights.Uint64)
	m.SetKind("i64", int64(math.MinInt64), weights.Int64)
	m.SetKind("f32", float64(float32(1e-5)), weights.Float32)
	m.SetKind("f64", 1e300, weights.Float64)
	m.SetKind("f32 infinite", math.Inf(-1), weights.Float32)
	m.SetKind("yes", true, weights.Bool)
	m.SetKind("no", false, weights.Bool)
	m.SetKind("empty", "", weights.String)
	m.SetKind("raw", "\xff\x00é", weights.String)
	m.SetKind("u8s", []int64{0, 255}, weights.Uint8)
	m.SetKind("i8s", []int64{-128, 127}, weights.Int8)
	m.SetKind("u16s", []int64{1, 65535}, weights.Uint16)
	m.SetKind("i16s", []int64{-1, 1}, weights.Int16)
	m.SetKind("u32s", []int64{1 << 31}, weights.Uint32)
	m.SetKind("i32s", []int64{-1 << 31, 3, 6}, weights.Int32)
	m.SetKind("u64s", []int64{math.MaxInt64}, weights.Uint64)
	m.SetKind("i64s", []int64{math.MinInt64}, weights.Int64)
	m.SetKind("f32s", []float64{0.5, -0.25}, weights.Float32)
	m.SetKind("f64s", []float64{math.Pi}, weights.Float64)
	m.SetKind("bools", []bool{true, false, true}, weights.Bool)
	m.SetKind("strings", []string{"a", "", "bc"}, weights.String)
	m.SetKind("no strings", []string{}, weights.String)
	m.SetKind("no u16s", []int64{}, weights.Uint16)
	m.SetKind("matrix", []weights.Value{[]int64{1, 2}, []int64{}, []int64{3}}, weights.Int16)
	m.SetKind("cube", []weights.Value{[]weights.Value{[]string{"x"}}, []weights.Value{}}, 0)
	m.SetKind("mixed", []weights.Value{[]int64{1}, []string{"x"}}, 0)
	m.SetKind("no arrays", []weights.Value{}, 0)
	return m
}

func TestRoundTrip(t *testing.T) {
	data := sample(t)
	set, err := gguf.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if set.Source != weights.GGUF {
		t.Errorf("Source = %v, want GGUF", set.Source)
	}
	want := everyKind()
	if set.Meta.Len() != want.Len() {
		t.Errorf("%d values, want %d", set.Meta.Len(), want.Len())
	}
	for key, v := range want.All() {
		got, ok := set.Meta.Lookup(key)
		if !ok || !reflect.DeepEqual(got, v) {
			t.Errorf("%q = %#v, %v; want %#v", key, got, ok, v)
		}
		if k := set.Meta.Kind(key); k != want.Kind(key) {
			t.Errorf("%q is %v, want %v", key, k, want.Kind(key))
		}
	}

	var names []string
	for tn := range set.All() {
		names = append(names, tn.Name)
		if len(tn.Data) != cap(tn.Data) {
			t.Errorf("%s: %d bytes of capacity %d; the capacity must be clipped", tn.Name, len(tn.Data), cap(tn.Data))
		}
		aliased := false
		for i := 0; i < len(data); i += 32 {
			aliased = aliased || &data[i] == &tn.Data[0]
		}
		if !aliased {
			t.Errorf("%s: data is no aligned alias of the file", tn.Name)
		}
	}
	if want := []string{"token_embd.weight", "output_norm.weight", "experts.weight", "last.weight"}; !slices.Equal(names, want) {
		t.Errorf("tensors %q, want %q", names, want)
	}
	e, _ := set.Tensor("experts.weight")
	if !slices.Equal(e.Shape, []int{2, 3, 4}) || e.Type != quant.F16 || len(e.Data) != 48 || e.Data[47] != 3+47 {
		t.Errorf("experts.weight = %v %v, %d bytes ending in %d; want [2 3 4] F16, 48 ending in 50", e.Shape, e.Type, len(e.Data), e.Data[47])
	}
	if again := rewrite(t, set); !bytes.Equal(again, data) {
		t.Errorf("rewriting gives %d other bytes, want the same %d", len(again), len(data))
	}
	if len(data)%32 != 0 {
		t.Errorf("the file has %d bytes, want a multiple of 32: llama.cpp wants the last tensor padded", len(data))
	}
}

func rewrite(t testing.TB, set *weights.Set) []byte {
	var streams []gguf.Stream
	for tn := range set.All() {
		streams = append(streams, gguf.StreamOf(tn))
	}
	return write(t, &set.Meta, streams...)
}

// TestHandMade reads files no writer of ours made.
func TestHandMade(t *testing.T) {
	for _, tt := range []struct {
		name string
		data raw
	}{
		{"version 2", raw("GGUF").u32(2).u64(1).u64(1).str("k").u32(tF32).f32(0.5).
			tensor("t", gF16, 0, 4, 2).pad(32).bytes(16)},
		{"alignment 8", head(1, 2).str("general.alignment").u32(tU32).u32(8).str("k").u32(tF32).f32(0.5).
			tensor("t", gF16, 8, 4, 2).pad(8).bytes(24)},
		{"alignment last", head(1, 2).str("k").u32(tF32).f32(0.5).str("general.alignment").u32(tU32).u32(128).
			tensor("t", gF16, 128, 4, 2).pad(128).bytes(128 + 16)},
		{"a gap before and bytes after", head(1, 1).str("k").u32(tF32).f32(0.5).
			tensor("t", gF16, 64, 4, 2).pad(32).bytes(64 + 16 + 3)},
		{"a split of one", head(1, 4).str("k").u32(tF32).f32(0.5).split(0, 1, 1).
			tensor("t", gF16, 0, 4, 2).pad(32).bytes(16)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := gguf.Parse(tt.data)
			if err != nil {
				t.Fatal(err)
			}
			if v, _ := set.Meta.Lookup("k"); v != 0.5 {
				t.Errorf("k = %v, want 0.5", v)
			}
			tn, ok := set.Tensor("t")
			if !ok || !slices.Equal(tn.Shape, []int{2, 4}) || len(tn.Data) != 16 {
				t.Errorf("t = %+v, %v; want shape [2 4] and 16 bytes", tn, ok)
			}
			if _, ok := set.Meta.Lookup("split.count"); ok {
				t.Error("split.count is in the metadata of a whole model")
			}
		})
	}
	t.Run("a vocabulary without padding", func(t *testing.T) {
		set, err := gguf.Parse(head(0, 1).str("k").u32(tU8).u8(1))
		if err != nil || set.Len() != 0 {
			t.Errorf("Parse = %v, %v; want no tensors", set, err)
		}
	})
}

func TestFixtures(t *testing.T) {
	root := fixtures.Path(t)
	var files []string
	for _, pattern := range []string{"llm/*/*.gguf", "llm/quant/other/*.gguf", "vocab/*.gguf", "real/*.gguf"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || found == nil {
			t.Fatalf("%s: nothing found (%v)", pattern, err)
		}
		files = append(files, found...)
	}
	for _, path := range files {
		t.Run(filepath.Base(filepath.Dir(path))+"/"+filepath.Base(path), func(t *testing.T) {
			set, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			if set.Meta.String("general.architecture") == "" {
				t.Error("no general.architecture")
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			again := rewrite(t, set)
			// Other writers pad a file without tensors, or are older.
			data = bytes.TrimRight(data, "\x00")
			copy(data[4:8], again[4:8])
			if !bytes.Equal(bytes.TrimRight(again, "\x00"), data) {
				t.Errorf("rewriting %d bytes gives %d others", len(data), len(again))
			}
		})
	}
}

// parts splits a model of three tensors in three files.
func parts(t testing.TB) [][]byte {
	var out [][]byte
	for i, name := range []string{"a", "b", "c"} {
		m := new(weights.Meta)
		if i == 0 {
			m.Set("general.architecture", "llama")
		}
		m.Set("split.no", int64(i))
		m.Set("split.count", int64(3))
		m.Set("split.tensors.count", int64(3))
		out = append(out, write(t, m, stream(t, name, quant.F32, byte(i), 2, 2)))
	}
	return out
}

func shard(no, count int) string {
	return []string{"", "m-00001-of-0000", "m-00002-of-0000", "m-00003-of-0000", "m-00004-of-0000"}[no] + string(rune('0'+count)) + ".gguf"
}

func TestSplit(t *testing.T) {
	dir := t.TempDir()
	for i, p := range parts(t) {
		if err := os.WriteFile(filepath.Join(dir, shard(i+1, 3)), p, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for no := 1; no <= 3; no++ {
		set, err := gguf.Open(filepath.Join(dir, shard(no, 3)))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for tn := range set.All() {
			names = append(names, tn.Name)
			if tn.Data[0] != byte(len(names)-1) {
				t.Errorf("%s begins with %d, want %d", tn.Name, tn.Data[0], len(names)-1)
			}
		}
		if !slices.Equal(names, []string{"a", "b", "c"}) {
			t.Errorf("tensors %q, want a, b, c in the order of the files", names)
		}
		if set.Meta.Len() != 1 || set.Meta.String("general.architecture") != "llama" {
			t.Errorf("%d values, want only the architecture", set.Meta.Len())
		}
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSplitErrors(t *testing.T) {
	p := parts(t)
	one := new(weights.Meta)
	whole := write(t, one, stream(t, "a", quant.F32, 0, 2, 2))
	miscounted := new(weights.Meta)
	miscounted.Set("split.no", int64(0))
	miscounted.Set("split.count", int64(2))
	miscounted.Set("split.tensors.count", int64(9))
	first := write(t, miscounted, stream(t, "x", quant.F32, 0, 2, 2))
	miscounted.Set("split.no", int64(1))
	second := write(t, miscounted, stream(t, "y", quant.F32, 0, 2, 2))
	twin := write(t, miscounted, stream(t, "x", quant.F32, 0, 2, 2))

	for _, tt := range []struct {
		name  string
		files [4][]byte // under the names of files 1 to 4 of count
		count int
		open  int
		want  string
		is    error
	}{
		{"third missing", [4][]byte{p[0], p[1]}, 3, 1, shard(3, 3), os.ErrNotExist},
		{"first missing", [4][]byte{nil, p[1], p[2]}, 3, 3, shard(1, 3), os.ErrNotExist},
		{"swapped", [4][]byte{p[0], p[2], p[1]}, 3, 1, "file 2 of 3 says it is file 3", gguf.ErrFormat},
		{"same file twice", [4][]byte{p[0], p[0], p[2]}, 3, 1, "file 2 of 3 says it is file 1", gguf.ErrFormat},
		{"a whole model among them", [4][]byte{p[0], whole, p[2]}, 3, 1, "file 2 of 3 says it is file 1 of 0", gguf.ErrFormat},
		{"count against the name", [4][]byte{p[0], p[1], p[2]}, 4, 1, "-00001-of-00003.gguf", gguf.ErrFormat},
		{"number against the name", [4][]byte{p[1]}, 3, 1, "-00002-of-00003.gguf", gguf.ErrFormat},
		{"tensors missing", [4][]byte{first, second}, 2, 2, "hold 2 tensors, split.tensors.count is 9", gguf.ErrFormat},
		{"tensor in two files", [4][]byte{first, twin}, 2, 2, `"x" occurs twice`, gguf.ErrFormat},
		{"broken sibling", [4][]byte{p[0], p[1][:40], p[2]}, 3, 1, shard(2, 3), gguf.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for i, data := range tt.files {
				if data == nil {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, shard(i+1, tt.count)), data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			_, err := gguf.Open(filepath.Join(dir, shard(tt.open, tt.count)))
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open: %v; want %q and %v", err, tt.want, tt.is)
			}
		})
	}
	t.Run("no number in the name", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "model.gguf")
		if err := os.WriteFile(path, p[1], 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := gguf.Open(path); !errors.Is(err, gguf.ErrFormat) || !strings.Contains(err.Error(), "file 2 of a model split into 3") {
			t.Errorf("Open: %v; want it to say that this is file 2 of 3", err)
		}
	})
	t.Run("parse out of order", func(t *testing.T) {
		if _, err := gguf.Parse(p[1], p[0], p[2]); !errors.Is(err, gguf.ErrFormat) {
			t.Errorf("Parse: %v, want ErrFormat", err)
		}
	})
	t.Run("parse in order", func(t *testing.T) {
		if set, err := gguf.Parse(p[0], p[1], p[2]); err != nil || set.Len() != 3 {
			t.Errorf("Parse = %v, %v; want three tensors", set, err)
		}
	})
}

func TestShardName(t *testing.T) {
	for _, tt := range []struct {
		path      string
		prefix    string
		no, count int
		ok        bool
	}{
		{"m-00001-of-00003.gguf", "m", 1, 3, true},
		{"dir/m-Q4_K_M-00012-of-00012.gguf", "dir/m-Q4_K_M", 12, 12, true},
		{"m-00004-of-00003.gguf", "", 0, 0, false},
		{"m-00000-of-00003.gguf", "", 0, 0, false},
		{"m-0001-of-0003.gguf", "", 0, 0, false},
		{"m-00001-of-00003.bin", "", 0, 0, false},
		{"m-000+1-of-00003.gguf", "", 0, 0, false},
		{"-00001-of-00003.gguf", "", 0, 0, false},
		{"dir/-00001-of-00003.gguf", "", 0, 0, false},
		{"model.gguf", "", 0, 0, false},
		{"", "", 0, 0, false},
	} {
		prefix, no, count, ok := gguf.ShardName(tt.path)
		if ok != tt.ok || ok && (prefix != tt.prefix || no != tt.no || count != tt.count) {
			t.Errorf("ShardName(%q) = %q, %d, %d, %v; want %q, %d, %d, %v", tt.path, prefix, no, count, ok, tt.prefix, tt.no, tt.count, tt.ok)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "model.gguf")
	if err := os.WriteFile(path, sample(t), 0o666); err != nil {
		t.Fatal(err)
	}
	set, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	tn, ok := set.Tensor("output_norm.weight")
	if !ok || tn.Data[0] != 2 {
		t.Errorf("output_norm.weight = %v, %v; want data beginning with 2", tn, ok)
	}
	if err := set.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := os.WriteFile(path, []byte("GGUF"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := gguf.Open(path); !errors.Is(err, gguf.ErrFormat) || !strings.Contains(err.Error(), path) {
		t.Errorf("Open of a broken file: %v; want ErrFormat and the path", err)
	}
	if _, err := gguf.Open(filepath.Join(dir, "none.gguf")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open of nothing: %v, want ErrNotExist", err)
	}
	if _, err := gguf.Open(dir); err == nil {
		t.Error("Open of a directory: no error")
	}
}

// BenchmarkParse opens a model with the vocabulary of Llama 3.
func BenchmarkParse(b *testing.B) {
	var m weights.Meta
	tokens, types := make([]string, 128256), make([]int64, 128256)
	for i := range tokens {
		tokens[i] = strings.Repeat("x", 1+i%9)
		types[i] = 1
	}
	m.Set("tokenizer.ggml.tokens", tokens)
	m.Set("tokenizer.ggml.token_type", types)
	m.Set("tokenizer.ggml.merges", append(tokens, tokens...))
	data := write(b, &m)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gguf.Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
