package httpapi_test

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"quern/httpapi"
)

func TestPage(t *testing.T) {
	s := newServer(t, httpapi.Options{Page: true, Keys: []httpapi.Key{fakeKey}})
	r := ask(t, s, "GET", "/", "")
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 || r.Header.Get("x-request-id") == "" || !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Fatalf("%d, %v, header %v", r.StatusCode, err, r.Header)
	}
	assets := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(string(body), -1)
	if len(assets) < 3 {
		t.Errorf("the page loads %v", assets)
	}
	for _, a := range assets {
		if r := ask(t, s, "GET", "/"+a[1], ""); r.StatusCode != 200 || !strings.Contains(r.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d, %v", a[1], r.StatusCode, r.Header)
		}
	}
	if r := ask(t, s, "HEAD", "/", ""); r.StatusCode != 200 {
		t.Errorf("HEAD: %d", r.StatusCode)
	}
	wantFailure(t, ask(t, s, "GET", "/assets/main-OLD.js", ""), 404, "unknown_url", "")
	wantFailure(t, ask(t, s, "POST", "/", "{}"), 405, "method_not_allowed", "")
	wantFailure(t, ask(t, s, "GET", "/v1/models", ""), 401, "invalid_api_key", "")
	if r := ask(t, s, "GET", "/metrics", "", "Authorization", "Bearer "+testKey); r.StatusCode == 200 {
		b, _ := io.ReadAll(r.Body)
		if !strings.Contains(string(b), `path="/assets/*file"`) || strings.Contains(string(b), "main-") {
			t.Error("the metrics have no line, or more than one, for the page's files")
		}
	}
}

// TestPageOfStrangers is about other people's pages and names that point here.
func TestPageOfStrangers(t *testing.T) {
	s := newServer(t, httpapi.Options{Page: true, BoundLoopback: true})
	for _, at := range []string{"/", "/assets/icon.svg"} {
		wantFailure(t, ask(t, s, "GET", at, "", "Host", "evil.example"), 403, "host_not_allowed", "")
		wantFailure(t, ask(t, s, "GET", at, "", "Origin", "https://evil.example"), 403, "origin_not_allowed", "")
	}
}

func TestNoPage(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	for _, at := range []string{"/", "/assets/icon.svg"} {
		wantFailure(t, ask(t, s, "GET", at, ""), 404, "unknown_url", "")
	}
}
