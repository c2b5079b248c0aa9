package quant_test

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"testing"

	"quern/kernels/quant"
)

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

// A tensor is what these tests need to know of one in a GGUF file. They read
// the files themselves because nothing below formats may import it.
type tensor struct {
	name string
	typ  quant.Type
	n    int
	data []byte
}

// readGGUF returns the tensors of a fixture, whose form is taken on trust.
func readGGUF(t *testing.T, path string) []tensor {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := 8 // magic, version
	align := 32
	number := func(bytes int) int {
		var b [8]byte
		at += copy(b[:bytes], file[at:])
		return int(binary.LittleEndian.Uint64(b[:]))
	}
	text := func() string {
		n := number(8)
		at += n
		return string(file[at-n : at])
	}
	var skip func(kind int)
	skip = func(kind int) {
		switch kind {
		case 8:
			text()
		case 9:
			kind := number(4)
			for range number(8) {
				skip(kind)
			}
		default:
			at += [...]int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}[kind]
		}
	}
	tensors := make([]tensor, number(8))
	for range number(8) {
		key, kind := text(), number(4)
		if key == "general.alignment" {
			align = number(4)
			continue
		}
		skip(kind)
	}
	offsets := make([]int, len(tensors))
	for i := range tensors {
		w := &tensors[i]
		w.name, w.n = text(), 1
		for range number(4) {
			w.n *= number(8)
		}
		ggml := number(4)
		typ, ok := quant.ByGGML(uint32(ggml))
		if !ok {
			t.Fatalf("%s: %s has type %d", path, w.name, ggml)
		}
		w.typ = typ
		offsets[i] = number(8)
	}
	base := (at + align - 1) / align * align
	for i := range tensors {
		size, ok := tensors[i].typ.Size(tensors[i].n)
		if !ok {
			t.Fatalf("%s: %s has %d weights", path, tensors[i].name, tensors[i].n)
		}
		tensors[i].data = file[base+offsets[i]:][:size]
	}
	return tensors
}

// byName returns the stored type of a name in GGUF's spelling.
func byName(name string) (quant.Type, bool) {
	for t := range quant.All() {
		if t.String() == name {
			return t, true
		}
	}
	return quant.Invalid, false
}
