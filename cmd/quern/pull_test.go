package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quern/cmd/quern/internal/terminal"
	"quern/engine/hub"
)

// fakeHub serves files as one repository, to those with the token if there is
// one.
func fakeHub(t *testing.T, token string, files map[string][]byte) (endpoint string, gets *atomic.Int32) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	gets = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token != "" && r.Header.Get("Authorization") != "Bearer "+token {
			w.Header().Set("X-Error-Code", "GatedRepo")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if strings.HasPrefix(r.URL.Path, "/api/models/") {
			var list []any
			for name, b := range files {
				sum := sha256.Sum256(b)
				list = append(list, map[string]any{"rfilename": name, "size": len(b),
					"lfs": map[string]any{"sha256": hex.EncodeToString(sum[:]), "size": len(b)}})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": list})
			return
		}
		_, name, _ := strings.Cut(r.URL.Path, "/resolve/"+commit+"/")
		gets.Add(1)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(files[name]))
	}))
	t.Cleanup(s.Close)
	return s.URL, gets
}

func testModel(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile("../../engine/model/testdata/smollm2-F32.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPullListRemove(t *testing.T) {
	model := testModel(t)
	endpoint, gets := fakeHub(t, "hf_secret", map[string][]byte{"m-Q4_K_M.gguf": model, "m-Q8_0.gguf": []byte("other"), "README.md": nil})
	t.Chdir(t.TempDir())
	store := t.TempDir()
	env := []string{"HF_ENDPOINT=" + endpoint, "QUERN_MODELS=" + store + string(os.PathListSeparator) + t.TempDir(), "HF_HOME=" + t.TempDir()}
	withToken := append(env, "HF_TOKEN=hf_secret")
	write(t, "token", "hf_secret\n")
	write(t, "token.yaml", "hub: {token_file: token}")
	write(t, "never.yaml", "hub: {token_file: token, pull: false}\nmodels: [{path: 'hub:o/n:q4_k_m', preload: true}]")
	for _, tt := range []struct {
		name   string
		args   string
		stdin  string
		env    []string
		code   int
		stdout []string
		stderr []string
	}{
		{"no model", "pull", "", env, 2, nil, []string{"which model?"}},
		{"no reference", "pull a/../b", "", env, 2, nil, []string{"not a model reference"}},
		{"two revisions", "pull a/b@c --revision d", "", env, 2, nil, []string{"--revision"}},
		{"gated", "pull o/n", "", env, 1, nil, []string{"gated", endpoint + "/o/n", "HF_TOKEN", "hub.token_file"}},
		{"offline", "pull o/n", "", append(env, "QUERN_OFFLINE=1"), 1, nil, []string{"QUERN_OFFLINE is set"}},
		{"offline as the hub's tools say", "pull o/n", "", append(env, "HF_HUB_OFFLINE=yes"), 1, nil, []string{"HF_HUB_OFFLINE is set"}},
		{"bad endpoint", "pull o/n", "", []string{"HF_ENDPOINT=ftp://x", "QUERN_MODELS=" + store}, 1, nil, []string{"endpoint"}},
		{"empty list", "list", "", env, 0, []string{"no models in", "quern pull"}, nil},
		{"empty list as JSON", "list --json", "", env, 0, []string{"[]\n"}, nil},
		{"dry run", "pull o/n --dry-run", "", withToken, 0, []string{"Taking Q4_K_M", "there is also Q8_0", "m-Q4_K_M.gguf", "552 kB", "to download"}, nil},
		{"not pulled when forbidden", "serve --config never.yaml --listen 127.0.0.1:0", "", env, 1, nil, []string{"hub.pull is false", "quern pull o/n:Q4_K_M"}},
		{"pull with a token file", "pull --config token.yaml o/n", "", env, 0,
			[]string{"Taking Q4_K_M", "o/n:Q4_K_M is in " + filepath.Join(store, "o", "n", "m-Q4_K_M.gguf"), "quern serve --model hub:o/n:Q4_K_M"}, nil},
		{"again", "pull o/n:q4_k_m", "", withToken, 0, []string{"there", "0 B"}, nil},
		{"offline, it is here", "pull o/n", "", append(env, "QUERN_OFFLINE=1"), 0, []string{"is here", "quern serve"}, nil},
		{"list", "list", "", env, 0, []string{"MODEL", "o/n:Q4_K_M", "gguf", "552 kB"}, nil},
		{"run", "run --max-tokens 1 hub:o/n hello", "", append(env, "QUERN_OFFLINE=1"), 0, []string{"hello"}, nil},
		{"quantize", "quantize o/n x.gguf q8_0", "", env, 0, []string{"x.gguf: "}, nil},
		{"another by file", "pull o/n/m-Q8_0.gguf", "", withToken, 0, []string{"hub:o/n:Q8_0"}, nil},
		{"remove nothing", "rm o/x", "", env, 1, nil, []string{"not on this machine"}},
		{"remove, no", "rm o/n:q8_0", "n\n", env, 1, []string{"o/n/m-Q8_0.gguf", "Remove 5 B?", "Nothing was removed"}, nil},
		{"remove, no answer", "rm o/n:q8_0", "", env, 2, nil, []string{"--yes"}},
		{"remove, yes", "rm o/n:q8_0", "y\n", env, 0, []string{"removed o/n:Q8_0"}, nil},
		{"remove without asking", "rm -y o/n", "", env, 0, []string{"removed o/n: 55"}, nil},
		{"empty again", "list", "", env, 0, []string{"no models in"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := quern(t, tt.stdin, tt.env, strings.Fields(tt.args)...)
			if code != tt.code {
				t.Errorf("exit code %d; want %d", code, tt.code)
			}
			has(t, "stdout", stdout, tt.stdout)
			has(t, "stderr", stderr, tt.stderr)
			if tt.code == 0 && tt.stderr == nil && stderr != "" {
				t.Errorf("stderr %q; want nothing", stderr)
			}
			if strings.Contains(stdout+stderr, "hf_secret") {
				t.Errorf("the token is shown: %q %q", stdout, stderr)
			}
			if tt.name == "dry run" && gets.Load() != 0 {
				t.Error("a dry run fetched something")
			}
		})
	}
	if left, err := os.ReadDir(store); err != nil || len(left) != 0 {
		t.Errorf("left in the store: %v, %v", left, err)
	}
}

// What pulls have left that did not end is listed, and removed when it is named.
func TestUnfinished(t *testing.T) {
	store := t.TempDir()
	env := []string{"QUERN_MODELS=" + store}
	for _, d := range []string{"o/n", "p/n"} {
		if err := os.MkdirAll(filepath.Join(store, d), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(store, d, "m.gguf.part"), "half")
		write(t, filepath.Join(store, d, "m.gguf.part.json"), `{"size":8,"hash":"sha256:00","done":[[0,4]]}`)
	}
	for _, tt := range []struct {
		args, stdin string
		code        int
		stdout      []string
	}{
		{"list", "", 0, []string{"no models in", "o/n/m.gguf", "4 B of 8 B", "p/n/m.gguf", "quern rm --unfinished"}},
		{"list --json", "", 0, []string{"[]"}},
		{"rm --unfinished", "n\n", 1, []string{"o/n/m.gguf, 4 B of 8 B", "Remove 8 B?", "Nothing was removed"}},
		{"rm --unfinished p/n", "y\n", 0, []string{"Remove 4 B?", "removed what was left unfinished of p/n"}},
		{"rm --unfinished p/n", "", 0, []string{"no pull was left unfinished"}},
		{"rm --unfinished --yes", "", 0, []string{"removed what was left unfinished of o/n"}},
		{"list", "", 0, []string{"no models in"}},
	} {
		code, stdout, stderr := quern(t, tt.stdin, env, strings.Fields(tt.args)...)
		if code != tt.code || stderr != "" {
			t.Errorf("%s: exit code %d, %q", tt.args, code, stderr)
		}
		has(t, tt.args, stdout, tt.stdout)
	}
	if left, err := os.ReadDir(store); err != nil || len(left) != 0 {
		t.Errorf("left in the store: %v, %v", left, err)
	}
}

// serve pulls the models of its command line, under the reference's name.
func TestServeFromHub(t *testing.T) {
	endpoint, gets := fakeHub(t, "", map[string][]byte{"m-Q4_K_M.gguf": testModel(t)})
	store := t.TempDir()
	env := []string{"HF_ENDPOINT=" + endpoint, "QUERN_MODELS=" + store, "HF_HOME=" + t.TempDir()}
	p := start(t, env, "serve", "--listen", "127.0.0.1:0", "--model", "tiny=hub:o/n:q4_k_m", "--model", "hub:o/n")
	base := p.wait(t, `listening on (\S+)`)[1]
	p.wait(t, "Models: |Chat is answered")
	resp, err := http.Post(base+"/v1/completions", "application/json", strings.NewReader(`{"model":"o/n:Q4_K_M","prompt":"hello","max_tokens":2}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("status %s", resp.Status)
	}
	resp, err = http.Get(base + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil || !strings.Contains(b.String(), `"tiny"`) || !strings.Contains(b.String(), `"o/n/m-Q4_K_M"`) {
		t.Errorf("models %s, %v", b.String(), err)
	}
	if gets.Load() != 1 {
		t.Errorf("%d files fetched", gets.Load())
	}
	if code := p.end(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
}

// A model of the configuration is pulled when it is first asked for.
func TestServePullsOnFirstUse(t *testing.T) {
	endpoint, gets := fakeHub(t, "", map[string][]byte{"m-Q4_K_M.gguf": testModel(t)})
	config := filepath.Join(t.TempDir(), "quern.yaml")
	write(t, config, "models: [{path: 'hub:o/n:Q4_K_M'}, {name: gone, path: 'hub:o/n:Q9_9'}]")
	env := []string{"HF_ENDPOINT=" + endpoint, "QUERN_MODELS=" + t.TempDir(), "HF_HOME=" + t.TempDir()}
	p := start(t, env, "serve", "--listen", "127.0.0.1:0", "--config", config)
	base := p.wait(t, `listening on (\S+)`)[1]
	p.wait(t, "Models: |Chat is answered")
	if gets.Load() != 0 {
		t.Errorf("%d files fetched before the first request", gets.Load())
	}
	if code, text := post(t, base+"/v1/completions", "", `{"model":"o/n","prompt":"hello","max_tokens":2}`); code != http.StatusOK || gets.Load() != 1 {
		t.Errorf("status %d after %d files: %s", code, gets.Load(), text)
	}
	if log := p.err.String(); !strings.Contains(log, "model fetched") {
		t.Errorf("log %q; want that the model was fetched", log)
	}
	if code, text := post(t, base+"/v1/completions", "", `{"model":"gone","prompt":"hello"}`); code != http.StatusInternalServerError || !strings.Contains(text, "has no Q9_9; there is Q4_K_M") {
		t.Errorf("status %d: %s", code, text)
	}
	if code := p.end(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
}

// request sends a request with a key and returns its answer.
func request(t *testing.T, method, url, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, b.String()
}

// A client of the server has a model pulled, uses it and has it removed; the model folder
// was not there before, and what is configured stays.
func TestServeManages(t *testing.T) {
	endpoint, _ := fakeHub(t, "", map[string][]byte{"m-Q4_K_M.gguf": testModel(t)})
	data := t.TempDir()
	env := []string{"HF_ENDPOINT=" + endpoint, "XDG_DATA_HOME=" + data, "HF_HOME=" + t.TempDir()}
	mine := filepath.Join(t.TempDir(), "mine.gguf")
	write(t, mine, string(testModel(t)))
	p := start(t, env, "serve", "--listen", "127.0.0.1:0", "--model", mine)
	base := p.wait(t, `listening on (\S+)`)[1]
	p.wait(t, "Texts are continued by mine")
	status, text := request(t, "POST", base+"/v1/models/pull", "", `{"model":"o/n","stream":true}`)
	if !strings.Contains(text, `"type":"model.pull.done"`) || !strings.Contains(text, `"id":"o/n/m-Q4_K_M"`) {
		t.Errorf("%d %s", status, text)
	}
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/v1/models/o/n/m-Q4_K_M", "", 200, `"removable":true`},
		{"POST", "/v1/completions", `{"model":"o/n/m-Q4_K_M","prompt":"hello","max_tokens":2}`, 200, "choices"},
		{"POST", "/v1/completions", `{"prompt":"hello","max_tokens":2}`, 200, `"model":"mine"`}, // what was pulled gives way
		{"DELETE", "/v1/models/mine", "", 403, "model_not_allowed"},
		{"DELETE", "/v1/models/o/n/m-Q4_K_M", "", 200, `"deleted":true`},
		{"DELETE", "/v1/models/o/n/m-Q4_K_M", "", 404, "model_not_found"},
		{"GET", "/v1/pulls", "", 200, `"data":[]`},
		{"POST", "/v1/models/pull", `{"model":"../x"}`, 400, "invalid_value"},
	} {
		if code, text := request(t, tt.method, base+tt.path, "", tt.body); code != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, code, text)
		}
	}
	if code := p.end(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	if left, _ := filepath.Glob(filepath.Join(data, "quern", "models", "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Pulls, loads, work and removals of one model at a time: each is done or refused by name,
// and whatever came last, the model can be pulled and used again.
func TestServeManagesTogether(t *testing.T) {
	endpoint, _ := fakeHub(t, "", map[string][]byte{"m-Q4_K_M.gguf": testModel(t)})
	env := []string{"HF_ENDPOINT=" + endpoint, "XDG_DATA_HOME=" + t.TempDir(), "HF_HOME=" + t.TempDir()}
	p := start(t, env, "serve", "--listen", "127.0.0.1:0")
	base := p.wait(t, `listening on (\S+)`)[1]
	p.wait(t, "Chat is answered")
	const id = "o/n/m-Q4_K_M"
	asks := []struct{ method, path, body string }{
		{"POST", "/v1/models/pull", `{"model":"o/n"}`},
		{"DELETE", "/v1/models/" + id, ""},
		{"POST", "/v1/models/load", `{"model":"` + id + `"}`},
		{"POST", "/v1/completions", `{"model":"` + id + `","prompt":"hello","max_tokens":2}`},
		{"POST", "/v1/models/unload", `{"model":"` + id + `"}`},
		{"GET", "/v1/models/" + id, ""},
		{"DELETE", "/v1/pulls/o/n?discard=true", ""},
	}
	told := map[string]bool{"model_not_found": true, "model_in_use": true, "pull_stopped": true, "queue_full": true}
	var all sync.WaitGroup
	for _, ask := range asks {
		all.Go(func() {
			for range 8 {
				code, text := request(t, ask.method, base+ask.path, "", ask.body)
				var failure struct{ Error struct{ Code string } }
				if err := json.Unmarshal([]byte(text), &failure); err != nil || code != 200 && !told[failure.Error.Code] {
					t.Errorf("%s %s: %d %s", ask.method, ask.path, code, text)
				}
			}
		})
	}
	all.Wait()
	for _, ask := range []int{0, 3, 1} {
		if code, text := request(t, asks[ask].method, base+asks[ask].path, "", asks[ask].body); code != 200 {
			t.Errorf("afterwards, %s: %d %s", asks[ask].path, code, text)
		}
	}
	if code := p.end(t); code != exitOK {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
}

// Keys need the permission, which QUERN_API_KEY has with manage: all.
func TestServeManagesWithKeys(t *testing.T) {
	for _, tt := range []struct {
		args   string
		key    string
		status int
	}{
		{"", "plain", 403}, {"", "own", 200}, {"", "variable", 403}, {"--manage all", "variable", 200}, {"--manage none", "own", 403},
	} {
		config := filepath.Join(t.TempDir(), "quern.yaml")
		write(t, config, "auth: [{name: plain, key: plain}, {name: own, key: own, manage: true}]")
		p := start(t, []string{"QUERN_API_KEY=variable", "XDG_DATA_HOME=" + t.TempDir()}, append([]string{"serve", "--listen", "127.0.0.1:0", "--config", config}, strings.Fields(tt.args)...)...)
		base := p.wait(t, `listening on (\S+)`)[1]
		if code, text := request(t, "GET", base+"/v1/pulls", tt.key, ""); code != tt.status {
			t.Errorf("%s with key %s: %d %s", tt.args, tt.key, code, text)
		}
		p.end(t)
	}
}

// A pull says once that it waits for another, with a terminal and without.
func TestPullWaits(t *testing.T) {
	var out output
	a := &app{err: &out}
	told := a.pulled()
	for range 3 {
		told(hub.Progress{File: "o/n", State: hub.Waiting, AllDone: 1, AllSize: 2})
	}
	if want := "Another pull of o/n is under way; waiting for it.\n"; out.String() != want {
		t.Errorf("printed %q; want %q", out.String(), want)
	}
}

func TestPulling(t *testing.T) {
	var out output
	s := terminal.NewLine(&out, func() int { return 80 })
	s.Clear() // before anything was drawn
	showPull(s, hub.Progress{File: "a/weights.gguf", State: hub.Downloading, Done: 20, Size: 100, AllDone: 50, AllSize: 200})
	s.Clear()
	showPull(s, hub.Progress{File: "a/weights.gguf", State: hub.Verifying, Done: 10, Size: 100, AllDone: 200, AllSize: 200})
	s.Clear()
	showPull(s, hub.Progress{File: "a/weights.gguf", State: hub.Present, Done: 100, Size: 100, AllDone: 200, AllSize: 200})
	first, second := " 25 % [=====               ] 50 B / 200 B weights.gguf", " 10 % [==                  ] verifying weights.gguf"
	wiped := func(line string) string { return "\r" + strings.Repeat(" ", len(line)+3) + "\r" }
	want := "\r" + first + wiped(first) + "\r" + second + wiped(second)
	if out.String() != want {
		t.Errorf("drawn %q; want %q", out.String(), want)
	}
}
