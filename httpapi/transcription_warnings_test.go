package httpapi_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"quern/httpapi"
)

// TestTranscriptionWarnings: the answer names what is wrong with the sound, in a
// member where it is JSON and in the header where it is text.
func TestTranscriptionWarnings(t *testing.T) {
	s := newServer(t, httpapi.Options{})
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
		file []byte
		want []string
	}{
		{"whole", whole, nil},
		{"cut short", whole[:44+16000], []string{cut}},
		{"zeros", quiet, []string{zero}},
		{"faint", faint, []string{"the audio is silent: the loudest sample of its 1.0 s lies at -81 dBFS"}},
		{"cut short and zeros", quiet[:44+16000], []string{cut, "the audio is silent: all samples of its 0.5 s are zero"}},
	} {
		for _, tt := range []struct{ path, field string }{
			{transcribe, "response_format=json"},
			{transcribe, "response_format=verbose_json"},
			{transcribe, "response_format=text"},
			{transcribe, "response_format=srt"},
			{transcribe, "response_format=vtt"},
			{transcribe, "stream=true"},
			{"/v1/audio/translations", "response_format=json"},
			{"/v1/speech-to-text", "model_id=scribe_v1"},
		} {
			fields := []string{tt.field}
			if tt.path != "/v1/speech-to-text" {
				fields = append(fields, earField)
			}
			r := upload(t, s, tt.path, sound.file, fields...)
			got := body(t, r)
			if r.StatusCode != 200 {
				t.Errorf("%s, %s %s: %d %s", sound.name, tt.path, tt.field, r.StatusCode, got)
				continue
			}
			streamed := tt.field == "stream=true"
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
