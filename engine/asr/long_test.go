package asr

import (
	"context"
	"io"
	"testing"

	"quern/engine/asr/audio"
	"quern/engine/asr/vad"
)

// What a transcription keeps of its audio does not grow with it: samples and
// frames of a window and what is read ahead, and the places of a window's pieces.
func TestMemoryIsBounded(t *testing.T) {
	m := small(t)
	src := &ticking{end: 300 * audio.Rate}
	o, err := Options{Language: "en", NoTimestamps: true, Temperatures: []float64{0}, MaxTokens: 2, NoContext: true, Without: NoGuards &^ GuardVAD}.resolved(m)
	if err != nil {
		t.Fatal(err)
	}
	tr := &transcriber{m: m, o: &o}
	tr.gate = vad.NewGate(audio.NewReader(src), o.Detector, o.Speech)
	tr.read = tr.gate.Fill
	c := tr.newClip(tr.read, 0)
	windows, samples, frames, heard, pieces := 0, 0, 0, 0, 0
	for {
		_, err := c.next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		windows++
		s, f := c.frames.Held()
		samples, frames = max(samples, s), max(frames, f)
		heard, pieces = max(heard, tr.gate.Held()), max(pieces, len(tr.gate.Pieces()))
		tr.gate.Forget(c.seek * audio.FrameStep)
	}
	t.Logf("%d windows; at most %d samples, %d frames, %d samples before the gate, %d pieces", windows, samples, frames, heard, pieces)
	// Slices that grow by appending have up to twice the room they need, and the
	// gate keeps a stretch of speech that is not yet sent.
	if windows < 6 || samples > 4*audio.Rate || frames > 3*c.window || heard > 24*audio.Rate || pieces > 12 {
		t.Errorf("%d windows held up to %d samples, %d frames, %d samples before the gate and %d pieces", windows, samples, frames, heard, pieces)
	}
	drained(t, m)
}
