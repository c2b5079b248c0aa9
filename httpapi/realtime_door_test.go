package httpapi_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"quern/engine"
	"quern/httpapi"
)

// TestRealtimeDoor: which clients may open a session.
func TestRealtimeDoor(t *testing.T) {
	keyed := newServer(t, httpapi.Options{Keys: []httpapi.Key{fakeKey}, Realtime: httpapi.Realtime{Sessions: 3}})
	open := newServer(t, httpapi.Options{})
	dial := func(s *httptest.Server, query string, header http.Header, protocols ...string) int {
		conn, r, err := websocket.Dial(t.Context(), s.URL+"/v1/realtime"+query, &websocket.DialOptions{HTTPClient: s.Client(), HTTPHeader: header, Subprotocols: protocols})
		if err == nil {
			t.Cleanup(func() { conn.CloseNow() })
		}
		return r.StatusCode
	}
	key := http.Header{"Authorization": {"Bearer " + testKey}}
	for _, tt := range []struct {
		name      string
		s         *httptest.Server
		query     string
		header    http.Header
		protocols []string
		want      int
	}{
		{"no key", keyed, chatQuery, nil, nil, 401},
		{"a wrong key", keyed, chatQuery, nil, []string{"realtime", "openai-insecure-api-key.wrong"}, 401},
		{"a secret that was not issued", keyed, chatQuery, http.Header{"Authorization": {"Bearer ek_0123"}}, nil, 401},
		{"a foreign page without keys", open, chatQuery, http.Header{"Origin": {"https://evil.example"}}, nil, 403},
		{"the server's own page", open, chatQuery, http.Header{"Origin": {open.URL}}, nil, 101},
		{"an unknown model", keyed, "?model=nobody", key, nil, 404},
		{"a model of another kind", keyed, "?model=stub-embed", key, nil, 400},
		{"a call", keyed, "?call_id=x", key, nil, 400},
		{"another intent", keyed, "?intent=x", key, nil, 400},
		{"a key", keyed, chatQuery, key, nil, 101},
		{"a key in a subprotocol", keyed, chatQuery, nil, []string{"realtime", "openai-insecure-api-key." + testKey}, 101},
		{"no model", keyed, "", key, nil, 101},
		{"one session too many", keyed, chatQuery, key, nil, 503},
	} {
		if got := dial(tt.s, tt.query, tt.header, tt.protocols...); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	r, err := open.Client().Get(open.URL + "/v1/realtime?model=stub-chat")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusUpgradeRequired || r.Header.Get("Upgrade") != "websocket" {
		t.Errorf("a plain request: %d", r.StatusCode)
	}
	for _, path := range []string{"/v1/realtime", "/v1/realtime/calls", "/v1/realtime/calls/x/hangup", "/v1/realtime/sessions"} {
		if r := post(t, open, path, "{}"); r.StatusCode != 501 {
			t.Errorf("POST %s: %d, want 501", path, r.StatusCode)
		}
	}
}

// TestRealtimeSecret: a client secret opens sessions of its configuration, and nothing else.
func TestRealtimeSecret(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: saying("Yes."), Keys: []httpapi.Key{fakeKey}})
	ask := func(path, key, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+key)
		res, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	var made struct {
		Value   string `json:"value"`
		Expires int64  `json:"expires_at"`
		Session object `json:"session"`
	}
	if err := json.NewDecoder(ask("/v1/realtime/client_secrets", testKey, `{"expires_after":{"anchor":"created_at","seconds":60},"session":{"type":"realtime","model":"stub-chat","instructions":"Be kind.","output_modalities":["text"]}}`).Body).Decode(&made); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(made.Value, "ek_") || made.Expires == 0 || made.Session["instructions"] != "Be kind." {
		t.Errorf("secret %+v", made)
	}
	c := talk(t, s, "", nil, "realtime", "openai-insecure-api-key."+made.Value)
	if got := at(c.seen[0], "session", "instructions"); got != "Be kind." {
		t.Errorf("the session is told %v", got)
	}
	for _, path := range []string{"/v1/chat/completions", "/v1/realtime/client_secrets"} {
		if r := ask(path, made.Value, "{}"); r.StatusCode != 401 {
			t.Errorf("the secret opens %s: %d", path, r.StatusCode)
		}
	}
	for _, body := range []string{`{"expires_after":{"seconds":5}}`, `{"session":{"temperature":9}}`, `{"session":{"instructions":"` + strings.Repeat("x", 70000) + `"}}`} {
		if r := ask("/v1/realtime/client_secrets", testKey, body); r.StatusCode != 400 {
			t.Errorf("%.60s: %d", body, r.StatusCode)
		}
	}
}

// TestRealtimeLeaves: when the client leaves, all work stops before the next token.
func TestRealtimeLeaves(t *testing.T) {
	e := &fake{}
	begun, stopped := make(chan struct{}), make(chan struct{})
	e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		_ = yield(admitted, nil) && yield(delta("One two. "), nil)
		close(begun)
		<-ctx.Done()
		close(stopped)
		yield(engine.Event{}, ctx.Err())
	}
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.message("Count")
	c.say("response.create", "")
	<-begun
	c.conn.CloseNow()
	<-stopped
}

// TestRealtimeSound: a session holds no more sound than it may.
func TestRealtimeSound(t *testing.T) {
	c := talk(t, newServer(t, httpapi.Options{Engine: saying("Yes."), Realtime: httpapi.Realtime{Audio: 2e9, Message: 1 << 20}}), chatQuery, nil)
	c.say("session.update", `"session":{"audio":{"input":{"turn_detection":null}}}`)
	c.until("session.updated")
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(1.5, true))
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(1, true))
	if _, message := c.refused(); !strings.Contains(message, "realtime.audio") {
		t.Error(message)
	}
	c.say("input_audio_buffer.clear", "")
	c.until("input_audio_buffer.cleared")
	// Who never pauses is answered when no more fits.
	c.say("session.update", `"session":{"output_modalities":["text"],"audio":{"input":{"turn_detection":{"type":"server_vad"}}}}`)
	c.until("session.updated")
	c.say("input_audio_buffer.append", `"audio":%q`, pcm24(2.5, true))
	c.until("input_audio_buffer.speech_stopped")
	c.until("response.done")
	// A message that is too long ends the session.
	c.say("input_audio_buffer.append", `"audio":%q`, strings.Repeat("A", 1<<20))
	for {
		if _, _, err := c.conn.Read(t.Context()); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
				t.Errorf("closed with %v", err)
			}
			break
		}
	}
}

// TestRealtimeClocks: a session without an event, one that lasts for too long, and one
// whose client does not read, end.
func TestRealtimeClocks(t *testing.T) {
	for _, tt := range []struct {
		name   string
		limits httpapi.Realtime
		after  time.Duration
		want   string
	}{
		{"idle", httpapi.Realtime{Idle: time.Minute, Total: -1}, time.Minute, "realtime.idle"},
		{"total", httpapi.Realtime{Idle: -1, Total: time.Hour}, time.Hour, "realtime.total"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := talk(t, newBubble(t, httpapi.Options{Realtime: tt.limits}), chatQuery, nil)
				begin := time.Now()
				code, message := c.refused()
				if took := time.Since(begin); code != "session_expired" || !strings.Contains(message, tt.want) || took != tt.after {
					t.Errorf("after %v: %s: %s", took, code, message)
				}
				if _, _, err := c.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
					t.Errorf("closed with %v", err)
				}
			})
		})
	}
	t.Run("a client that does not read", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := &fake{}
			stopped := make(chan struct{})
			e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
				_ = yield(admitted, nil)
				for yield(delta("and on "), nil) && ctx.Err() == nil {
				}
				close(stopped)
			}
			c := talk(t, newBubble(t, httpapi.Options{Engine: e, StreamWrite: time.Minute}), chatQuery, nil)
			c.message("Talk")
			c.say("response.create", `"response":{"output_modalities":["text"]}`)
			c.until("response.output_text.delta")
			begin := time.Now()
			<-stopped
			if took := time.Since(begin); took != time.Minute {
				t.Errorf("it is waited for for %v, want 1m", took)
			}
		})
	})
}

// TestRealtimeShutdown: a session ends as the server does, once a reply under way is whole.
func TestRealtimeShutdown(t *testing.T) {
	e := &fake{}
	begun, more := make(chan struct{}), make(chan struct{})
	e.generate = func(ctx context.Context, r engine.GenerateRequest, yield func(engine.Event, error) bool) {
		_ = yield(admitted, nil) && yield(delta("One "), nil)
		close(begun)
		<-more
		_ = yield(delta("two."), nil) && yield(finish, nil) && yield(done, nil)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	served := make(chan error)
	go func() { served <- newAPI(t, httpapi.Options{Engine: e}).Serve(ctx, ln) }()
	url := "http://" + ln.Addr().String()
	quiet, busy := talkTo(t, url, http.DefaultClient, chatQuery, nil), talkTo(t, url, http.DefaultClient, chatQuery, nil)
	busy.message("Count")
	busy.say("response.create", `"response":{"output_modalities":["text"]}`)
	<-begun
	stop()
	if code, _ := quiet.refused(); code != "shutting_down" {
		t.Errorf("the quiet one: %s", code)
	}
	close(more)
	if got := at(busy.until("response.done"), "response", "output", 0, "content", 0, "text"); got != "One two." {
		t.Errorf("the reply is %v", got)
	}
	if code, _ := busy.refused(); code != "shutting_down" {
		t.Errorf("the busy one: %s", code)
	}
	for _, c := range []*talker{quiet, busy} {
		if _, _, err := c.conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("closed with %v", err)
		}
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestRealtimeMemory: where model and voice do not fit together, the reply is spoken when
// it is whole.
func TestRealtimeMemory(t *testing.T) {
	e := &tight{fake: saying("It is late. ", "Good night to all of you.")}
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.message("Hi")
	c.say("response.create", "")
	if got := at(c.until("response.done"), "response", "status"); got != "completed" {
		t.Errorf("the response is %v", got)
	}
	if types := c.types(); !slices.Contains(types, "response.output_audio.delta") {
		t.Errorf("nothing is spoken: %q", types)
	}
	if e.refused.Load() != 1 {
		t.Errorf("%d models were refused", e.refused.Load())
	}
}

// A tight engine has memory for one model.
type tight struct {
	*fake
	held, refused atomic.Int64
}

type tightLease struct {
	engine.Lease
	release func()
}

func (l tightLease) Release() { l.release() }

func (e *tight) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	if e.held.Load() > 0 {
		e.refused.Add(1)
		return nil, engine.Errorf(engine.CodeOutOfMemory, "", "the models in use leave no room")
	}
	l, err := e.fake.Open(ctx, name, kinds...)
	if err != nil {
		return nil, err
	}
	e.held.Add(1)
	return tightLease{l, sync.OnceFunc(func() { e.held.Add(-1) })}, nil
}

// TestRealtimeMetrics: operators see sessions, responses and legs.
func TestRealtimeMetrics(t *testing.T) {
	s := newServer(t, httpapi.Options{Engine: saying("Yes, it is.")})
	c := talk(t, s, chatQuery, nil)
	c.message("Hi")
	c.say("response.create", "")
	c.until("response.done")
	r, err := s.Client().Get(s.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`realtime_sessions 1`, `realtime_responses_total{status="completed"} 1`, `realtime_leg_seconds_count{leg="first_token"} 1`,
		`realtime_leg_seconds_count{leg="first_audio"} 1`, `realtime_leg_seconds_count{leg="turn"} 1`} {
		if !strings.Contains(string(b), want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

// A brokenVoice is a fake whose model breaks when it is asked for what it is.
type brokenVoice struct{ *fake }

func (v brokenVoice) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return v.lend(ctx, v, name, kinds)
}

func (brokenVoice) CheckVoice(string, string) error { panic("broken") }

// TestRealtimePanic: a panic in work is a response that failed, the log says why, and the
// session goes on.
func TestRealtimePanic(t *testing.T) {
	var log logged
	c := talk(t, newServer(t, httpapi.Options{Engine: brokenVoice{saying("Yes.")}, Log: log.logger()}), chatQuery, nil)
	c.message("Hi")
	c.say("response.create", "")
	if e := c.until("response.done"); at(e, "response", "status") != "failed" || at(e, "response", "status_details", "error", "code") != "internal_error" {
		t.Errorf("response %v", e["response"])
	}
	if !strings.Contains(log.String(), "panic: broken") {
		t.Errorf("the log does not say why: %s", log.String())
	}
	c.say("response.create", `"response":{"output_modalities":["text"]}`)
	if got := at(c.until("response.done"), "response", "status"); got != "completed" {
		t.Errorf("the next is %v", got)
	}
}

// TestRealtimeItemSound: sound may come as an item, and is transcribed before it is answered.
func TestRealtimeItemSound(t *testing.T) {
	e := saying("Yes.")
	c := talk(t, newServer(t, httpapi.Options{Engine: e}), chatQuery, nil)
	c.say("conversation.item.create", `"item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":%q}]}`, pcm24(1, true))
	c.until("conversation.item.done")
	c.say("response.create", `"response":{"output_modalities":["text"]}`)
	c.until("response.done")
	if m := e.last.Load().Prompt.Messages; len(m) != 1 || m[0].Text != "word0 word1" {
		t.Errorf("asked %+v", m)
	}
}
