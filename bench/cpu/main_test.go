package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/internal/stat"
)

func runs(speed ...float64) (out []measurement) {
	for i := 0; i < len(speed); i += 2 {
		out = append(out, measurement{Prompt: speed[i], Generate: speed[i+1], RSS: 2e6, CPULevel: "avx2"})
	}
	return out
}

func compared() comparison {
	ours := runs(10, 3, 30, 1, 20, 2)
	for i := range ours {
		ours[i].Load, ours[i].Read, ours[i].MachineRead = 0.5, 7, 10
	}
	return comparison{Model: "m", options: options{Threads: 2, PP: 512, TG: 128, Batch: 1}, Programs: []program{
		{Name: "quern", Runs: ours},
		{Name: "node-llama-cpp", Runs: runs(40, 1, 40, 1.5)},
		{Name: "ik", Mode: "-rtr 1", Runs: runs(5, 4)},
	}}
}

func TestRender(t *testing.T) {
	r := result{Machine: host{CPU: "x", CPUs: 2, OS: "linux/amd64", Commit: "c", Go: "go1", Others: &stat.Others{Processors: 0.01, When: "meanwhile"}}, Models: []comparison{compared()}}
	want := `Machine: x, 2 CPUs, linux/amd64  
Commit: c, go1  
Used by other programs meanwhile: 0.01 processors  

m, 2 threads, median of 3 runs, interleaved; quern at avx2.

| | quern | node-llama-cpp | ik -rtr 1 | quern / best |
|---|---:|---:|---:|---:|
| pp512, tokens/s | 20.0 (10.0 to 30.0) | 40.0 (40.0 to 40.0) | 5.0 | 0.50 |
| tg128, tokens/s | 2.0 (1.0 to 3.0) | 1.2 (1.0 to 1.5) | 4.0 | 0.50 |
| load, s | 0.50 (0.50 to 0.50) | – | – | – |
| peak memory, MB | 2 (2 to 2) | 2 (2 to 2) | 2 | 1.00 |
| memory read, GB/s | 7.0 (7.0 to 7.0) | – | – | – |
| memory gives, GB/s | 10.0 (10.0 to 10.0) | – | – | – |
`
	if got := r.render(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	r.Machine.Others.Processors = 0.6
	if got := r.render(); !strings.Contains(got, "do not count") {
		t.Errorf("of a busy machine:\n%s", got)
	}
	r.Models[0].Batch, r.Models[0].Depth = 4, 4096
	if got := r.render(); !strings.Contains(got, "| pp512, tokens/s behind 4096 |") || !strings.Contains(got, "| tg128 × 4, tokens/s behind 4096 |") {
		t.Errorf("four sequences behind 4096 tokens:\n%s", got)
	}
}

// The document takes the newest result of a model, none of a busy machine, and says what is lost.
func TestReadme(t *testing.T) {
	dir := t.TempDir()
	document := filepath.Join(dir, "BUILD.md")
	old, newer, busy := compared(), compared(), compared()
	newer.Programs[0].Runs = runs(50, 3)
	busy.Programs[0].Runs = runs(500, 30)
	for i, r := range []result{
		{Date: "2026-01-01", Models: []comparison{old}},
		{Date: "2026-01-01", Models: []comparison{newer}},
		{Date: "2026-01-02", Models: []comparison{busy}, Machine: host{Others: &stat.Others{Processors: 1.5}}},
	} {
		if name, err := r.save(filepath.Join(dir, "results")); err != nil {
			t.Fatalf("result %d: %q, %v", i, name, err)
		}
	}
	if err := os.WriteFile(document, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(dir, "results")
	if err := writeReadme(results, document, true); err == nil || !strings.Contains(err.Error(), "is not that of the results") {
		t.Errorf("an old table passed the check: %v", err)
	}
	if err := writeReadme(results, document, false); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	want := "| m, at avx2 | 50.0 | node-llama-cpp: 40.0 (40.0 to 40.0) | 1.25 | 3.0 | ik -rtr 1: 4.0 | 0.75 | – | 2026-01-01,  |\n\n" +
		"Medians, with the range of the runs. quern is slower in:\n\n- m, at avx2, tg128, tokens/s: 0.75 of ik -rtr 1\n"
	if !strings.Contains(string(got), want) || !strings.HasPrefix(string(got), "before\n"+begin) || !strings.HasSuffix(string(got), end+"after\n") {
		t.Errorf("got\n%s\nwant in it\n%s", got, want)
	}
	if err := writeReadme(results, document, true); err != nil {
		t.Errorf("the new table: %v", err)
	}
	if err := os.WriteFile(document, []byte("no marks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeReadme(results, document, false); err == nil || !strings.Contains(err.Error(), "lacks the marks") {
		t.Errorf("without marks: %v", err)
	}
}

func TestSaveKeepsOlderRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	r := result{Date: "2026-01-15"}
	for _, want := range []string{"2026-01-15.md", "2026-01-15-2.md", "2026-01-15-3.md"} {
		name, err := r.save(dir)
		if err != nil || filepath.Base(name) != want {
			t.Fatalf("save = %q, %v; want %q", name, err, want)
		}
	}
}

func TestMeasure(t *testing.T) {
	for _, tt := range []struct {
		name, script, want string
		read               func([]byte) (measurement, error)
	}{
		{"good", `echo '{"pp_tokens_per_s":1,"tg_tokens_per_s":2}'`, "", readOurs},
		{"llama-bench", `echo 'CPU'; echo '[{"n_prompt":512,"n_gen":0,"avg_ts":1},{"n_prompt":0,"n_gen":128,"avg_ts":2}]'`, "", readLlamaBench},
		{"llama-bench of the prompt only", `echo '[{"n_prompt":512,"n_gen":0,"avg_ts":1}]'`, "measured nothing", readLlamaBench},
		{"fails", `echo oh no >&2; exit 3`, "oh no", readOurs},
		{"no JSON", `echo hello`, "hello", readOurs},
		{"nothing measured", `echo '{}'`, "measured nothing", readOurs},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sh, err := exec.LookPath("sh")
			if err != nil {
				t.Skip("no shell")
			}
			p := program{args: []string{sh, "-c", tt.script}, read: tt.read}
			err = p.measure(t.Context())
			if tt.want == "" {
				if err != nil || len(p.Runs) != 1 || p.Runs[0].Prompt != 1 || p.Runs[0].Generate != 2 {
					t.Errorf("%+v, %v", p.Runs, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || len(p.Runs) != 0 {
				t.Errorf("error %v, %d measurements; want %q", err, len(p.Runs), tt.want)
			}
		})
	}
}

// The line of the depth that was asked for counts, of those llama-sweep-bench prints.
func TestSweep(t *testing.T) {
	const table = `main: n_kv_max = 1536
|    PP |     TG |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |
|-------|--------|--------|----------|----------|----------|----------|
|   512 |     32 |      0 |   12.968 |   157.92 |   14.222 |    36.00 |
|   512 |     32 |    512 |   17.092 |   119.82 |   19.613 |    26.11 |
`
	if m, err := readSweep([]byte(table), 512); err != nil || m.Prompt != 119.82 || m.Generate != 26.11 {
		t.Errorf("behind 512: %+v, %v", m, err)
	}
	for name, text := range map[string]string{"absent": table, "no number": strings.ReplaceAll(table, "119.82", "fast")} {
		depth := 512
		if name == "absent" {
			depth = 1024
		}
		if m, err := readSweep([]byte(text), depth); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}
