package asr

import (
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"quern/engine/asr/audio"
	"quern/engine/graph"
	"quern/engine/token"
)

// alignRows is how many tokens are aligned at a time: their scores over a
// window are the largest values of a Program.
const alignRows = 32

// alignment makes the Program of words ready, once.
func (m *Model) alignment(ctx context.Context) (*runner, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.align != nil {
		return m.align, nil
	}
	b := graph.NewBuilder(alignRows, alignRows)
	logits, scores := recordDecoder(b, &m.config, m.params, m.heads)
	e, err := m.exec(ctx, b, append(scores, logits)...)
	if err != nil {
		return nil, err
	}
	m.align = newRunner(e)
	return m.align, nil
}

// attend runs the decoder over tokens and returns, for each alignment head, what
// it attends to of the first frames places, (tokens, frames) before softmax, and
// of each token how likely the one after it is, ends of text left out.
func (w *window) attend(ctx context.Context, tokens []token.ID, frames int) (scores [][]float32, odds []float64, err error) {
	m := w.m
	align, err := m.alignment(ctx)
	if err != nil {
		return nil, nil, err
	}
	seq := &sequence{memory: w.memory}
	for range blocksFor(len(tokens)) {
		seq.table = append(seq.table, m.blocks.take())
	}
	defer func() { m.blocks.release(seq.table) }()
	places := m.config.encoder.places
	scores = make([][]float32, len(m.heads))
	for at := 0; at < len(tokens); at += alignRows {
		part := tokens[at:min(at+alignRows, len(tokens))]
		in := &graph.Batch{Tables: [][]int32{seq.table}, Memory: [][]int32{seq.memory}, Seq: make([]int32, len(part))}
		for i, id := range part {
			in.Tokens, in.Positions, in.Want = append(in.Tokens, id), append(in.Positions, int32(at+i)), append(in.Want, int32(i))
		}
		err = align.run(ctx, in, m.cache, func(out [][]float32) {
			head := 0
			for _, layer := range out[:len(out)-1] { // in the order of layers
				heads := len(layer) / len(part) / places
				for h := range heads {
					for i := range part {
						row := layer[(i*heads+h)*places:]
						scores[head+h] = append(scores[head+h], row[:frames]...)
					}
				}
				head += heads
			}
			logits := out[len(out)-1]
			for i := range part {
				row := logits[i*m.config.vocab : (i+1)*m.config.vocab]
				p := 0.0
				if next := at + i + 1; next < len(tokens) && tokens[next] < m.special.eot {
					p = math.Exp(float64(row[tokens[next]]) - logSumExp(row[:m.special.eot]))
				}
				odds = append(odds, p)
			}
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return scores, odds, nil
}

// align returns the words of a text with their times in the window, of which n
// frames hold audio.
//
// OpenAI, whisper, timing.py: the path of least cost through what the alignment
// heads attend to.
func (w *window) align(ctx context.Context, text []token.ID, language string, translate bool, n int) ([]Word, error) {
	m := w.m
	start := m.start(language, translate, true)
	// A text that does not fit the decoder is cut.
	text = text[:min(len(text), m.config.decoder.places-len(start)-2)]
	if len(text) == 0 {
		return nil, nil
	}
	tokens := slices.Concat(start, []token.ID{m.special.noTimestamps}, text, []token.ID{m.special.eot})
	frames := max(1, n/framesPerPlace)
	scores, odds, err := w.attend(ctx, tokens, frames)
	if err != nil {
		return nil, err
	}
	cost := make([]float64, len(tokens)*frames)
	for _, s := range scores {
		focus(s, frames)
		for i, v := range s {
			cost[i] -= float64(v) / float64(len(scores))
		}
	}
	rows, columns := dtw(cost[len(start)*frames:(len(tokens)-1)*frames], frames)
	var times []float64 // at which each token begins
	for i := range rows {
		if i == 0 || rows[i] != rows[i-1] {
			times = append(times, float64(columns[i])*stampSeconds)
		}
	}
	parts := m.words(append(slices.Clone(text), m.special.eot), language)
	if len(parts) <= 1 {
		return nil, nil
	}
	var words []Word
	at := 0
	for _, p := range parts[:len(parts)-1] {
		p.Start, p.End = times[at], times[at+len(p.Tokens)]
		for i := range p.Tokens {
			p.Probability += odds[len(start)+at+i] / float64(len(p.Tokens))
		}
		at += len(p.Tokens)
		words = append(words, p)
	}
	return words, nil
}

// words groups tokens into words: by characters, and where the language has
// spaces, by those and by punctuation.
func (m *Model) words(tokens []token.ID, language string) []Word {
	all := func(token.ID) bool { return true }
	full := m.spell(tokens, all)
	var units []Word
	var now []token.ID
	offset := 0
	for _, id := range tokens {
		now = append(now, id)
		text := m.spell(now, all)
		// A broken character is whole only when the whole text has it too.
		if i := strings.IndexRune(text, utf8.RuneError); i < 0 || strings.HasPrefix(full[min(len(full), offset+i):], "\ufffd") {
			units = append(units, Word{Text: text, Tokens: now})
			now = nil
			offset += len(text)
		}
	}
	if byCharacter[language] {
		return units
	}
	var list []Word
	for _, u := range units {
		if len(list) == 0 || u.Tokens[0] >= m.special.eot || strings.HasPrefix(u.Text, " ") || strings.Contains(punctuation, strings.TrimSpace(u.Text)) {
			list = append(list, u)
			continue
		}
		w := &list[len(list)-1]
		w.Text += u.Text
		w.Tokens = append(w.Tokens, u.Tokens...)
	}
	return list
}

// Punctuation: of ASCII, that which belongs to the word after it, and that which
// belongs to the word before it.
const (
	punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
	opening     = "\"'“¿([{-"
	closing     = "\"'.。,，!！?？:：”)]}、"
	sentenceEnd = ".。!！?？"
)

// attach moves punctuation to the words it belongs to. Words that gave all they
// had are left empty.
func attach(words []Word) {
	for i, j := len(words)-2, len(words)-1; i >= 0; i-- {
		p, f := &words[i], &words[j]
		if strings.HasPrefix(p.Text, " ") && strings.Contains(opening, strings.TrimSpace(p.Text)) {
			f.Text, f.Tokens = p.Text+f.Text, slices.Concat(p.Tokens, f.Tokens)
			p.Text, p.Tokens = "", nil
		} else {
			j = i
		}
	}
	for i, j := 0, 1; j < len(words); j++ {
		p, f := &words[i], &words[j]
		if !strings.HasSuffix(p.Text, " ") && strings.Contains(closing, f.Text) {
			p.Text, p.Tokens = p.Text+f.Text, slices.Concat(p.Tokens, f.Tokens)
			f.Text, f.Tokens = "", nil
		} else {
			i = j
		}
	}
}

// time gives the segments of a window the words of their text, and moves on to
// the end of the last one.
func (c *clip) time(ctx context.Context, w *window, list []Segment, seek, n int, single bool) error {
	m := c.t.m
	eot := m.special.eot
	var text []token.ID
	for _, s := range list {
		for _, id := range s.Tokens {
			if id < eot {
				text = append(text, id)
			}
		}
	}
	words, err := w.align(ctx, text, c.t.o.Language, c.t.o.Translate, n)
	if err != nil {
		return err
	}
	c.share(list, words, float64(seek)/audio.FrameRate)
	if end := lastEnd(list); !single && end > float64(seek)/audio.FrameRate {
		c.seek = int(math.RoundToEven(end * audio.FrameRate))
	}
	return nil
}

// share gives the words of a window, which begins offset seconds into the audio, to the segments
// of their text, and makes both agree about times.
func (c *clip) share(list []Segment, words []Word, offset float64) {
	typical, most := typicalDuration(words)
	for i := 1; i < len(words); i++ { // a pause belongs to no word
		x := &words[i]
		if x.End-x.Start <= most {
			continue
		}
		if strings.Contains(sentenceEnd, x.Text) {
			x.End = x.Start + most
		} else if strings.Contains(sentenceEnd, words[i-1].Text) {
			x.Start = x.End - most
		}
	}
	attach(words)
	at := 0
	for i := range list {
		s := &list[i]
		count := 0
		for _, id := range s.Tokens {
			if id < c.t.m.special.eot {
				count++
			}
		}
		for saved := 0; at < len(words) && saved < count; at++ {
			x := words[at]
			saved += len(x.Tokens)
			if x.Text != "" {
				x.Start, x.End = round2(offset+x.Start), round2(offset+x.End)
				s.Words = append(s.Words, x)
			}
		}
		c.bound(s, typical, most)
	}
}

func round2(x float64) float64 { return math.RoundToEven(x*100) / 100 }

// typicalDuration is the median duration of words, at most 0.7 s, and what is
// too long: twice that.
func typicalDuration(words []Word) (typical, most float64) {
	var d []float64
	for _, w := range words {
		if w.End != w.Start {
			d = append(d, w.End-w.Start)
		}
	}
	if len(d) > 0 {
		slices.Sort(d)
		typical = min(0.7, (d[len(d)/2]+d[(len(d)-1)/2])/2)
	}
	return typical, 2 * typical
}

// bound makes the words of a segment and its own times agree.
func (c *clip) bound(s *Segment, typical, most float64) {
	words := s.Words
	if len(words) == 0 {
		return
	}
	// After a pause the first word, or the first two, may have swallowed it.
	if f := &words[0]; f.End-c.lastEnd > 4*typical &&
		(f.End-f.Start > most || len(words) > 1 && words[1].End-f.Start > 2*most) {
		if len(words) > 1 && words[1].End-words[1].Start > most {
			at := max(words[1].End/2, words[1].End-most)
			f.End, words[1].Start = at, at
		}
		f.Start = max(0, f.End-most)
	}
	// The segment's own times count where a word is too long. It becomes shorter, never longer, or
	// it would reach into the next.
	if f := &words[0]; s.Start < f.End && s.Start-0.5 > f.Start {
		f.Start = max(f.Start, min(f.End-typical, s.Start))
	} else {
		s.Start = f.Start
	}
	if l := &words[len(words)-1]; s.End > l.Start && s.End+0.5 < l.End {
		l.End = min(l.End, max(l.Start+typical, s.End))
	} else {
		s.End = l.End
	}
	c.lastEnd = s.End
}

// lastEnd is when the last segment ends, or its last word where it has any; -1
// without segments.
func lastEnd(list []Segment) float64 {
	for i := len(list) - 1; i >= 0; i-- {
		if w := list[i].Words; len(w) > 0 {
			return w[len(w)-1].End
		}
	}
	if len(list) > 0 {
		return list[len(list)-1].End
	}
	return -1
}

// byCharacter are the languages that put no spaces between words.
var byCharacter = map[string]bool{"zh": true, "ja": true, "th": true, "lo": true, "my": true, "yue": true}
