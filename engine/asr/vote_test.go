package asr

import (
	"context"
	"math"
	"testing"

	"quern/engine/asr/audio"
)

func TestVote(t *testing.T) {
	v := vote{odds: map[string]float64{"en": 0.4, "de": 0.35}, windows: 1}
	if code, p := v.winner(); code != "en" || !near(p, 0.4, 1e-9) || v.sure() {
		t.Errorf("one window: %s, %g, sure %v", code, p, v.sure())
	}
	v.odds["en"] += 0.1
	v.odds["de"] += 0.75
	v.windows++
	if code, p := v.winner(); code != "de" || !near(p, 0.55, 1e-9) || !v.sure() {
		t.Errorf("two windows: %s, %g, sure %v", code, p, v.sure())
	}
	v = vote{odds: map[string]float64{"en": 0.4}, windows: languageWindows}
	if !v.sure() {
		t.Error("the vote does not end")
	}
}

// A model that is never sure asks several windows, reads no further than those,
// and transcribes from the beginning all the same.
func TestUncertainLanguage(t *testing.T) {
	m := small(t)
	for _, chunked := range []bool{false, true} {
		var info Info
		src := &ticking{end: 160 * audio.Rate}
		o := Options{NoTimestamps: true, Temperatures: []float64{0}, MaxTokens: 2, Chunked: chunked, Info: &info, Without: NoGuards}
		read, first, last := 0, math.Inf(1), 0.0
		for s, err := range m.Transcribe(context.Background(), src, o) {
			if err != nil {
				t.Fatal(err)
			}
			if read == 0 {
				read = src.at
			}
			first, last = min(first, s.Start), s.End
		}
		if info.Probability >= sureLanguage {
			t.Fatalf("a random model is sure of %s: %g", info.Language, info.Probability)
		}
		if info.Language == "" || first > 1 || last < 125 {
			t.Errorf("chunked %v: %+v, segments from %g to %g", chunked, info, first, last)
		}
		if seconds := read / audio.Rate; seconds < 30*languageWindows-15 || seconds > 30*(languageWindows+chunksAtATime)+10 {
			t.Errorf("chunked %v: %d s were read before the first segment", chunked, seconds)
		}
	}
	drained(t, m)
}
