package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"quern/formats/gguf"
)

// Of a model with a part that sees inspect says that it gets text only.
func TestInspectSkips(t *testing.T) {
	set, err := gguf.Open("../../engine/model/testdata/families/gemma4-e-Q4_0.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	var list []gguf.Stream
	for w := range set.All() {
		list = append(list, gguf.StreamOf(w))
	}
	inspect := func() (text, asJSON string) {
		var b bytes.Buffer
		if err := gguf.Write(&b, &set.Meta, list); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "m.gguf")
		write(t, file, b.String())
		_, text, errs := quern(t, "", nil, "inspect", file)
		_, asJSON, _ = quern(t, "", nil, "inspect", "--json", file)
		if !strings.Contains(text, "can run it") {
			t.Fatalf("%s\n%.500s", errs, text)
		}
		return text, asJSON
	}
	if text, asJSON := inspect(); strings.Contains(text, "skipped") || strings.Contains(asJSON, "skipped_tensors") {
		t.Errorf("of text alone:\n%.500s", text)
	}
	sees := list[0]
	sees.Name = "v.patch_embd.weight"
	list = append(list, sees)
	if text, asJSON := inspect(); !strings.Contains(text, "1 tensors that see or hear: it gets text only") || !strings.Contains(asJSON, `"skipped_tensors":1`) && !strings.Contains(asJSON, `"skipped_tensors": 1`) {
		t.Errorf("of one that sees:\n%.500s", text)
	}
}
