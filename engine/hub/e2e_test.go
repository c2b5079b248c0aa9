package hub

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/poll"
	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/local"
	"quern/engine/sample"
)

const childEnv = "QUERN_HUB_TEST_CHILD" // ENDPOINT STORE

// TestChild is not a test: TestKilled runs it in a process of its own.
func TestChild(t *testing.T) {
	endpoint, dir, ok := strings.Cut(os.Getenv(childEnv), " ")
	if !ok {
		t.Skip("only as a child")
	}
	c, err := New(Options{Store: Store{Dir: dir}, Endpoint: endpoint, Chunk: 64 << 10, Parallel: 2})
	if err != nil {
		t.Fatal(err)
	}
	r, err := ParseRef("owner/tiny")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Pull(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// A pull is killed half way; the next one goes on from there, and the model it
// brings answers.
func TestKilled(t *testing.T) {
	data, err := os.ReadFile("../model/testdata/smollm2-F32.gguf")
	if err != nil {
		t.Fatal(err)
	}
	const name = "tiny-F32.gguf"
	h := newFakeHub(t, map[string][]byte{name: data})
	const have = 5 * 64 << 10 // what the child gets
	half := make(chan struct{})
	given := 0
	h.mu.Lock() // the child's requests come from another process
	h.give = func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		h.mu.Lock()
		given++
		n := given
		h.mu.Unlock()
		if n < 6 {
			return false
		}
		if n == 6 {
			close(half)
		}
		<-r.Context().Done() // the rest never comes
		return true
	}
	h.mu.Unlock()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childEnv+"="+h.hub.URL+" "+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	<-half
	// Both workers wait now, or will; five pieces get onto the disk.
	part := filepath.Join(dir, "owner", "tiny", name)
	poll.Until(t, "five pieces are on the disk", func() bool {
		var s side
		b, err := os.ReadFile(part + sideSuffix)
		return err == nil && json.Unmarshal(b, &s) == nil && total(s.Done) == have
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatalf("the child ended by itself: %s", out.String())
	}
	// What it asked for last may be on its way still.
	h.hub.CloseClientConnections()
	h.storage.CloseClientConnections()

	store := Store{Dir: dir}
	holds(t, store, "owner/tiny/.hub.json", "owner/tiny/.pull.lock", "owner/tiny/"+name+".part", "owner/tiny/"+name+".part.json")
	if list, err := store.List(); err != nil || len(list) != 0 {
		t.Errorf("half a model is listed: %v, %v", list, err)
	}
	h.mu.Lock()
	h.give, h.log, h.sent = nil, nil, 0
	h.mu.Unlock()
	c, err := New(Options{Store: store, Endpoint: h.hub.URL, Chunk: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := c.Pull(t.Context(), ref(t, "owner/tiny"))
	if err != nil {
		t.Fatal(err)
	}
	if h.requests("storage GET /"+name+" bytes=") == 0 || h.sent != int64(len(data))-have {
		t.Errorf("it did not go on: %d bytes sent, %q", h.sent, h.log)
	}
	if got, err := os.ReadFile(m.Path); err != nil || !bytes.Equal(got, data) {
		t.Errorf("wrong bytes, %v", err)
	}
	holds(t, store, "owner/tiny/.hub.json", "owner/tiny/"+name)

	e, err := local.New(engine.Options{Dirs: []string{dir}, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	l, err := e.Open(t.Context(), m.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Release()
	text := ""
	for ev, err := range l.Generate(t.Context(), engine.GenerateRequest{Prompt: engine.Prompt{Text: "hello"}, MaxTokens: 4, IgnoreEOS: true, Sample: sample.Params{}}) {
		if err != nil {
			t.Fatal(err)
		}
		text += ev.Text
	}
	if text == "" {
		t.Error("the model says nothing")
	}
}

// Models of the store answer to the references that they are pulled by; of several number
// types the one that a pull would take is meant where none is named.
func TestPulledNames(t *testing.T) {
	store := t.TempDir()
	dir := filepath.Join(store, "Own", "Name")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"m-Q4_K_M.gguf", "m-Q8_0.gguf"} {
		if err := os.WriteFile(filepath.Join(dir, name), builtin.GGUF(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e, err := local.New(engine.Options{Store: store, Stored: Store{Dir: store}.Named})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for name, want := range map[string]string{
		"Own/Name":                        "Own/Name/m-Q4_K_M",
		"Own/Name:q8_0":                   "Own/Name/m-Q8_0",
		"Own/Name/m-Q8_0.gguf":            "Own/Name/m-Q8_0",
		"hub:Own/Name:Q8_0":               "Own/Name/m-Q8_0",
		"hf.co/Own/Name:Q4_K_M":           "Own/Name/m-Q4_K_M",
		"Own/Name:Q5_K_M":                 "",
		"Own/Other":                       "",
		"../" + filepath.Base(store):      "",
		"Own/Name/../Name/m-Q8_0.gguf":    "",
		filepath.Join(dir, "m-Q8_0.gguf"): "",
	} {
		if info, err := e.Find(name, engine.KindChat); info.ID != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", name, info.ID, err, want)
		}
	}
}
