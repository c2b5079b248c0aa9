package httpapi_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"quern/httpapi"
)

// TestMalformedChunks: a body whose chunks are malformed is answered; one that ends early may be of
// a client that left.
func TestMalformedChunks(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	const json = `{"prompt":"a"}`
	for _, tt := range []struct{ name, path, kind, chunks string }{
		{"no number", "/v1/completions", "application/json", "zz\r\n" + json},
		{"negative", "/v1/completions", "application/json", "-1\r\n" + json},
		{"longer than said", "/v1/completions", "application/json", "2\r\n" + json + "\r\n0\r\n\r\n"},
		{"in a form", transcribe, "multipart/form-data; boundary=x", "4\r\n--x\r\nzz\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := dial(t, s.URL, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%s", tt.path, tt.kind, tt.chunks))
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			if said := wantFailure(t, r, 400, "invalid_value", ""); !strings.Contains(said, "chunk") || !r.Close {
				t.Errorf("%q, and the connection is kept: %v", said, !r.Close)
			}
		})
	}
}

// TestOddForms: what a form has twice, without a name, or in another shape is refused by name.
func TestOddForms(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	part := func(head, value string) string {
		return "--x\r\nContent-Disposition: form-data" + head + "\r\n\r\n" + value + "\r\n"
	}
	file := part(`; name="file"; filename="a.wav"`, string(tone(t)))
	model := part(`; name="model"`, earModel)
	const end = "--x--\r\n"
	for _, tt := range []struct{ name, kind, form, param, says string }{
		{"a second file", "", model + file + file + end, "file", "twice"},
		{"a part without a name", "", part("", "a") + model + file + end, "", "no name"},
		{"a field as a file", "", file + part(`; name="model"; filename="m"`, earModel) + end, "model", "plain field"},
		{"cut", "", model + file, "", "closing boundary"},
		{"another boundary", "y", model + file + end, "", "closing boundary"},
		{"a boundary longer than a line may be", strings.Repeat("y", 10_000), strings.Repeat("z", 10_000), "", "boundary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kind := "multipart/form-data; boundary=x"
			if tt.kind != "" {
				kind = "multipart/form-data; boundary=" + tt.kind
			}
			r, err := s.Client().Post(s.URL+transcribe, kind, strings.NewReader(tt.form))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			if said := wantFailure(t, r, 400, "invalid_value", tt.param); !strings.Contains(said, tt.says) {
				t.Errorf("%q", said)
			}
		})
	}
}

// TestZippedForm: uploads may be compressed as other bodies may.
func TestZippedForm(t *testing.T) {
	s := newServer(t, httpapi.Options{Upload: 1 << 20})
	form := "--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" + earModel +
		"\r\n--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n" + string(tone(t)) + "\r\n--x--\r\n"
	for _, tt := range []struct {
		name, encoding string
		body           []byte
		status         int
		code           string
	}{
		{"gzip", "gzip", zipped(t, []byte(form)), 200, ""},
		{"bomb", "gzip", zipped(t, []byte(strings.Replace(form, "RIFF", strings.Repeat("RIFF", 1<<20), 1))), 413, "request_too_large"},
		{"not gzip", "gzip", []byte(form), 400, "invalid_json"},
		{"deflate", "deflate", []byte(form), 400, "invalid_value"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantEncoded(t, s, transcribe, "multipart/form-data; boundary=x", tt.encoding, tt.body, tt.status, tt.code)
		})
	}
}
