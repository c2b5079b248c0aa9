package speakers

import (
	"context"
	"math"
	"slices"
)

// A Linkage is how far two clusters are apart.
type Linkage int

// The linkages.
const (
	Centroid Linkage = iota // the distance of their means
	Complete                // that of their two members farthest apart
)

// A Merge joins two clusters into one. Cluster i below the number of points is point i;
// merge k makes cluster points+k.
type Merge struct {
	A, B   int
	Height float64
	Size   int // points
}

// A Tree is how points were joined until one cluster was left, the nearest first.
// Heights of centroids may fall.
type Tree struct {
	points int
	Merges []Merge
}

// Link joins points, each a vector of the same length that Unit made: by the Euclidean
// distance of means, or by 1 less the cosine. It takes memory for half the square of
// their number, so callers bound it.
//
// Müllner, "Modern hierarchical, agglomerative clustering algorithms", 2011: the generic
// algorithm, which holds for linkages whose heights may fall.
func Link(ctx context.Context, x [][]float32, by Linkage) (*Tree, error) {
	n := len(x)
	t := &Tree{points: n}
	if n < 2 {
		return t, nil
	}
	// Squared distances between means follow from squared distances (Lance and Williams);
	// 1 less the cosine of unit vectors is half of one.
	d := make([]float32, n*(n-1)/2)
	at := func(a, b int) *float32 {
		if a > b {
			a, b = b, a
		}
		return &d[a*(2*n-a-1)/2+b-a-1]
	}
	for a := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for b := a + 1; b < n; b++ {
			sum := 0.0
			for i, v := range x[a] {
				e := float64(v) - float64(x[b][i])
				sum += e * e
			}
			*at(a, b) = float32(sum)
		}
	}
	label, size := make([]int, n), make([]int, n)
	near, least := make([]int, n), make([]float32, n) // the nearest after it, and a bound of how near
	live := make([]int, n)
	seek := func(i int) {
		near[i], least[i] = -1, float32(math.Inf(1))
		for _, j := range live[searchAfter(live, i):] {
			if v := *at(i, j); near[i] < 0 || v < least[i] {
				near[i], least[i] = j, v
			}
		}
	}
	for i := range n {
		label[i], size[i], live[i] = i, 1, i
	}
	for i := range n {
		seek(i)
	}
	for k := range n - 1 {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		a := live[0]
		for {
			for _, i := range live {
				if near[i] >= 0 && (near[a] < 0 || least[i] < least[a]) {
					a = i
				}
			}
			if least[a] == *at(a, near[a]) {
				break
			}
			seek(a) // the bound was too low
			a = live[0]
		}
		b := near[a]
		height := float64(*at(a, b))
		na, nb := float64(size[a]), float64(size[b])
		live = slices.Delete(live, searchAfter(live, a)-1, searchAfter(live, a))
		for _, i := range live {
			if i == b {
				continue
			}
			da, db := float64(*at(i, a)), float64(*at(i, b))
			v := max(da, db)
			if by == Centroid {
				v = max(0, (na*da+nb*db)/(na+nb)-na*nb*height/((na+nb)*(na+nb)))
			}
			*at(i, b) = float32(v)
			switch {
			case i < b && (near[i] < 0 || float32(v) < least[i]):
				near[i], least[i] = b, float32(v)
			case near[i] == a:
				near[i] = b // no nearer than the bound: looked for when its turn comes
			}
		}
		size[b] += size[a]
		t.Merges = append(t.Merges, Merge{min(label[a], label[b]), max(label[a], label[b]), heightOf(height, by), size[b]})
		label[b] = n + k
		seek(b)
	}
	return t, nil
}

func heightOf(squared float64, by Linkage) float64 {
	if by == Centroid {
		return math.Sqrt(squared)
	}
	return squared / 2
}

// searchAfter is the first place in a sorted list whose number is above i.
func searchAfter(list []int, i int) int {
	k, _ := slices.BinarySearch(list, i+1)
	return k
}

// First returns the cluster of each point after the first k merges, numbered as they
// first occur.
func (t *Tree) First(k int) []int {
	return t.labels(func(i int) bool { return i < k })
}

// Below returns the cluster of each point when only merges whose height is at most that,
// and those within them, are made.
func (t *Tree) Below(height float64) []int { return t.Parted(height, Gap{}) }

// A Span is a stretch of sound, in any unit.
type Span struct{ Start, End int }

// Heard is what points are of. The zero value is not known.
type Heard struct {
	Spans []Span      // of each point, and of each that is short
	Short [][]float32 // of too little sound to make clusters, but enough to tell how wide they are
}

// A Gap is what keeps two clusters apart that are nearer to each other than others may be:
// each is narrow, though it has points that share no sound. The zero value is none.
type Gap struct {
	Heard
	Times float64 // that the distance of clusters is of the largest within them
	From  float64 // share of the height from which on it counts
}

// Parted is Below without merges across a gap, and those they are within.
func (t *Tree) Parted(height float64, g Gap) []int {
	// Of points and merges: the largest height within, infinite where one is not made, and
	// the last start and the first end of their sound.
	top, between := make([]float64, t.points+len(t.Merges)), append([]Span(nil), g.Spans...)
	for i, m := range t.Merges {
		within := max(top[m.A], top[m.B])
		here := max(within, m.Height)
		if len(g.Spans) > 0 {
			a, b := between[m.A], between[m.B]
			known := a.Start >= a.End && b.Start >= b.End // how wide they are
			if known && m.Height > g.From*height && m.Height > g.Times*within {
				here = math.Inf(1)
			}
			between = append(between, Span{max(a.Start, b.Start), min(a.End, b.End)})
		}
		if here > height {
			here = math.Inf(1)
		}
		top[t.points+i] = here
	}
	return t.labels(func(i int) bool { return top[t.points+i] <= height })
}

func (t *Tree) labels(made func(merge int) bool) []int {
	parent := make([]int, t.points+len(t.Merges))
	for i := range parent {
		parent[i] = i
	}
	for i, m := range t.Merges {
		if made(i) {
			parent[m.A], parent[m.B] = t.points+i, t.points+i
		}
	}
	for i := len(parent) - 1; i >= 0; i-- {
		parent[i] = parent[parent[i]]
	}
	return renumber(parent[:t.points])
}

// renumber gives clusters the numbers from 0 on, as they first occur.
func renumber(labels []int) []int {
	number := make(map[int]int)
	out := make([]int, len(labels))
	for i, l := range labels {
		if _, ok := number[l]; !ok {
			number[l] = len(number)
		}
		out[i] = number[l]
	}
	return out
}

// Unit returns vectors of length 1 with the directions of x. One of length 0 stays.
func Unit(x [][]float32) [][]float32 {
	out := make([][]float32, len(x))
	for i, v := range x {
		out[i] = make([]float32, len(v))
		if n := norm(v); n > 0 {
			for j := range v {
				out[i][j] = float32(float64(v[j]) / n)
			}
		}
	}
	return out
}

func norm(v []float32) float64 { return math.Sqrt(dot(v, v)) }

func dot(a, b []float32) (sum float64) {
	for i, v := range a {
		sum += float64(v) * float64(b[i])
	}
	return sum
}

// Cosine is that of the angle between two vectors, 0 where one has no direction.
func Cosine(a, b []float32) float64 {
	if n := norm(a) * norm(b); n > 0 {
		return dot(a, b) / n
	}
	return 0
}
