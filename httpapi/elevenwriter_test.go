package httpapi_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coder/websocket"
)

// A writer is a client of …/stream-input.
type writer struct {
	t    testing.TB
	conn *websocket.Conn
}

// write opens a connection to a path behind the voice: "stream-input?query".
func write(t testing.TB, s *httptest.Server, path string, header http.Header) *writer {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), s.URL+"/v1/text-to-speech/"+path, &websocket.DialOptions{HTTPClient: s.Client(), HTTPHeader: header})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	t.Cleanup(func() { conn.CloseNow() })
	return &writer{t, conn}
}

func (w *writer) say(format string, args ...any) {
	w.t.Helper()
	if err := w.conn.Write(w.t.Context(), websocket.MessageText, fmt.Appendf(nil, format, args...)); err != nil {
		w.t.Fatal(err)
	}
}

// next reads a message; nil is for a connection that was closed.
func (w *writer) next() (object, error) {
	_, b, err := w.conn.Read(w.t.Context())
	if err != nil {
		return nil, err
	}
	var o object
	if err := json.Unmarshal(b, &o); err != nil {
		w.t.Fatal(err)
	}
	return o, nil
}

// A hearing is what was heard of a text: sound, and when each character is.
type hearing struct {
	sound  []byte
	chars  string
	ends   []float64 // milliseconds of the whole, by character; for pcm_24000
	pieces int
}

func (h *hearing) add(t testing.TB, o object) {
	t.Helper()
	text, ok := o["audio"].(string)
	if !ok {
		t.Fatalf("no sound: %v", o)
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	from := float64(len(h.sound)) / 48
	h.sound = append(h.sound, b...)
	h.pieces++
	al, ok := o["alignment"].(object)
	if !ok {
		return
	}
	chars, starts, lasts := al["chars"].([]any), al["charStartTimesMs"].([]any), al["charDurationsMs"].([]any)
	if len(chars) != len(starts) || len(chars) != len(lasts) || len(al["charsDurationsMs"].([]any)) != len(chars) {
		t.Errorf("%d characters, %d beginnings, %d durations", len(chars), len(starts), len(lasts))
	}
	for i, c := range chars {
		h.chars += c.(string)
		h.ends = append(h.ends, from+starts[i].(float64)+lasts[i].(float64))
	}
}

// hear reads up to the end, which closes as it should.
func (w *writer) hear() (h hearing) {
	w.t.Helper()
	for {
		o, err := w.next()
		if err != nil {
			w.t.Fatalf("after %d pieces: %v", h.pieces, err)
		}
		if o["error"] != nil {
			w.t.Fatalf("after %d pieces: %v", h.pieces, o)
		}
		if o["isFinal"] == true {
			if o["audio"] != nil {
				w.t.Errorf("the last message has sound: %v", o)
			}
			break
		}
		h.add(w.t, o)
	}
	if _, err := w.next(); websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		w.t.Errorf("closed with %v", err)
	}
	return h
}

// refused reads up to an error and the closing behind it.
func (w *writer) refused() (code, message string, status websocket.StatusCode) {
	w.t.Helper()
	for {
		o, err := w.next()
		if err != nil {
			w.t.Fatalf("closed without a word: %v", err)
		}
		if o["error"] == nil {
			continue
		}
		_, err = w.next()
		if got := websocket.CloseStatus(err); float64(got) != o["code"] {
			w.t.Errorf("the message says %v, the connection %v", o["code"], got)
		}
		return o["error"].(string), o["message"].(string), websocket.CloseStatus(err)
	}
}
