// Package asr transcribes speech with Whisper models.
//
// Audio becomes log-mel frames (package audio), the encoder turns 30 s of them into
// states once (whisper.go), and the decoder writes tokens (attempt.go) under
// the rules of the model's training (rules.go). transcribe.go moves the window
// along and makes segments; words.go times words; package vad and guard.go keep out
// text that was not spoken. One goroutine per Model (worker.go) decodes the windows of
// all requests in one batch; no request's result depends on which others share it.
package asr

import (
	"context"
	"io"
	"iter"
	"strings"

	"quern/engine/asr/audio"
	"quern/engine/asr/vad"
	"quern/engine/token"
)

// Transcribe yields the segments of src as they become final, in order. It
// reads no further than it must, so audio of any length takes the same memory.
// Breaking out of the loop or ending ctx stops it within a layer of the model.
// Errors wrap ErrOptions or are those of src, ctx and the backend, or say that
// the model's numbers are none; after one there is nothing more.
func (m *Model) Transcribe(ctx context.Context, src audio.Source, o Options) iter.Seq2[Segment, error] {
	return func(yield func(Segment, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		o, err := m.resolved(o)
		if err != nil {
			yield(Segment{}, err)
			return
		}
		*o.Info = Info{Language: o.Language, Probability: 1}
		t := &transcriber{m: m, o: &o}
		count := &audio.Counter{Source: src}
		t.read = audio.NewReader(count)
		if o.On(GuardVAD) || o.Chunked {
			if !o.On(GuardVAD) {
				o.Detector = vad.Everything{}
			}
			t.gate = vad.NewGate(t.read, o.Detector, o.Speech)
			t.read = t.gate.Fill
		}
		emit := func(s Segment) bool {
			o.Info.Duration = float64(count.N) / audio.Rate
			s.ID = t.count
			t.count++
			return yield(s, nil)
		}
		if o.Chunked {
			err = t.chunks(ctx, emit)
		} else {
			err = t.clip(ctx, emit)
		}
		o.Info.Duration, o.Info.Speech = float64(count.N)/audio.Rate, float64(count.N)/audio.Rate
		if t.gate != nil {
			o.Info.Speech = float64(t.gate.Passed()) / audio.Rate
		}
		if err != nil && err != errStopped {
			yield(Segment{}, err)
		}
	}
}

// A transcriber is one transcription.
type transcriber struct {
	m     *Model
	o     *Options
	read  audio.Reader
	gate  *vad.Gate // between the audio and read, or nil
	count int       // segments so far
}

// clip transcribes the audio from beginning to end.
func (t *transcriber) clip(ctx context.Context, emit func(Segment) bool) error {
	c := t.newClip(t.read, 0)
	for {
		list, err := c.next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for _, s := range list {
			if !emit(s.Placed(0, t.pieces())) {
				return errStopped
			}
		}
		if t.gate != nil {
			t.gate.Forget(c.seek * audio.FrameStep)
		}
	}
}

func (t *transcriber) pieces() []vad.Piece {
	if t.gate == nil {
		return nil
	}
	return t.gate.Pieces()
}

// A clip is audio transcribed window by window.
type clip struct {
	t        *transcriber
	frames   *audio.Spectrogram
	window   int // frames of a window
	seek     int // frame the next one begins at
	features []float32
	seed     uint64
	first    bool // no window has been decoded

	initial []token.ID // Options.Prompt, until the prompt is reset
	said    []token.ID // since the prompt was reset
	lastEnd float64    // of the last segment with words
	// lastSpeech is the same as of the window before.
	lastSpeech float64
	lastText   string // of the last segment
	times      int    // it was said, one after the other
	slow       int    // windows in a row that made little progress
}

func (t *transcriber) newClip(read audio.Reader, at int) *clip {
	m := t.m
	c := &clip{t: t, frames: audio.NewSpectrogram(m.bank, read), window: framesPerPlace * m.config.encoder.places, first: at == 0}
	c.features = make([]float32, c.window*m.config.mels)
	c.seed = mix(t.o.Seed, uint64(at))
	c.initial = m.encodeText(t.o.Prompt)
	return c
}

func (c *clip) encode(ctx context.Context, first, n, candidates int) (*window, error) {
	c.frames.Window(c.features, first, n)
	return c.t.m.encode(ctx, c.features, candidates)
}

// before returns the text in front of the window: keywords, the prompt, and
// what was said, of which the latest is kept.
func (c *clip) before() []token.ID {
	text := append(append([]token.ID(nil), c.initial...), c.said...)
	words := c.t.m.encodeText(strings.Join(c.t.o.Keywords, ", "))
	room := c.t.m.config.decoder.places/2 - 1
	words = words[:min(len(words), room/2)]
	return append(words, text[max(0, len(text)-(room-len(words))):]...)
}

// next decodes the next window and returns its segments, with times and seek of
// the clip; io.EOF when nothing is left.
func (c *clip) next(ctx context.Context) ([]Segment, error) {
	m, o := c.t.m, c.t.o
	n, err := c.frames.Need(ctx, c.seek+c.window)
	if err != nil {
		return nil, err
	}
	c.frames.Drop(c.seek)
	if n -= c.seek; n < leastFrames {
		return nil, io.EOF
	}
	options := decodingOf(o, nil)
	w, err := c.encode(ctx, c.seek, n, options.candidates())
	if err != nil {
		return nil, err
	}
	defer func() {
		if w != nil {
			w.close()
		}
	}()
	if o.Language == "" {
		var v vote
		if err := v.add(ctx, w); err != nil {
			return nil, err
		}
		if !v.sure() {
			// No request holds a window while asking for another: see blocks.
			w.close()
			w = nil
			if err := c.canvass(ctx, &v); err != nil {
				return nil, err
			}
			if w, err = c.encode(ctx, c.seek, n, options.candidates()); err != nil {
				return nil, err
			}
		}
		v.settle(o)
	}
	options = decodingOf(o, c.before())
	options.seed = mix(c.seed, uint64(c.seek))
	if c.first && o.Prefix != "" {
		options.prefix = m.encodeText(o.Prefix)
	}
	if o.On(GuardLength) {
		most := tokensAtLeast + n*tokensPerSecond/audio.FrameRate
		if options.limit == 0 || most < options.limit {
			options.limit = most
		}
	}
	d, silent, err := c.decode(ctx, w, &options)
	if err != nil {
		return nil, err
	}
	c.first = false
	seek := c.seek
	if silent {
		c.seek += n
		return nil, nil
	}
	list, advance, single := m.segments(d, seek, n)
	c.seek += advance
	if o.Words {
		if err := c.time(ctx, w, list, seek, n, single); err != nil {
			return nil, err
		}
		var drop bool
		if list, drop = c.skip(list, seek, n, single); drop {
			c.seek = max(c.seek, seek+leastFrames)
			return nil, nil
		}
	}
	// A model that closes one tiny segment after the other would take for ever.
	if c.seek-seek >= littleProgress {
		c.slow = 0
	} else if c.slow++; c.slow == slowWindows {
		c.seek, c.slow = seek+n, 0
	}
	c.seek = max(c.seek, seek+1)
	if o.On(GuardLength) {
		clamp(list, float64(seek+n)/audio.FrameRate)
	}
	list = c.guard(list)
	for i := range list {
		s := &list[i]
		s.Language = o.Language
		c.said = append(c.said, s.Tokens...)
		if !o.Logprobs {
			s.Logprobs = nil
		}
	}
	if o.NoContext || o.On(GuardReset) && d.temperature > 0.5 {
		c.said, c.initial = nil, nil
	}
	if most := m.config.decoder.places; len(c.said) > 4*most { // only the latest are looked at
		c.said = append([]token.ID(nil), c.said[len(c.said)-most:]...)
	}
	return list, nil
}

// clamp moves times beyond end to it.
func clamp(list []Segment, end float64) {
	for i := range list {
		s := &list[i]
		s.Start, s.End = min(s.Start, end), min(s.End, end)
		for k := range s.Words {
			w := &s.Words[k]
			w.Start, w.End = min(w.Start, end), min(w.End, end)
		}
	}
}

// After slowWindows windows in a row that each leave the next one to begin less
// than littleProgress frames later, one is done as a whole.
const (
	littleProgress = 100
	slowWindows    = 3
)

// leastFrames is the shortest clip worth a window: a tenth of a second. What is
// left after the last segment is often shorter.
const leastFrames = 10

// decode tries one temperature after the other until the guards are content.
// silent says that the window holds no speech.
func (c *clip) decode(ctx context.Context, w *window, options *decodeOptions) (d *decoding, silent bool, err error) {
	o := c.t.o
	for _, temperature := range o.Temperatures {
		if d, err = w.decode(ctx, options, temperature); err != nil {
			return nil, false, err
		}
		unlikely := d.avgLogprob < o.MinLogprob
		again := o.On(GuardRatio) && d.ratio > o.MaxRatio || o.On(GuardLogprob) && unlikely
		// Silence does not get better by trying again.
		if o.On(GuardSilence) && d.noSpeech > o.MaxNoSpeech && unlikely {
			again = false
		}
		if !again {
			break
		}
	}
	silent = o.On(GuardSilence) && d.noSpeech > o.MaxNoSpeech && !(o.On(GuardLogprob) && d.avgLogprob > o.MinLogprob)
	return d, silent, nil
}

// segments cuts the transcript of n frames from seek on where one time ends a
// segment and the next begins one, and says how many frames are done: up to the
// last such time, since what follows has no end yet, or all when the text ends
// with a single time.
func (m *Model) segments(d *decoding, seek, n int) (list []Segment, advance int, single bool) {
	stamp0 := m.special.stamp0
	isTime := func(i int) bool { return i >= 0 && d.tokens[i] >= stamp0 }
	seconds := func(id token.ID) float64 { return float64(id-stamp0) * stampSeconds }
	offset := float64(seek) / audio.FrameRate
	add := func(from, to int, start, end float64) {
		s := Segment{
			Seek: seek, Start: offset + start, End: offset + end, Tokens: d.tokens[from:to:to], Text: m.plain(d.tokens[from:to]),
			Temperature: d.temperature, AvgLogprob: d.avgLogprob, CompressionRatio: d.ratio, NoSpeechProb: d.noSpeech,
		}
		for i, id := range s.Tokens {
			if id < m.special.eot {
				s.Logprobs = append(s.Logprobs, TokenLogprob{ID: id, Bytes: m.vocab.bytes(id), Logprob: d.logprobs[from+i]})
			}
		}
		list = append(list, s)
	}
	count := len(d.tokens)
	single = count >= 1 && isTime(count-1) && !isTime(count-2)
	last := 0
	for i := 1; i <= count; i++ {
		if i < count && isTime(i) && isTime(i-1) || i == count && single && last > 0 {
			add(last, i, seconds(d.tokens[last]), seconds(d.tokens[i-1]))
			last = i
		}
	}
	if last > 0 {
		if single {
			return list, n, single
		}
		return list, framesPerPlace * int(d.tokens[last-1]-stamp0), single
	}
	end := float64(n) / audio.FrameRate
	for i := count - 1; i >= 0; i-- {
		if isTime(i) {
			if d.tokens[i] != stamp0 {
				end = seconds(d.tokens[i])
			}
			break
		}
	}
	add(0, count, 0, end)
	return list, n, single
}
