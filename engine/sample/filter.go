package sample

import (
	"math"
	"slices"

	"quern/engine/token"
	"quern/kernels/vec"
)

// A cand is a token that may still be drawn.
type cand struct {
	id    token.ID
	logit float32
	key   float64 // what selections order by: smaller first, then smaller id
	w     float64 // e^(logit - largest logit), later with temperature
}

func (a *cand) before(b *cand) bool {
	return a.key < b.key || a.key == b.key && a.id < b.id
}

// sumBlock is how many weights share one partial sum.
const sumBlock = 512

// impossible is a weight that no token a filter let pass can have: vectorised code
// gives it to barred tokens.
const impossible = 0x1p-125

// drawAll draws from all logits, which it overwrites: one pass to find the
// largest, one for the weights, and a look at the sums to find the token.
// With x for scale·(logit - largest), a weight is off by at most (4 + |x|)·2⁻²³
// of itself; those below e⁻⁸⁷ count as nothing.
func (s *Sampler) drawAll(logits []float32, scale float64) (token.ID, error) {
	best, top, err := argmax(logits)
	if err != nil {
		return 0, err
	}
	sums, sum := s.buf.sums[:0], 0.0
	down := &s.buf.down
	for i := range down {
		down[i] = -top
	}
	for block := range slices.Chunk(logits, sumBlock) {
		vec.Add(block, block, down[:len(block)])
		vec.Scale(block, block, float32(scale))
		part := float64(vec.ExpSum(block, 0))
		sums = append(sums, part)
		sum += part
	}
	s.buf.sums = sums
	r := s.uniform() * sum
	for k, part := range sums {
		if r >= part {
			r -= part
			continue
		}
		last := best // used when rounding drops the last weight
		for i, w := range logits[k*sumBlock : min((k+1)*sumBlock, len(logits))] {
			if w <= impossible {
				continue
			}
			last = token.ID(k*sumBlock + i)
			if r -= float64(w); r < 0 {
				break
			}
		}
		return last, nil
	}
	return best, nil
}

// filters reports which filters are on.
type filters struct{ topK, typical, topP, minP bool }

func (p *Params) filters(vocab int) filters {
	return filters{
		topK:    p.TopK > 0 && p.TopK < vocab,
		typical: p.TypicalP > 0 && p.TypicalP < 1,
		topP:    p.TopP > 0 && p.TopP < 1,
		minP:    p.MinP > 0,
	}
}

// filter returns the tokens the filters leave, in no particular order, with
// their weights at the temperature 1/scale, the sum of those, and the place of
// the likeliest.
func (s *Sampler) filter(logits []float32, scale float64, f filters) (c []cand, sum float64, best int, err error) {
	p := &s.p
	// sum is the weight of the distribution the next filter sees, which may
	// have more tokens than c.
	switch {
	case f.topK:
		c, err = topCands(s.buf.cands[:0], logits, p.TopK)
		if err == nil {
			order(c) // so that it does not matter how they were found
			sum = weigh(c)
		}
	case f.typical:
		c, sum, err = gather(s.buf.cands[:0], logits)
	case f.topP:
		c, err = s.buf.survey.nucleus(s.buf.cands[:0], logits, float64(p.TopP))
		f.topP = false
	default:
		// The margin leaves the exact comparison to keepMin.
		c, err = s.buf.survey.within(s.buf.cands[:0], logits, 1e-3-math.Log(min(float64(p.MinP), 1)))
	}
	if cap(c) > cap(s.buf.cands) {
		s.buf.cands = c
	}
	if err != nil {
		return nil, 0, 0, err
	}
	c, sum, best = s.keep(c, sum, scale, f)
	return c, sum, best, nil
}

// keep applies the filters behind top-k to c, of a distribution that weighs sum,
// and returns what filter does.
func (s *Sampler) keep(c []cand, sum, scale float64, f filters) (_ []cand, _ float64, best int) {
	p := &s.p
	if f.typical {
		c, sum = keepTypical(c, sum, float64(p.TypicalP))
	}
	if f.topP {
		c, _ = keepMass(c, sum*float64(p.TopP), 0)
	}
	if f.minP {
		c = keepMin(c, float64(p.MinP))
	}
	for i := range c {
		if c[i].logit > c[best].logit {
			best = i
		}
	}
	sum = 0
	for i := range c {
		c[i].w = exp((float64(c[i].logit) - float64(c[best].logit)) * scale)
		sum += c[i].w
	}
	return c, sum, best
}

// drawFiltered draws from what the filters leave.
func (s *Sampler) drawFiltered(logits []float32, scale float64, f filters) (token.ID, error) {
	c, sum, best, err := s.filter(logits, scale, f)
	if err != nil {
		return 0, err
	}
	return s.drawOf(c, sum, best), nil
}

// drawOf draws from c, which weighs sum and of which best is the likeliest.
func (s *Sampler) drawOf(c []cand, sum float64, best int) token.ID {
	r := s.uniform() * sum
	for i := range c {
		if r -= c[i].w; r < 0 {
			return c[i].id
		}
	}
	return c[best].id // rounding has dropped the last weight
}

// topCands appends the k largest logits to c, in no particular order and
// without weights. Only about 2k candidates are held at any time.
func topCands(c []cand, logits []float32, k int) ([]cand, error) {
	limit := max(2*k, 64)
	floor := float32(math.Inf(-1))
	for from := 0; from < len(logits); from += few {
		if len(logits)-from >= few && noneAbove((*[few]float32)(logits[from:]), floor) {
			continue
		}
		for i, v := range logits[from:min(from+few, len(logits))] {
			// Ids ascend, so a logit that only equals the floor comes too late.
			if v <= floor {
				continue
			}
			if bad(v) {
				return c, badLogit(from+i, v)
			}
			c = append(c, cand{id: token.ID(from + i), logit: v, key: -float64(v)})
			if len(c) == limit {
				selectFirst(c, k)
				c = c[:k]
				floor = c[k-1].logit
			}
		}
	}
	if len(c) == 0 {
		return c, ErrBarred
	}
	if len(c) > k {
		selectFirst(c, k)
		c = c[:k]
	}
	return c, nil
}

// weigh sets the weights of c and returns their sum.
func weigh(c []cand) (sum float64) {
	top := c[0].logit
	for i := range c {
		top = max(top, c[i].logit)
	}
	for i := range c {
		c[i].w = exp(float64(c[i].logit) - float64(top))
		sum += c[i].w
	}
	return sum
}

// gather appends every possible token and returns the sum of all weights.
func gather(c []cand, logits []float32) (_ []cand, sum float64, err error) {
	_, top, err := argmax(logits)
	if err != nil {
		return c, 0, err
	}
	for i, v := range logits {
		if !possible(v) {
			continue
		}
		w := exp(float64(v) - float64(top))
		sum += w
		c = append(c, cand{token.ID(i), v, -float64(v), w})
	}
	return c, sum, nil
}

// expSum returns the sum of e^(logit - top) over all logits.
func expSum(logits []float32, top float32) (sum float64) {
	for _, v := range logits {
		sum += exp(float64(v) - float64(top))
	}
	return sum
}

// keepTypical keeps the tokens whose surprise is nearest to the entropy of the
// distribution, up to the mass p, and returns their weight.
//
// Meister et al., "Locally Typical Sampling", 2023, section 3.
func keepTypical(c []cand, sum, p float64) ([]cand, float64) {
	if len(c) == 0 {
		return c, 0
	}
	top := c[0].logit
	for i := range c {
		top = max(top, c[i].logit)
	}
	// With x = logit - top the surprise of a token is ln(sum) - x, and the
	// entropy is ln(sum) less the mean of x. Their difference needs no sum.
	mean := 0.0
	for i := range c {
		mean += c[i].w * (float64(c[i].logit) - float64(top))
	}
	mean /= sum
	for i := range c {
		c[i].key = math.Abs(float64(c[i].logit) - float64(top) - mean)
	}
	c, _ = keepMass(c, p*sum, 0)
	sum = 0
	for i := range c {
		c[i].key = -float64(c[i].logit)
		sum += c[i].w
	}
	return c, sum
}

// keepMass keeps the shortest run of first tokens that weighs at least mass. It reports
// whether it would have done the same for every mass nearer to this one than slack.
func keepMass(c []cand, mass, slack float64) (_ []cand, sure bool) {
	// Like selectFirst, but the place to split at is found by weight.
	lo, hi := 0, len(c)
	for hi-lo > small {
		m := partition(c, lo, hi)
		left := 0.0
		for i := lo; i < m; i++ {
			left += c[i].w
		}
		if math.Abs(left-mass) < slack {
			return c, false
		}
		if left >= mass {
			hi = m
		} else {
			lo, mass = m, mass-left
		}
	}
	insertionSort(c[lo:hi])
	for i := lo; i < hi; i++ {
		mass -= c[i].w
		if math.Abs(mass) < slack {
			return c, false
		}
		if mass <= 0 {
			return c[:i+1], true
		}
	}
	return c[:hi], true
}

// keepMin keeps tokens at least p times as likely as the likeliest.
func keepMin(c []cand, p float64) []cand {
	top := 0.0
	for i := range c {
		top = max(top, c[i].w)
	}
	// A p above 1 keeps the likeliest all the same.
	least := top * min(p, 1)
	n := 0
	for i := range c {
		if c[i].w >= least {
			c[n] = c[i]
			n++
		}
	}
	return c[:n]
}

// small is the length at which sorting beats splitting.
const small = 16

// selectFirst reorders c so that its k first tokens come first, the last of
// them at k-1.
func selectFirst(c []cand, k int) {
	lo, hi := 0, len(c)
	for hi-lo > small {
		m := partition(c, lo, hi)
		if k <= m {
			hi = m
		} else {
			lo = m
		}
	}
	insertionSort(c[lo:hi])
}

// partition splits c[lo:hi], which has more than two tokens, into two parts
// that are not empty, everything in the first before everything in the second,
// and returns where the second starts.
func partition(c []cand, lo, hi int) int {
	// Hoare's scheme with a median of three, which is fast for runs in order.
	a, b, d := &c[lo], &c[lo+(hi-lo)/2], &c[hi-1]
	if b.before(a) {
		*a, *b = *b, *a
	}
	if d.before(b) {
		*b, *d = *d, *b
		if b.before(a) {
			*a, *b = *b, *a
		}
	}
	pivot := *b
	i, j := lo, hi-1
	for {
		for i++; c[i].before(&pivot); i++ {
		}
		for j--; pivot.before(&c[j]); j-- {
		}
		if i >= j {
			return j + 1
		}
		c[i], c[j] = c[j], c[i]
	}
}

func insertionSort(c []cand) {
	for i := 1; i < len(c); i++ {
		x := c[i]
		j := i
		for ; j > 0 && x.before(&c[j-1]); j-- {
			c[j] = c[j-1]
		}
		c[j] = x
	}
}
