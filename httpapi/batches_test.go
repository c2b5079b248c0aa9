package httpapi_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"quern/bench/poll"
	"quern/engine"
	"quern/httpapi"
	"quern/httpapi/batch"
	"quern/httpapi/jobs"
)

// withJobs is a server with two keys that keeps files and runs batches in a folder.
func withJobs(t *testing.T, o httpapi.Options) *httptest.Server {
	t.Helper()
	j, err := jobs.New(jobs.Options{Dir: t.TempDir(), Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	o.Jobs = j
	o.Keys = []httpapi.Key{fakeKey, {Name: "second", SHA256: sha256.Sum256([]byte("other"))}}
	a := newAPI(t, o)
	s := newServerOf(t, a)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { j.Work(ctx, a.Line) })
	t.Cleanup(func() { cancel(); wg.Wait(); j.Close() })
	return s
}

// call sends a request with a key and reads the answer.
func call(t *testing.T, s *httptest.Server, key, method, path, body string, headers ...string) (status int, out map[string]any, raw string) {
	t.Helper()
	r := ask(t, s, method, path, body, append([]string{"Authorization", "Bearer " + key}, headers...)...)
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(b, &out) // what is not JSON is raw only
	return r.StatusCode, out, string(b)
}

// store uploads a file, with fields given as name, value, …
func store(t *testing.T, s *httptest.Server, key, name, content string, fields ...string) (status int, out map[string]any, raw string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	p, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = p.Write([]byte(content))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return call(t, s, key, "POST", "/v1/files", b.String(), "Content-Type", w.FormDataContentType())
}

func TestFiles(t *testing.T) {
	t.Parallel() // it waits
	s := withJobs(t, httpapi.Options{Engine: &fake{}})
	var ids []string
	for i := range 3 {
		status, f, raw := store(t, s, testKey, fmt.Sprintf("f%d.txt", i), "content", "purpose", "user_data", "expires_after[anchor]", "created_at", "expires_after[seconds]", "3600")
		if status != 200 || f["object"] != "file" || f["bytes"] != 7.0 || f["filename"] != fmt.Sprintf("f%d.txt", i) || f["purpose"] != "user_data" || f["expires_at"] != f["created_at"].(float64)+3600 {
			t.Fatalf("%d %s", status, raw)
		}
		ids = append(ids, f["id"].(string))
	}
	names := func(query string) string {
		_, l, raw := call(t, s, testKey, "GET", "/v1/files"+query, "")
		data, ok := l["data"].([]any)
		if !ok {
			return raw
		}
		out := ""
		for _, f := range data {
			out += f.(map[string]any)["filename"].(string) + " "
		}
		return fmt.Sprint(out, l["has_more"])
	}
	for query, want := range map[string]string{
		"": "f2.txt f1.txt f0.txt false", "?order=asc": "f0.txt f1.txt f2.txt false", "?limit=2": "f2.txt f1.txt true",
		"?limit=2&after=" + ids[1]: "f0.txt false", "?purpose=batch": "false", "?purpose=user_data&limit=1": "f2.txt true",
	} {
		if got := names(query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, tt := range []struct {
		key, method, path string
		status            int
		want              string
	}{
		{testKey, "GET", "/v1/files/" + ids[0], 200, `"filename":"f0.txt"`},
		{testKey, "GET", "/v1/files/" + ids[0] + "/content", 200, "content"},
		{"other", "GET", "/v1/files/" + ids[0], 404, "not_found"},
		{"other", "GET", "/v1/files/" + ids[0] + "/content", 404, "not_found"},
		{"other", "DELETE", "/v1/files/" + ids[0], 404, "not_found"},
		{"other", "GET", "/v1/files", 200, `"data":[]`},
		{"wrong", "GET", "/v1/files", 401, "invalid_api_key"},
		{testKey, "GET", "/v1/files?limit=0", 400, "limit"},
		{testKey, "GET", "/v1/files?after=file-x", 400, "after"},
		{testKey, "DELETE", "/v1/files/" + ids[0], 200, `"deleted":true`},
		{testKey, "DELETE", "/v1/files/" + ids[0], 404, "not_found"},
		{testKey, "GET", "/files/" + ids[1], 200, "f1.txt"},
	} {
		if status, _, raw := call(t, s, tt.key, tt.method, tt.path, ""); status != tt.status || !strings.Contains(raw, tt.want) {
			t.Errorf("%s %s as %s: %d %s, want %d %s", tt.method, tt.path, tt.key, status, raw, tt.status, tt.want)
		}
	}
	for _, tt := range []struct {
		name   string
		fields []string
		status int
		want   string
	}{
		{"no purpose", nil, 400, "purpose is required"},
		{"bad purpose", []string{"purpose", "fun"}, 400, "purpose must be one of"},
		{"expiry without anchor", []string{"purpose", "batch", "expires_after[seconds]", "3600"}, 400, "expires_after[anchor] is required"},
		{"short expiry", []string{"purpose", "batch", "expires_after[anchor]", "created_at", "expires_after[seconds]", "3599"}, 400, "between 3600"},
	} {
		if status, _, raw := store(t, s, testKey, "f", "x", tt.fields...); status != tt.status || !strings.Contains(raw, tt.want) {
			t.Errorf("%s: %d %s", tt.name, status, raw)
		}
	}
	if status, _, raw := store(t, s, testKey, "f", strings.Repeat("x\n", batch.MaxLines+1), "purpose", "batch"); status != 413 {
		t.Errorf("too many lines: %d %s", status, raw)
	}
}

func TestUploadLimit(t *testing.T) {
	s := withJobs(t, httpapi.Options{Engine: &fake{}, Upload: 1000})
	if status, _, raw := store(t, s, testKey, "f", strings.Repeat("x", 2000), "purpose", "user_data"); status != 413 || !strings.Contains(raw, "limits.upload") {
		t.Errorf("%d %s", status, raw)
	}
}

func TestNoJobs(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: &fake{}})
	for _, path := range []string{"/v1/files", "/v1/batches"} {
		if r := ask(t, s, "GET", path, ""); r.StatusCode != 501 {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
}

// batchOf runs lines, given as bodies, to their end.
func batchOf(t *testing.T, s *httptest.Server, endpoint string, bodies ...string) (b map[string]any, output, failures []string) {
	t.Helper()
	var in strings.Builder
	for i, body := range bodies {
		fmt.Fprintf(&in, `{"custom_id":"c%d","method":"POST","url":%q,"body":%s}`+"\n", i+1, endpoint, body)
	}
	status, f, raw := store(t, s, testKey, "in.jsonl", in.String(), "purpose", "batch")
	if status != 200 {
		t.Fatalf("%d %s", status, raw)
	}
	status, b, raw = call(t, s, testKey, "POST", "/v1/batches", fmt.Sprintf(`{"input_file_id":%q,"endpoint":%q,"completion_window":"24h","metadata":{"a":"b"}}`, f["id"], endpoint), "Content-Type", "application/json")
	if status != 200 || b["object"] != "batch" || b["metadata"].(map[string]any)["a"] != "b" {
		t.Fatalf("%d %s", status, raw)
	}
	poll.Until(t, "the batch is over", func() bool {
		_, b, _ = call(t, s, testKey, "GET", "/v1/batches/"+b["id"].(string), "")
		return b["completed_at"] != nil || b["failed_at"] != nil
	})
	file := func(id any) []string {
		if id == nil {
			return nil
		}
		_, _, raw := call(t, s, testKey, "GET", "/v1/files/"+id.(string)+"/content", "")
		return strings.Split(strings.TrimSpace(raw), "\n")
	}
	return b, file(b["output_file_id"]), file(b["error_file_id"])
}

func TestBatchOfChats(t *testing.T) {
	t.Parallel() // it waits
	var background []bool
	var mu sync.Mutex
	e := &fake{}
	e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		mu.Lock()
		background = append(background, engine.IsBackground(ctx))
		mu.Unlock()
		e.reply(ctx, r, yield)
	}
	s := withJobs(t, httpapi.Options{Engine: e})
	const chat = `{"model":"stub-chat","messages":[{"role":"user","content":"hello <there>"}]%s}`
	b, output, failures := batchOf(t, s, "/v1/chat/completions", fmt.Sprintf(chat, ""), fmt.Sprintf(chat, `,"temperature":"hot"`), fmt.Sprintf(chat, `,"max_tokens":3`))
	if fmt.Sprint(b["request_counts"]) != "map[completed:2 failed:1 total:3]" || b["status"] != "completed" {
		t.Errorf("%v", b)
	}
	if len(output) != 2 || !strings.Contains(output[0], `"custom_id":"c1"`) || !strings.Contains(output[0], `"status_code":200`) || !strings.Contains(output[0], "chat.completion") || !strings.Contains(output[1], `"c3"`) {
		t.Errorf("output %q", output)
	}
	if len(failures) != 1 || !strings.Contains(failures[0], `"status_code":400`) || !strings.Contains(failures[0], "temperature") {
		t.Errorf("failures %q", failures)
	}
	if fmt.Sprint(background) != "[true true]" {
		t.Errorf("in the background %v", background)
	}
	status, l, _ := call(t, s, testKey, "GET", "/v1/batches?limit=1", "")
	if status != 200 || len(l["data"].([]any)) != 1 || l["has_more"] != false {
		t.Errorf("%d %v", status, l)
	}
	for _, path := range []string{"/v1/batches/" + b["id"].(string), "/v1/batches/batch_x"} {
		if status, _, raw := call(t, s, "other", "GET", path, ""); status != 404 {
			t.Errorf("%d %s", status, raw)
		}
	}
	if status, _, raw := call(t, s, testKey, "POST", "/v1/batches/"+b["id"].(string)+"/cancel", ""); status != 409 || !strings.Contains(raw, "completed") {
		t.Errorf("%d %s", status, raw)
	}
}

func TestBatchOfOthers(t *testing.T) {
	t.Parallel() // it waits
	e := &fake{}
	s := withJobs(t, httpapi.Options{Engine: e})
	_, sound, raw := store(t, s, testKey, "a.wav", string(tone(t)), "purpose", "user_data")
	if sound["id"] == nil {
		t.Fatal(raw)
	}
	_, half, _ := store(t, s, testKey, "b.wav", string(tone(t)[:44+16000]), "purpose", "user_data")
	_, theirs, _ := store(t, s, "other", "a.wav", string(tone(t)), "purpose", "user_data")
	for _, tt := range []struct {
		endpoint string
		bodies   []string
		output   []string
		failures []string
	}{
		{"/v1/embeddings", []string{`{"model":"stub-embed","input":"a"}`, `{"model":"stub-embed","input":[]}`}, []string{`"object":"embedding"`}, []string{`"input"`}},
		{"/v1/completions", []string{`{"model":"stub-base","prompt":"a"}`}, []string{"text_completion"}, nil},
		{"/v1/responses", []string{`{"model":"stub-chat","input":"a"}`}, []string{`"object":"response"`}, nil},
		{"/v1/audio/transcriptions", []string{
			fmt.Sprintf(`{"model":%q,"file":%q,"temperature":0.5,"timestamp_granularities":["word"],"response_format":"verbose_json"}`, earModel, sound["id"]),
			fmt.Sprintf(`{"model":%q,"file":%q,"response_format":"srt"}`, earModel, sound["id"]),
			fmt.Sprintf(`{"model":%q,"file":%q,"response_format":"text"}`, earModel, half["id"]),
			fmt.Sprintf(`{"model":%q,"file":%q}`, earModel, theirs["id"]),
			fmt.Sprintf(`{"model":%q,"file":%q,"prompt":{}}`, earModel, sound["id"]),
			fmt.Sprintf(`{"model":%q,"file":%q,"temperature":9}`, earModel, sound["id"]),
		}, []string{`"words"`, `"body":"1\n00:`, `"warnings":["the audio is cut short: 0.5 s could be read of 1.0 s"]`}, []string{"there is no file", `prompt must be`, `temperature must be`}},
	} {
		b, output, failures := batchOf(t, s, tt.endpoint, tt.bodies...)
		if b["status"] != "completed" || len(output) != len(tt.output) || len(failures) != len(tt.failures) {
			t.Errorf("%s: %v, output %q, failures %q", tt.endpoint, b, output, failures)
			continue
		}
		for i := range output {
			if !strings.Contains(output[i], tt.output[i]) {
				t.Errorf("%s: output %d is %s, want %s", tt.endpoint, i, output[i], tt.output[i])
			}
		}
		for i := range failures {
			if !strings.Contains(failures[i], tt.failures[i]) {
				t.Errorf("%s: failure %d is %s, want %s", tt.endpoint, i, failures[i], tt.failures[i])
			}
		}
	}
}

// TestLinesWait: a line for a model that does one thing after the other begins when no request
// is with the model, in whichever dialect; where requests never rest it begins after so many.
func TestLinesWait(t *testing.T) {
	t.Parallel() // it waits
	const share = 32
	for _, tt := range []struct {
		name, path string
		more       int // requests that come while the first is under way
		order      string
	}{
		{"the same endpoint", "/v1/embeddings", 0, "first line"},
		{"another dialect", "/api/embed", share - 2, "first line"},
		{"requests that never rest", "/v1/embeddings", share - 1, "line first"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			began, release, line := make(chan struct{}), make(chan struct{}), make(chan struct{})
			var mu sync.Mutex
			var order []string
			e := &fake{embed: func(r engine.EmbedRequest) (engine.EmbedResult, error) {
				what := r.Inputs[0].Text
				if what == "first" {
					close(began)
					<-release
				}
				if what != "more" {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, what)
				}
				if what == "line" {
					close(line)
				}
				return engine.EmbedResult{Vectors: [][]float32{{1}}}, nil
			}}
			s := withJobs(t, httpapi.Options{Engine: e})
			embed := func(text string) {
				call(t, s, testKey, "POST", tt.path, fmt.Sprintf(`{"model":"stub-embed","input":%q}`, text), "Content-Type", "application/json")
			}
			var wg sync.WaitGroup
			wg.Go(func() { embed("first") })
			<-began
			_, f, _ := store(t, s, testKey, "in.jsonl", `{"custom_id":"1","method":"POST","url":"/v1/embeddings","body":{"model":"stub-embed","input":"line"}}`, "purpose", "batch")
			_, b, _ := call(t, s, testKey, "POST", "/v1/batches", fmt.Sprintf(`{"input_file_id":%q,"endpoint":"/v1/embeddings","completion_window":"24h"}`, f["id"]), "Content-Type", "application/json")
			reached := func(field string) func() bool {
				return func() bool {
					_, now, _ := call(t, s, testKey, "GET", "/v1/batches/"+b["id"].(string), "")
					return now[field] != nil
				}
			}
			poll.Until(t, "the batch runs", reached("in_progress_at"))
			for range tt.more {
				embed("more")
			}
			if strings.HasPrefix(tt.order, "line") {
				<-line
			}
			close(release)
			wg.Wait()
			poll.Until(t, "the batch is over", reached("completed_at"))
			if got := strings.Join(order, " "); got != tt.order {
				t.Errorf("order %s, want %s", got, tt.order)
			}
		})
	}
}

func TestBatchRefused(t *testing.T) {
	t.Parallel() // it waits
	s := withJobs(t, httpapi.Options{Engine: &fake{}})
	_, f, _ := store(t, s, testKey, "in.jsonl", "nonsense\n", "purpose", "batch")
	_, other, _ := store(t, s, testKey, "in.jsonl", "nonsense\n", "purpose", "user_data")
	const body = `{"input_file_id":%q,"endpoint":%q,"completion_window":%q}`
	for _, tt := range []struct {
		key, body string
		status    int
		want      string
	}{
		{testKey, `{}`, 400, "input_file_id"},
		{testKey, fmt.Sprintf(body, "file-x", "/v1/embeddings", "24h"), 404, "there is no file"},
		{"other", fmt.Sprintf(body, f["id"], "/v1/embeddings", "24h"), 404, "there is no file"},
		{testKey, fmt.Sprintf(body, other["id"], "/v1/embeddings", "24h"), 400, "uploaded for"},
		{testKey, fmt.Sprintf(body, f["id"], "/v1/rerank", "24h"), 400, "endpoint"},
		{testKey, fmt.Sprintf(body, f["id"], "/v1/embeddings", "1s"), 400, "completion_window"},
		{testKey, fmt.Sprintf(body, f["id"], "/v1/embeddings", "31d"), 400, "completion_window"},
		{testKey, fmt.Sprintf(body, f["id"], "/v1/embeddings", ""), 400, "completion_window"},
	} {
		if status, _, raw := call(t, s, tt.key, "POST", "/v1/batches", tt.body, "Content-Type", "application/json"); status != tt.status || !strings.Contains(raw, tt.want) {
			t.Errorf("%s: %d %s, want %d %s", tt.body, status, raw, tt.status, tt.want)
		}
	}
	b, _, _ := batchOf(t, s, "/v1/embeddings", `{"model":"a"}`, `{"model":"b"}`)
	if b["status"] != "failed" || !strings.Contains(fmt.Sprint(b["errors"]), "line:2") {
		t.Errorf("%v", b)
	}
}

// A broken store fails in one way.
type broken struct {
	httpapi.Jobs
	err error
}

func (b broken) PutFile(context.Context, string, batch.File, io.Reader) (batch.File, error) {
	return batch.File{}, b.err
}
func (b broken) Batches(context.Context, string) ([]batch.Batch, error) { return nil, b.err }

func TestStoreFailures(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
		want   string
	}{
		{&batch.FullError{Left: 3 << 20, Err: io.ErrShortWrite}, 507, "3 MiB are left; delete files that are no longer needed, or raise jobs.max_bytes"},
		{&batch.FullError{Disk: true, Err: io.ErrShortWrite}, 507, "or make room on the disk of jobs.dir"},
		{&batch.AwayError{Err: io.ErrUnexpectedEOF}, 503, "cannot be reached"},
	} {
		s := newServer(t, httpapi.Options{Engine: &fake{}, Jobs: broken{err: tt.err}})
		r := ask(t, s, "GET", "/v1/batches", "")
		if (r.Header.Get("Retry-After") != "") != (tt.status == 503) || r.StatusCode != tt.status {
			t.Errorf("%v: %d, Retry-After %q", tt.err, r.StatusCode, r.Header.Get("Retry-After"))
		}
		status, _, raw := store(t, s, testKey, "f", "x", "purpose", "batch")
		if status != tt.status || !strings.Contains(raw, tt.want) {
			t.Errorf("%v: %d %s", tt.err, status, raw)
		}
		if status, _, raw := call(t, s, testKey, "POST", "/v1/chat/completions", `{"model":"stub-chat","messages":[{"role":"user","content":"a"}]}`, "Content-Type", "application/json"); status != 200 {
			t.Errorf("a chat beside it: %d %s", status, raw)
		}
	}
}
