package speakers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A PLDA is the space of embeddings of one model: how those of a speaker differ, and how
// speakers do. Matrices are row-major.
//
// Ioffe, "Probabilistic linear discriminant analysis", 2006; the files are those of
// pyannote's speaker-diarization-community-1.
type PLDA struct {
	Mean, LDA, After []float64 // of embeddings (in); (in, out); of what the LDA gives (out)
	Mu, Tr, Psi      []float64 // (out); (out, out), rows are directions; variances of speakers along them

	order []int // of directions, the largest variance first
}

// check refuses sizes that do not fit each other.
func (p *PLDA) check() error {
	in, out := len(p.Mean), len(p.After)
	if in == 0 || out == 0 || out > in || len(p.LDA) != in*out || len(p.Mu) != out || len(p.Psi) != out || len(p.Tr) != out*out {
		return fmt.Errorf("means of %d and %d numbers, an LDA of %d, and a PLDA of %d, %d and %d do not fit each other", in, out, len(p.LDA), len(p.Mu), len(p.Tr), len(p.Psi))
	}
	for _, list := range [][]float64{p.Mean, p.LDA, p.After, p.Mu, p.Tr, p.Psi} {
		for _, v := range list {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("it holds %v", v)
			}
		}
	}
	if slices.Min(p.Psi) < 0 {
		return fmt.Errorf("it has a variance of %v", slices.Min(p.Psi))
	}
	return nil
}

// Ready makes a PLDA ready for embeddings of so many numbers, or says why it is not for
// them.
func (p *PLDA) Ready(width int) error {
	if err := p.check(); err != nil {
		return err
	}
	if width != len(p.Mean) {
		return fmt.Errorf("it is for embeddings of %d numbers, the model's have %d", len(p.Mean), width)
	}
	p.order = make([]int, len(p.Psi))
	for i := range p.order {
		p.order[i] = i
	}
	slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(p.Psi[b], p.Psi[a]) })
	return nil
}

// phi are the variances of speakers.
func (p *PLDA) phi() []float64 {
	out := make([]float64, len(p.order))
	for i, k := range p.order {
		out[i] = p.Psi[k]
	}
	return out
}

// project takes embeddings to where speakers vary by phi and a speaker by 1.
func (p *PLDA) project(x [][]float32) [][]float64 {
	in, out := len(p.Mean), len(p.After)
	list := make([][]float64, len(x))
	for n, v := range x {
		centred := make([]float64, in)
		for i, e := range v {
			centred[i] = float64(e) - p.Mean[i]
		}
		scaleTo(centred, math.Sqrt(float64(in)))
		reduced := make([]float64, out)
		for j := range reduced {
			reduced[j] = -p.After[j]
		}
		for i, e := range centred {
			for j := range reduced {
				reduced[j] += e * p.LDA[i*out+j]
			}
		}
		scaleTo(reduced, math.Sqrt(float64(out)))
		list[n] = make([]float64, out)
		for i, k := range p.order {
			for j, e := range reduced {
				list[n][i] += (e - p.Mu[j]) * p.Tr[k*out+j]
			}
		}
	}
	return list
}

// scaleTo gives a vector a length, if it has a direction.
func scaleTo(v []float64, length float64) {
	sum := 0.0
	for _, e := range v {
		sum += e * e
	}
	if sum > 0 {
		for i := range v {
			v[i] *= length / math.Sqrt(sum)
		}
	}
}
