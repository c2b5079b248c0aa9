package httpapi_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// A fakeStore yields the steps of a test, and records its calls.
type fakeStore struct {
	mu    sync.Mutex
	asked []string

	steps []engine.Pull
	err   error         // after the steps
	gate  chan struct{} // holds back what follows the first step
	left  chan struct{} // closed when a follower left in the middle
}

func (f *fakeStore) note(what ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, strings.Join(what, " "))
}

func (f *fakeStore) Pull(ctx context.Context, model string) iter.Seq2[engine.Pull, error] {
	f.note("pull", model)
	return func(yield func(engine.Pull, error) bool) {
		for i, p := range f.steps {
			if i > 0 && f.gate != nil {
				select {
				case <-f.gate:
				case <-ctx.Done():
					close(f.left)
					yield(engine.Pull{}, ctx.Err())
					return
				}
			}
			if !yield(p, nil) {
				return
			}
		}
		if f.err != nil {
			yield(engine.Pull{}, f.err)
		}
	}
}

func (f *fakeStore) Pulls() ([]engine.Pull, error) {
	return []engine.Pull{{Ref: "o/n:Q8_0", State: engine.PullStopped, Done: 5, Size: 10}}, nil
}

func (f *fakeStore) Stop(_ context.Context, model string, discard bool) error {
	if discard {
		model += " discard"
	}
	f.note("stop", model)
	return f.err
}

func (f *fakeStore) Removable(id string) bool { return id == embedModel }

func (f *fakeStore) Remove(_ context.Context, id string) (int64, error) {
	f.note("remove", id)
	return 42, f.err
}

// pulled are the steps of a pull that comes to its end.
var pulled = []engine.Pull{
	{Ref: "o/n", State: engine.PullDownloading, Done: 4, Size: 10, File: "m.gguf", FileDone: 4, FileSize: 10,
		Plan: &engine.PullPlan{Commit: "abc", Kind: "gguf", Quant: "Q4_K_M", Chosen: true, Others: []string{"Q8_0"}, Files: 1, Fetch: 10}},
	{Ref: "o/n", State: engine.PullDone, Done: 10, Size: 10, Model: "o/n/m"},
}

// managed is a server of one's own machine, which may be managed.
func managed(t *testing.T, f *fakeStore) *httptest.Server {
	t.Helper()
	return newServer(t, httpapi.Options{Store: f, BoundLoopback: true})
}

func decode(t *testing.T, r *http.Response) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

// TestPullStream: a pull is streamed as events, the last of which names the model.
func TestPullStream(t *testing.T) {
	s := managed(t, &fakeStore{steps: pulled})
	r := post(t, s, "/v1/models/pull", `{"model":"o/n","stream":true}`)
	if ct := r.Header.Get("Content-Type"); r.StatusCode != 200 || ct != "text/event-stream" {
		t.Errorf("%d %s", r.StatusCode, ct)
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := `data: {"type":"model.pull.progress","object":"model.pull","model":"o/n","state":"downloading","completed":4,"total":10,"file":"m.gguf","file_completed":4,"file_total":10,` +
		`"plan":{"commit":"abc","format":"gguf","quantization":"Q4_K_M","chosen":true,"others":["Q8_0"],"files":1,"download_bytes":10}}` + "\n\n" +
		`data: {"type":"model.pull.done","object":"model.pull","model":"o/n","id":"o/n/m","state":"done","completed":10,"total":10}` + "\n\n"
	if string(b) != want {
		t.Errorf("got  %s\nwant %s", b, want)
	}
}

// TestPullWhole: without a stream the answer is the end of the pull; a model that came and
// cannot be served is one.
func TestPullWhole(t *testing.T) {
	f := &fakeStore{steps: pulled}
	if m := decode(t, post(t, managed(t, f), "/models/pull", `{"model":"o/n","stream":false}`)); m["id"] != "o/n/m" || m["state"] != "done" || m["type"] != nil || m["note"] != nil {
		t.Errorf("%v", m)
	}
	f = &fakeStore{steps: []engine.Pull{{Ref: "o/n", State: engine.PullDone, Done: 1, Size: 1}}}
	if m := decode(t, post(t, managed(t, f), "/v1/models/pull", `{"model":"o/n"}`)); m["id"] != nil || !strings.Contains(m["note"].(string), "log") {
		t.Errorf("%v", m)
	}
}

// TestPullOllama: its programs add a tag to names without one.
func TestPullOllama(t *testing.T) {
	for _, name := range []string{"o/n", "o/n:latest"} {
		f := &fakeStore{steps: pulled}
		if m := decode(t, post(t, managed(t, f), "/api/pull", `{"model":"`+name+`","stream":false}`)); m["status"] != "success" || !slices.Equal(f.asked, []string{"pull o/n"}) {
			t.Errorf("%s: %v, asked for %v", name, m, f.asked)
		}
	}
}

// TestPullFailures: what goes wrong before anything came has a status of its own, and later
// an event.
func TestPullFailures(t *testing.T) {
	gated := engine.Errorf(engine.CodeModelNotAllowed, "model", "o/n is gated")
	for _, body := range []string{`{"model":"o/n"}`, `{"model":"o/n","stream":true}`} {
		wantFailure(t, post(t, managed(t, &fakeStore{err: gated}), "/v1/models/pull", body), 403, "model_not_allowed", "model")
	}
	r := post(t, managed(t, &fakeStore{err: engine.Errorf(engine.CodePullStopped, "", "stopped")}), "/v1/models/pull", `{"model":"o/n"}`)
	wantFailure(t, r, 409, "pull_stopped", "")
	if r.Header.Get("x-should-retry") != "false" {
		t.Error("clients may retry by themselves what was stopped on purpose")
	}
	f := &fakeStore{steps: pulled[:1], err: engine.Errorf(engine.CodeStoreFull, "model", "the disk is full")}
	b, _ := io.ReadAll(post(t, managed(t, f), "/v1/models/pull", `{"model":"o/n","stream":true}`).Body)
	if _, last, _ := strings.Cut(strings.TrimSpace(string(b)), "\n\n"); last != `data: {"error":{"message":"the disk is full","type":"server_error","param":"model","code":"insufficient_storage"}}` {
		t.Errorf("%s", b)
	}
	s := managed(t, &fakeStore{})
	for body, code := range map[string]string{`{}`: "missing_required_parameter", `{"model":""}`: "invalid_value", `{"model":1}`: "invalid_type"} {
		wantFailure(t, post(t, s, "/v1/models/pull", body), 400, code, "model")
	}
	wantFailure(t, post(t, s, "/v1/models/pull", `{"model":"o/n","stream":1}`), 400, "invalid_type", "stream")
}

// TestPullClientLeaves: the store's sequence ends before the next step when the client leaves.
func TestPullClientLeaves(t *testing.T) {
	f := &fakeStore{steps: pulled, gate: make(chan struct{}), left: make(chan struct{})}
	s := managed(t, f)
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", s.URL+"/v1/models/pull", strings.NewReader(`{"model":"o/n","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if line, err := bufio.NewReader(r.Body).ReadString('\n'); err != nil || !strings.Contains(line, "progress") {
		t.Errorf("%s, %v", line, err)
	}
	leave()
	<-f.left
}

// TestManage: names reach the store as they are, with slashes, colons and dots, spelled out
// or not; what it says reaches the client.
func TestManage(t *testing.T) {
	f := &fakeStore{}
	s := managed(t, f)
	for _, tt := range []struct{ method, path, want string }{
		{"DELETE", "/v1/models/o/n/m-Q4_K_M", "remove o/n/m-Q4_K_M"},
		{"DELETE", "/models/o%2Fn%2Fm", "remove o/n/m"},
		{"DELETE", "/v1/models/..%2F..%2Fetc%2Fpasswd", "remove ../../etc/passwd"},
		{"DELETE", "/v1/pulls/o/n:Q8_0@main", "stop o/n:Q8_0@main"},
		{"DELETE", "/v1/pulls/o%2Fn%3AQ8_0?discard=true", "stop o/n:Q8_0 discard"},
		{"DELETE", "/v1/pulls/o/n?discard=0", "stop o/n"},
	} {
		f.asked = nil
		r := ask(t, s, tt.method, tt.path, "")
		if m := decode(t, r); r.StatusCode != 200 || len(f.asked) != 1 || f.asked[0] != tt.want {
			t.Errorf("%s: %d %v asked %q, want %q", tt.path, r.StatusCode, m, f.asked, tt.want)
		}
	}
	if m := decode(t, ask(t, s, "DELETE", "/v1/models/m", "")); m["deleted"] != true || m["id"] != "m" || m["object"] != "model" || m["freed_bytes"] != 42.0 {
		t.Errorf("%v", m)
	}
	wantFailure(t, ask(t, s, "DELETE", "/v1/pulls/o/n?discard=perhaps", ""), 400, "invalid_value", "discard")
	wantFailure(t, ask(t, s, "DELETE", "/v1/models/", ""), 405, "method_not_allowed", "")
	data := decode(t, ask(t, s, "GET", "/v1/pulls", ""))["data"].([]any)
	if p := data[0].(map[string]any); len(data) != 1 || p["model"] != "o/n:Q8_0" || p["state"] != "stopped" || p["completed"] != 5.0 || p["total"] != 10.0 {
		t.Errorf("%v", data)
	}
	f.err = engine.Errorf(engine.CodeModelInUse, "model", "in use")
	r := ask(t, s, "DELETE", "/v1/models/m", "")
	wantFailure(t, r, 409, "model_in_use", "model")
	if r.Header.Get("x-should-retry") != "false" {
		t.Error("clients may retry by themselves")
	}
}

// TestWhoManages: without keys only callers of this machine, with keys those whose key says
// so, or all with ManageAll; none where there is no store.
func TestWhoManages(t *testing.T) {
	other := httpapi.Key{Name: "owner", SHA256: sha256.Sum256([]byte("owner")), Manage: true}
	keys := []httpapi.Key{fakeKey, other}
	for _, tt := range []struct {
		name string
		o    httpapi.Options
		key  string
		may  bool
	}{
		{"this machine", httpapi.Options{BoundLoopback: true}, "", true},
		{"other machines", httpapi.Options{}, "", false},
		{"other machines, on purpose", httpapi.Options{ManageAll: true}, "", true},
		{"a key", httpapi.Options{Keys: keys, BoundLoopback: true}, testKey, false},
		{"the owner's key", httpapi.Options{Keys: keys}, "owner", true},
		{"a key, on purpose", httpapi.Options{Keys: keys, ManageAll: true}, testKey, true},
	} {
		for _, store := range []*fakeStore{{steps: pulled}, nil} {
			o := tt.o
			if store != nil {
				o.Store = store
			}
			s, may := newServer(t, o), tt.may && store != nil
			for _, x := range []struct{ method, path, body string }{
				{"POST", "/v1/models/pull", `{"model":"o/n"}`}, {"GET", "/v1/pulls", ""}, {"DELETE", "/v1/pulls/o/n", ""}, {"DELETE", "/v1/models/m", ""},
			} {
				r := ask(t, s, x.method, x.path, x.body, "Authorization", "Bearer "+tt.key)
				if may && r.StatusCode != 200 {
					t.Errorf("%s: %s %s: %s", tt.name, x.method, x.path, r.Status)
				} else if !may {
					wantFailure(t, r, 403, "permission_denied", "")
				}
			}
			if store != nil && !may && len(store.asked) > 0 {
				t.Errorf("%s: asked %v", tt.name, store.asked)
			}
			info := decode(t, ask(t, s, "GET", "/v1/server", "", "Authorization", "Bearer "+tt.key))
			if info["manage"] != may || len(info["keys"].([]any)) != len(o.Keys) || tt.key == "owner" && info["key"] != "owner" {
				t.Errorf("%s: %v", tt.name, info)
			}
			removable := decode(t, ask(t, s, "GET", "/v1/models/"+embedModel, "", "Authorization", "Bearer "+tt.key))["removable"]
			if removable != may {
				t.Errorf("%s: removable %v", tt.name, removable)
			}
		}
	}
	s := newServer(t, httpapi.Options{Keys: keys, Store: &fakeStore{}})
	wantFailure(t, ask(t, s, "DELETE", "/v1/models/m", ""), 401, "invalid_api_key", "")
	wantFailure(t, ask(t, managed(t, &fakeStore{}), "DELETE", "/v1/models/m", "", "Origin", "https://evil.example"), 403, "origin_not_allowed", "")
}

// TestModelNeeds: one model is described with the memory it takes, and why it does not fit.
func TestModelNeeds(t *testing.T) {
	s := managed(t, &fakeStore{})
	fits := decode(t, ask(t, s, "GET", "/v1/models/"+chatModel, ""))
	if m := fits["memory"].(map[string]any); m["bytes"] != float64(1<<30) || m["limit"] != float64(2<<30) || m["fits"] != true || m["why"] != nil || fits["removable"] != false {
		t.Errorf("%v", fits)
	}
	large := decode(t, ask(t, s, "GET", "/v1/models/"+embedModel, ""))
	if m := large["memory"].(map[string]any); m["fits"] != false || !strings.Contains(m["why"].(string), "context_length") || large["removable"] != true {
		t.Errorf("%v", large)
	}
}
