package httpapi_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/lm"
	"quern/engine/local"
	"quern/httpapi"
)

func TestMetrics(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	io.Copy(io.Discard, post(t, s, "/chat/completions", `{"messages":[{"role":"user","content":"x"}],"max_tokens":3}`).Body)
	io.Copy(io.Discard, post(t, s, "/v1/chat/completions", streamBody).Body)
	post(t, s, "/v1/chat/completions", `{`)
	post(t, s, "/v1/secret/path", `{}`)
	var text string
	get := func() string {
		r := ask(t, s, "GET", "/metrics", "")
		b, _ := io.ReadAll(r.Body)
		if ct := r.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/plain; version=0.0.4") {
			t.Errorf("Content-Type %q", ct)
		}
		text = string(b)
		return text
	}
	eventually(t, "all requests counted", func() bool {
		return strings.Contains(get(), `http_requests_total{code="200",path="/v1/chat/completions"} 2`)
	})
	label := `{model_name="stub/chat:Q4_K_M"}`
	for _, want := range []string{
		`http_requests_total{code="400",path="/v1/chat/completions"} 1`,
		`http_requests_total{code="404",path="unmatched"} 1`,
		"vllm:num_requests_waiting" + label + " 0",
		"vllm:num_requests_running" + label + " 0",
		"vllm:kv_cache_usage_perc" + label + " 0.25",
		`vllm:cache_config_info{block_size="16",model_name="stub/chat:Q4_K_M",num_gpu_blocks="64"} 1`,
		"vllm:prompt_tokens_total" + label + " 100",
		"vllm:generation_tokens_total" + label + " 21",
		"vllm:prefix_cache_queries_total" + label,
		"vllm:prefix_cache_hits_total" + label,
		"vllm:spec_decode_num_drafts_total" + label + " 5",
		"vllm:spec_decode_num_draft_tokens_total" + label + " 40",
		"vllm:spec_decode_num_accepted_tokens_total" + label + " 9",
		`vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name="stub/chat:Q4_K_M",position="1"} 4`,
		`vllm:request_success_total{finished_reason="length",model_name="stub/chat:Q4_K_M"} 1`,
		`vllm:request_success_total{finished_reason="stop",model_name="stub/chat:Q4_K_M"} 1`,
		"vllm:time_to_first_token_seconds_count" + label + " 2",
		"vllm:time_per_output_token_seconds_count" + label + " 2",
		"vllm:e2e_request_latency_seconds_count" + label + " 2",
		"vllm:request_queue_time_seconds_count" + label + " 2",
		"model_load_seconds" + label + " 1.5",
		"model_loaded" + label + " 1",
		`model_loaded{model_name="stub-embed"} 0`,
		`vllm:num_requests_waiting{model_name="stub-embed"} 0`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("a raw path is a label")
	}
	off := false
	plain := newServer(t, httpapi.Options{VLLMNames: &off})
	post(t, plain, "/v1/completions", `{"prompt":"a"}`)
	b, _ := io.ReadAll(ask(t, plain, "GET", "/metrics", "").Body)
	if strings.Contains(string(b), "vllm:") || !strings.Contains(string(b), "model_loaded") {
		t.Errorf("without vLLM's names:\n%s", b)
	}
}

// TestAborted: a sequence that began and did not end is an aborted one, and one that was refused
// is none.
func TestAborted(t *testing.T) {
	for name, begins := range map[string]bool{"refused": false, "breaks off": true} {
		f := scripted(func(_ context.Context, yield func(engine.Event, error) bool) {
			if !begins || yield(admitted, nil) {
				yield(engine.Event{}, engine.Errorf(engine.CodeQueueFull, "", "full"))
			}
		})
		s := newServer(t, httpapi.Options{Engine: f})
		wantFailure(t, post(t, s, "/v1/completions", `{"prompt":"x"}`), 503, "queue_full", "")
		b, _ := io.ReadAll(ask(t, s, "GET", "/metrics", "").Body)
		if strings.Contains(string(b), `finished_reason="abort"`) != begins {
			t.Errorf("%s: counted as aborted: %v", name, !begins)
		}
	}
}

func TestEmbeddingsThatAreNotNumbers(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1)} {
		s := newServer(t, httpapi.Options{Engine: &fake{embed: func(engine.EmbedRequest) (engine.EmbedResult, error) {
			return engine.EmbedResult{Vectors: [][]float32{{1, float32(x)}}}, nil
		}}})
		for _, format := range []string{"float", "base64"} {
			wantFailure(t, post(t, s, "/v1/embeddings", `{"input":"a","encoding_format":"`+format+`"}`), 500, "engine_failure", "")
		}
	}
}

func TestEmbeddingRequest(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	post(t, s, "/v1/embeddings", `{"input":[[1,2],[3]],"truncate":true,"normalize":false,"dimensions":8}`)
	r := *f.seen.Load()
	if len(r.Inputs) != 2 || len(r.Inputs[0].Tokens) != 2 || r.Inputs[1].Tokens[0] != 3 || !r.Truncate || !r.Raw || r.Dimensions != 8 || *f.asked.Load() != embedModel {
		t.Errorf("got %+v", r)
	}
}

func TestHalfCharacters(t *testing.T) {
	f := &fake{}
	f.generate = func(_ context.Context, _ engine.GenerateRequest, yield func(engine.Event, error) bool) {
		fox := []byte("a\U0001F98A")
		lp := func(b []byte) engine.Logprob {
			return engine.Logprob{Bytes: b, Logprob: float32(math.Inf(-1)), Top: []engine.Alternative{{Bytes: b, Logprob: -1}}}
		}
		_ = yield(admitted, nil) &&
			yield(engine.Event{Type: engine.Delta, Text: "a", Logprobs: []engine.Logprob{lp(fox[:3])}}, nil) &&
			yield(engine.Event{Type: engine.Delta, Text: string(fox[1:]), Logprobs: []engine.Logprob{lp(fox[3:])}}, nil) &&
			yield(engine.Event{Type: engine.Delta, Text: "b", Logprobs: []engine.Logprob{lp([]byte("b"))}}, nil) &&
			yield(finish, nil) && yield(done, nil)
	}
	s := newServer(t, httpapi.Options{Engine: f})
	b, _ := io.ReadAll(post(t, s, "/v1/chat/completions", `{"messages":[{"role":"user","content":"x"}],"logprobs":true}`).Body)
	for _, want := range []string{
		`{"token":"a\\xf0\\x9f","logprob":-9999,"bytes":[97,240,159],"top_logprobs":[]}`,
		`{"token":"\\xa6\\x8a","logprob":-9999,"bytes":[166,138],"top_logprobs":[]}`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("missing %s in %s", want, b)
		}
	}
	b, _ = io.ReadAll(post(t, s, "/v1/completions", `{"prompt":"x","logprobs":1}`).Body)
	for _, want := range []string{`"tokens":["a\\xf0\\x9f","\\xa6\\x8a","b"]`, `"text_offset":[0,1,2]`, `"top_logprobs":[{"a\\xf0\\x9f":-1}`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("missing %s in %s", want, b)
		}
	}
}

// BenchmarkScrape is a scrape of a server with twenty models, all loaded.
func BenchmarkScrape(b *testing.B) {
	o := engine.Options{Threads: 1, MemoryLimit: 1 << 40}
	for i := range 20 {
		o.Models = append(o.Models, engine.ModelOptions{Name: fmt.Sprint("m", i), Path: lm.BuiltinPath, Preload: new(true), CacheBytes: 8 << 20})
	}
	e, err := local.New(o)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	if err := e.Preload(b.Context()); err != nil {
		b.Fatal(err)
	}
	a := newAPI(b, httpapi.Options{Engine: e})
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		b.SetBytes(int64(w.Body.Len()))
		if w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}

// Seconds of sound are counted both ways, and the process tells about itself.
func TestAudioAndProcessMetrics(t *testing.T) {
	a := newAPI(t, httpapi.Options{})
	scrape := func() string { return onTape(t, a, httptest.NewRequest("GET", "/metrics", nil)).Body.String() }
	text := scrape()
	for _, want := range []string{
		`audio_seconds_total{direction="in"} 0` + "\n", `audio_seconds_total{direction="out"} 0` + "\n",
		"\ngo_goroutines ", "\ngo_gc_duration_seconds_count ", "\ngo_memstats_heap_alloc_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %q", want)
		}
	}
	if runtime.GOOS == "linux" && !strings.Contains(text, "\nprocess_resident_memory_bytes ") {
		t.Error("missing: process_resident_memory_bytes")
	}
	// Two words are 0.2 s of the fake's voice; it transcribes the whole tone of a second.
	onTape(t, a, jsonRequest("/v1/audio/speech", `{"input":"two words","voice":"af_bella"}`))
	onTape(t, a, jsonRequest("/v1/text-to-speech/af_bella/stream/with-timestamps", `{"text":"two words"}`))
	onTape(t, a, formRequest(t, "/v1/audio/transcriptions", map[string]string{"model": earModel}))
	onTape(t, a, formRequest(t, "/v1/audio/transcriptions", map[string]string{"model": earModel, "stream": "true"}))
	text = scrape()
	for _, want := range []string{`audio_seconds_total{direction="in"} 2` + "\n", `audio_seconds_total{direction="out"} 0.4` + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("missing: %q", want)
		}
	}
}
