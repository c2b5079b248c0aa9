package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/formats/safetensors"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// archive makes a checkpoint of a pickle and its storages.
func archive(t testing.TB, pickle string, storages ...[]byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	store := func(name string, data []byte) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	store("model/data.pkl", []byte(pickle))
	for i, s := range storages {
		store("model/data/"+string(rune('0'+i)), s)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// text is a pickled string.
func text(s string) string { return "\x8c" + string(rune(len(s))) + s }

// pickled is a tensor of shape 2×3 in storage 0 of the given kind.
func pickled(kind string, offset byte, shape, stride string) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + kind + "\n" + text("0") + text("cpu") + "K\x06tQ" +
		"K" + string(rune(offset)) + shape + stride + "\x89ccollections\nOrderedDict\n)RtR"
}

const (
	shape23  = "K\x02K\x03\x86"
	stride23 = "K\x03K\x01\x86"
)

func TestParse(t *testing.T) {
	six := make([]byte, 24)
	for i := range 6 {
		binary.LittleEndian.PutUint32(six[4*i:], uint32(i))
	}
	nested := "\x80\x02}(" + text("part") + "}(" + text("module.w") + pickled("FloatStorage", 0, shape23, stride23) +
		text("n") + pickled("IntStorage", 1, "K\x05\x85", "K\x01\x85") + "uu."
	set, err := Parse(archive(t, nested, six))
	if err != nil {
		t.Fatal(err)
	}
	w, ok := set.Tensor("part.w")
	if !ok || w.Type != quant.F32 || !slices.Equal(w.Shape, []int{2, 3}) || !bytes.Equal(w.Data, six) {
		t.Errorf("part.w = %+v", w)
	}
	if raws := set.Raws(); len(raws) != 1 || raws[0].Name != "part.n" || raws[0].DType != "I32" || !bytes.Equal(raws[0].Data, six[4:]) {
		t.Errorf("raw tensors %+v", raws)
	}

	set, err = Open("testdata/voice_tiny.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if v, ok := set.Tensor("tensor"); !ok || !slices.Equal(v.Shape, []int{510, 1, 16}) {
		t.Errorf("the voice is %+v", v)
	}
}

// TestTwin compares a checkpoint with the same tensors in SafeTensors.
func TestTwin(t *testing.T) {
	dir := fixtures.Path(t, "kokoro", "tiny")
	data, err := os.ReadFile(filepath.Join(dir, "kokoro-tiny.pth"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	twin, err := os.ReadFile(filepath.Join(dir, "kokoro-tiny.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := safetensors.Parse(twin)
	if err != nil {
		t.Fatal(err)
	}
	if got.Len() != want.Len() {
		t.Errorf("%d tensors; want %d", got.Len(), want.Len())
	}
	for w := range want.All() {
		g, ok := got.Tensor(w.Name)
		if !ok || !slices.Equal(g.Shape, w.Shape) || !bytes.Equal(g.Data, w.Data) {
			t.Errorf("tensor %q differs", w.Name)
		}
	}
}

func TestBad(t *testing.T) {
	six := make([]byte, 24)
	flat := func(p string) []byte { return archive(t, p, six) }
	bomb := "\x80\x02}q\x00"
	for i := range 40 { // every dictionary holds the last one twice
		bomb += "}(" + text("a") + "h" + string(rune(i)) + text("b") + "h" + string(rune(i)) + "uq" + string(rune(i+1))
	}
	compressed := func() []byte {
		var buf bytes.Buffer
		z := zip.NewWriter(&buf)
		w, _ := z.Create("m/data.pkl")
		_, _ = w.Write([]byte("\x80\x02}."))
		_ = z.Close()
		return buf.Bytes()
	}()
	for _, tt := range []struct {
		name string
		data []byte
		want error
		says string
	}{
		{"empty", nil, weights.ErrFormat, ""},
		{"no zip", []byte("hello"), weights.ErrFormat, ""},
		{"no pickle", func() []byte {
			var buf bytes.Buffer
			_ = zip.NewWriter(&buf).Close()
			return buf.Bytes()
		}(), weights.ErrFormat, "data.pkl"},
		{"compressed", compressed, weights.ErrUnsupported, "compressed"},
		{"nothing in it", flat("\x80\x02}."), weights.ErrFormat, "without tensors"},
		{"cut short", flat("\x80\x02}"), weights.ErrFormat, "ends too early"},
		{"a call", flat("\x80\x02cos\nsystem\n" + text("id") + "\x85R."), weights.ErrUnsupported, "os.system"},
		{"an eval", flat("\x80\x04" + text("builtins") + text("eval") + "\x93."), weights.ErrUnsupported, "builtins.eval"},
		{"unknown operation", flat("\x80\x02\xff."), weights.ErrUnsupported, "0xff"},
		{"protocol 9", flat("\x80\x09."), weights.ErrUnsupported, "protocol"},
		{"empty stack", flat("\x80\x02R."), weights.ErrFormat, ""},
		{"memo", flat("\x80\x02h\x07."), weights.ErrFormat, "number 7"},
		{"a view", flat(pickled("FloatStorage", 0, shape23, "K\x01K\x02\x86") + "."), weights.ErrUnsupported, "contiguous"},
		{"past the end", flat(pickled("FloatStorage", 1, shape23, stride23) + "."), weights.ErrFormat, "6 numbers"},
		{"huge shape", flat(pickled("FloatStorage", 0, "J\xff\xff\xff\x7fJ\xff\xff\xff\x7f\x86", "J\xff\xff\xff\x7fK\x01\x86") + "."), weights.ErrFormat, ""},
		{"no storage", archive(t, pickled("FloatStorage", 0, shape23, stride23)+"."), weights.ErrFormat, "has no"},
		{"bomb", flat(bomb + "."), weights.ErrUnsupported, "values"},
		{"a list as keys", flat("\x80\x02](K\x01K\x02u."), weights.ErrFormat, "list"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.data)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v; want %v and %q", err, tt.want, tt.says)
			}
		})
	}
}

func FuzzPickle(f *testing.F) {
	f.Add([]byte("\x80\x02}(" + text("w") + pickled("FloatStorage", 0, shape23, stride23) + "u."))
	f.Add([]byte("\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00]\x94(K\x01\x8a\x02\xff\xffNe0G\x00\x00\x00\x00\x00\x00\x00\x00."))
	f.Fuzz(func(t *testing.T, pickle []byte) {
		set, err := Parse(archive(t, string(pickle), make([]byte, 64)))
		if err != nil {
			if !errors.Is(err, weights.ErrFormat) && !errors.Is(err, weights.ErrUnsupported) {
				t.Fatalf("%v wraps neither sentinel", err)
			}
			return
		}
		for x := range set.All() {
			if len(x.Data) != x.Size() {
				t.Fatalf("%q of shape %v has %d bytes", x.Name, x.Shape, len(x.Data))
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(archive(f, pickled("FloatStorage", 0, shape23, stride23)+".", make([]byte, 24)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := Parse(data); err != nil && !errors.Is(err, weights.ErrFormat) && !errors.Is(err, weights.ErrUnsupported) {
			t.Fatalf("%v wraps neither sentinel", err)
		}
	})
}
