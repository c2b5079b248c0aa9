package httpapi_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// box is a box of MP4.
func box(name string, content ...[]byte) []byte {
	body := slices.Concat(content...)
	return slices.Concat(binary.BigEndian.AppendUint32(nil, uint32(8+len(body))), []byte(name), body)
}

// video is an MP4 file with a picture and no sound.
func video() []byte {
	zeros := func(n int) []byte { return make([]byte, n) }
	words := func(n ...uint32) (b []byte) {
		for _, v := range n {
			b = binary.BigEndian.AppendUint32(b, v)
		}
		return b
	}
	entry := box("avc1", zeros(6), []byte{0, 1}, zeros(70))
	return slices.Concat(
		box("ftyp", []byte("isom"), zeros(4), []byte("isommp41")),
		box("moov",
			box("mvhd", zeros(12), words(1000, 1000), zeros(80)),
			box("trak",
				box("tkhd", zeros(12), words(1), zeros(68)),
				box("mdia",
					box("mdhd", zeros(12), words(1000, 1000), zeros(4)),
					box("hdlr", zeros(8), []byte("vide"), zeros(13)),
					box("minf", box("stbl",
						box("stsd", zeros(4), words(1), entry),
						box("stts", zeros(4), words(1, 1, 1000)),
						box("stsc", zeros(4), words(1, 1, 1, 1)),
						box("stsz", zeros(4), words(0, 1, 4)),
						box("stco", zeros(4), words(1, 8)),
					)),
				),
			),
		),
		box("mdat", zeros(4)),
	)
}

// silentWAV is a WAV file without a sample.
func silentWAV(t *testing.T) []byte {
	file := tone(t)[:44]
	binary.LittleEndian.PutUint32(file[4:], 36)
	binary.LittleEndian.PutUint32(file[40:], 0)
	return file
}

func TestChunkingStrategy(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for _, tt := range []struct {
		name    string
		fields  []string
		chunked bool
		want    engine.SpeechOptions
	}{
		{"none", nil, false, engine.SpeechOptions{}},
		{"auto", []string{"chunking_strategy=auto"}, true, engine.SpeechOptions{}},
		{"object", []string{`chunking_strategy={"type":"server_vad"}`}, true, engine.SpeechOptions{}},
		{"all", []string{`chunking_strategy={"type":"server_vad","threshold":0.6,"prefix_padding_ms":300,"silence_duration_ms":700}`}, true,
			engine.SpeechOptions{Threshold: 0.6, Pad: 0.3, MinSilence: 0.7}},
		{"no padding", []string{`chunking_strategy={"type":"server_vad","prefix_padding_ms":0}`}, true, engine.SpeechOptions{Pad: -1}},
		{"flattened", []string{"chunking_strategy[type]=server_vad", "chunking_strategy[silence_duration_ms]=200"}, true, engine.SpeechOptions{MinSilence: 0.2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, path := range []string{transcribe, translate} {
				if r := upload(t, s, path, tone(t), append(tt.fields, earField)...); r.StatusCode != 200 {
					t.Fatalf("%s: status %d: %s", path, r.StatusCode, body(t, r))
				}
				if got := f.heard.Load(); got.Chunked != tt.chunked || got.Speech != tt.want {
					t.Errorf("%s: chunked %v, %+v; want %v, %+v", path, got.Chunked, got.Speech, tt.chunked, tt.want)
				}
			}
		})
	}
	for name, value := range map[string]string{
		"word": "fast", "list": "[1]", "type": `{"type":"client_vad"}`, "threshold": `{"type":"server_vad","threshold":1.5}`,
		"time": `{"type":"server_vad","silence_duration_ms":-1}`, "long": `{"type":"server_vad","prefix_padding_ms":60000}`, "broken": `{"type":`,
	} {
		t.Run("bad "+name, func(t *testing.T) {
			wantFailure(t, upload(t, s, transcribe, tone(t), earField, "chunking_strategy="+value), 400, "invalid_value", "chunking_strategy")
		})
	}
}

func TestGuardsAreSwitchable(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for _, tt := range []struct {
		fields []string
		names  []string
	}{
		{nil, nil},
		{[]string{"without=vad,repeats", "without[]=sign_off"}, []string{"vad", "repeats", "sign_off"}},
		{[]string{"without=all"}, []string{"all"}},
	} {
		var want engine.Guard
		for _, name := range tt.names {
			g, ok := engine.GuardNamed(name)
			if !ok {
				t.Fatalf("no guard %q", name)
			}
			want |= g
		}
		body(t, upload(t, s, transcribe, tone(t), append(tt.fields, earField, "hallucination_silence_threshold=2")...))
		if got := f.heard.Load(); got.Without != want || got.SkipSilence != 2 || !got.Words {
			t.Errorf("%v: without %b, silence %g, words %v; want %b, 2, true", tt.fields, got.Without, got.SkipSilence, got.Words, want)
		}
	}
	wantFailure(t, upload(t, s, transcribe, tone(t), earField, "without=luck"), 400, "invalid_value", "without")
	wantFailure(t, upload(t, s, transcribe, tone(t), earField, "hallucination_silence_threshold=-1"), 400, "invalid_value", "hallucination_silence_threshold")
}

// A sound file without a sample is silence, which is a success; a file without
// sound is not.
func TestSoundless(t *testing.T) {
	s := newServer(t, httpapi.Options{})
	r := upload(t, s, transcribe, silentWAV(t), earField)
	if r.StatusCode == 200 {
		if got := strings.TrimSpace(string(body(t, r))); !strings.HasPrefix(got, `{"text":""`) {
			t.Errorf("no samples say %s", got)
		}
	} else {
		wantFailure(t, r, 400, "unsupported_audio", "file")
	}
	wantFailure(t, upload(t, s, transcribe, video(), earField), 400, "unsupported_audio", "file")
}

// A client that goes away in the middle of its upload leaves neither work nor
// files behind.
func TestUploadBreaksOff(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f, Upload: 64 << 20})
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n--b\r\n"+
		"Content-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\n\r\n", transcribe, 32<<20)
	c, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, head); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(make([]byte, 12<<20)); err != nil { // more than is kept in memory
		t.Fatal(err)
	}
	kept := func() float64 {
		for line := range strings.Lines(string(body(t, ask(t, s, "GET", "/metrics", "")))) {
			if n, ok := strings.CutPrefix(line, "temp_bytes "); ok {
				bytes, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
				if err != nil {
					t.Fatal(err)
				}
				return bytes
			}
		}
		t.Fatal("no temp_bytes")
		return 0
	}
	eventually(t, "the upload is kept", func() bool { return kept() > 2<<20 })
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 && runtime.GOOS != "windows" {
		t.Errorf("there is %v (%v): a crash would leave it", list, err)
	}
	c.Close()
	eventually(t, "nothing is kept", func() bool { return kept() == 0 && f.running.Load() == 0 })
	if f.heard.Load() != nil {
		t.Error("half a file was transcribed")
	}
	// The next client is served.
	if r := upload(t, s, transcribe, tone(t), earField); r.StatusCode != 200 {
		t.Errorf("status %d", r.StatusCode)
	}
	eventually(t, "nothing is kept of a request that ended", func() bool { return kept() == 0 })
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("there is %v (%v)", list, err)
	}
}

func TestDecodingFields(t *testing.T) {
	f := &fake{}
	s := newServer(t, httpapi.Options{Engine: f})
	for _, tt := range []struct {
		fields []string
		want   engine.TranscribeRequest
	}{
		{nil, engine.TranscribeRequest{}},
		{[]string{"beam_size=5", "patience=1.5", "length_penalty=0.5", "seed=7"},
			engine.TranscribeRequest{TranscribeOptions: engine.TranscribeOptions{Beams: 5, Patience: 1.5, LengthPenalty: 0.5, Seed: 7}}},
		{[]string{"best_of=3", "seed=-1"}, engine.TranscribeRequest{TranscribeOptions: engine.TranscribeOptions{BestOf: 3, Seed: 1<<64 - 1}}},
		{[]string{"compression_ratio_threshold=2", "log_prob_threshold=-0.5", "no_speech_threshold=0.9"},
			engine.TranscribeRequest{TranscribeOptions: engine.TranscribeOptions{MaxRatio: 2, MinLogprob: -0.5, MaxNoSpeech: 0.9}}},
		{[]string{"condition_on_previous_text=false", "without_timestamps=true", "prefix=And so"},
			engine.TranscribeRequest{TranscribeOptions: engine.TranscribeOptions{NoContext: true, NoTimestamps: true, Prefix: "And so"}}},
		{[]string{"condition_on_previous_text=true", "vad_filter=true"}, engine.TranscribeRequest{}},
		{[]string{"vad_filter=false"}, engine.TranscribeRequest{AllSound: true}},
		{[]string{"keywords[]=Ask", "keywords[]=Americans", "hotwords=country, fellow"},
			engine.TranscribeRequest{TranscribeOptions: engine.TranscribeOptions{Keywords: []string{"Ask", "Americans", "country, fellow"}}}},
	} {
		for _, path := range []string{transcribe, translate} {
			body(t, upload(t, s, path, tone(t), append(tt.fields, earField)...))
			got := *f.heard.Load()
			got.Source, got.Info = nil, nil
			tt.want.Translate = path == translate
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s, %v: %+v; want %+v", path, tt.fields, got, tt.want)
			}
		}
	}
	for _, field := range []string{
		"beam_size=11", "beam_size=2.5", "best_of=0", "patience=0", "length_penalty=-1", "compression_ratio_threshold=0",
		"log_prob_threshold=0", "no_speech_threshold=2", "seed=1.5", "condition_on_previous_text=maybe", "without_timestamps=2", "vad_filter=on",
		"keywords=" + strings.Repeat("a", 20000),
	} {
		name, _, _ := strings.Cut(field, "=")
		t.Run("bad "+name, func(t *testing.T) {
			wantFailure(t, upload(t, s, transcribe, tone(t), earField, field), 400, "invalid_value", name)
		})
	}
}
