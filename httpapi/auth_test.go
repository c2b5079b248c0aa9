package httpapi_test

import (
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"quern/httpapi"
)

// ask sends a request with headers given as name, value, …
func ask(t *testing.T, s *httptest.Server, method, path, body string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	r, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Body.Close() })
	return r
}

func TestKeys(t *testing.T) {
	var log logged
	second := httpapi.Key{Name: "second", SHA256: sha256.Sum256([]byte("other"))}
	s := newServer(t, httpapi.Options{Keys: []httpapi.Key{fakeKey, second}, Log: log.logger()})
	for _, tt := range []struct {
		name    string
		headers []string
		ok      bool
	}{
		{"none", nil, false},
		{"bearer", []string{"Authorization", "Bearer test-key"}, true},
		{"second key", []string{"Authorization", "Bearer other"}, true},
		{"lower case", []string{"Authorization", "bearer test-key"}, true},
		{"xi-api-key", []string{"xi-api-key", "test-key"}, true},
		{"x-api-key", []string{"x-api-key", "test-key"}, true},
		{"wrong", []string{"Authorization", "Bearer wrong"}, false},
		{"longer", []string{"Authorization", "Bearer test-key2"}, false},
		{"no scheme", []string{"Authorization", "test-key"}, false},
		{"basic", []string{"Authorization", "Basic test-key"}, false},
		{"empty", []string{"Authorization", "Bearer "}, false},
		{"first present wins", []string{"Authorization", "Bearer wrong", "x-api-key", "test-key"}, false},
		{"xi before x", []string{"xi-api-key", "wrong", "x-api-key", "test-key"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ask(t, s, "GET", "/v1/models", "", tt.headers...)
			if tt.ok {
				if r.StatusCode != 200 {
					t.Errorf("status %d", r.StatusCode)
				}
				return
			}
			wantFailure(t, r, 401, "invalid_api_key", "")
			if got := r.Header.Get("WWW-Authenticate"); got != "Bearer" {
				t.Errorf("WWW-Authenticate %q", got)
			}
		})
	}
	wantFailure(t, ask(t, s, "GET", "/v1/models?api_key=test-key", ""), 401, "invalid_api_key", "")
	if got := log.String(); !strings.Contains(got, "key=tester") || !strings.Contains(got, "key=second") || strings.Contains(got, testKey) {
		t.Errorf("log: %s", got)
	}
}

func TestWhatNeedsAKey(t *testing.T) {
	s := newServer(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}})
	for _, tt := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/health", 200}, {"HEAD", "/health", 200}, {"GET", "/v1/health", 200}, {"GET", "/livez", 200}, {"GET", "/readyz", 200},
		{"OPTIONS", "/v1/models", 204},
		{"GET", "/metrics", 401}, {"GET", "/v1/models", 401}, {"GET", "/models", 401}, {"GET", "/v1/server", 401},
		{"POST", "/tokenize", 401}, {"POST", "/v1/chat/completions", 401},
		{"GET", "/v1/nope", 401}, {"GET", "/v1/chat/completions", 401}, {"GET", "/nope", 404},
	} {
		r := ask(t, s, tt.method, tt.path, "{not json")
		if r.StatusCode != tt.status {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.path, r.StatusCode, tt.status)
		}
		if tt.status == 401 && r.Header.Get("Allow") != "" {
			t.Errorf("%s %s: Allow tells which routes there are", tt.method, tt.path)
		}
	}
	public := newServer(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}, MetricsPublic: true})
	if r := ask(t, public, "GET", "/metrics", ""); r.StatusCode != 200 {
		t.Errorf("public metrics: %d", r.StatusCode)
	}
}

func TestBrowserIsTheAttacker(t *testing.T) {
	open := newServer(t, httpapi.Options{BoundLoopback: true, AllowedHosts: []string{"quern.example.com"}})
	wide := newServer(t, httpapi.Options{NoAuth: true})
	keyed := newServer(t, httpapi.Options{BoundLoopback: true, Keys: []httpapi.Key{fakeKey}})
	for _, tt := range []struct {
		name         string
		s            *httptest.Server
		host, origin string
		code         string // "" is fine
	}{
		{"no browser", open, "", "", ""},
		{"page of this machine", open, "", "http://localhost:3000", ""},
		{"without port", open, "", "https://127.0.0.1", ""},
		{"IPv6 page", open, "", "http://[::1]:5173", ""},
		{"app", open, "", "app://obsidian.md", ""},
		{"foreign page", open, "", "https://evil.example", "origin_not_allowed"},
		{"lookalike", open, "", "http://localhost.evil.example", "origin_not_allowed"},
		{"port lookalike", open, "", "http://localhost:80.evil.example", "origin_not_allowed"},
		{"null origin", open, "", "null", "origin_not_allowed"},
		{"localhost", open, "localhost:8080", "", ""},
		{"loopback address", open, "127.0.0.2", "", ""},
		{"IPv6", open, "[::1]:8080", "", ""},
		{"private address", open, "192.168.1.4:8080", "", ""},
		{"machine name", open, "nas.local:8080", "", ""},
		{"configured", open, "Quern.example.com:8080", "", ""},
		{"rebound name", open, "evil.example:8080", "", "host_not_allowed"},
		{"rebound page", open, "evil.example", "http://evil.example", "host_not_allowed"},
		{"public address", open, "93.184.216.34", "", "host_not_allowed"},
		{"own page", open, "192.168.1.4:8080", "http://192.168.1.4:8080", ""},
		{"other page of the host", open, "192.168.1.4:8080", "http://192.168.1.4:9090", "origin_not_allowed"},
		{"public bind, any host", wide, "quern.example.net", "", ""},
		{"public bind, foreign page", wide, "", "https://evil.example", "origin_not_allowed"},
		{"public bind, rebound page", wide, "evil.example", "http://evil.example", "origin_not_allowed"},
		{"with keys, any host", keyed, "quern.example.net", "https://evil.example", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := []string{"x-api-key", testKey}
			if tt.host != "" {
				h = append(h, "Host", tt.host)
			}
			if tt.origin != "" {
				h = append(h, "Origin", tt.origin)
			}
			r := ask(t, tt.s, "GET", "/v1/models", "", h...)
			if tt.code != "" {
				wantFailure(t, r, 403, tt.code, "")
			} else if r.StatusCode != 200 {
				b, _ := io.ReadAll(r.Body)
				t.Errorf("got %d %s", r.StatusCode, b)
			}
		})
	}
}

func TestCORS(t *testing.T) {
	s := newServer(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}, AllowedOrigins: []string{"https://*.example.com", "http://localhost:*"}})
	h := ask(t, s, "OPTIONS", "/v1/chat/completions", "", "Origin", "https://chat.example.com", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "authorization,x-stainless-os", "Access-Control-Request-Private-Network", "true").Header
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":  "https://chat.example.com",
		"Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
		"Access-Control-Allow-Headers": "authorization,x-stainless-os",
		"Access-Control-Max-Age":       "600",

		"Access-Control-Allow-Private-Network": "true",

		"Access-Control-Allow-Credentials": "",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
		t.Errorf("Vary %q", h.Values("Vary"))
	}
	// Errors can be read by pages too.
	r := ask(t, s, "GET", "/v1/models", "", "Origin", "https://chat.example.com")
	if r.StatusCode != 401 || r.Header.Get("Access-Control-Allow-Origin") == "" || !strings.Contains(r.Header.Get("Access-Control-Expose-Headers"), "x-request-id") {
		t.Errorf("got %d, %v", r.StatusCode, r.Header)
	}
	for _, origin := range []string{"https://example.com", "https://chat.example.com.evil.example", "http://chat.example.com"} {
		if got := ask(t, s, "OPTIONS", "/v1/models", "", "Origin", origin).Header.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s is allowed", origin)
		}
	}
	all := newServer(t, httpapi.Options{AllowedOrigins: []string{"*"}})
	if got := ask(t, all, "GET", "/v1/models", "", "Origin", "https://any.example").Header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("got %q, want *", got)
	}
}

func TestRequestIDs(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	made := regexp.MustCompile(`^req_[0-9a-f]{24}$`)
	for _, tt := range []struct {
		name, id string
		kept     bool
	}{
		{"none", "", false},
		{"sane", "abc-123_X.y", true},
		{"longest", strings.Repeat("x", 128), true},
		{"too long", strings.Repeat("x", 129), false},
		{"space", "a b", false},
		{"quote", `a"b`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{"/v1/models", "/v1/nope", "/health"} {
				got := ask(t, s, "GET", path, "", "x-request-id", tt.id).Header.Get("x-request-id")
				if tt.kept && got != tt.id || !tt.kept && !made.MatchString(got) {
					t.Errorf("%s: got %q", path, got)
				}
			}
		})
	}
	if got := ask(t, s, "POST", "/v1/chat/completions", streamBody, "x-request-id", "s1").Header.Get("x-request-id"); got != "s1" {
		t.Errorf("stream: got %q", got)
	}
}

func TestModelsForElevenLabs(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for _, tt := range []struct {
		name    string
		headers []string
		array   bool
	}{
		{"plain", nil, false},
		{"key", []string{"xi-api-key", "k"}, true},
		{"user agent", []string{"User-Agent", "elevenlabs/2.0"}, true},
		{"SDK", []string{"X-Fern-SDK-Name", "@elevenlabs/elevenlabs-js"}, true},
		{"both keys", []string{"xi-api-key", "k", "Authorization", "Bearer k"}, false},
	} {
		r := ask(t, s, "GET", "/v1/models", "", tt.headers...)
		b, _ := io.ReadAll(r.Body)
		if got := strings.HasPrefix(string(b), "["); got != tt.array {
			t.Errorf("%s: array %v, want %v", tt.name, got, tt.array)
		}
		if v := strings.Join(r.Header.Values("Vary"), ","); !strings.Contains(v, "xi-api-key") {
			t.Errorf("%s: Vary %q", tt.name, v)
		}
	}
}

func TestLogHoldsNoContent(t *testing.T) {
	var log logged
	s := newServer(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}, Log: log.logger()})
	ask(t, s, "POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"PROMPTTEXT"}],"user":"u1","metadata":{"team":"a"},"odd_field":"SECRETVALUE"}`, "Authorization", "Bearer "+testKey)
	ask(t, s, "POST", "/v1/chat/completions", `{}`, "Authorization", "Bearer "+testKey)
	eventually(t, "access log", func() bool { return strings.Count(log.String(), "msg=request") == 2 })
	got := log.String()
	for _, bad := range []string{"PROMPTTEXT", "SECRETVALUE", testKey, "asleep"} {
		if strings.Contains(got, bad) {
			t.Errorf("the log holds %q: %s", bad, got)
		}
	}
	for _, want := range []string{" request=req_", "status=200", "key=tester", "odd_field", "u1", "prompt_tokens=", "status=400", "code=missing_required_parameter"} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %q: %s", want, got)
		}
	}
}
