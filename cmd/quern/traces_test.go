package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A request is traced to a collector from the HTTP request to the scheduler's steps, as part of
// the caller's trace, whose id is in the log.
func TestTraces(t *testing.T) {
	var mu sync.Mutex
	got := map[string]*spans.Span{}
	service := ""
	collect := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = z
		}
		b, err := io.ReadAll(body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(b, &sent) != nil {
			t.Errorf("%s: %v, %d bytes", r.URL.Path, err, len(b))
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range sent.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				if a.Key == "service.name" {
					service = text(a.Value)
				}
			}
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					if _, known := got[s.Name]; !known && string(s.TraceId) == string(traceID[:]) {
						got[s.Name] = s
					}
				}
			}
		}
	}))
	defer collect.Close()
	p := start(t, []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collect.URL, "OTEL_SERVICE_NAME=mill"}, "serve", "--listen", "127.0.0.1:0", "--log-format", "json")
	base := p.wait(t, `listening on (\S+)\n`)[1]
	p.wait(t, `Try`)
	const parent = "00f067aa0ba902b7"
	for _, r := range []struct{ path, body string }{{"/v1/chat/completions", franceBody + "}"}, {"/tokenize", `{"prompt":"x"}`}, {"/nowhere", `{}`}} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+r.path, strings.NewReader(r.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("traceparent", fmt.Sprintf("00-%x-%s-01", traceID, parent))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
	}
	if code := p.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	if !strings.Contains(p.err.String(), `"msg":"request"`) || !strings.Contains(p.err.String(), fmt.Sprintf(`"trace":"%x"`, traceID)) {
		t.Errorf("the log does not name the trace:\n%s", p.err.String())
	}
	mu.Lock()
	defer mu.Unlock()
	if service != "mill" {
		t.Errorf("of the service %q", service)
	}
	var names []string
	for name := range got {
		names = append(names, name)
	}
	slices.Sort(names)
	root, work := "POST /v1/chat/completions", "chat quern-tiny"
	// A request of an endpoint that is not there has no route, and one that only counts tokens is no chat.
	if want := []string{"POST", root, "POST /v1/tokenize", work, "decode", "load", "prefill", "queue", "tokenize quern-tiny"}; !slices.Equal(names, want) {
		t.Fatalf("spans %q, want %q", names, want)
	}
	for name, of := range map[string]string{work: root, "load": work, "queue": work, "prefill": work, "decode": work} {
		s, under := got[name], got[of]
		if string(s.ParentSpanId) != string(under.SpanId) || s.StartTimeUnixNano < under.StartTimeUnixNano || s.EndTimeUnixNano > under.EndTimeUnixNano || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%s is no part of %s: %v, %v", name, of, s, under)
		}
	}
	if s := got[root]; fmt.Sprintf("%x", s.ParentSpanId) != parent || s.Kind != spans.Span_SPAN_KIND_SERVER {
		t.Errorf("the request's span is %v", s)
	}
	for name, want := range map[string]map[string]string{
		root:     {"http.route": "/v1/chat/completions", "http.response.status_code": "200", "http.request.method": "POST"},
		work:     {"gen_ai.operation.name": "chat", "gen_ai.response.model": "quern-tiny", "gen_ai.provider.name": "quern", "gen_ai.usage.input_tokens": "", "gen_ai.usage.output_tokens": ""},
		"decode": {"quern.steps": "", "quern.tokens": "", "quern.preemptions": "0"},
	} {
		facts := map[string]string{}
		for _, a := range got[name].Attributes {
			facts[a.Key] = text(a.Value)
		}
		for key, value := range want {
			if f, ok := facts[key]; !ok || value != "" && f != value || value == "" && f == "0" {
				t.Errorf("%s of %s is %q, want %q", key, name, f, value)
			}
		}
	}
	if strings.Contains(fmt.Sprint(got), "France") {
		t.Error("spans hold what was said")
	}
}

var traceID = [16]byte{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36}

func text(v interface {
	GetStringValue() string
	GetIntValue() int64
}) string {
	if s := v.GetStringValue(); s != "" {
		return s
	}
	return fmt.Sprint(v.GetIntValue())
}
