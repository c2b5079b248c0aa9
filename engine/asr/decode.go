package asr

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"quern/engine/asr/heard"
	"quern/engine/graph"
	"quern/engine/token"
)

// A window is 30 s of audio in the decoder's reach: its keys and values in the
// cache, and room for the candidates that read them.
type window struct {
	m        *Model
	memory   []int32
	reserved int
}

// encode runs the encoder over features, (frames, bands), and sets aside what
// decoding with that many candidates needs. The caller closes the window.
func (m *Model) encode(ctx context.Context, features []float32, candidates int) (*window, error) {
	return m.encodeWith(ctx, features, candidates, nil)
}

// encodeWith is encode that lets see see the states, (places, width).
func (m *Model) encodeWith(ctx context.Context, features []float32, candidates int, see func(states []float32)) (*window, error) {
	w := &window{m: m, reserved: m.reserved(candidates)}
	if err := m.blocks.reserve(ctx, w.reserved); err != nil {
		return nil, err
	}
	places := m.config.encoder.places
	for range blocksFor(places) {
		w.memory = append(w.memory, m.blocks.take())
	}
	in := &graph.Batch{Positions: make([]int32, places), Seq: make([]int32, places), Tables: [][]int32{w.memory}, Features: features}
	for i := range in.Positions {
		in.Positions[i] = int32(i)
	}
	err := m.encoder.run(ctx, in, m.cache, func(out [][]float32) {
		if see != nil {
			see(out[0])
		}
	})
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *window) close() {
	w.m.blocks.release(w.memory)
	w.m.blocks.unreserve(w.reserved)
}

// A probe is a task that reads the logits after each of some tokens.
type probe struct {
	blocks *blocks
	list   []row
	see    func(logits [][]float32)
}

func (w *window) probe(tokens []token.ID, see func([][]float32)) *probe {
	seq := &sequence{memory: w.memory}
	p := &probe{blocks: w.m.blocks, see: see}
	for i, id := range tokens {
		if i%blockSize == 0 {
			seq.table = append(seq.table, w.m.blocks.take())
		}
		p.list = append(p.list, row{id, i, seq, true})
	}
	return p
}

func (p *probe) rows() []row             { return p.list }
func (p *probe) take(logits [][]float32) { p.see(logits); p.close() }

func (p *probe) close() {
	if len(p.list) > 0 {
		p.blocks.release(p.list[0].seq.table)
		p.list = nil
	}
}

func (w *window) run(ctx context.Context, p *probe) error {
	err := w.m.decode.do(ctx, p)
	p.close()
	return err
}

// language returns the probabilities of the model's languages.
func (w *window) language(ctx context.Context) (map[string]float64, error) {
	s := &w.m.special
	odds := make(map[string]float64, len(s.languages))
	err := w.run(ctx, w.probe([]token.ID{s.sot}, func(logits [][]float32) {
		top := never
		for _, id := range s.languages {
			top = max(top, logits[0][id])
		}
		sum := 0.0
		for _, code := range languages { // in a fixed order: sums depend on it
			if id, ok := s.languages[code]; ok {
				odds[code] = math.Exp(float64(logits[0][id] - top))
				sum += odds[code]
			}
		}
		for code := range odds {
			odds[code] /= sum
		}
	}))
	return odds, err
}

// likeliest returns the language with the highest probability, of equals the
// one with the lower token.
func likeliest(odds map[string]float64) string {
	best, code := -1.0, ""
	for _, l := range languages {
		if p, ok := odds[l]; ok && p > best {
			best, code = p, l
		}
	}
	return code
}

// A decoding is the transcript of a window.
type decoding struct {
	tokens      []token.ID
	logprobs    []float32 // of the tokens
	text        string
	temperature float64
	avgLogprob  float64
	ratio       float64
	noSpeech    float64
}

// start returns the tokens that begin a transcript.
func (m *Model) start(language string, translate, stamps bool) []token.ID {
	s := &m.special
	list := []token.ID{s.sot}
	if m.Multilingual() {
		task := s.transcribe
		if translate {
			task = s.translate
		}
		list = append(list, s.languages[language], task)
	}
	if !stamps {
		list = append(list, s.noTimestamps)
	}
	return list
}

// A task of decoding: what to decode a window with.
type decodeOptions struct {
	language  string
	translate bool
	stamps    bool
	context   []token.ID // text before the window
	prefix    []token.ID // the transcript begins with
	limit     int        // tokens; 0 is half the decoder's places

	bestOf, beams           int
	patience, lengthPenalty float64
	seed                    uint64
}

// candidates is the most a window may need at any temperature.
func (o *decodeOptions) candidates() int { return max(1, o.bestOf, o.beams) }

// prompt returns the tokens a window is decoded from, and the place of the start
// of the transcript among them: the latest text before it, language and task,
// and the prefix.
func (m *Model) prompt(o *decodeOptions) (list []token.ID, sot int) {
	places := m.config.decoder.places
	if n := places/2 - 1; len(o.context) > 0 {
		list = append(list, m.special.sotPrev)
		list = append(list, o.context[max(0, len(o.context)-n):]...)
	}
	sot = len(list)
	list = append(list, m.start(o.language, o.translate, o.stamps)...)
	// Text has at least a quarter of the places.
	room := max(0, places*3/4-len(list))
	return append(list, o.prefix[max(0, len(o.prefix)-room):]...), sot
}

// attempt prepares decoding the window at a temperature.
func (w *window) attempt(o *decodeOptions, temperature float64) *attempt {
	m := w.m
	places := m.config.decoder.places
	prompt, sot := m.prompt(o)
	a := &attempt{
		cache: m.cache, blocks: m.blocks, memory: w.memory,
		prompt: prompt, sot: sot, temperature: temperature, count: 1, places: places, limit: places / 2,
		rules: &rules{suppress: m.suppress, begin: m.begin, stamps: o.stamps, firstStamp: m.firstStamp, special: &m.special},
		seed:  mix(o.seed, uint64(math.Float64bits(temperature))),
	}
	if !o.stamps { // the reference lets times in
		a.rules.more = m.times
	}
	if o.limit > 0 {
		a.limit = min(a.limit, o.limit)
	}
	switch {
	case temperature > 0:
		a.count = max(1, o.bestOf)
	case o.beams > 1:
		a.beam, a.count, a.finish = true, o.beams, o.beams
		if o.patience > 0 {
			a.finish = max(1, int(math.RoundToEven(float64(o.beams)*o.patience)))
		}
	}
	return a
}

// decode decodes the window once.
func (w *window) decode(ctx context.Context, o *decodeOptions, temperature float64) (*decoding, error) {
	m := w.m
	a := w.attempt(o, temperature)
	err := m.decode.do(ctx, a)
	won := a.result(o.lengthPenalty)
	a.close()
	if err == nil {
		err = a.err
	}
	if err != nil {
		return nil, err
	}
	d := &decoding{
		tokens: won.tokens, logprobs: won.logprobs, temperature: temperature, noSpeech: a.noSpeech,
		avgLogprob: won.sum / float64(len(won.tokens)+1),
	}
	d.text = strings.TrimSpace(m.text(d.tokens))
	d.ratio = CompressionRatio(d.text)
	return d, nil
}

// mix spreads the bits of a and b over one number: the finaliser of splitmix64
// (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", 2014).
func mix(a, b uint64) uint64 {
	x := a + b*0x9e3779b97f4a7c15 + 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// text returns the text of tokens, times and other special tokens left out.
func (m *Model) text(tokens []token.ID) string {
	return m.spell(tokens, func(id token.ID) bool { return id < m.special.stamp0 })
}

// plain is text without language tokens and the like.
func (m *Model) plain(tokens []token.ID) string {
	return m.spell(tokens, func(id token.ID) bool { return id < m.special.eot })
}

func (m *Model) spell(tokens []token.ID, with func(token.ID) bool) string {
	var b []byte
	for _, id := range tokens {
		if with(id) {
			b = append(b, m.vocab.bytes(id)...)
		}
	}
	return valid(b)
}

// valid returns b with each broken character replaced by U+FFFD: of bytes that
// begin a character and do not end it, all at once.
//
// The Unicode Standard, §3.9, "U+FFFD Substitution of Maximal Subparts".
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			for n < len(b) && n < utf8.UTFMax && !utf8.FullRune(b[:n+1]) && !utf8.FullRune(b[:n]) {
				n++
			}
		}
		s.WriteRune(r)
		b = b[n:]
	}
	return s.String()
}

// encodeText returns the tokens of a prompt, which stands before speech. What
// spells a special token is left out.
func (m *Model) encodeText(text string) []token.ID {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return slices.DeleteFunc(m.vocab.encode(" "+text), func(id token.ID) bool { return id >= m.special.eot })
}

// check returns an error if the candidates asked for are not possible.
func (o *decodeOptions) check() error {
	if o.bestOf < 0 || o.beams < 0 || o.candidates() > heard.MaxCandidates {
		return fmt.Errorf("%w: best of %d, %d beams; at most %d", ErrOptions, o.bestOf, o.beams, heard.MaxCandidates)
	}
	if o.patience < 0 || o.lengthPenalty < 0 || o.lengthPenalty > 10 || o.patience > 10 {
		return fmt.Errorf("%w: patience %g, length penalty %g", ErrOptions, o.patience, o.lengthPenalty)
	}
	return nil
}
