package speakers

import (
	"context"
	"math"
	"slices"
	"sort"
)

// Bounds are how many speakers there are. The zero value is not known.
type Bounds struct {
	Min, Max int // 0: none
}

// fit returns n, or the bound it lies beyond.
func (b Bounds) fit(n int) int {
	n = max(n, b.Min)
	if b.Max > 0 {
		n = min(n, b.Max)
	}
	return n
}

// Agglomeration joins embeddings of a voice.
type Agglomeration struct {
	Threshold float64 // the largest distance of means of unit vectors at which clusters are joined
	MinSize   int     // clusters with fewer members join the nearest of the others
	MinShare  float64 // of all vectors, in place of MinSize where it is less
	Bounds
	Gap // that keeps clusters apart below the threshold
}

// Published is the agglomeration of pyannote's speaker-diarization-3.1, whose windows are
// a second apart.
var Published = Agglomeration{Threshold: 0.7045654963945799, MinSize: 12, MinShare: 0.1}

// Cluster returns the cluster of each vector, from 0 on as they first occur. Where no cut
// gives a number of clusters within the bounds, the one nearest to it is taken, and of
// equal ones that nearest to the threshold.
//
// Bredin, "pyannote.audio 2.1 speaker diarization pipeline", 2023.
func (a Agglomeration) Cluster(ctx context.Context, x [][]float32) ([]int, error) {
	if len(x) < 2 {
		return make([]int, len(x)), nil
	}
	least := min(a.MinSize, max(1, int(math.RoundToEven(a.MinShare*float64(len(x))))))
	unit := Unit(slices.Concat(x, a.Short))
	tree, err := Link(ctx, unit, Centroid)
	if err != nil {
		return nil, err
	}
	labels := tree.Parted(a.Threshold, a.Gap)
	n := len(large(labels[:len(x)], least))
	if want := a.fit(n); want != n {
		if labels, err = a.nearest(ctx, tree, len(x), want, least); err != nil {
			return nil, err
		}
	}
	return renumber(absorb(unit, labels, large(labels[:len(x)], least))[:len(x)]), nil
}

// nearest returns the clusters of that cut of a tree whose number of large clusters is
// nearest to want, going away from the threshold. The first so many points count.
func (a Agglomeration) nearest(ctx context.Context, tree *Tree, points, want, least int) ([]int, error) {
	order := make([]int, len(tree.Merges))
	for i := range order {
		order[i] = i
	}
	far := func(i int) float64 { return math.Abs(tree.Merges[i].Height - a.Threshold) }
	sort.SliceStable(order, func(i, j int) bool { return far(order[i]) < far(order[j]) })
	best, found := tree.First(len(tree.Merges)), 1
	for _, i := range order {
		if tree.Merges[i].Size < least {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		labels := tree.First(i + 1)
		n := len(large(labels[:points], least))
		if distance(n, want) < distance(found, want) {
			best, found = labels, n
		}
		if n == want {
			break
		}
	}
	return best, nil
}

func distance(a, b int) int { return max(a-b, b-a) }

// large lists the clusters with at least so many members.
func large(labels []int, least int) (list []int) {
	count := make(map[int]int)
	for _, l := range labels {
		count[l]++
	}
	for l, n := range count {
		if n >= least {
			list = append(list, l)
		}
	}
	slices.Sort(list)
	return list
}

// absorb gives the members of other clusters to that of those to keep whose mean is nearest.
// Where none is kept all are one.
func absorb(x [][]float32, labels, keep []int) []int {
	if len(keep) == 0 {
		return make([]int, len(labels))
	}
	means := Means(x, labels)
	to := make([]int, len(means))
	for l := range means {
		to[l] = l
		if !slices.Contains(keep, l) {
			to[l] = keep[0]
			for _, k := range keep {
				if Cosine(means[l], means[k]) > Cosine(means[l], means[to[l]]) {
					to[l] = k
				}
			}
		}
	}
	out := make([]int, len(labels))
	for i, l := range labels {
		out[i] = to[l]
	}
	return out
}

// Means returns the mean of each cluster's vectors.
func Means(x [][]float32, labels []int) [][]float32 {
	n := 0
	for _, l := range labels {
		n = max(n, l+1)
	}
	weights := make([][]float64, len(x))
	for i, l := range labels {
		weights[i] = make([]float64, n)
		weights[i][l] = 1
	}
	return weighted(x, weights, n)
}

// weighted returns n means of vectors, vector i counting weights[i][k] for mean k.
func weighted(x [][]float32, weights [][]float64, n int) [][]float32 {
	out := make([][]float32, n)
	for k := range out {
		var sum []float64
		total := 0.0
		for i, v := range x {
			w := weights[i][k]
			if sum == nil {
				sum = make([]float64, len(v))
			}
			if total += w; w != 0 {
				for j, e := range v {
					sum[j] += w * float64(e)
				}
			}
		}
		out[k] = make([]float32, len(sum))
		for j, s := range sum {
			out[k][j] = float32(s / max(total, 1e-30))
		}
	}
	return out
}
