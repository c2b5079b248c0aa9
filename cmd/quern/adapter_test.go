package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/engine"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// A file of a model takes an adapter: in "inspect" it counts, and one of another model is refused.
func TestAdapter(t *testing.T) {
	const small = "../../engine/model/testdata/smollm2-F32.gguf"
	set, err := gguf.Open(small)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	w, _ := set.Tensor("blk.0.attn_q.weight")
	half := func(name string, shape ...int) gguf.Stream {
		return gguf.StreamOf(&weights.Tensor{Name: w.Name + name, Type: quant.F32, Shape: shape, Data: make([]byte, 4*shape[0]*shape[1])})
	}
	write := func(arch string) string {
		var meta weights.Meta
		meta.Set("general.type", "adapter")
		meta.Set("general.architecture", arch)
		meta.Set("adapter.type", "lora")
		var b bytes.Buffer
		if err := gguf.Write(&b, &meta, []gguf.Stream{half(".lora_a", 3, w.Shape[1]), half(".lora_b", w.Shape[0], 3)}); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), arch+".gguf")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fits := write("llama")
	inspect := func(args ...string) (string, string, int) {
		var out, errs bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, err: &errs}
		code := a.main(t.Context(), append([]string{"inspect"}, args...))
		return out.String(), errs.String(), code
	}
	if out, errs, code := inspect(small, "--adapter", fits, "--json"); code != 0 || !strings.Contains(out, `"adapters":2304`) {
		t.Errorf("%d, %s: %.300s", code, errs, out)
	}
	if out, _, code := inspect(small, "--adapter", fits); code != 0 || !strings.Contains(out, "adapter  2.3 kB of the weights") {
		t.Errorf("%d: %.300s", code, out)
	}
	if _, errs, code := inspect(small, "--adapter", write("qwen2")); code != 1 || !strings.Contains(errs, `made for architecture "qwen2", and the model is llama`) {
		t.Errorf("%d: %s", code, errs)
	}
	if out, _, code := inspect(fits); code != 0 || !strings.Contains(out, "can run it with its model: quern run MODEL --adapter") {
		t.Errorf("%d: %.300s", code, out)
	}
	list := []engine.ModelOptions{{Name: "m", Path: "x", Adapters: []engine.Adapter{{Name: "a"}}}, {Path: "y"}}
	if err := adapt(list, "y", []engine.Adapter{{Name: "a"}}); err != nil || len(list[1].Adapters) != 1 {
		t.Errorf("%v, %+v", err, list)
	}
	if err := adapt(list, "m", []engine.Adapter{{Name: "a"}}); err == nil || !strings.Contains(err.Error(), "it is called m:a") {
		t.Errorf("an adapter under a name that is taken: %v", err)
	}
}
