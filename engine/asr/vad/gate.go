package vad

import (
	"context"

	"quern/engine/asr/audio"
)

// A Piece is a stretch of audio that is passed to the model: n samples from sample
// from of the source, which become those from sample at of the audio that is passed on.
type Piece struct{ from, at, n int }

// A Gate lets only the speech of audio through. It looks ahead by no more than a
// silence and the padding.
type Gate struct {
	src    audio.Reader
	ear    Listener
	o      Options
	err    error // why src has no more
	audio  []float32
	start  int // sample number of audio[0]
	heard  int // samples the ear has had
	sent   int // end of the samples that are sent or never will be
	ready  int // end of the samples that may be sent
	out    int // samples sent
	pieces []Piece

	speaking  bool
	since     int // where speech began, without padding
	confirmed bool
	quiet     int // where silence began in speech; 0 while there is none
}

// NewGate returns a gate between src and its reader. Options are Resolved. Where Everything is
// speech, a sound of any length is.
func NewGate(src audio.Reader, d Detector, o Options) *Gate {
	if _, all := d.(Everything); all {
		o.MinSpeech = 0
	}
	return &Gate{src: src, ear: d.Listen(), o: o}
}

// Fill is a Reader of the speech.
func (g *Gate) Fill(ctx context.Context, dst []float32) (n int, err error) {
	for n < len(dst) && err == nil {
		var k int
		k, _, err = g.Read(ctx, dst[n:])
		n += k
	}
	return n, err
}

// Read reads some of the speech; end says that a stretch of it ends there.
func (g *Gate) Read(ctx context.Context, dst []float32) (n int, end bool, err error) {
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
		g.pieces = append(g.pieces, Piece{g.sent, g.out, n})
	}
	g.sent += n
	g.out += n
	return n, g.sent == g.ready && !g.speaking, nil
}

func samplesIn(seconds float64) int { return int(seconds * audio.Rate) }

// listen reads one more hop and decides whether speech has begun or ended.
func (g *Gate) listen(ctx context.Context) {
	// Samples are kept from the first on that may still become the padding of speech.
	pad := samplesIn(g.o.Pad)
	keep := max(g.sent, g.heard-pad-Hop)
	if g.speaking {
		keep = max(g.sent, g.since-pad)
	}
	if drop := keep - g.start; drop > audio.Rate {
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
func (g *Gate) decide(p float32, n int) {
	from := g.heard
	g.heard += n
	pad := samplesIn(g.o.Pad)
	switch {
	case !g.speaking && p >= g.o.Threshold:
		g.speaking, g.confirmed, g.since, g.quiet = true, false, from, 0
	case !g.speaking:
		return
	case p >= g.o.Release:
		// Between the two thresholds silence continues if it had begun.
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
func (g *Gate) leave(end int) {
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

// Passed is how many samples of speech went through.
func (g *Gate) Passed() int { return g.out }

// Pieces are where the latest of them came from; see Forget.
func (g *Gate) Pieces() []Piece { return g.pieces }

// Held is how many samples before the gate it has room for.
func (g *Gate) Held() int { return cap(g.audio) }

// Forget lets go of pieces that end before a sample of what was sent, but for the
// last, so that an hour of audio keeps no more of them than a minute.
func (g *Gate) Forget(at int) {
	k := 0
	for k < len(g.pieces)-1 && g.pieces[k].at+g.pieces[k].n < at {
		k++
	}
	if k > 0 {
		g.pieces = append(g.pieces[:0], g.pieces[k:]...)
	}
}

// SourceSample returns the sample of the source that sample n of what was sent is. Times
// at the joint of two pieces belong to the first as an end, to the second
// otherwise.
func SourceSample(pieces []Piece, n int, end bool) int {
	for i, p := range pieces {
		if n < p.at+p.n || end && n <= p.at+p.n || i == len(pieces)-1 {
			return p.from + n - p.at
		}
	}
	return n
}
