package httpapi_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quern/httpapi"
)

const warningHeader = "X-Quern-Warning"

func warning(field, meant string) string {
	return fmt.Sprintf("unknown field %q is ignored; did you mean %q?", field, meant)
}

// Slips of the endpoint's own fields are named; what is merely unknown is not, nor
// what a template or a message may carry.
func TestNearMissesAreNamed(t *testing.T) {
	chat := func(more string) *http.Request {
		return jsonRequest("/v1/chat/completions", `{"messages":[{"role":"user","content":"x","contents":1}],`+more+`}`)
	}
	for _, tt := range []struct {
		name string
		r    func(t *testing.T) *http.Request
		want []string
	}{
		{"a letter missing", func(*testing.T) *http.Request { return chat(`"max_token":3`) }, []string{warning("max_token", "max_tokens")}},
		{"a letter inside", func(*testing.T) *http.Request { return chat(`"temprature":1`) }, []string{warning("temprature", "temperature")}},
		{"two letters", func(*testing.T) *http.Request { return chat(`"presense_penelty":1`) }, []string{warning("presense_penelty", "presence_penalty")}},
		{"three letters", func(*testing.T) *http.Request { return chat(`"precense_penelti":1`) }, nil},
		{"swapped", func(*testing.T) *http.Request { return chat(`"tempreature":1,"sotp":"a"`) }, []string{warning("sotp", "stop"), warning("tempreature", "temperature")}},
		{"another spelling", func(*testing.T) *http.Request { return chat(`"maxTokens":3,"Stop":"a","top-p":1,"N":1`) },
			[]string{warning("N", "n"), warning("Stop", "stop"), warning("maxTokens", "max_tokens"), warning("top-p", "top_p")}},
		{"an option", func(*testing.T) *http.Request { return chat(`"stream":false,"stream_option":{"include_usage":true}`) },
			[]string{warning("stream_option", "stream_options")}},
		{"inside an option", func(*testing.T) *http.Request { return chat(`"stream":true,"stream_options":{"include_usag":true}`) },
			[]string{warning("stream_options.include_usag", "stream_options.include_usage")}},
		{"the template's own", func(*testing.T) *http.Request {
			return chat(`"chat_template_kwargs":{"enable_thinkin":true,"max_token":1},"metadata":{"stops":1},"logit_bias":{"12345":1,"12346":1}`)
		}, nil},
		{"only unknown", func(*testing.T) *http.Request { return chat(`"num_ctx":1,"x":2,"from_the_future":[1]`) }, nil},
		{"of another server", func(*testing.T) *http.Request {
			return chat(`"models":["a"],"mode":"chat","top_a":1,"typ_p":1,"typical":1,"do_stream":false`)
		}, nil},
		{"of another server's rerank", func(*testing.T) *http.Request {
			return jsonRequest("/v1/rerank", `{"query":"a","documents":["b"],"top_k":1,"top_p":1,"top_a":1}`)
		}, nil},
		{"of another server's transcription", func(t *testing.T) *http.Request {
			return formRequest(t, "/v1/audio/transcriptions", map[string]string{"model": earModel, "to_language": "en"})
		}, nil},
		{"of another endpoint", func(*testing.T) *http.Request { return chat(`"echoes":true,"best_off":2`) }, nil},
		{"in its endpoint", func(*testing.T) *http.Request {
			return jsonRequest("/v1/completions", `{"prompt":"a","best_off":2,"promt":1}`)
		}, []string{warning("best_off", "best_of"), warning("promt", "prompt")}},
		{"in a refused request", func(*testing.T) *http.Request { return jsonRequest("/v1/embeddings", `{"inputs":"a"}`) }, []string{warning("inputs", "input")}},
		{"in a form", func(t *testing.T) *http.Request {
			return formRequest(t, "/v1/audio/transcriptions", map[string]string{"model": earModel, "langauge": "en", "timestamp_granularity[]": "word"})
		}, []string{warning("langauge", "language")}},
		{"in the vendor's dialect", func(*testing.T) *http.Request {
			return jsonRequest("/v1/text-to-speech/af_bella", `{"text":"a.","modelid":"x","voice_settings":{"spead":1,"stability":1}}`)
		}, []string{warning("modelid", "model_id"), warning("voice_settings.spead", "voice_settings.speed")}},
		{"in small requests", func(*testing.T) *http.Request {
			return jsonRequest("/v1/detokenize", `{"tokens":[1],"token":[2]}`)
		}, []string{warning("token", "tokens")}},
		{"that break headers", func(*testing.T) *http.Request { return chat(`"stre\u00e4m\r\nA: b":1,"max_t\nokens":1`) },
			[]string{`unknown field "max_t\nokens" is ignored; did you mean "max_tokens"?`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := &records{}
			a := newAPI(t, httpapi.Options{Log: slog.New(log)})
			w := onTape(t, a, tt.r(t))
			if got := w.Header()[warningHeader]; !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			warned := 0
			for _, r := range log.all() {
				if r.Level == slog.LevelWarn && attr(r, "meant") != "" {
					warned++
				}
			}
			if warned != len(tt.want) {
				t.Errorf("%d warnings in the log, want %d", warned, len(tt.want))
			}
		})
	}
}

// However many there are, the header stays short and each is logged once.
func TestNearMissesAreBounded(t *testing.T) {
	log := &records{}
	a := newAPI(t, httpapi.Options{Log: slog.New(log)})
	var b strings.Builder
	b.WriteString(`{"messages":[{"role":"user","content":"x"}],"` + strings.Repeat("max_tokens", 1000) + `":1`)
	for i := range 5000 {
		fmt.Fprintf(&b, `,"max_tokens%c%c%c":1`, 'a'+i%26, 'a'+i/26%26, 'a'+i/676)
		fmt.Fprintf(&b, `,"max_tokens%c%c":1`, 'a'+i%26, 'a'+i/26%26)
	}
	b.WriteString("}")
	for range 20 {
		w := onTape(t, a, jsonRequest("/v1/chat/completions", b.String()))
		got := w.Header()[warningHeader]
		if len(got) != 8 {
			t.Fatalf("%d warnings", len(got))
		}
		for _, v := range got {
			if len(v) > 300 {
				t.Errorf("%d bytes: %.80q", len(v), v)
			}
		}
	}
	n, seen := 0, map[string]bool{}
	for _, r := range log.all() {
		if name := attr(r, "field"); name != "" {
			if n++; seen[name] {
				t.Errorf("%q is logged again", name)
			}
			seen[name] = true
		}
	}
	if n == 0 || n > 1000 {
		t.Errorf("%d fields in the log", n)
	}
}
