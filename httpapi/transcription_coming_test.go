package httpapi_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"quern/codecs"
	"quern/httpapi"
)

// A sender sends a form piece by piece, and reads the events of the answer beside that.
type sender struct {
	t      *testing.T
	form   *multipart.Writer
	pipe   *io.PipeWriter
	file   io.Writer
	cancel context.CancelFunc
	events []object
	status int
	over   chan struct{}
}

// transmit opens a request whose fields come before its file.
func transmit(t *testing.T, o httpapi.Options, fields ...string) *sender {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	s := &sender{t: t, form: multipart.NewWriter(w), pipe: w, cancel: cancel, over: make(chan struct{})}
	server := newBubble(t, o)
	req, err := http.NewRequestWithContext(ctx, "POST", server.URL+transcribe, r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", s.form.FormDataContentType())
	go func() {
		defer close(s.over)
		res, err := server.Client().Do(req)
		if err != nil {
			t.Log(err)
			return
		}
		defer res.Body.Close()
		s.status = res.StatusCode
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			var e object
			if json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &e) == nil {
				s.events = append(s.events, e)
			}
		}
	}()
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if err := s.form.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if s.file, err = s.form.CreateFormFile("file", "stream"); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sender) sound(b []byte) {
	s.t.Helper()
	for piece := range slices.Chunk(b, 3200) {
		if _, err := s.file.Write(piece); err != nil {
			return // refused
		}
		synctest.Wait()
	}
}

func (s *sender) end(fields ...string) {
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		s.form.WriteField(name, value)
	}
	s.form.Close()
	s.pipe.Close()
	<-s.over
}

func (s *sender) text() string {
	var b strings.Builder
	for _, e := range s.events {
		if e["type"] == "transcript.text.delta" {
			b.WriteString(e["delta"].(string))
		}
	}
	return b.String()
}

// noise is so many seconds at 16 kHz that the detector by energy takes for speech.
func noise(seconds float64) []byte {
	b, _ := base64.StdEncoding.DecodeString(pcm24(seconds*16/24, true))
	return b
}

// streamedWAV is the beginning of a WAV without an end.
func streamedWAV(t *testing.T) []byte {
	t.Helper()
	var b strings.Builder
	kind, err := codecs.EncodingByName("wav")
	if err != nil {
		t.Fatal(err)
	}
	w, err := kind.Create(&b, 16000, 1, codecs.EncodeOptions{Streamed: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(make([]float32, 1600)); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

// TestComing: a form whose file comes last is answered while that is being sent, plain and
// live, with a header and without.
func TestComing(t *testing.T) {
	for _, tt := range []struct {
		fields []string
		wav    bool
	}{
		{[]string{"live=true"}, true},
		{[]string{"live=true", "file_format=pcm_16000"}, false},
		{nil, true},
		{[]string{"file_format=pcm_s16le_16"}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := transmit(t, httpapi.Options{Engine: &fake{}}, append([]string{earField, "stream=true", "response_format=verbose_json", "timestamp_granularities[]=word"}, tt.fields...)...)
			if tt.wav {
				s.sound(streamedWAV(t))
			}
			s.sound(noise(4))
			if len(s.events) < 2 || !strings.HasPrefix(s.text(), "word0") {
				t.Errorf("%v: %d %v while the file is being sent", tt.fields, s.status, s.events)
			}
			s.end("tag_audio_events=true")
			last := s.events[len(s.events)-1]
			if last["type"] != "transcript.text.done" || last["text"] != s.text() || last["duration"].(float64) < 3.9 || last["language"] != "english" || len(last["words"].([]any)) != len(strings.Fields(s.text())) {
				t.Errorf("%v: %v; the deltas are %q", tt.fields, last, s.text())
			}
		})
	}
}

// TestComingBad: an error while a file is sent is in the answer, or sent before it.
func TestComingBad(t *testing.T) {
	live := []string{earField, "stream=true", "live=true"}
	for _, tt := range []struct {
		name   string
		fields []string
		sound  []byte
		after  []string
		status int
		want   string
	}{
		{"a field too late", append(live, "file_format=pcm_16000"), noise(2), []string{"language=de"}, 200, "language came after the file"},
		{"no sound", live, []byte(strings.Repeat("this is a text. ", 500)), nil, 400, "a text file, and no sound: not supported"},
		{"not streamed", []string{earField, "live=true", "file_format=pcm_16000"}, noise(1), nil, 400, "needs stream=true"},
		{"an unknown layout", append(live, "file_format=pcm_7"), noise(1), nil, 400, "file_format must be one of pcm_8000"},
		{"an unknown model", []string{"model=nobody", "stream=true", "live=true", "file_format=pcm_16000"}, noise(1), nil, 404, "nobody"},
		{"MP4", live, video(), nil, 400, "MP4"},
		{"the model after the file", []string{"stream=true", "live=true", "file_format=pcm_16000"}, noise(1), []string{earField}, 400, "before the file"},
		{"cut short", live, append(streamedWAV(t), "odd"...), nil, 200, "transcript.text.done"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := transmit(t, httpapi.Options{Engine: &fake{}}, tt.fields...)
			s.sound(tt.sound)
			s.end(tt.after...)
			if b, _ := json.Marshal(s.events); s.status != tt.status || !strings.Contains(string(b), tt.want) {
				t.Errorf("%s: %d %s", tt.name, s.status, b)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // a form that breaks off
		s := transmit(t, httpapi.Options{Engine: &fake{}}, append(live, "file_format=pcm_16000")...)
		s.sound(noise(2))
		s.pipe.Close()
		<-s.over
		if b, _ := json.Marshal(s.events); !strings.Contains(string(b), "malformed") {
			t.Errorf("%s", b)
		}
	})
}

// TestComingLeaves: work ends when the client leaves, also while the recogniser works.
func TestComingLeaves(t *testing.T) {
	for _, live := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			stopped := false
			e := &ear{fake: &fake{}, hear: func(ctx context.Context, _ int) error {
				<-ctx.Done()
				stopped = true
				return ctx.Err()
			}}
			s := transmit(t, httpapi.Options{Engine: e}, earField, "stream=true", "file_format=pcm_16000", fmt.Sprintf("live=%v", live))
			s.sound(noise(3))
			if e.runs != 1 || stopped {
				t.Errorf("live: %v; %d runs, stopped: %v", live, e.runs, stopped)
			}
			s.cancel()
			s.pipe.CloseWithError(context.Canceled)
			<-s.over
			synctest.Wait()
			if !stopped {
				t.Errorf("live: %v; transcription goes on without a client", live)
			}
		})
	}
}

// TestComingFails: a recogniser that fails ends the answer, though the file is still being
// sent.
func TestComingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ear{fake: &fake{}, hear: func(context.Context, int) error { return fmt.Errorf("broken") }}
		s := transmit(t, httpapi.Options{Engine: e}, earField, "stream=true", "file_format=pcm_16000", "live=true")
		s.sound(noise(3))
		synctest.Wait()
		defer s.pipe.CloseWithError(io.ErrClosedPipe)
		if b, _ := json.Marshal(s.events); !strings.Contains(string(b), "error") {
			t.Errorf("%d %s", s.status, b)
		}
	})
}
