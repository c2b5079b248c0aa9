package asr

import (
	"context"
	"fmt"
)

// A Detector tells speech from other sound. It is safe for concurrent use.
type Detector interface {
	// Listen starts on new audio.
	Listen() Listener
}

// A Listener hears one stream of audio.
type Listener interface {
	// Hear returns how likely the next Hop samples are speech, from 0 to 1.
	Hear(x []float32) float32
}

// Hop is how many samples a Listener hears at a time: 32 ms.
const Hop = 512

// SpeechOptions say what counts as a stretch of speech. Times are in seconds; a
// time of 0 is the default, a negative one is none.
type SpeechOptions struct {
	Threshold float32 // speech begins at this probability; 0 means 0.5
	// Release is the probability below which speech may end; 0 means 0.15 less
	// than Threshold.
	Release    float32
	MinSpeech  float64 // shorter stretches are left out; 0.25
	MinSilence float64 // shorter silences are part of the speech; 0.5
	Pad        float64 // added to both ends; 0.2
}

func (o SpeechOptions) resolved() (SpeechOptions, error) {
	if o.Threshold == 0 {
		o.Threshold = 0.5
	}
	if o.Release == 0 {
		o.Release = max(o.Threshold-0.15, 0.01)
	}
	if !(o.Threshold > 0 && o.Threshold < 1) || !(o.Release > 0 && o.Release <= o.Threshold) {
		return o, fmt.Errorf("%w: speech from probability %g to %g", ErrOptions, o.Threshold, o.Release)
	}
	for _, x := range []struct {
		v   *float64
		def float64
	}{{&o.MinSpeech, 0.25}, {&o.MinSilence, 0.5}, {&o.Pad, 0.2}} {
		if *x.v == 0 {
			*x.v = x.def
		}
		*x.v = max(0, *x.v)
		if !(*x.v <= 10) {
			return o, fmt.Errorf("%w: %g seconds of speech or silence", ErrOptions, *x.v)
		}
	}
	return o, nil
}

// A piece is a stretch of audio that goes on to the model: n samples from sample
// from of the source, which become those from sample at of what goes on.
type piece struct{ from, at, n int }

// A gate lets only the speech of audio through. It looks ahead by no more than a
// silence and the padding.
type gate struct {
	src    reader
	ear    Listener
	o      SpeechOptions
	err    error // why src has no more
	audio  []float32
	start  int // sample number of audio[0]
	heard  int // samples the ear has had
	sent   int // end of what is sent or never will be
	ready  int // end of what may be sent
	out    int // samples sent
	pieces []piece

	speaking  bool
	since     int // where speech began, without padding
	confirmed bool
	quiet     int // where silence began in speech; 0 while there is none
}

func newGate(src reader, d Detector, o SpeechOptions) *gate {
	return &gate{src: src, ear: d.Listen(), o: o}
}

// fill is a reader of the speech.
func (g *gate) fill(ctx context.Context, dst []float32) (n int, err error) {
	for n < len(dst) && err == nil {
		var k int
		k, _, err = g.read(ctx, dst[n:])
		n += k
	}
	return n, err
}

// read reads some of the speech; end says that a stretch of it ends there.
func (g *gate) read(ctx context.Context, dst []float32) (n int, end bool, err error) {
	for g.sent >= g.ready {
		if g.err != nil {
			return 0, false, g.err
		}
		g.listen(ctx)
	}
	n = copy(dst, g.audio[g.sent-g.start:g.ready-g.start])
	if k := len(g.pieces); k > 0 && g.pieces[k-1].from+g.pieces[k-1].n == g.sent {
		g.pieces[k-1].n += n
	} else {
		g.pieces = append(g.pieces, piece{g.sent, g.out, n})
	}
	g.sent += n
	g.out += n
	return n, g.sent == g.ready && !g.speaking, nil
}

func samplesIn(seconds float64) int { return int(seconds * Rate) }

// listen hears one more hop and decides what it means for the audio so far.
func (g *gate) listen(ctx context.Context) {
	// Nothing before what could still become the padding of speech is kept.
	pad := samplesIn(g.o.Pad)
	keep := max(g.sent, g.heard-pad-Hop)
	if g.speaking {
		keep = max(g.sent, g.since-pad)
	}
	if drop := keep - g.start; drop > Rate {
		g.audio = append(g.audio[:0], g.audio[drop:]...)
		g.start += drop
	}
	var x [Hop]float32
	n, err := g.src(ctx, x[:])
	g.audio = append(g.audio, x[:n]...)
	g.err = err
	if n > 0 {
		g.decide(g.ear.Hear(x[:]), n)
	}
	if err != nil && g.speaking {
		g.leave(g.heard)
	}
}

// decide takes the probability of the next n samples.
func (g *gate) decide(p float32, n int) {
	from := g.heard
	g.heard += n
	pad := samplesIn(g.o.Pad)
	switch {
	case !g.speaking && p >= g.o.Threshold:
		g.speaking, g.confirmed, g.since, g.quiet = true, false, from, 0
	case !g.speaking:
		return
	case p >= g.o.Release:
		// Between the two thresholds silence goes on if it had begun.
		if p >= g.o.Threshold {
			g.quiet = 0
		}
	case g.quiet == 0:
		g.quiet = max(from, 1)
	}
	if g.quiet > 0 && g.heard-g.quiet >= samplesIn(g.o.MinSilence) {
		g.leave(g.quiet)
		return
	}
	end := g.heard
	if g.quiet > 0 {
		end = g.quiet
	}
	if !g.confirmed && end-g.since >= samplesIn(g.o.MinSpeech) {
		g.confirmed = true
		g.sent = max(g.sent, g.since-pad)
	}
	if g.confirmed {
		g.ready = max(g.ready, end)
	}
}

// leave ends the speech at a sample.
func (g *gate) leave(end int) {
	pad := samplesIn(g.o.Pad)
	g.speaking = false
	if !g.confirmed {
		if end-g.since < samplesIn(g.o.MinSpeech) {
			return
		}
		g.sent = max(g.sent, g.since-pad)
	}
	g.ready = max(g.ready, min(end+pad, g.heard))
}

// forget lets go of pieces that end before a sample of what was sent, but for the
// last, so that an hour of audio keeps no more of them than a minute.
func (g *gate) forget(at int) {
	k := 0
	for k < len(g.pieces)-1 && g.pieces[k].at+g.pieces[k].n < at {
		k++
	}
	if k > 0 {
		g.pieces = append(g.pieces[:0], g.pieces[k:]...)
	}
}

// sourceSample returns the sample of the source that sample n of what was sent is. Times
// at the joint of two pieces belong to the first as an end, to the second
// otherwise.
func sourceSample(pieces []piece, n int, end bool) int {
	for i, p := range pieces {
		if n < p.at+p.n || end && n <= p.at+p.n || i == len(pieces)-1 {
			return p.from + n - p.at
		}
	}
	return n
}

// counter is a Source that counts.
type counter struct {
	Source
	n int
}

func (c *counter) Read(dst []float32) (int, error) {
	n, err := c.Source.Read(dst)
	c.n += max(0, n)
	return n, err
}
