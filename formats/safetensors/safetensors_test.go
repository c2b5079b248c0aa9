package safetensors_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/formats/safetensors"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// file returns a file of a header and n bytes of data that count up.
func file(header string, n int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range n {
		b = append(b, byte(i))
	}
	return b
}

const (
	one  = `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	both = `{"__metadata__":{"format":"pt"},"b":{"shape":[1,3],"dtype":"BF16","data_offsets":[1,7]},"mask":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]},"z":{"dtype":"F32","shape":[0,4],"data_offsets":[7,7]}}  `
)

func TestParse(t *testing.T) {
	set, err := safetensors.Parse(file(both, 7), file(one, 8))
	if err != nil {
		t.Fatal(err)
	}
	if set.Source != weights.SafeTensors || set.Len() != 3 {
		t.Errorf("%v of %d tensors, want SafeTensors of 3", set.Source, set.Len())
	}
	// b lies at an odd address: data is where the file has it.
	b, ok := set.Tensor("b")
	if !ok || b.Type != quant.BF16 || !slices.Equal(b.Shape, []int{1, 3}) || string(b.Data) != "\x01\x02\x03\x04\x05\x06" {
		t.Errorf("b = %+v", b)
	}
	if z, ok := set.Tensor("z"); !ok || z.Elems() != 0 || len(z.Data) != 0 {
		t.Errorf("z = %+v, want no elements", z)
	}
	if r := set.Raws(); len(r) != 1 || r[0].Name != "mask" || r[0].DType != "BOOL" || string(r[0].Data) != "\x00" {
		t.Errorf("raws = %+v, want the mask", r)
	}
	if got := set.Meta.String("safetensors.format"); got != "pt" {
		t.Errorf("format = %q, want pt", got)
	}
}

func tensor(dtype, shape, offsets string) string {
	return fmt.Sprintf(`{"a":{"dtype":%q,"shape":%s,"data_offsets":%s}}`, dtype, shape, offsets)
}

func TestBad(t *testing.T) {
	length := func(n uint64) []byte { return append(binary.LittleEndian.AppendUint64(nil, n), `{"a":1}`...) }
	pair := func(a, b string) string {
		return `{"a":{"dtype":"U8","shape":[4],"data_offsets":` + a + `},"b":{"dtype":"U8","shape":[4],"data_offsets":` + b + `}}`
	}
	for _, tt := range []struct {
		name        string
		data        []byte
		unsupported bool
		want        string
	}{
		{"empty", nil, false, "it has 0 bytes"},
		{"half a length", []byte{1, 0, 0}, false, "it has 3 bytes"},
		{"length only", length(2)[:8], false, "a header of 2 bytes in a file of 8"},
		{"header beyond the file", length(8), false, "the file is incomplete"},
		{"header beyond the limit", length(100_000_001), false, "limit 100000000"},
		{"length wraps", length(1<<64 - 1), false, "limit 100000000"},
		{"length of zero", length(0), false, "no JSON object"},
		{"an array", file(`[1]`, 0), false, "no JSON object"},
		{"space first", file(` {}`, 0), false, "no JSON object"},
		{"not JSON", file(`{"a":`, 0), false, "the header: EOF"},
		{"not UTF-8", file("{\"\xff\":1}", 0), false, "not UTF-8"},
		{"two objects", file(`{}{}`, 0), false, "something follows"},
		{"deep", file(`{"a":{"x":`+strings.Repeat("[", 20000)+strings.Repeat("]", 20000)+`}}`, 0), false, "exceeded max depth"},

		{"tensor is a number", file(`{"a":1}`, 0), false, `tensor "a" is 1, want an object`},
		{"no name", file(`{"":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4), false, "without a name"},
		{"long name", file(`{"`+strings.Repeat("n", 1<<16+1)+`":{}}`, 0), false, "a key of 65537 bytes"},
		{"name twice", file(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8), false, `"a" occurs twice`},
		{"name twice, spelled otherwise", file(`{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"\u0061":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}}`, 8), false, `"a" occurs twice`},
		{"dtype twice", file(`{"a":{"dtype":"U8","dtype":"F32"}}`, 0), false, `"dtype" occurs twice`},
		{"metadata is text", file(`{"__metadata__":"x"}`, 0), false, "want an object"},
		{"metadata holds a number", file(`{"__metadata__":{"x":1}}`, 0), false, "want a string"},
		{"metadata twice", file(`{"__metadata__":{},"__metadata__":{}}`, 0), false, "occurs twice"},

		{"no dtype", file(`{"a":{"shape":[1],"data_offsets":[0,1]}}`, 1), false, "lacks"},
		{"no shape", file(`{"a":{"dtype":"U8","data_offsets":[0,1]}}`, 1), false, "lacks"},
		{"no offsets", file(`{"a":{"dtype":"U8","shape":[1]}}`, 1), false, "lacks"},
		{"one offset", file(tensor("U8", "[1]", "[0]"), 1), false, "lacks"},
		{"three offsets", file(tensor("U8", "[1]", "[0,1,2]"), 1), false, "more than 2 integers"},
		{"unknown dtype", file(tensor("Q4", "[1]", "[0,1]"), 1), true, `the dtype "Q4"`},
		{"lower case dtype", file(tensor("f32", "[1]", "[0,4]"), 4), true, `the dtype "f32"`},
		{"negative dimension", file(tensor("U8", "[-1]", "[0,1]"), 1), false, "want integers from 0"},
		{"a fraction", file(tensor("U8", "[1.5]", "[0,1]"), 1), false, "want integers from 0"},
		{"an exponent", file(tensor("U8", "[1e0]", "[0,1]"), 1), false, "want integers from 0"},
		{"dimension as text", file(tensor("U8", `["1"]`, "[0,1]"), 1), false, "want integers from 0"},
		{"dimension beyond 64 bits", file(tensor("U8", "[18446744073709551616]", "[0,1]"), 1), false, "want integers from 0"},
		{"too many dimensions", file(tensor("U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]"), 1), false, "more than 8 integers"},
		{"elements wrap", file(tensor("U8", "[4294967296,4294967296]", "[0,0]"), 0), false, "more elements than can be counted"},
		{"bytes wrap", file(tensor("F64", "[2305843009213693952]", "[0,0]"), 0), false, "more elements than can be counted"},
		{"half a byte", file(tensor("F4", "[3]", "[0,1]"), 1), false, "takes 1 bytes, want 2"},
		{"too short", file(tensor("F32", "[2]", "[0,4]"), 4), false, "takes 4 bytes, want 8"},
		{"too long", file(tensor("F32", "[2]", "[0,12]"), 12), false, "takes 12 bytes, want 8"},
		{"backwards", file(tensor("U8", "[1]", "[1,0]"), 1), false, "ends before it starts"},
		{"beyond the end", file(tensor("U8", "[4]", "[0,4]"), 3), false, "ends at byte 4 of 3"},
		{"far beyond the end", file(tensor("U8", "[4]", "[18446744073709551611,18446744073709551615]"), 4), false, "the file is incomplete"},

		{"overlap", file(pair("[0,4]", "[3,7]"), 7), false, `"a" and "b" overlap`},
		{"the same bytes", file(pair("[0,4]", "[0,4]"), 4), false, "overlap"},
		{"a hole", file(pair("[0,4]", "[5,9]"), 9), false, "no tensor holds bytes 4 to 5"},
		{"a hole first", file(pair("[5,9]", "[1,5]"), 9), false, "no tensor holds bytes 0 to 1"},
		{"bytes left over", file(pair("[0,4]", "[4,8]"), 9), false, "the last 1 bytes"},
		{"data without tensors", file(`{}`, 1), false, "the last 1 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := safetensors.Parse(tt.data)
			is := safetensors.ErrFormat
			if tt.unsupported {
				is = safetensors.ErrUnsupported
			}
			if !errors.Is(err, is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse: %v; want %q and %v", err, tt.want, is)
			}
		})
	}
	if _, err := safetensors.Parse(file(one, 8), file(one, 8)); !errors.Is(err, safetensors.ErrFormat) || !strings.Contains(err.Error(), "shard 2 of 2: ") {
		t.Errorf("a tensor in two shards: %v", err)
	}
}

func fill(t *testing.T, files map[string]string) (dir string) {
	dir = t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOpen(t *testing.T) {
	a := string(file(one, 8))
	b := string(file(strings.Replace(one, `"a"`, `"b"`, 1), 8))
	index := `{"metadata":{"total_size":16},"weight_map":{"a":"x-1.safetensors","b":"x-2.safetensors"}}`
	sharded := map[string]string{"x-1.safetensors": a, "x-2.safetensors": b, "model.safetensors.index.json": index}
	for _, tt := range []struct {
		name  string
		files map[string]string
		open  string
		n     int
		want  string // chat template, or the error
	}{
		{"file", map[string]string{"m.safetensors": a}, "m.safetensors", 1, ""},
		{"directory", map[string]string{"m.safetensors": a, "tokenizer_config.json": `{"chat_template":"T"}`}, ".", 1, "T"},
		{"named templates", map[string]string{"m.safetensors": a, "tokenizer_config.json": `{"chat_template":[{"name":"tool_use","template":"U"},{"name":"default","template":"D"}]}`}, ".", 1, "D"},
		{"template file", map[string]string{"m.safetensors": a, "chat_template.jinja": "J", "tokenizer_config.json": `{"chat_template":"T"}`}, ".", 1, "J"},
		{"old template file", map[string]string{"m.safetensors": a, "chat_template.json": `{"chat_template":"O"}`, "tokenizer_config.json": `{}`}, ".", 1, "O"},
		{"no template", map[string]string{"m.safetensors": a, "tokenizer_config.json": `{"chat_template":null}`}, ".", 1, ""},
		{"the usual name wins", map[string]string{"model.safetensors": a, "adapter.safetensors": b}, ".", 1, ""},
		{"shards", sharded, ".", 2, ""},
		{"a shard", sharded, "x-2.safetensors", 2, ""},
		{"the index", sharded, "model.safetensors.index.json", 2, ""},
		{"several", map[string]string{"x.safetensors": a, "y.safetensors": b}, ".", -1, "no index"},
		{"none", map[string]string{"x.bin": a}, ".", -1, "holds no SafeTensors file"},
		{"missing shard", map[string]string{"x-1.safetensors": a, "model.safetensors.index.json": index}, ".", -1, "x-2.safetensors"},
		{"index elsewhere", map[string]string{"model.safetensors.index.json": `{"weight_map":{"a":"../x.safetensors"}}`}, ".", -1, "no file beside the index"},
		{"index of another drive", map[string]string{"model.safetensors.index.json": `{"weight_map":{"a":"C:x.safetensors"}}`}, ".", -1, "no file beside the index"},
		{"empty index", map[string]string{"model.safetensors.index.json": `{}`}, ".", -1, "names 0 shards"},
		{"broken index", map[string]string{"model.safetensors.index.json": `{`}, ".", -1, "malformed"},
		{"large companion", map[string]string{"m.safetensors": a, "special_tokens_map.json": strings.Repeat(" ", 1<<20+1)}, ".", -1, "more than 1048576 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := safetensors.Open(filepath.Join(fill(t, tt.files), tt.open))
			if tt.n < 0 {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Open: %v; want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			if got := set.Meta.String("tokenizer.chat_template"); set.Len() != tt.n || got != tt.want {
				t.Errorf("%d tensors and the template %q; want %d and %q", set.Len(), got, tt.n, tt.want)
			}
		})
	}
}

// FuzzParse reads any bytes as a file, and everything in it.
func FuzzParse(f *testing.F) {
	f.Add(file(one, 8))
	f.Add(file(both, 7))
	f.Add(file(tensor("F4", "[2]", "[0,1]"), 1))
	f.Add(file(`{"__metadata__":{"a":"b"},"a":{"dtype":"I64","shape":[],"data_offsets":[0,8],"more":{"x":[1,null]}}}`, 8))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := safetensors.Parse(data)
		if err != nil {
			if !errors.Is(err, safetensors.ErrFormat) && !errors.Is(err, safetensors.ErrUnsupported) {
				t.Errorf("Parse: %v; wraps no sentinel", err)
			}
			return
		}
		for tn := range set.All() {
			if n, ok := tn.Type.Size(tn.Elems()); !ok || n != len(tn.Data) {
				t.Errorf("%q: %d bytes, want %d", tn.Name, len(tn.Data), n)
			}
			tn.Type.Layout().Decode(make([]float32, tn.Elems()), tn.Data)
		}
	})
}

// What sentence-transformers keeps in folders of their own is read in the order of its list.
func TestModules(t *testing.T) {
	a := string(file(one, 8))
	layer := string(file(strings.Replace(one, `"a"`, `"linear.weight"`, 1), 8))
	with := func(modules string, more ...string) map[string]string {
		files := map[string]string{"model.safetensors": a, "modules.json": modules}
		for i := 0; i < len(more); i += 2 {
			files[more[i]] = more[i+1]
		}
		return files
	}
	const dense = `{"type":"sentence_transformers.models.Dense","path":"%s"}`
	list := func(paths ...string) string {
		var s []string
		for _, p := range paths {
			s = append(s, strings.Replace(dense, "%s", p, 1))
		}
		return "[" + strings.Join(s, ",") + "]"
	}
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string // of the error, "" for none
		names []string
	}{
		{"none", map[string]string{"model.safetensors": a}, "", []string{"a"}},
		{"two layers", with(list("2_Dense", "3_Dense"), "2_Dense/config.json", "{}", "2_Dense/model.safetensors", layer, "3_Dense/config.json", "{}", "3_Dense/model.safetensors", layer), "",
			[]string{"a", "dense_2.linear.weight", "dense_3.linear.weight"}},
		{"scores", with(`[{"type":"x.LogitScore","path":"1_LogitScore"}]`, "1_LogitScore/config.json", `{"true_token_id":1}`), "", []string{"a"}},
		{"no list", with(`{}`), "malformed", nil},
		{"elsewhere", with(list("../x")), "no folder beside it", nil},
		{"here", with(list("")), "no folder beside it", nil},
		{"another drive", with(list("C:x")), "no folder beside it", nil},
		{"no configuration", with(list("2_Dense")), "config.json", nil},
		{"a pickled layer", with(list("2_Dense"), "2_Dense/config.json", "{}", "2_Dense/pytorch_model.bin", "x"), "without model.safetensors", nil},
		{"a broken layer", with(list("2_Dense"), "2_Dense/config.json", "{}", "2_Dense/model.safetensors", "x"), "2_Dense", nil},
		{"three layers", with(list("a", "b", "c"), "a/config.json", "{}", "a/model.safetensors", layer, "b/config.json", "{}", "b/model.safetensors", layer, "c/config.json", "{}"), "more than 2 Dense layers", nil},
		{"a long list", with(strings.Repeat(" ", 1<<20+1)), "more than 1048576 bytes", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := safetensors.Open(fill(t, tt.files))
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("Open: %v; want %q", err, tt.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			for _, name := range tt.names {
				if _, ok := set.Tensor(name); !ok {
					t.Errorf("no tensor %s", name)
				}
			}
			if set.Len() != len(tt.names) {
				t.Errorf("%d tensors, want %v", set.Len(), tt.names)
			}
			if folder := set.Meta.String("hf.folder"); folder == "" || strings.ContainsAny(folder, `/\\`) {
				t.Errorf("folder %q", folder)
			}
		})
	}
}
