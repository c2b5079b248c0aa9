package httpapi_test

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quern/httpapi"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// What differs from run to run.
var unstable = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`"id":"(chatcmpl|cmpl)-[0-9a-f]{24}"`), `"id":"$1-ID"`},
	{regexp.MustCompile(`"(created|started)":[0-9]{10}`), `"$1":0`},
	{regexp.MustCompile(`"load_ms":[0-9.e-]+`), `"load_ms":0`},
}

// TestGolden sends the requests of testdata/*.txt and compares the answers.
// A file is a request line, a body, a line of dashes, and the answer.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	const line = "\n----\n"
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			s := newServer(t, httpapi.Options{Version: "test"})
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			in, want, _ := strings.Cut(string(data), line)
			first, body, _ := strings.Cut(in, "\n")
			method, path, _ := strings.Cut(first, " ")
			req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r, err := s.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			var b bytes.Buffer
			fmt.Fprintf(&b, "%d\n", r.StatusCode)
			for _, h := range []string{"Content-Type", "Cache-Control", "X-Accel-Buffering", "X-Should-Retry", "Retry-After", "Allow", "Vary"} {
				if v := r.Header.Values(h); len(v) > 0 {
					fmt.Fprintf(&b, "%s: %s\n", h, strings.Join(v, ", "))
				}
			}
			b.WriteByte('\n')
			if _, err := io.Copy(&b, r.Body); err != nil {
				t.Fatal(err)
			}
			got := b.String()
			for _, u := range unstable {
				got = u.re.ReplaceAllString(got, u.to)
			}
			if *update {
				if err := os.WriteFile(file, []byte(in+line+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}
