package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"quern/engine"
	"quern/httpapi"
)

// deaf takes all sound for no speech.
type deaf struct{ *fake }

func (d deaf) Open(ctx context.Context, name string, kinds ...engine.Kind) (engine.Lease, error) {
	return d.lend(ctx, d, name, kinds)
}

func (d deaf) Transcribe(ctx context.Context, r engine.TranscribeRequest) iter.Seq2[engine.Segment, error] {
	return func(yield func(engine.Segment, error) bool) {
		for _, err := range d.fake.Transcribe(ctx, r) {
			if err != nil {
				yield(engine.Segment{}, err)
				return
			}
		}
	}
}

// TestTranscriptionWarnings: the answer names what is wrong with the sound, in a
// member where it is JSON and in the header where it is text.
func TestTranscriptionWarnings(t *testing.T) {
	hears, hearsNot := newServer(t, httpapi.Options{}), newServer(t, httpapi.Options{Engine: deaf{&fake{}}})
	whole := tone(t)
	quiet := bytes.Clone(whole)
	clear(quiet[44:])
	faint := bytes.Clone(quiet)
	faint[44] = 3 // of 32768
	const (
		cut  = "the audio is cut short: 0.5 s could be read of 1.0 s"
		zero = "the audio is silent: all samples of its 1.0 s are zero"
	)
	for _, sound := range []struct {
		name string
		s    *httptest.Server
		file []byte
		want []string
	}{
		{"whole", hears, whole, nil},
		{"cut short", hears, whole[:44+16000], []string{cut}},
		{"zeros", hears, quiet, []string{zero}},
		{"faint", hears, faint, []string{"the audio is silent: the loudest sample of its 1.0 s lies at -81 dBFS"}},
		{"cut short and zeros", hears, quiet[:44+16000], []string{cut, "the audio is silent: all samples of its 0.5 s are zero"}},
		{"without speech", hearsNot, whole, []string{"no speech was found in the 1.0 s of audio"}},
		{"cut short and without speech", hearsNot, whole[:44+16000], []string{cut, "no speech was found in the 0.5 s of audio"}},
		{"zeros, unheard", hearsNot, quiet, []string{zero}},
	} {
		s := sound.s
		for _, tt := range []struct{ path, field string }{
			{transcribe, "response_format=json"},
			{transcribe, "response_format=verbose_json"},
			{transcribe, "response_format=text"},
			{transcribe, "response_format=srt"},
			{transcribe, "response_format=vtt"},
			{transcribe, "response_format=diarized_json"},
			{transcribe, "response_format=whisperx"},
			{transcribe, "response_format=whisperx;diarize=true"},
			{transcribe, "response_format=verbose_json;diarize=true"},
			{transcribe, "stream=true"},
			{transcribe, "stream=true;live=true"},
			{transcribe, "stream=true;response_format=diarized_json"},
			{"/v1/audio/translations", "response_format=json"},
			{"/v1/audio/translations", "response_format=verbose_json"},
			{"/v1/audio/translations", "response_format=srt"},
			{"/v1/speech-to-text", "model_id=scribe_v1"},
			{"/v1/speech-to-text", "model_id=scribe_v1;timestamps_granularity=none"},
			{"/v1/speech-to-text", "model_id=" + whoModel + ";diarize=true"},
		} {
			fields := strings.Split(tt.field, ";")
			if tt.path != "/v1/speech-to-text" {
				fields = append(fields, "model="+whoModel)
			}
			r := upload(t, s, tt.path, sound.file, fields...)
			got := body(t, r)
			if r.StatusCode != 200 {
				t.Errorf("%s, %s %s: %d %s", sound.name, tt.path, tt.field, r.StatusCode, got)
				continue
			}
			streamed := fields[0] == "stream=true"
			if h := r.Header.Values(warningHeader); !streamed && !slices.Equal(h, sound.want) {
				t.Errorf("%s, %s %s: header %q; want %q", sound.name, tt.path, tt.field, h, sound.want)
			}
			if streamed {
				at := strings.LastIndex(string(got), `data: {"type":"transcript.text.done"`)
				if at < 0 {
					t.Errorf("%s: the stream ends with %s", sound.name, got)
					continue
				}
				got, _, _ = bytes.Cut(got[at+len("data: "):], []byte("\n"))
			} else if r.Header.Get("Content-Type") != "application/json" {
				continue
			}
			var v struct{ Warnings []string }
			if err := json.Unmarshal(got, &v); err != nil || !slices.Equal(v.Warnings, sound.want) {
				t.Errorf("%s, %s %s: warnings %q, %v; want %q", sound.name, tt.path, tt.field, v.Warnings, err, sound.want)
			}
		}
	}
}
