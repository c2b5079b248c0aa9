package httpapi_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// A reader reads aloud for as many seconds as its text has characters, and makes no
// garbage.
type reader struct {
	*fake
	half chan struct{} // when not nil: half of the answer waits until it is closed
	at   chan struct{} // receives each wait
}

func (v reader) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return v.lend(ctx, v, name, kinds)
}

func (v reader) Speak(_ context.Context, r engine.SpeakRequest) iter.Seq2[engine.Speech, error] {
	return func(yield func(engine.Speech, error) bool) {
		samples := make([]float32, fakeRate)
		for i := range r.Text {
			if v.half != nil && i == len(r.Text)/2 {
				v.at <- struct{}{}
				<-v.half
			}
			s := engine.Speech{Rate: fakeRate}
			s.Start, s.End, s.Samples = i, i+1, samples
			if !yield(s, nil) {
				return
			}
		}
	}
}

func speech(seconds int) string {
	return `{"input":"` + strings.Repeat("a", seconds) + `","text":"` + strings.Repeat("a", seconds) + `","voice":"af_bella","response_format":"wav"}`
}

// TestSpeechNeedsNoMemory: a WAV file has a true header and a length, and is kept out
// of memory however long it is.
func TestSpeechNeedsNoMemory(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	s := newServer(t, httpapi.Options{Engine: reader{fake: &fake{}}})
	const seconds, sound = 1000, 1000 * 2 * fakeRate
	for _, tt := range []struct {
		path string
		size int
	}{
		{"/v1/audio/speech", 44 + sound},
		{"/v1/text-to-speech/af_bella?output_format=wav_24000", 44 + sound},
		{"/v1/text-to-speech/af_bella/with-timestamps?output_format=pcm_24000", sound * 4 / 3},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := post(t, s, tt.path, speech(seconds))
		head := make([]byte, 44)
		if _, err := io.ReadFull(r.Body, head); err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil || n+44 != r.ContentLength || n+44 < int64(tt.size) {
			t.Errorf("%s: %d bytes (%v), Content-Length %d, want %d", tt.path, n+44, err, r.ContentLength, tt.size)
		}
		if size := binary.LittleEndian.Uint32(head[40:]); strings.Contains(string(head), "WAVE") && size != sound {
			t.Errorf("%s: the header says %d bytes, want %d", tt.path, size, sound)
		}
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > sound/3 {
			t.Errorf("%s: %d bytes of memory for %d of sound", tt.path, took, sound)
		}
	}
}

// TestTimestampsAreJSON: the answer is put together from pieces.
func TestTimestampsAreJSON(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	r := post(t, s, "/v1/text-to-speech/af_bella/with-timestamps?output_format=pcm_8000", `{"text":"Say \"\" <twice>."}`)
	b := body(t, r)
	var v struct {
		Audio     []byte `json:"audio_base64"`
		Alignment struct {
			Characters []string
		}
	}
	if err := json.Unmarshal(b, &v); err != nil || len(v.Audio) != 2*1600 || strings.Join(v.Alignment.Characters, "") != `Say "" <twice>.` || int64(len(b)) != r.ContentLength {
		t.Errorf("%v, %d bytes of sound, %q, %d bytes of %d", err, len(v.Audio), v.Alignment.Characters, len(b), r.ContentLength)
	}
}

// TestTempFilesAreBounded: what does not fit is refused before the first byte, with
// the way out, and whether to try again depends on who is in the way.
func TestTempFilesAreBounded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const limit = 5 << 20
	half, at := make(chan struct{}), make(chan struct{}, 10)
	s := newServer(t, httpapi.Options{Engine: reader{&fake{}, half, at}, TempFiles: limit})
	paths := []string{"/v1/audio/speech", "/v1/text-to-speech/af_bella?output_format=wav_24000", "/v1/text-to-speech/af_bella/with-timestamps?output_format=wav_24000"}
	refused := func(r *http.Response, again string) {
		t.Helper()
		got := string(body(t, r))
		if r.StatusCode != 503 || !strings.Contains(got, "limits.temp_files") || !strings.Contains(got, "out_of_disk") ||
			r.Header.Get("x-should-retry") != again || (r.Header.Get("Retry-After") != "") != (again == "true") {
			t.Errorf("%d %.200s, x-should-retry %q, Retry-After %q; want 503 and %s", r.StatusCode, got, r.Header.Get("x-should-retry"), r.Header.Get("Retry-After"), again)
		}
	}
	first := make(chan int)
	go func() {
		r, err := s.Client().Post(s.URL+paths[0], "application/json", strings.NewReader(speech(100)))
		if err != nil {
			t.Error(err)
			first <- 0
			return
		}
		defer r.Body.Close()
		io.Copy(io.Discard, r.Body)
		first <- r.StatusCode
	}()
	kept := func() bool {
		return !strings.Contains(string(body(t, ask(t, s, "GET", "/metrics", ""))), "temp_bytes 0")
	}
	<-at
	if !kept() {
		t.Error("half of the first answer is not kept")
	}
	// An upload has no room beside it.
	refused(upload(t, s, transcribe, make([]byte, 3<<20), earField), "true")
	close(half)
	if status := <-first; status != 200 {
		t.Errorf("the first answer is %d", status)
	}
	eventually(t, "nothing kept", func() bool { return !kept() })
	for _, path := range paths {
		refused(post(t, s, path, speech(200)), "false")
	}
	refused(upload(t, s, transcribe, make([]byte, limit+1), earField), "false")
	if kept() {
		t.Error("what was refused is kept")
	}
}

// TestNoPlaceForTempFiles: a folder that is not there is no 200 that breaks off, and
// its name stays in the log.
func TestNoPlaceForTempFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secret-folder")
	t.Setenv("TMPDIR", dir)
	s := newServer(t, httpapi.Options{Engine: reader{fake: &fake{}}})
	for _, r := range []*http.Response{
		post(t, s, "/v1/audio/speech", speech(100)),
		upload(t, s, transcribe, make([]byte, 3<<20), earField),
	} {
		got := string(body(t, r))
		if r.StatusCode != 503 || !strings.Contains(got, "out_of_disk") || strings.Contains(got, "secret-folder") {
			t.Errorf("%d %.300s", r.StatusCode, got)
		}
	}
	if r := post(t, s, "/v1/audio/speech", speech(10)); r.StatusCode != 200 {
		t.Errorf("what fits memory is %d", r.StatusCode)
	}
}

// TestForms: what a multipart body may hold is bounded beside its file too.
func TestForms(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	wantFailure(t, upload(t, s, transcribe, tone(t), earField, "prompt="+strings.Repeat("a", 128<<10)), 413, "request_too_large", "")
	var many []string
	for range 1100 {
		many = append(many, "keywords=a")
	}
	wantFailure(t, upload(t, s, transcribe, tone(t), append(many, earField)...), 413, "request_too_large", "")
	// What is taken without effect is not kept, and may be long.
	if r := upload(t, s, transcribe, tone(t), earField, "known_speaker_references[]="+strings.Repeat("a", 1<<20)); r.StatusCode != 200 {
		t.Errorf("a long field without effect: %d", r.StatusCode)
	}
	// The header of a part is bounded, which is read before it is looked at; what comes before
	// and after is not.
	form := func(head, value string) *http.Response {
		b := "--x\r\nContent-Disposition: form-data; name=\"prompt\"; more=\"" + head + "\"\r\n\r\n" + value + "\r\n" +
			"--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\n" + earModel + "\r\n--x--\r\n"
		r, err := s.Client().Post(s.URL+transcribe, "multipart/form-data; boundary=x", strings.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Body.Close() })
		return r
	}
	wantFailure(t, form(strings.Repeat("a", 1<<20), "a"), 413, "request_too_large", "")
	wantFailure(t, form("a", strings.Repeat("a", 1<<15)), 400, "missing_required_parameter", "file")
}
