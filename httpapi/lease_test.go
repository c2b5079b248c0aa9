package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/local"
	"quern/httpapi"
)

// A leaser is a fake whose leases are of a real engine's model.
type leaser struct {
	*fake
	e *local.Engine
}

func (l leaser) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	lease, err := l.fake.lend(ctx, l, name, kinds)
	if err != nil {
		return nil, err
	}
	held, err := l.e.Open(ctx, engine.VoiceName)
	return heldLease{lease, held}, err
}

// A heldLease is one lease that keeps another's model.
type heldLease struct {
	engine.Lease
	held engine.Lease
}

func (l heldLease) Release() { l.held.Release() }

// TestRequestsHoldTheirModel: from before the first call until the answer is out a
// model cannot be unloaded, and not a moment longer.
func TestRequestsHoldTheirModel(t *testing.T) {
	e, err := local.New(engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	inUse := make(chan error, 1)
	voice, err := e.Find(engine.VoiceName)
	if err != nil {
		t.Fatal(err)
	}
	l := leaser{&fake{}, e}
	l.embed = func(engine.EmbedRequest) (engine.EmbedResult, error) {
		inUse <- voice.Unload()
		return engine.EmbedResult{}, &engine.Error{Code: engine.CodeEngineFailure, Message: "no"}
	}
	s := newServer(t, httpapi.Options{Engine: l})
	post(t, s, "/v1/embeddings", `{"input":"x","model":"`+embedModel+`"}`)
	if err := <-inUse; err == nil {
		t.Error("a model was unloaded under a request")
	}
	s.Close() // waits for the handler
	if err := voice.Unload(); err != nil {
		t.Errorf("after the request: %v", err)
	}
}

// An API is an http.Handler over an engine; Serve adds what a public server needs.
func Example() {
	e, err := local.New(engine.Options{Device: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	api, err := httpapi.New(httpapi.Options{Engine: e})
	if err != nil {
		log.Fatal(err)
	}
	body := strings.NewReader(`{"temperature": 0, "messages": [{"role": "user", "content": "What is the capital of France?"}]}`)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", body))
	var reply struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
		log.Fatal(err)
	}
	fmt.Println(w.Code, reply.Choices[0].Message.Content)
	// Output:
	// 200 The capital of France is Paris.
}
