package httpapi_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/coder/websocket"

	"quern/engine"
	"quern/httpapi"
)

const transcription = "conversation.item.input_audio_transcription."

// A listener is a talker of a bubble that reads all the time.
type listener struct {
	*talker
	mu sync.Mutex
}

func listenTo(t *testing.T, o httpapi.Options, query string, header http.Header) *listener {
	t.Helper()
	l := &listener{talker: talk(t, newBubble(t, o), query, header)}
	go func() {
		for {
			_, b, err := l.conn.Read(t.Context())
			if err != nil {
				return
			}
			var e object
			if json.Unmarshal(b, &e) == nil {
				l.mu.Lock()
				l.seen = append(l.seen, e)
				l.mu.Unlock()
			}
		}
	}()
	return l
}

// then says something and returns what is heard until the server is quiet.
func (l *listener) then(kind, fields string, args ...any) []object {
	l.t.Helper()
	l.mu.Lock()
	n := len(l.seen)
	l.mu.Unlock()
	l.say(kind, fields, args...)
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen[n:])
}

// speak sends sound in tenths of a second.
func (l *listener) speak(tenths int, loud bool) (heard []object) {
	l.t.Helper()
	for range tenths {
		heard = append(heard, l.then("input_audio_buffer.append", `"audio":%q`, pcm24(0.1, loud))...)
	}
	return heard
}

// ofType are the events of a type, which a transcription's may leave its beginning out of.
func ofType(events []object, kind string) (list []object) {
	for _, e := range events {
		if e["type"] == kind || e["type"] == transcription+kind {
			list = append(list, e)
		}
	}
	return list
}

func deltas(events []object) string {
	var b strings.Builder
	for _, e := range ofType(events, "delta") {
		b.WriteString(e["delta"].(string))
	}
	return b.String()
}

const byClient = `"session":{"type":"transcription","include":["item.input_audio_transcription.logprobs"],"audio":{"input":{"transcription":{"model":"stub-ear","delay":"minimal"},"turn_detection":null}}}`

// TestRealtimeLive: text comes while the turn goes on, and stays. The transcript is the
// deltas, joined.
func TestRealtimeLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listenTo(t, httpapi.Options{Engine: &fake{}}, "?intent=transcription", nil)
		if up := l.then("session.update", byClient); len(ofType(up, "session.updated")) != 1 {
			t.Fatalf("events %v", up)
		}
		for range 2 {
			during := l.speak(40, true)
			if got := deltas(during); !strings.HasPrefix(got, "word0 word1 word2 word3") || len(ofType(during, "delta")) < 4 {
				t.Errorf("after four seconds: %q in %d deltas", got, len(ofType(during, "delta")))
			}
			if len(ofType(during, "input_audio_buffer.committed")) > 0 || len(ofType(during, "completed")) > 0 {
				t.Errorf("the turn ended without a commit: %v", during)
			}
			end := l.then("input_audio_buffer.commit", "")
			all := append(during, end...)
			done := ofType(end, "completed")
			if len(done) != 1 || done[0]["transcript"] != deltas(all) || deltas(all) == "" || at(done[0], "usage", "seconds").(float64) < 3.9 {
				t.Fatalf("completed %v, the deltas are %q", done, deltas(all))
			}
			id := at(ofType(end, "input_audio_buffer.committed")[0], "item_id")
			tokens := 0
			for _, e := range append(ofType(all, "delta"), done...) {
				if e["item_id"] != id || e["content_index"] != 0.0 {
					t.Errorf("%v is not of item %v", e, id)
				}
				if list, _ := e["logprobs"].([]any); e["delta"] != nil {
					tokens += len(list)
				} else if len(list) != tokens || tokens == 0 {
					t.Errorf("%d tokens in deltas, %d in all", tokens, len(list))
				}
			}
			seg := ofType(all, "segment")
			if len(seg) != 1 || seg[0]["text"] != done[0]["transcript"] || seg[0]["item_id"] != id || !strings.HasPrefix(seg[0]["id"].(string), "seg_") || seg[0]["speaker"] != "" ||
				!(seg[0]["start"].(float64) < 0.5 && seg[0]["end"].(float64) > 3) {
				t.Errorf("segments %v", seg)
			}
			if list := ofType(end, "conversation.item.added"); len(list) != 1 || at(list[0], "item", "id") != id {
				t.Errorf("items %v", list)
			}
		}
	})
}

// TestRealtimeLiveTurns: with detection, text comes between the beginning of a turn and its
// end; pauses inside of a turn are ends of segments.
func TestRealtimeLiveTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listenTo(t, httpapi.Options{Engine: &fake{}}, "?intent=transcription", nil)
		l.then("session.update", `"session":{"type":"transcription","audio":{"input":{"transcription":{"model":"stub-ear"},"turn_detection":{"type":"server_vad","silence_duration_ms":1500}}}}`)
		l.speak(10, false)
		all := append(l.speak(30, true), l.speak(10, false)...)
		if len(ofType(all, "input_audio_buffer.speech_started")) != 1 || len(ofType(all, "segment")) != 1 || len(ofType(all, "input_audio_buffer.speech_stopped")) != 0 {
			t.Errorf("in a turn: %v", all)
		}
		all = append(all, l.speak(20, true)...)
		before := len(ofType(all, "delta"))
		all = append(all, l.speak(20, false)...)
		done := ofType(all, "completed")
		if before < 2 || len(done) != 1 || done[0]["transcript"] != deltas(all) || len(ofType(all, "segment")) != 2 {
			t.Errorf("%d deltas, %v; %v", before, done, ofType(all, "segment"))
		}
		stopped, committed := ofType(all, "input_audio_buffer.speech_stopped"), ofType(all, "input_audio_buffer.committed")
		if len(stopped) != 1 || len(committed) != 1 || committed[0]["item_id"] != done[0]["item_id"] || stopped[0]["item_id"] != done[0]["item_id"] {
			t.Errorf("stopped %v, committed %v", stopped, committed)
		}
		again := append(l.speak(20, true), l.speak(20, false)...)
		if next := ofType(again, "completed"); len(next) != 1 || next[0]["item_id"] == done[0]["item_id"] || next[0]["transcript"] != deltas(again) {
			t.Errorf("the next turn: %v", again)
		}
	})
}

// TestRealtimeLiveBounds: a turn is as long as realtime.audio at most. With detection it
// ends there, without the client is told; the session goes on.
func TestRealtimeLiveBounds(t *testing.T) {
	for _, detected := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := listenTo(t, httpapi.Options{Engine: &fake{}, Realtime: httpapi.Realtime{Audio: 3e9}}, "?intent=transcription", nil)
			if !detected {
				l.then("session.update", byClient)
			}
			all := l.speak(45, true)
			if detected {
				if done := ofType(all, "completed"); len(done) != 1 || !strings.HasPrefix(deltas(all), done[0]["transcript"].(string)) {
					t.Errorf("completed %v", done)
				}
				return
			}
			errs := ofType(all, "error")
			if len(errs) < 14 || !strings.Contains(at(errs[0], "error", "message").(string), "realtime.audio") {
				t.Errorf("errors %v", errs)
			}
			if end := l.then("input_audio_buffer.commit", ""); len(ofType(end, "completed")) != 1 || at(ofType(end, "completed")[0], "usage", "seconds").(float64) > 3 {
				t.Errorf("the end %v", end)
			}
			if next := l.speak(1, true); len(ofType(next, "error")) != 0 {
				t.Errorf("the next turn: %v", next)
			}
		})
	}
}

// TestRealtimeLiveOff: where hypotheses are off, turns are transcribed when they end; and
// conversations have none unless a delay is asked for.
func TestRealtimeLiveOff(t *testing.T) {
	for _, tt := range []struct {
		name, query, update string
		o                   httpapi.Realtime
		live                bool
	}{
		{"off", "?intent=transcription", byClient, httpapi.Realtime{Step: -1}, false},
		{"a conversation", chatQuery, `"session":{"audio":{"input":{"transcription":{"model":"stub-ear"},"turn_detection":null}}}`, httpapi.Realtime{}, false},
		{"a conversation with a delay", chatQuery, `"session":{"audio":{"input":{"transcription":{"model":"stub-ear","delay":"low"},"turn_detection":null}}}`, httpapi.Realtime{}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			tt.o.Audio = 60e9
			l := listenTo(t, httpapi.Options{Engine: &fake{}, Realtime: tt.o}, tt.query, nil)
			l.then("session.update", tt.update)
			if during := l.speak(40, true); (deltas(during) != "") != tt.live {
				t.Errorf("%s: %q before the end", tt.name, deltas(during))
			}
			if end := l.then("input_audio_buffer.commit", ""); len(ofType(end, "completed")) != 1 {
				t.Errorf("%s: %v", tt.name, end)
			}
		})
	}
}

// TestRealtimeLiveClear: of a turn that is cleared nothing more is heard.
func TestRealtimeLiveClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := listenTo(t, httpapi.Options{Engine: &fake{}}, "?intent=transcription", nil)
		l.then("session.update", byClient)
		first := l.speak(20, true)
		if cleared := l.then("input_audio_buffer.clear", ""); len(cleared) != 1 || cleared[0]["type"] != "input_audio_buffer.cleared" {
			t.Errorf("events %v", cleared)
		}
		if again := l.then("input_audio_buffer.commit", ""); len(ofType(again, "error")) != 1 {
			t.Errorf("there is something to commit: %v", again)
		}
		next := append(l.speak(20, true), l.then("input_audio_buffer.commit", "")...)
		done := ofType(next, "completed")
		if len(done) != 1 || done[0]["transcript"] != deltas(next) || done[0]["item_id"] == ofType(first, "delta")[0]["item_id"] {
			t.Errorf("the next turn %v", next)
		}
	})
}

// An ear transcribes as a test says.
type ear struct {
	*fake
	hear func(ctx context.Context, run int) error
	runs int
}

func (e *ear) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return e.lend(ctx, e, name, kinds)
}

func (e *ear) Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	run := e.runs
	e.runs++
	return func(yield func(engine.Segment, error) bool) {
		if err := e.hear(ctx, run); err != nil {
			yield(engine.Segment{}, err)
			return
		}
		for s, err := range e.fake.Transcribe(ctx, r) {
			if !yield(s, err) {
				return
			}
		}
	}
}

// TestRealtimeLiveFails: a turn that cannot be transcribed is said to have failed when it
// ends, and the next one is transcribed.
func TestRealtimeLiveFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ear{fake: &fake{}, hear: func(_ context.Context, run int) error {
			if run == 1 {
				return errors.New("broken")
			}
			if run == 0 || run == 2 {
				return engine.Errorf(engine.CodeQueueFull, "", "full")
			}
			return nil
		}}
		l := listenTo(t, httpapi.Options{Engine: e}, "?intent=transcription", nil)
		l.then("session.update", byClient)
		if during := l.speak(30, true); len(during) > 0 {
			t.Errorf("before the end %v", during)
		}
		failed := ofType(l.then("input_audio_buffer.commit", ""), "failed")
		if len(failed) != 1 || at(failed[0], "error", "code") != "internal_error" && at(failed[0], "error", "code") != "engine_failure" {
			t.Errorf("failed %v", failed)
		}
		next := append(l.speak(20, true), l.then("input_audio_buffer.commit", "")...)
		if done := ofType(next, "completed"); len(done) != 1 || done[0]["transcript"] != deltas(next) {
			t.Errorf("the next turn %v", next)
		}
	})
}

// TestRealtimeLiveLeaves: the recogniser stops when the client leaves.
func TestRealtimeLiveLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stopped := false
		e := &ear{fake: &fake{}, hear: func(ctx context.Context, _ int) error {
			<-ctx.Done()
			stopped = true
			return ctx.Err()
		}}
		l := listenTo(t, httpapi.Options{Engine: e}, "?intent=transcription", nil)
		l.then("session.update", byClient)
		l.speak(20, true)
		if e.runs != 1 || stopped {
			t.Fatalf("%d runs; stopped: %v", e.runs, stopped)
		}
		l.conn.CloseNow()
		synctest.Wait()
		if !stopped {
			t.Error("transcription goes on without a client")
		}
	})
}

// TestRealtimeLiveBeta: the names and objects of the beta API, and its way to make a secret.
func TestRealtimeLiveBeta(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newBubble(t, httpapi.Options{Engine: &fake{}, Keys: []httpapi.Key{fakeKey}})
		r, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/v1/realtime/transcription_sessions", strings.NewReader(
			`{"input_audio_format":"g711_ulaw","input_audio_transcription":{"model":"stub-ear","language":"en","prompt":"x"},"turn_detection":null,"include":["item.input_audio_transcription.logprobs"],"input_audio_noise_reduction":{"type":"near_field"},"client_secret":{"expires_at":{"anchor":"created_at","seconds":60}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+testKey)
		res, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(res.Body)
		res.Body.Close()
		var made object
		if err := json.Unmarshal(b, &made); err != nil || made["object"] != "realtime.transcription_session" || made["input_audio_format"] != "g711_ulaw" ||
			at(made, "input_audio_transcription", "language") != "en" || made["turn_detection"] != nil {
			t.Fatalf("%d %s", res.StatusCode, b)
		}
		secret, _ := at(made, "client_secret", "value").(string)
		conn, _, err := websocket.Dial(t.Context(), s.URL+"/v1/realtime"+chatQuery, &websocket.DialOptions{HTTPClient: s.Client(),
			HTTPHeader: http.Header{"OpenAI-Beta": {"realtime=v1"}, "Authorization": {"Bearer " + secret}}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		c := &talker{t: t, conn: conn}
		if e := c.until("transcription_session.created"); at(e, "session", "input_audio_format") != "g711_ulaw" {
			t.Errorf("session %v", e)
		}
		c.say("transcription_session.update", `"session":{"input_audio_format":"pcm16"}`)
		if e := c.until("transcription_session.updated"); at(e, "session", "input_audio_format") != "pcm16" || at(e, "session", "input_audio_transcription", "prompt") != "x" {
			t.Errorf("session %v", e)
		}
		c.say("input_audio_buffer.append", `"audio":%q`, pcm24(2, true))
		c.say("input_audio_buffer.commit", "")
		c.until(transcription + "completed")
		if slices.Contains(c.types(), transcription+"segment") {
			t.Errorf("events %q", c.types())
		}
	})
	// A session of the released API that is updated as in the beta becomes one that listens.
	c := talk(t, newServer(t, httpapi.Options{Engine: &fake{}}), chatQuery, nil)
	c.say("transcription_session.update", `"session":{"input_audio_transcription":{"model":"stub-ear"},"turn_detection":null}`)
	c.until("transcription_session.updated")
	c.say("response.create", "")
	if _, message := c.refused(); !strings.Contains(message, "transcription session") {
		t.Error(message)
	}
	c.say("session.update", `"session":{"audio":{"input":{"transcription":{"delay":"never"}}}}`)
	if _, message := c.refused(); !strings.Contains(message, "minimal") {
		t.Error(message)
	}
}

// TestRealtimeLiveLeast: 100 ms of sound are a turn at every rate, and each turn's item comes
// behind that of the turn before it, so that clients can put transcripts in order.
func TestRealtimeLiveLeast(t *testing.T) {
	for format, sound := range map[string]string{
		"pcm":  pcm24(0.1, true),
		"pcmu": base64.StdEncoding.EncodeToString(slices.Repeat([]byte{0x20, 0xa0}, 400)),
	} {
		synctest.Test(t, func(t *testing.T) {
			l := listenTo(t, httpapi.Options{Engine: &fake{}, Realtime: httpapi.Realtime{Items: 1}}, "?intent=transcription", nil)
			l.then("session.update", strings.Replace(byClient, `"turn_detection"`, `"format":{"type":"audio/`+format+`"},"turn_detection"`, 1))
			var before any
			for range 3 {
				l.then("input_audio_buffer.append", `"audio":%q`, sound)
				end := l.then("input_audio_buffer.commit", "")
				committed := ofType(end, "input_audio_buffer.committed")
				if len(committed) != 1 || committed[0]["previous_item_id"] != before {
					t.Fatalf("%s: behind %v: %v", format, before, end)
				}
				before = committed[0]["item_id"]
			}
		})
	}
}
