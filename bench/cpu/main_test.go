package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestRender(t *testing.T) {
	c := comparison{model: "m.gguf", options: options{threads: 2, pp: 512, tg: 128, batch: 4},
		quern: []measurement{{10, 3, 0.5, 2e6, 7, "avx2"}, {30, 1, 0.5, 2e6, 7, "avx2"}, {20, 2, 0.5, 2e6, 7, "avx2"}},
		peer:  []measurement{{40, 4, 1, 4e6, 0, "zen"}, {40, 5, 1, 4e6, 0, "zen"}}}
	got := render([]comparison{c}, []string{"Machine: x"})
	want := `Machine: x  

m.gguf, 2 threads, median of 3 runs, interleaved; quern at avx2, node-llama-cpp at zen.

| | quern | range | node-llama-cpp | range | ratio |
|---|---:|---|---:|---|---:|
| pp512, tokens/s | 20.0 | 10.0 to 30.0 | 40.0 | 40.0 to 40.0 | 0.50 |
| tg128 × 4, tokens/s | 2.0 | 1.0 to 3.0 | 4.5 | 4.0 to 5.0 | 0.44 |
| load, s | 0.50 | 0.50 to 0.50 | 1.00 | 1.00 to 1.00 | 0.50 |
| peak memory, MB | 2 | 2 to 2 | 4 | 4 to 4 | 0.50 |
| memory read, GB/s | 7.0 | 7.0 to 7.0 | – | – | – |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	c.depth = 4096
	if got := render([]comparison{c}, nil); !strings.Contains(got, "| pp512, tokens/s behind 4096 |") || !strings.Contains(got, "| tg128 × 4, tokens/s behind 4096 |") {
		t.Errorf("behind 4096 tokens:\n%s", got)
	}
}

func TestSaveKeepsOlderRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	now := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
	for i, want := range []string{"2026-01-15.md", "2026-01-15-2.md", "2026-01-15-3.md"} {
		name, err := save(dir, now, strings.Repeat("x", i+1))
		if err != nil || filepath.Base(name) != want {
			t.Fatalf("save = %q, %v; want %q", name, err, want)
		}
	}
	b, err := os.ReadFile(filepath.Join(dir, "2026-01-15.md"))
	if err != nil || string(b) != "# 2026-01-15\n\nx" {
		t.Errorf("first run is now %q, %v", b, err)
	}
}

func TestMeasure(t *testing.T) {
	for _, tt := range []struct {
		name, script, want string
	}{
		{"good", `echo '{"pp_tokens_per_s":1,"tg_tokens_per_s":2}'`, ""},
		{"fails", `echo oh no >&2; exit 3`, "oh no"},
		{"no JSON", `echo hello`, "hello"},
		{"nothing measured", `echo '{}'`, "measured nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sh, err := exec.LookPath("sh")
			if err != nil {
				t.Skip("no shell")
			}
			var into []measurement
			err = measure(t.Context(), &into, []string{sh, "-c", tt.script})
			if tt.want == "" {
				if err != nil || len(into) != 1 || into[0].Generate != 2 {
					t.Errorf("%+v, %v", into, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(into) != 0 {
				t.Errorf("error %v, %d measurements; want %q", err, len(into), tt.want)
			}
		})
	}
}
