package asr

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"quern/engine/graph"
	"quern/engine/token"
)

// A candidate is one transcript in the making.
type candidate struct {
	seq      *sequence
	tokens   []token.ID // after the prompt
	logprobs []float32
	sum      float64
	ended    bool
}

// An attempt decodes one window at one temperature: greedily, by several draws,
// or by beam search. It is a task of the worker.
type attempt struct {
	cache  graph.Cache
	blocks *blocks
	memory []int32 // of the window

	prompt      []token.ID
	sot         int // place of the start of transcript in it
	rules       *rules
	temperature float64
	count       int  // candidates
	beam        bool // they are beams
	finish      int  // how many ended beams are enough
	limit       int  // tokens of a transcript
	places      int  // of the decoder
	seed        uint64

	noSpeech   float64
	candidates []candidate
	done       []candidate // beams that ended
	draws      []*rand.PCG
	over       bool
	err        error
}

var errLogits = errors.New("asr: the model leaves no token to choose")

func (a *attempt) rows() []row {
	if a.over {
		return nil
	}
	if a.candidates == nil {
		seq := &sequence{memory: a.memory}
		list := make([]row, len(a.prompt))
		for i, id := range a.prompt {
			a.place(seq, i)
			list[i] = row{id, i, seq, i == a.sot || i == len(a.prompt)-1}
		}
		a.candidates = []candidate{{seq: seq}}
		return list
	}
	var list []row
	for i := range a.candidates {
		if c := &a.candidates[i]; !c.ended {
			at := len(a.prompt) + len(c.tokens) - 1
			a.place(c.seq, at)
			list = append(list, row{c.tokens[len(c.tokens)-1], at, c.seq, true})
		}
	}
	return list
}

// place makes room for the token at a position: a new block, or a copy of one
// that others use too.
func (a *attempt) place(seq *sequence, at int) {
	b := at / blockSize
	if b == len(seq.table) {
		seq.table = append(seq.table, a.blocks.take())
		return
	}
	a.blocks.own(a.cache, seq.table, b)
}

// branch returns c with a sequence of its own that shares its blocks.
func (a *attempt) branch(c *candidate) candidate {
	n := *c
	n.seq = &sequence{table: slices.Clone(c.seq.table), memory: c.seq.memory}
	a.blocks.retain(n.seq.table)
	return n
}

// extend returns c with one more token.
func (c candidate) extend(r ranking) candidate {
	c.tokens = append(c.tokens[:len(c.tokens):len(c.tokens)], r.id)
	c.logprobs = append(c.logprobs[:len(c.logprobs):len(c.logprobs)], float32(r.logprob))
	c.sum += r.logprob
	return c
}

// close gives all blocks back.
func (a *attempt) close() {
	for i := range a.candidates {
		a.blocks.release(a.candidates[i].seq.table)
	}
	a.candidates = nil
}

func (a *attempt) take(logits [][]float32) {
	first := len(a.draws) == 0
	if first {
		// Of the raw logits, so before the rules change them.
		a.noSpeech = math.Exp(float64(logits[0][a.rules.special.noSpeech]) - logSumExp(logits[0]))
		for i := range a.count {
			a.draws = append(a.draws, rand.NewPCG(a.seed, uint64(i)))
		}
		logits = logits[len(logits)-1:]
	}
	at := 0
	for i := range a.candidates {
		if c := &a.candidates[i]; !c.ended {
			a.rules.apply(logits[at], c.tokens)
			at++
		}
	}
	if a.beam {
		a.search(logits)
	} else {
		a.pick(logits, first)
	}
	a.over = a.over || a.err != nil
	for i := range a.candidates {
		if n := len(a.candidates[i].tokens); n >= a.limit || len(a.prompt)+n > a.places {
			a.over = true
		}
	}
}

// pick takes the next token of every candidate.
func (a *attempt) pick(logits [][]float32, first bool) {
	if first {
		for range a.count - 1 {
			a.candidates = append(a.candidates, a.branch(&a.candidates[0]))
		}
	}
	at, live := 0, 0
	for i := range a.candidates {
		c := &a.candidates[i]
		if c.ended {
			continue
		}
		row := logits[at]
		if !first { // all share the prompt's logits at first
			at++
		}
		var r ranking
		if a.temperature > 0 {
			u := float64(a.draws[i].Uint64()>>11) * 0x1p-53
			r = draw(row, a.temperature, u)
		} else if top := best(row, 1); len(top) > 0 {
			r = top[0]
		} else {
			r.id = token.None
		}
		if r.id == token.None || math.IsNaN(r.logprob) {
			a.err = errLogits
			return
		}
		*c = c.extend(r)
		if c.ended = r.id == a.rules.special.eot; !c.ended {
			live++
		}
	}
	a.over = live == 0
}

// search takes the likeliest continuations of all beams together. Those that
// end leave the beam.
func (a *attempt) search(logits [][]float32) {
	type next struct {
		from int
		r    ranking
		sum  float64
	}
	var list []next
	for i := range a.candidates {
		for _, r := range best(logits[i], a.count+1) {
			list = append(list, next{i, r, a.candidates[i].sum + r.logprob})
		}
	}
	slices.SortStableFunc(list, func(x, y next) int { return cmp.Compare(y.sum, x.sum) })
	var beams, ended []candidate
	for _, n := range list {
		if math.IsNaN(n.sum) {
			a.err = errLogits
			break
		}
		c := &a.candidates[n.from]
		if n.r.id == a.rules.special.eot {
			ended = append(ended, c.extend(n.r))
			continue
		}
		beams = append(beams, a.branch(c).extend(n.r))
		if len(beams) == a.count {
			break
		}
	}
	a.close() // of the old beams; the new ones hold what they need
	a.candidates = beams
	for _, c := range ended {
		if len(a.done) < a.finish {
			c.seq = nil
			a.done = append(a.done, c)
		}
	}
	if len(beams) == 0 && len(a.done) == 0 {
		a.err = errLogits
	}
	a.over = len(a.done) >= a.finish || len(beams) == 0
}

// result returns the best transcript and its sum of log-probabilities, which
// counts the end of text. alpha above 0 is the length penalty of Wu et al.,
// "Google's Neural Machine Translation System", 2016, eq. 14; otherwise sums
// are divided by lengths.
func (a *attempt) result(alpha float64) candidate {
	list := a.candidates
	if a.beam {
		list = a.done
		if len(list) < a.count { // the best of those that did not end join them
			rest := slices.Clone(a.candidates)
			slices.SortStableFunc(rest, func(x, y candidate) int { return cmp.Compare(y.sum, x.sum) })
			list = append(slices.Clone(list), rest[:min(len(rest), a.count-len(list))]...)
		}
	}
	var won candidate
	top := math.Inf(-1)
	for _, c := range list {
		if n := len(c.tokens); n > 0 && c.tokens[n-1] == a.rules.special.eot {
			c.tokens, c.logprobs = c.tokens[:n-1], c.logprobs[:n-1]
		}
		by := float64(max(1, len(c.tokens)))
		if alpha > 0 {
			by = math.Pow((5+by)/6, alpha)
		}
		if score := c.sum / by; score > top || won.seq == nil && won.tokens == nil {
			won, top = c, score
		}
	}
	return won
}
