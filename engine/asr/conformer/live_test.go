package conformer_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine"
	"quern/engine/asr"
	"quern/engine/asr/audio"
	"quern/engine/asr/conformer"
	"quern/engine/asr/vad"
	"quern/engine/live"
)

// A recogniser is a model as package live asks for it.
type recogniser struct{ m *conformer.Model }

func (r recogniser) Transcribe(ctx context.Context, q engine.TranscribeRequest) iter.Seq2[asr.Segment, error] {
	return r.m.Transcribe(ctx, q.Source, q.TranscribeOptions)
}

// hears returns the transcript of a sound that comes in tenths of a second, and how often it ran.
func hears(t *testing.T, m *conformer.Model, x audio.Samples, o live.Options) (text string, updates int) {
	t.Helper()
	feed := live.NewFeed(audio.Rate)
	go func() {
		for len(x) > 0 {
			n := min(len(x), audio.Rate/10)
			if feed.Write(t.Context(), x[:n]) != nil {
				return
			}
			x = x[n:]
		}
		feed.Close(nil)
	}()
	final := false
	for u, err := range live.Transcribe(t.Context(), recogniser{m}, feed, o) {
		if err != nil {
			t.Fatal(err)
		}
		text += u.Text
		updates++
		if final = u.Final; final && u.Tail != "" {
			t.Errorf("a piece ended, and %q may change", u.Tail)
		}
	}
	if !final {
		t.Error("the sound ended, and its last piece did not")
	}
	return strings.TrimSpace(text), updates
}

// Sound that is still coming is written down by a Parakeet, in both layouts, and by a Canary:
// text comes before the end, and a sound of one piece ends as the file does.
func TestLive(t *testing.T) {
	anything := live.Options{Step: 1, Detector: vad.Everything{}}
	anything.Request.Without = asr.GuardVAD
	for _, layout := range []string{"parakeet-sherpa", "parakeet-onnx-asr"} {
		m := conformer.OpenFile(t, fixtures.Path(t, "diarise", "models", layout))
		pulses := conformer.Signal(t, "pulses")
		if text, _ := hears(t, m, pulses, anything); text != "ing grain 2" {
			t.Errorf("%s: %q", layout, text)
		}
		if text, updates := hears(t, m, conformer.Signal(t, "talk")[:8*audio.Rate], anything); len(strings.Fields(text)) < 4 || updates < 1 {
			t.Errorf("%s: %d updates, %q", layout, updates, text)
		}
	}
	m := conformer.OpenFile(t, conformer.ToyCanary(t))
	o := anything
	o.Request.Language = "en"
	if _, updates := hears(t, m, conformer.Signal(t, "talk")[:3*audio.Rate], o); updates < 1 {
		t.Errorf("Canary: %d updates", updates)
	}
	o.Request.Language = ""
	feed := live.NewFeed(0)
	go func() { feed.Write(t.Context(), make([]float32, 2*audio.Rate)); feed.Close(nil) }()
	for _, err := range live.Transcribe(t.Context(), recogniser{m}, feed, o) {
		if err == nil || !strings.Contains(err.Error(), "language") {
			t.Errorf("Canary without a language: %v", err)
		}
	}
}
