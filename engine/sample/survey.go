package sample

import (
	"math"
	"slices"

	"quern/engine/token"
	"quern/kernels"
	"quern/kernels/vec"
)

// blockLen is how many logits share a peak.
const blockLen = 128

// A survey is the result of one pass over all logits, so that few have to be read
// again one by one.
type survey struct {
	top   float32   // the largest
	sum   float64   // of e^(logit - top) over all, off by less than doubt of itself
	peaks []float32 // the largest of each block; empty when not known
	parts []float64 // the sum of e^(logit - peak) over each block
	work  [blockLen]float32
}

// doubt bounds how far the sum of a survey is off: 2·2⁻²³ for the exponential and
// 3·2⁻²⁴ for the differences it is taken of, which round by 2⁻²⁴ of themselves and
// in the mean of a block, each with its weight, are below 3.
const doubt = 0x1p-21

// take surveys logits. It reports whether they are numbers and one is possible; if
// not, argmax has the error.
func (s *survey) take(logits []float32) bool {
	s.peaks, s.parts, s.top = s.peaks[:0], s.parts[:0], float32(math.Inf(-1))
	for block := range slices.Chunk(logits, blockLen) {
		// It is NaN where a logit is NaN or +Inf, or all are -Inf.
		x := s.work[:copy(s.work[:], block)]
		peak, _ := vec.SoftmaxWeights(x, nil, 1)
		part := total(x)
		if part != part {
			if slices.ContainsFunc(block, possible) {
				return false
			}
			peak, part = float32(math.Inf(-1)), 0
		}
		s.peaks, s.parts = append(s.peaks, peak), append(s.parts, part)
		s.top = max(s.top, peak)
	}
	if !possible(s.top) {
		return false
	}
	s.sum = 0
	for i, peak := range s.peaks {
		s.sum += s.parts[i] * exp(float64(peak)-float64(s.top))
	}
	return true
}

// total returns the sum of x, in float64, so that it adds no error to the terms'.
func total(x []float32) float64 {
	var a, b, c, d float64
	for ; len(x) >= 4; x = x[4:] {
		a += float64(x[0])
		b += float64(x[1])
		c += float64(x[2])
		d += float64(x[3])
	}
	for _, v := range x {
		a += float64(v)
	}
	return a + b + (c + d)
}

// possible is true of all logits but -Inf, also of those that are not numbers.
func possible(v float32) bool { return !(v < -math.MaxFloat32) }

// look is take for callers that need no more than the largest, and where there are no
// vectors.
func (s *survey) look(logits []float32) (err error) {
	s.peaks = s.peaks[:0]
	_, s.top, err = argmax(logits)
	return err
}

// within appends the tokens whose logits are at most t below the largest.
func (s *survey) within(c []cand, logits []float32, t float64) ([]cand, error) {
	if err := s.look(logits); err != nil {
		return c, err
	}
	return s.between(c, logits, s.below(t), float32(math.Inf(1))), nil
}

// below returns a logit that is t below the largest.
func (s *survey) below(t float64) float32 { return float32(max(float64(s.top)-t, -math.MaxFloat32)) }

// between appends the tokens whose logits are at least low and below high, by
// ascending id.
func (s *survey) between(c []cand, logits []float32, low, high float32) []cand {
	under := math.Nextafter32(low, float32(math.Inf(-1)))
	for k := range (len(logits) + blockLen - 1) / blockLen {
		if len(s.peaks) > 0 && s.peaks[k] < low {
			continue
		}
		end := min((k+1)*blockLen, len(logits))
		for from := k * blockLen; from < end; from += few {
			if end-from >= few && noneAbove((*[few]float32)(logits[from:]), under) {
				continue
			}
			for i, v := range logits[from:min(from+few, end)] {
				if v >= low && v < high {
					c = append(c, cand{token.ID(from + i), v, -float64(v), exp(float64(v) - float64(s.top))})
				}
			}
		}
	}
	return c
}

// nucleus appends to c the likeliest tokens up to the share p of the whole mass,
// with their weights.
//
// Where the error of the survey's sum matters, the exact sum is computed: the
// result does not depend on how vectorised code rounds.
func (s *survey) nucleus(c []cand, logits []float32, p float64) ([]cand, error) {
	if kernels.Level() != "generic" && s.take(logits) {
		if kept, sure := s.likeliest(c, logits, p, s.sum, doubt); sure {
			return kept, nil
		}
	} else if err := s.look(logits); err != nil {
		return c, err
	}
	kept, _ := s.likeliest(c, logits, p, expSum(logits, s.top), 0)
	return kept, nil
}

// likeliest is nucleus by the survey, with a sum of all weights that is off by
// less than slack of itself. It reports whether the exact sum would have given the same.
func (s *survey) likeliest(c []cand, logits []float32, p, sum, slack float64) (_ []cand, sure bool) {
	sure = true
	// All tokens below e^-bound of the best together weigh less than
	// n·e^-bound; with this bound, that is the share that is not needed.
	bound := math.Log(float64(len(logits))/((1-p)*sum)) + 1e-3
	want := p * sum
	// Most distributions have their nucleus much nearer to the best token.
	// Passes without an exponential are cheap, candidates are not.
	mass, high := 0.0, float32(math.Inf(1))
	for t := 4.0; ; t *= 2 {
		// The bound with the exact sum lies between these two.
		low, least := s.below(min(t, bound+2*slack)), s.below(min(t, bound-2*slack))
		from := len(c)
		c = s.between(c, logits, low, high)
		for i := range c[from:] {
			mass += c[from+i].w
			sure = sure && c[from+i].logit >= least
		}
		if !sure || math.Abs(mass-want) < slack*want || math.Abs(t-bound) < 2*slack {
			return c, false
		}
		if mass >= want || t >= bound {
			return keepMass(c, want, slack*want)
		}
		high = low
	}
}
