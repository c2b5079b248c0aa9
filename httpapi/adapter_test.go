package httpapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/lm"
	"quern/engine/local"
	"quern/formats/gguf"
	"quern/formats/weights"
	"quern/httpapi"
	"quern/kernels/quant"
)

// newAdapted serves the built-in model with an adapter of the output of its first attention.
func newAdapted(t *testing.T) *httptest.Server {
	t.Helper()
	set, err := gguf.Parse(builtin.GGUF())
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	w, ok := set.Tensor("blk.0.attn_output.weight")
	if !ok {
		t.Fatal("the built-in model has changed")
	}
	var meta weights.Meta
	meta.Set("general.type", "adapter")
	meta.Set("general.architecture", set.Meta.String("general.architecture"))
	meta.Set("adapter.type", "lora")
	wave := func(name string, shape ...int) gguf.Stream {
		x := make([]float32, shape[0]*shape[1])
		for i := range x {
			x[i] = float32(math.Sin(float64(i)))
		}
		return gguf.StreamOf(&weights.Tensor{Name: w.Name + name, Type: quant.F32, Shape: shape, Data: quant.Floats(x)})
	}
	var file bytes.Buffer
	if err := gguf.Write(&file, &meta, []gguf.Stream{wave(".lora_a", 2, w.Shape[1]), wave(".lora_b", w.Shape[0], 2)}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "sql.gguf")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := local.New(engine.Options{Device: "cpu", Threads: 1, Models: []engine.ModelOptions{{Name: "base:Q4", Path: lm.BuiltinPath, Adapters: []engine.Adapter{{Name: "sql", Path: path}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, httpapi.Options{Engine: e})
	t.Cleanup(func() {
		s.Close()
		e.Close()
	})
	return s
}

// TestAdapters asks a model with an adapter for it over HTTP: by its name, in lists and metrics.
func TestAdapters(t *testing.T) {
	s := newAdapted(t)
	say := func(model string) string {
		r := post(t, s, "/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"Tell me a story."}],"max_tokens":16,"temperature":0}`)
		var a struct {
			Model   string
			Choices []struct{ Message struct{ Content string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&a); err != nil || r.StatusCode != 200 || a.Model != model {
			t.Fatalf("%d of %q: %+v, %v", r.StatusCode, model, a, err)
		}
		return a.Choices[0].Message.Content
	}
	if base, adapted := say("base:Q4"), say("base:Q4:sql"); base == adapted {
		t.Errorf("both say %q", base)
	}
	told := wantFailure(t, post(t, s, "/v1/chat/completions", `{"model":"base:Q4:gone","messages":[{"role":"user","content":"x"}]}`), 404, "model_not_found", "model")
	if !strings.Contains(told, `has no adapter \"gone\"; it has sql`) && !strings.Contains(told, `has no adapter "gone"; it has sql`) {
		t.Errorf("told %s", told)
	}
	read := func(path string) string {
		b, err := io.ReadAll(ask(t, s, "GET", path, "").Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if list := read("/v1/models"); !strings.Contains(list, `"id":"base:Q4:sql"`) || !strings.Contains(list, `"root":"sql.gguf","parent":"base:Q4"`) {
		t.Errorf("models: %s", list)
	}
	if one := read("/v1/models/base:Q4:sql"); !strings.Contains(one, `"id":"base:Q4:sql"`) || !strings.Contains(one, `"parent":"base:Q4"`) || !strings.Contains(one, `"removable":false`) {
		t.Errorf("model: %s", one)
	}
	for query, want := range map[string]string{"base:Q4": `"scale":0,`, "base:Q4:sql": `"scale":1,`} {
		if list := read("/lora-adapters?model=" + query); list != `[{"id":0,"path":"sql.gguf",`+want+`"model":"base:Q4:sql"}]`+"\n" {
			t.Errorf("adapters of %s: %s", query, list)
		}
	}
	metrics := read("/metrics")
	for _, want := range []string{`vllm:lora_requests_info{max_lora="1",running_lora_adapters="",waiting_lora_adapters=""}`, `vllm:e2e_request_latency_seconds_count{model_name="base:Q4"} 2`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}
