package httpapi_test

import (
	"context"
	"crypto/sha256"
	"net/http/httptest"
	"strings"
	"testing"

	"quern/bench/poll"
	"quern/engine"
	"quern/httpapi"
	"quern/httpapi/jobs"
)

// mine is the header of the first key.
var mine = []string{"Authorization", "Bearer " + testKey}

// archived is a server with two keys that keeps responses in j.
func archived(t *testing.T, j *jobs.Jobs, e *fake) *httptest.Server {
	t.Helper()
	s := newServer(t, httpapi.Options{
		Engine: e, Jobs: j, Responses: httpapi.Responses{Archive: j},
		Keys: []httpapi.Key{fakeKey, {Name: "second", SHA256: sha256.Sum256([]byte("other"))}},
	})
	t.Cleanup(j.Close) // before the server's own, which looks for goroutines
	return s
}

// archiveIn is the store in a folder, which its server closes.
func archiveIn(t *testing.T, dir string) *jobs.Jobs {
	t.Helper()
	j, err := jobs.New(jobs.Options{Dir: dir, Workers: -1, ResponseBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestArchive: responses outlive the server that made them, whole, for their key only.
func TestArchive(t *testing.T) {
	t.Parallel() // it waits
	dir, e := t.TempDir(), says("yes")
	j := archiveIn(t, dir)
	s := archived(t, j, e)
	first := respond(t, s, `"input":"one","metadata":{"a":"b"},"tools":[{"type":"function","name":"f","parameters":{"type":"object"},"strict":null}]`, mine...)
	before := lines(t, ask(t, s, "GET", "/v1/responses/"+first.ID, "", mine...).Body)
	j.Close()

	s = archived(t, archiveIn(t, dir), e)
	if after := lines(t, ask(t, s, "GET", "/v1/responses/"+first.ID, "", mine...).Body); strings.Join(after, "") != strings.Join(before, "") {
		t.Errorf("before\n%s\nafter\n%s", before, after)
	}
	second := respond(t, s, `"input":"two","previous_response_id":"`+first.ID+`"`, mine...)
	if got := prompted(e); got != "user: one | assistant: yes | user: two" {
		t.Errorf("goes on with %s", got)
	}
	respond(t, s, `"input":[{"type":"item_reference","id":"`+first.Output[0].ID+`"},{"role":"user","content":"three"}]`, mine...)
	if got := prompted(e); got != "assistant: yes | user: three" {
		t.Errorf("an item that is referred to: %s", got)
	}
	items := decoded[itemsOf](t, ask(t, s, "GET", "/v1/responses/"+second.ID+"/input_items?order=asc", "", mine...))
	if len(items.Data) != 3 || items.Data[1].ID != first.Output[0].ID {
		t.Errorf("made from %+v", items)
	}

	for _, path := range []string{"", "/input_items"} {
		if r := ask(t, s, "GET", "/v1/responses/"+first.ID+path, "", "Authorization", "Bearer other"); r.StatusCode != 404 {
			t.Errorf("another key gets %d for %s", r.StatusCode, path)
		}
	}
	for _, body := range []string{`"input":"x","previous_response_id":"` + first.ID + `"`, `"input":[{"type":"item_reference","id":"` + first.Output[0].ID + `"}]`} {
		if r := ask(t, s, "POST", "/v1/responses", `{`+body+`}`, "Authorization", "Bearer other"); r.StatusCode != 404 {
			t.Errorf("another key goes on with %s: %d", body, r.StatusCode)
		}
	}
	if r := ask(t, s, "DELETE", "/v1/responses/"+first.ID, "", mine...); r.StatusCode != 200 {
		t.Error(r.StatusCode)
	}
	for _, id := range []string{first.ID, "resp_none", "resp_%2E%3E", strings.Repeat("x", 300)} {
		if r := ask(t, s, "GET", "/v1/responses/"+id, "", mine...); r.StatusCode != 404 {
			t.Errorf("%s: %d", id, r.StatusCode)
		}
	}
	if r := ask(t, s, "POST", "/v1/responses", `{"input":"x","previous_response_id":"`+second.ID+`"}`, mine...); r.StatusCode != 404 {
		t.Errorf("goes on from what goes on from a deleted one: %d", r.StatusCode)
	}
}

// halting is an engine that says a word and then waits until its client leaves or the test has
// it go on.
func halting() (e *fake, goOn func()) {
	more := make(chan struct{})
	return scripted(func(ctx context.Context, yield func(engine.Event, error) bool) {
		if !yield(admitted, nil) || !yield(delta("word"), nil) {
			return
		}
		select {
		case <-more:
			_ = yield(finish, nil) && yield(done, nil)
		case <-ctx.Done():
			yield(engine.Event{}, ctx.Err())
		}
	}), func() { close(more) }
}

// TestArchiveBackground: of two servers with one store one makes responses, and the other
// tells how far they are, stops and deletes them.
func TestArchiveBackground(t *testing.T) {
	t.Parallel() // it waits
	j := archiveIn(t, t.TempDir())
	e, goOn := halting()
	maker, other := archived(t, j, e), archived(t, j, &fake{})
	begin := func() string {
		t.Helper()
		return respond(t, maker, `"input":"one","background":true`, mine...).ID
	}
	reached := func(id, want string) responseOf {
		t.Helper()
		var r responseOf
		poll.Until(t, "the response is "+want, func() bool {
			r = decoded[responseOf](t, ask(t, other, "GET", "/v1/responses/"+id, "", mine...))
			return r.Status == want
		})
		return r
	}
	stopped, deleted, whole := begin(), begin(), begin()
	for _, id := range []string{stopped, deleted, whole} {
		reached(id, "in_progress")
	}
	if r := ask(t, other, "POST", "/v1/responses", `{"input":"x","previous_response_id":"`+whole+`"}`, mine...); r.StatusCode != 400 {
		t.Errorf("goes on from what is not over: %d", r.StatusCode)
	}
	if r := decoded[responseOf](t, ask(t, other, "POST", "/v1/responses/"+stopped+"/cancel", "", mine...)); r.Status != "cancelled" {
		t.Errorf("it is %s", r.Status)
	}
	if r := ask(t, other, "DELETE", "/v1/responses/"+deleted, "", mine...); r.StatusCode != 200 {
		t.Error(r.StatusCode)
	}
	goOn()
	r := reached(whole, "completed")
	if len(r.Output) != 1 || r.Output[0].Content[0].Text != "word" {
		t.Errorf("%+v", r)
	}
	for _, s := range []*httptest.Server{maker, other} {
		if r := ask(t, s, "GET", "/v1/responses/"+deleted, "", mine...); r.StatusCode != 404 {
			t.Errorf("the deleted one: %d", r.StatusCode)
		}
	}
}

// TestArchiveOrphan: a response whose server has ended has failed, and says so.
func TestArchiveOrphan(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	j := archiveIn(t, dir)
	e, _ := halting()
	maker := archived(t, j, e)
	id := respond(t, maker, `"input":"one","background":true`, mine...).ID
	j.Close() // as a server that is killed: nothing of it is written any more
	s := archived(t, archiveIn(t, dir), &fake{})
	r := decoded[responseOf](t, ask(t, s, "GET", "/v1/responses/"+id, "", mine...))
	if r.Status != "failed" || r.Error == nil || !strings.Contains(r.Error.Message, "ended") {
		t.Errorf("%+v", r)
	}
	if r := ask(t, s, "POST", "/v1/responses/"+id+"/cancel", "", mine...); r.StatusCode != 200 {
		t.Errorf("cancelled: %d", r.StatusCode)
	}
	// Its own server cannot reach the store, and does not hang for it.
	if r := ask(t, maker, "POST", "/v1/responses/"+id+"/cancel", "", mine...); r.StatusCode != 200 {
		t.Errorf("cancelled where it is made: %d", r.StatusCode)
	}
}
