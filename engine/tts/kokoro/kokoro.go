// Package kokoro runs Kokoro-82M, a StyleTTS 2 text-to-speech network with an
// iSTFTNet generator, from phonemes to samples.
//
// It calls kernels itself instead of recording into a graph.Builder: the lengths
// of all later tensors are numbers the network predicts half way through, and a
// Program's shapes depend on its row count alone.
//
// Li et al., "StyleTTS 2: Towards Human-Level Text-to-Speech through Style
// Diffusion and Adversarial Training with Large Speech Language Models", 2023.
package kokoro

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"

	"quern/formats/weights"
	"quern/kernels/threads"
)

// MaxSymbols is the longest utterance the network reads.
const MaxSymbols = 510

// maxFrames bounds the length of one utterance: 75 s in frames of 25 ms. The
// predictor of a damaged file could ask for fifty frames a symbol.
const maxFrames = 3000

// Signature is a tensor every Kokoro model has and no other model does.
const Signature = "decoder.generator.m_source.l_linear.weight"

// A Model is a loaded network. It is safe for concurrent use; utterances are
// made one at a time.
type Model struct {
	style     int   // values of each half of a style vector
	weights   int64 // bytes of them, packed
	ids       map[rune]int
	bert      *bert
	text      *textEncoder
	predictor *predictor
	decoder   *decoder
	generator *generator

	turn  chan struct{} // holds one value while what follows is free
	pool  Pool
	arena *arena
}

// A Pool runs parallel work. Do calls f while the threads are free of other work; f
// calls yield between its steps, so that others get their turn.
type Pool interface {
	Do(ctx context.Context, f func(pool *threads.Pool, yield func())) error
}

// A call is one utterance on its way through the network.
type call struct {
	ctx   context.Context
	pool  *threads.Pool
	yield func()
	arena *arena
	trace func(name string, x plane)
}

func (c *call) seam(name string, x plane) {
	if c.trace != nil {
		c.trace(name, x)
	}
}

// New makes a model of the tensors of set, named <part>.<key> as flat SafeTensors
// files and, after their own prefix, the published .pth have them. config is the
// text of config.json, or nil for the published sizes. The weights are copied:
// set may be closed afterwards. Their memory is given back when the collector
// finds that no caller has the model any more.
//
// Errors wrap weights.ErrFormat.
func New(set *weights.Set, config []byte, pool Pool) (*Model, error) {
	l := &loader{set: set, memory: &memory{}}
	m, err := l.model(config, pool)
	if err != nil {
		l.memory.free()
		return nil, err
	}
	m.weights = l.memory.bytes()
	m.arena.warm()
	runtime.AddCleanup(m, (*memory).free, l.memory)
	runtime.AddCleanup(m, (*arena).free, m.arena)
	return m, nil
}

func (l *loader) model(config []byte, pool Pool) (*Model, error) {
	cfg, err := readConfig(config)
	if err != nil {
		return nil, err
	}
	m := &Model{pool: pool, turn: make(chan struct{}, 1), arena: &arena{}}
	m.turn <- struct{}{}
	for t := range l.set.All() {
		if !decodable(t.Type) {
			return nil, fmt.Errorf("%w: tensor %q is %v; Kokoro is read in F32, F16 and BF16", weights.ErrUnsupported, t.Name, t.Type)
		}
	}
	if m.ids, err = cfg.ids(); err != nil {
		return nil, err
	}
	// Any style layer tells the width of a style.
	if w, shape := l.find("decoder.encode.norm1.fc.weight"); w != nil && len(shape) == 2 {
		m.style = shape[1]
	}
	if m.style == 0 {
		return nil, fmt.Errorf("%w: no tensor \"decoder.encode.norm1.fc.weight\": this is not Kokoro", weights.ErrFormat)
	}
	m.bert = l.bert(cfg)
	m.predictor = l.predictor(m.bert, m.style)
	m.text = l.textEncoder(cfg)
	if l.err == nil {
		m.decoder = l.decoder(m.text.lstm.width, m.style)
	}
	if l.err == nil {
		width := m.decoder.decode[len(m.decoder.decode)-1].out
		m.generator = l.generator(cfg, width, m.style)
		m.arena.first = keepFloats(width)
	}
	if l.err != nil {
		return nil, l.err
	}
	if m.bert.positions < 3 {
		return nil, fmt.Errorf("%w: ALBERT has %d positions", weights.ErrFormat, m.bert.positions)
	}
	return m, nil
}

// Style returns how many values a style vector has: timbre, then prosody.
func (m *Model) Style() int { return 2 * m.style }

// Bytes is about how much memory the model occupies: its packed weights, and the
// scratch memory it keeps.
func (m *Model) Bytes() int64 { return m.weights + 4*int64(m.arena.first) }

// Has reports whether the network knows a symbol.
func (m *Model) Has(r rune) bool { return m.ids[r] != 0 }

// A Manner is how an utterance is spoken.
type Manner struct {
	Speed float64 // divides the durations; 0.25 to 4
	Pitch float64 // semitones higher than the voice, 12 either way at most
	Seed  uint64  // of the noise
}

// maxPitch is the most semitones either way: what the network does with a pitch further
// from what it was trained on is not speech.
const maxPitch = 12

// Speak renders phonemes, one symbol a code point; symbols the network does not
// know make no sound. style comes from a Voice.
//
// It returns samples in about [-1, 1] at Rate, and how many belong to each
// symbol: spans[0] is the lead-in, spans[1+i] belongs to symbols[i], the last to
// the lead-out. Equal arguments give equal samples. Samples
// that are not finite, which damaged weights make, are an error that wraps
// weights.ErrFormat.
func (m *Model) Speak(ctx context.Context, phonemes []rune, style []float32, how Manner) (samples []float32, spans []int, err error) {
	if len(style) != 2*m.style {
		return nil, nil, fmt.Errorf("kokoro: a style of %d values; want %d", len(style), 2*m.style)
	}
	if !(how.Speed >= 0.25 && how.Speed <= 4) {
		return nil, nil, fmt.Errorf("kokoro: speed %g is outside 0.25 to 4", how.Speed)
	}
	if !(math.Abs(how.Pitch) <= maxPitch) {
		return nil, nil, fmt.Errorf("kokoro: %g semitones are outside %d either way", how.Pitch, maxPitch)
	}
	ids := []int{0}
	at := make([]int, len(phonemes)) // place of each symbol in ids, or 0
	for i, r := range phonemes {
		if id := m.ids[r]; id != 0 {
			at[i] = len(ids)
			ids = append(ids, id)
		}
	}
	ids = append(ids, 0)
	if limit := min(MaxSymbols+2, m.bert.positions); len(ids) > limit {
		return nil, nil, fmt.Errorf("kokoro: an utterance of %d symbols; the longest is %d", len(ids)-2, limit-2)
	}
	var durations []int
	select {
	case <-m.turn:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	defer func() { m.turn <- struct{}{} }()
	if doErr := m.pool.Do(ctx, func(pool *threads.Pool, yield func()) {
		c := &call{ctx: ctx, pool: pool, yield: yield, arena: m.arena}
		samples, durations, err = m.forward(c, ids, style, how)
		m.arena.trim()
	}); doErr != nil {
		return nil, nil, doErr
	}
	if err != nil {
		return nil, nil, err
	}
	if i := notFinite(samples); i >= 0 {
		return nil, nil, fmt.Errorf("%w: Kokoro makes %v of sample %d: the model or the voice is damaged", weights.ErrFormat, samples[i], i)
	}
	frame := len(samples)
	if total := sum(durations); total > 0 {
		frame = len(samples) / total
	}
	spans = make([]int, len(phonemes)+2)
	spans[0] = durations[0] * frame
	for i, k := range at {
		if k > 0 {
			spans[1+i] = durations[k] * frame
		}
	}
	spans[len(spans)-1] = durations[len(durations)-1] * frame
	return samples, spans, nil
}

func sum(x []int) int {
	n := 0
	for _, v := range x {
		n += v
	}
	return n
}

// forward is the network: ids to samples and the frames every id lasts.
func (m *Model) forward(c *call, ids []int, style []float32, how Manner) ([]float32, []int, error) {
	defer runtime.KeepAlive(m) // and the memory of its weights
	timbre, prosody := style[:m.style], style[m.style:]
	start := c.arena.mark()
	hidden, err := m.bert.apply(c, ids)
	if err != nil {
		return nil, nil, err
	}
	encoded, durations := m.predictor.durations(c, hidden, prosody, how.Speed)
	frames := sum(durations)
	if frames > maxFrames {
		return nil, nil, fmt.Errorf("kokoro: %d symbols would last %.0f s; the longest utterance is %.0f s",
			len(ids)-2, float64(frames)*0.025, float64(maxFrames)*0.025)
	}
	f0, n, err := m.predictor.curves(c, repeat(c, encoded, durations, frames), prosody)
	if err != nil {
		return nil, nil, err
	}
	f0 = slices.Clone(f0) // outlives what it lies among
	if how.Pitch != 0 {
		// The decoder hears of it, too: it gives the sound the formants of such a voice.
		by := float32(math.Exp2(how.Pitch / 12))
		for i := range f0 {
			f0[i] *= by
		}
	}
	text := m.text.apply(c, ids)
	c.seam("F0_proj", plane{rows: len(f0), cols: 1, data: f0})
	c.seam("N_proj", plane{rows: len(n), cols: 1, data: n})
	c.seam("text_encoder", text)
	x, err := m.decoder.apply(c, repeat(c, text, durations, frames), f0, n, timbre)
	if err != nil {
		return nil, nil, err
	}
	c.seam("decoder", x)
	x = c.arena.keep(start, x)
	wave := m.generator.source.apply(c, f0, how.Seed)
	spectrum := m.generator.stft.forward(c, wave)
	samples, err := m.generator.apply(c, x, spectrum, timbre)
	return samples, durations, err
}
