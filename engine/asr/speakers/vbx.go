package speakers

import (
	"context"
	"math"
)

// VBx finds speakers in vectors whose space has been made such that those of a speaker
// have variance 1 in every direction, and the means of speakers the variances phi.
type VBx struct {
	Phi    []float64
	Fa, Fb float64 // weights of what is heard and of what is known before
	Rounds int
}

// smoothing is how sure the clusters that VBx starts from are taken to be, as a logit; an
// unlikely speaker is one with less than present of the vectors.
const (
	smoothing = 7
	present   = 1e-7
	silentPi  = 1e-8 // keeps logarithms finite
	settled   = 1e-4 // of the bound
)

// Resegment returns how likely each vector is of each speaker, how much each speaker has
// of all, and the bound of the likelihood after each round; first are clusters to start from.
//
// Landini et al., "Bayesian HMM clustering of x-vector sequences (VBx) in speaker
// diarization", 2022, without the transitions.
func (o *VBx) Resegment(ctx context.Context, x [][]float64, first []int) (gamma [][]float64, pi, bound []float64, err error) {
	speakers := 0
	for _, l := range first {
		speakers = max(speakers, l+1)
	}
	d := len(o.Phi)
	pi = make([]float64, speakers)
	for k := range pi {
		pi[k] = 1 / float64(speakers)
	}
	gamma, rho, own := make([][]float64, len(x)), make([][]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		g := make([]float64, speakers)
		for k := range g {
			g[k] = 1 / (math.Exp(smoothing) + float64(speakers-1))
		}
		g[first[i]] *= math.Exp(smoothing)
		r, sum := make([]float64, d), float64(d)*math.Log(2*math.Pi)
		for j, e := range v {
			r[j] = e * math.Sqrt(o.Phi[j])
			sum += e * e
		}
		gamma[i], rho[i], own[i] = g, r, -sum/2
	}
	ratio := o.Fa / o.Fb
	for range o.Rounds {
		if err := ctx.Err(); err != nil {
			return nil, nil, nil, err
		}
		alpha, shift, rest := make([][]float64, speakers), make([]float64, speakers), 0.0
		for k := range alpha {
			total, mean := 0.0, make([]float64, d)
			for i, g := range gamma {
				total += g[k]
				for j, e := range rho[i] {
					mean[j] += g[k] * e
				}
			}
			for j, phi := range o.Phi {
				inverse := 1 / (1 + ratio*total*phi)
				mean[j] *= ratio * inverse
				square := mean[j] * mean[j]
				shift[k] += 0.5 * (inverse + square) * phi
				rest += math.Log(inverse) - inverse - square + 1
			}
			alpha[k] = mean
		}
		sum := 0.0
		next := make([]float64, speakers)
		for i := range x {
			logs := make([]float64, speakers)
			for k := range logs {
				p := own[i] - shift[k]
				for j, e := range rho[i] {
					p += e * alpha[k][j]
				}
				logs[k] = o.Fa*p + math.Log(pi[k]+silentPi)
			}
			all := logSum(logs)
			sum += all
			for k, l := range logs {
				gamma[i][k] = math.Exp(l - all)
				next[k] += gamma[i][k] / float64(len(x))
			}
		}
		pi = next
		bound = append(bound, sum+o.Fb*0.5*rest)
		if n := len(bound); n > 1 && bound[n-1]-bound[n-2] < settled {
			break
		}
	}
	return gamma, pi, bound, nil
}

func logSum(x []float64) float64 {
	top := math.Inf(-1)
	for _, v := range x {
		top = max(top, v)
	}
	sum := 0.0
	for _, v := range x {
		sum += math.Exp(v - top)
	}
	return top + math.Log(sum)
}
