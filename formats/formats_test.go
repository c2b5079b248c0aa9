package formats_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/formats"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// model returns a GGUF file that holds nothing but its name, or one file of a
// model split in count.
func model(t *testing.T, name string, no, count int) string {
	m := new(weights.Meta)
	m.Set("general.name", name)
	if count > 1 {
		m.Set("split.no", int64(no-1))
		m.Set("split.count", int64(count))
		m.Set("split.tensors.count", int64(count))
	}
	var b bytes.Buffer
	err := gguf.Write(&b, m, []gguf.Stream{{
		Name: "t" + string(rune('0'+no)), Type: quant.F32, Shape: []int{1},
		Data: func(w io.Writer) error { _, err := w.Write(make([]byte, 4)); return err },
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
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
	one := model(t, "one", 1, 1)
	half, otherHalf := model(t, "split", 1, 2), model(t, "split", 2, 2)
	for _, tt := range []struct {
		name  string
		files map[string]string
		open  string
		want  string
		n     int // tensors
	}{
		{"file", map[string]string{"m.gguf": one}, "m.gguf", "one", 1},
		{"any name", map[string]string{"m.bin": one}, "m.bin", "one", 1},
		{"shard", map[string]string{"m-00001-of-00002.gguf": half, "m-00002-of-00002.gguf": otherHalf}, "m-00002-of-00002.gguf", "split", 2},
		{"directory", map[string]string{"m.gguf": one, "README.md": "# m", "config.json": "{}", "model.safetensors": "x", "sub/n.gguf": one}, ".", "one", 1},
		{"directory, capitals", map[string]string{"M.GGUF": one}, ".", "one", 1},
		{"directory, hidden", map[string]string{"m.gguf": one, "._m.gguf": "?"}, ".", "one", 1},
		{"directory, split", map[string]string{"m-00001-of-00002.gguf": half, "m-00002-of-00002.gguf": otherHalf}, ".", "split", 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set, err := formats.Open(filepath.Join(fill(t, tt.files), tt.open))
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			if got := set.Meta.String("general.name"); got != tt.want || set.Len() != tt.n {
				t.Errorf("opened %q of %d tensors, want %q of %d", got, set.Len(), tt.want, tt.n)
			}
		})
	}
}

func TestDirectoryErrors(t *testing.T) {
	one, half := model(t, "one", 1, 1), model(t, "split", 2, 2)
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  string
		is    error
	}{
		{"empty", nil, "holds no model file", formats.ErrFormat},
		{"only others", map[string]string{"README.md": "# m", "sub/m.gguf": one}, "holds no model file", formats.ErrFormat},
		{"several", map[string]string{"a.gguf": one, "b.gguf": one}, "a.gguf, b.gguf", formats.ErrUnsupported},
		{"a model and a split one", map[string]string{"a.gguf": one, "b-00001-of-00002.gguf": half, "b-00002-of-00002.gguf": half},
			"name one of them: a.gguf, b-00001-of-00002.gguf", formats.ErrUnsupported},
		{"half a model", map[string]string{"m-00002-of-00002.gguf": half}, "m-00001-of-00002.gguf", os.ErrNotExist},
		{"SafeTensors", map[string]string{"config.json": "{}", "pytorch_model.bin": "\x80\x02}", "model.safetensors": "\x08\x00\x00\x00\x00\x00\x00\x00{\"a\":{}}"},
			"model.safetensors: malformed model file: tensor \"a\" lacks", formats.ErrFormat},
		{"pickle", map[string]string{"config.json": "{}", "pytorch_model.bin": "\x80\x02}q\x00"}, "pytorch_model.bin is a Python pickle", formats.ErrUnsupported},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := formats.Open(fill(t, tt.files))
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Open: %v; want %q and %v", err, tt.want, tt.is)
			}
		})
	}
}

func TestSniff(t *testing.T) {
	zip := func(name string) string {
		return "PK\x03\x04" + strings.Repeat("\x00", 22) + string([]byte{byte(len(name)), 0, 0, 0}) + name + "data"
	}
	for _, tt := range []struct {
		name string
		data string
		want string
		is   error
	}{
		{"broken GGUF", "GGUF\x03\x00\x00\x00", "header is cut short", formats.ErrFormat},
		{"GGUF of the future", "GGUF\x09\x00\x00\x00", "GGUF version 9", formats.ErrUnsupported},
		{"SafeTensors", "\x10\x00\x00\x00\x00\x00\x00\x00{\"a\":1}         ", "tensor \"a\" is 1, want an object", formats.ErrFormat},
		{"ONNX", "\x08\x08\x12\x07pytorch\x1a\x052.1.0", "an ONNX model; \"quern run-onnx\" runs the graph", formats.ErrUnsupported},
		{"ONNX graph first", "\x08\x03\x3a\x80\x01", "an ONNX model", formats.ErrUnsupported},
		{"ggml", "lmgg\x00\x7d\x00\x00", "the header is cut short", formats.ErrFormat},
		{"ggmf", "fmgg\x01\x00\x00\x00", "a ggml file from before GGUF", formats.ErrUnsupported},
		{"ggjt", "tjgg\x03\x00\x00\x00", "a ggml file from before GGUF", formats.ErrUnsupported},
		{"ggla", "algg\x01\x00\x00\x00", "LoRA adapter", formats.ErrUnsupported},
		{"big-endian", "FUGG\x00\x00\x00\x03", "big-endian", formats.ErrUnsupported},
		{"PyTorch", zip("archive/data.pkl"), "not a valid zip file", formats.ErrFormat},
		{"PyTorch, new", zip("model/.format_version"), "not a valid zip file", formats.ErrFormat},
		{"zip", zip("model.gguf"), "a zip archive", formats.ErrUnsupported},
		{"zip cut short", "PK\x03\x04\x14", "a zip archive", formats.ErrUnsupported},
		{"pickle 2", "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "a Python pickle", formats.ErrUnsupported},
		{"pickle 4", "\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00", "a Python pickle", formats.ErrUnsupported},
		{"NumPy", "\x93NUMPY\x01\x00", "a NumPy array", formats.ErrUnsupported},
		{"HDF5", "\x89HDF\r\n\x1a\n\x00", "an HDF5 file", formats.ErrUnsupported},
		{"TFLite", "\x1c\x00\x00\x00TFL3\x14\x00", "a TensorFlow Lite model", formats.ErrUnsupported},
		{"gzip", "\x1f\x8b\x08\x00", "compressed with gzip", formats.ErrUnsupported},
		{"zstd", "\x28\xb5\x2f\xfd\x04", "compressed with Zstandard", formats.ErrUnsupported},
		{"xz", "\xfd7zXZ\x00\x00", "compressed with xz", formats.ErrUnsupported},
		{"bzip2", "BZh91AY&SY", "compressed with bzip2", formats.ErrUnsupported},
		{"7-Zip", "7z\xbc\xaf\x27\x1c\x00\x04", "compressed with 7-Zip", formats.ErrUnsupported},
		{"tar", "model.gguf" + strings.Repeat("\x00", 247) + "ustar\x0000", "a tar archive", formats.ErrUnsupported},
		{"empty", "", "is empty", formats.ErrFormat},
		{"git-LFS", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 667753920\n",
			`a git-LFS pointer, not the model itself of 667753920 bytes; run "git lfs pull"`, formats.ErrFormat},
		{"git-LFS, odd", "version https://git-lfs.github.com/spec/v1\nsize lots\n", "not the model itself; run", formats.ErrFormat},
		{"HTML", "<!DOCTYPE html>\n<html class=\"\">", "an HTML page", formats.ErrFormat},
		{"HTML after blanks", "\xef\xbb\xbf\r\n  <html>", "an HTML page", formats.ErrFormat},
		{"XML", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>", "an XML document", formats.ErrFormat},
		{"JSON", `{"error":"Repository not found"}`, "a JSON document", formats.ErrFormat},
		{"text", "Entry not found", "a text file, not a model", formats.ErrFormat},
		{"blank", strings.Repeat("\x00", 5000), "blank where a model begins", formats.ErrFormat},
		{"something else", "\x01\x02\x03\xff\xfe\xfd\xfc\xfb\xfa", "no model file of a known kind", formats.ErrFormat},
		{"one byte", "\x01", "no model file of a known kind", formats.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(fill(t, map[string]string{"file": tt.data}), "file")
			_, err := formats.Open(path)
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open: %v; want %q, the path and %v", err, tt.want, tt.is)
			}
		})
	}
}

func TestOpenNothing(t *testing.T) {
	if _, err := formats.Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Open: %v, want ErrNotExist", err)
	}
}

// FuzzSniff opens files that are anything but GGUF, whose own reader has a
// target of its own.
func FuzzSniff(f *testing.F) {
	for _, s := range []string{"", "PK\x03\x04", "\x08\x07\x12", "{", "version https://git-lfs.github.com/spec/v1\nsize 1", "\x80\x02"} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.HasPrefix(data, []byte("GGUF")) {
			return
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := formats.Open(path); !errors.Is(err, formats.ErrFormat) && !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("Open: %v; wraps no sentinel", err)
		}
	})
}
