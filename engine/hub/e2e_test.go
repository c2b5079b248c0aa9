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

// A pull is killed half way; the next one goes on from there.
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
}
