package matmul

import (
	"math"
	"slices"

	"quern/kernels/vec"
)

// Routing says which experts a row goes through and how their results are weighed; the
// fields are those of graph.Routing.
type Routing struct {
	Used               int
	Sigmoid            bool
	Bias               []float32 // (experts) or nil
	Groups, UsedGroups int
	GroupMax           bool
	Renormalise        bool
	Scale              float32
	Factors            []float32 // (experts) or nil
	OnInput            bool
	SparseMixer        bool
	Jitter             float32
}

// chooseChunk finds the experts of rows and their weights.
func (e *Experts) chooseChunk(_, c int) {
	used := e.o.Used
	for r := c * e.grain; r < min((c+1)*e.grain, e.count); r++ {
		chosen, weight, router := e.chosen[r*used:(r+1)*used], e.weight[r*used:(r+1)*used], e.router[r*e.n:(r+1)*e.n]
		if e.o.SparseMixer {
			chooseSparsely(chosen, weight, router, e.o.Jitter)
		} else {
			e.o.Routing.choose(chosen, weight, router, e.scores[r*e.n:(r+1)*e.n])
		}
	}
}

// choose writes the experts of a row in descending order to chosen, the lower number first
// among equals, and by what they count to weight. scores is as long as router and is
// written.
func (o *Routing) choose(chosen []int32, weight, router, scores []float32) {
	copy(scores, router)
	// Without a bias and within no groups the router's own order will do.
	if o.Bias != nil || o.Groups > 1 {
		o.scoreAll(scores, router)
		for i, b := range o.Bias {
			scores[i] += b
		}
		o.dropGroups(scores)
	}
	for k := range chosen {
		chosen[k] = highest(scores, chosen[:k])
	}
	// A sum of sigmoids may be nothing; that of a softmax is not.
	sum, tiny := float32(0), float32(0)
	if o.Sigmoid {
		tiny = 1e-20
		for k, i := range chosen {
			weight[k] = sigmoid(router[i])
			sum += weight[k]
		}
	} else {
		top := slices.Max(router)
		for k, i := range chosen {
			weight[k] = vec.ExpScalar(router[i] - top)
			sum += weight[k]
		}
		if !o.Renormalise {
			sum = 0
			for _, s := range router {
				sum += vec.ExpScalar(s - top)
			}
		}
	}
	for k := range weight {
		if o.Renormalise || !o.Sigmoid {
			weight[k] /= sum + tiny
		}
		if o.Scale != 0 {
			weight[k] *= o.Scale
		}
		if o.Factors != nil {
			weight[k] *= o.Factors[chosen[k]]
		}
	}
}

// scoreAll writes the scores of all experts.
func (o *Routing) scoreAll(scores, router []float32) {
	if o.Sigmoid {
		for i, x := range router {
			scores[i] = sigmoid(x)
		}
		return
	}
	top, sum := slices.Max(router), float32(0)
	for i, x := range router {
		scores[i] = vec.ExpScalar(x - top)
		sum += scores[i]
	}
	for i := range scores {
		scores[i] /= sum
	}
}

// chooseSparsely is chooseExperts for SparseMixer: the weight of an expert is its
// share of the softmax over the experts not yet chosen whose scores are within jitter.
func chooseSparsely(chosen []int32, weight, scores []float32, jitter float32) {
	for k := range chosen {
		best := highest(scores, chosen[:k])
		top, sum := scores[best], float32(0)
		for i, s := range scores {
			// Written so that 0/0, of two scores of zero, counts as within jitter.
			if !slices.Contains(chosen[:k], int32(i)) && !((top-s)/max(s, -s, top) > 2*jitter) {
				sum += vec.ExpScalar(s - top)
			}
		}
		chosen[k], weight[k] = best, 1/sum
	}
}

// highest returns the index of the highest score that is not in without, the lowest of
// equal ones.
func highest(scores []float32, without []int32) int32 {
	best := int32(-1)
	for i, s := range scores {
		if !slices.Contains(without, int32(i)) && (best < 0 || s > scores[best]) {
			best = int32(i)
		}
	}
	return best
}

// dropGroups sets the scores outside the best groups to -Inf; of equal groups the earlier
// is better.
func (o *Routing) dropGroups(scores []float32) {
	if o.Groups <= 1 {
		return
	}
	n := len(scores) / o.Groups
	var kept uint64 // bit g: group g
	for range o.UsedGroups {
		best, most := -1, float32(0)
		for g := range o.Groups {
			if kept>>g&1 != 0 {
				continue
			}
			if s := o.groupScore(scores[g*n : (g+1)*n]); best < 0 || s > most {
				best, most = g, s
			}
		}
		kept |= 1 << best
	}
	for g := range o.Groups {
		if kept>>g&1 == 0 {
			for i := range scores[g*n : (g+1)*n] {
				scores[g*n+i] = float32(math.Inf(-1))
			}
		}
	}
}

// groupScore is how good a group of experts is.
func (o *Routing) groupScore(scores []float32) float32 {
	first := highest(scores, nil)
	if o.GroupMax || len(scores) == 1 {
		return scores[first]
	}
	return scores[first] + scores[highest(scores, []int32{first})]
}

func sigmoid(x float32) float32 { return 1 / (1 + vec.ExpScalar(-x)) }
