package asr

import (
	"context"
	"io"
	"testing"
)

// What a transcription keeps of its audio does not grow with it: samples and
// frames of a window and what is read ahead, and the places of a window's pieces.
func TestMemoryIsBounded(t *testing.T) {
	m := small(t)
	src := &ticking{end: 300 * Rate}
	o, err := Options{Language: "en", NoTimestamps: true, Temperatures: []float64{0}, MaxTokens: 2, NoContext: true, Without: NoGuards &^ GuardVAD}.resolved(m)
	if err != nil {
		t.Fatal(err)
	}
	tr := &transcriber{m: m, o: &o}
	tr.gate = newGate(from(src), o.Detector, o.Speech)
	tr.read = tr.gate.fill
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
		samples, frames = max(samples, cap(c.frames.audio)), max(frames, cap(c.frames.tops))
		heard, pieces = max(heard, cap(tr.gate.audio)), max(pieces, len(tr.gate.pieces))
		tr.gate.forget(c.seek * hop)
	}
	t.Logf("%d windows; at most %d samples, %d frames, %d samples before the gate, %d pieces", windows, samples, frames, heard, pieces)
	// Slices that grow by appending have up to twice the room they need, and the
	// gate keeps a stretch of speech that is not yet sent.
	if windows < 6 || samples > 4*Rate || frames > 3*c.window || heard > 24*Rate || pieces > 12 {
		t.Errorf("%d windows held up to %d samples, %d frames, %d samples before the gate and %d pieces", windows, samples, frames, heard, pieces)
	}
	drained(t, m)
}

func TestForget(t *testing.T) {
	g := &gate{pieces: []piece{{100, 0, 50}, {300, 50, 50}, {900, 100, 10}}}
	g.forget(60)
	if len(g.pieces) != 2 || sourceSample(g.pieces, 60, false) != 310 || sourceSample(g.pieces, 105, false) != 905 {
		t.Errorf("left %v", g.pieces)
	}
	if g.forget(1000); len(g.pieces) != 1 {
		t.Errorf("left %v; the last piece stays", g.pieces)
	}
}
