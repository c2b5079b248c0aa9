package speakers_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"quern/engine/asr/heard"
	"quern/engine/asr/speakers"
)

// voices makes n vectors around each of k directions, mixed.
func voices(k, n int, noise float64) (x [][]float32, of []int) {
	rng := rand.New(rand.NewPCG(uint64(k), uint64(n)))
	for i := range k * n {
		v := make([]float32, 24)
		for j := range v {
			v[j] = float32(noise * rng.NormFloat64())
		}
		v[i%k] += 3
		x, of = append(x, v), append(of, i%k)
	}
	return x, of
}

// A tree merges as the definition does that compares all pairs of clusters.
func TestLink(t *testing.T) {
	for _, by := range []speakers.Linkage{speakers.Centroid, speakers.Complete} {
		x, _ := voices(3, 12, 1)
		unit := speakers.Unit(x)
		tree, err := speakers.Link(t.Context(), unit, by)
		if err != nil {
			t.Fatal(err)
		}
		clusters := make(map[int][]int)
		for i := range x {
			clusters[i] = []int{i}
		}
		apart := func(a, b []int) (d float64) {
			if by == speakers.Complete {
				for _, i := range a {
					for _, j := range b {
						d = max(d, 1-speakers.Cosine(unit[i], unit[j]))
					}
				}
				return d
			}
			for j := range unit[0] {
				mean := func(list []int) (m float64) {
					for _, i := range list {
						m += float64(unit[i][j]) / float64(len(list))
					}
					return m
				}
				e := mean(a) - mean(b)
				d += e * e
			}
			return math.Sqrt(d)
		}
		for k, m := range tree.Merges {
			least := math.Inf(1)
			for a := range clusters {
				for b := range clusters {
					if a < b {
						least = min(least, apart(clusters[a], clusters[b]))
					}
				}
			}
			if d := apart(clusters[m.A], clusters[m.B]); math.Abs(d-least) > 1e-4 || math.Abs(m.Height-least) > 1e-4 {
				t.Fatalf("linkage %d, merge %d: height %g, clusters %g apart, the nearest %g", by, k, m.Height, d, least)
			}
			clusters[len(x)+k] = append(clusters[m.A], clusters[m.B]...)
			delete(clusters, m.A)
			delete(clusters, m.B)
			if len(clusters[len(x)+k]) != m.Size {
				t.Errorf("merge %d has size %d, want %d", k, m.Size, len(clusters[len(x)+k]))
			}
		}
	}
}

func TestAssign(t *testing.T) {
	for _, tt := range []struct {
		name   string
		weight [][]float64
		want   []int
	}{
		{"none", nil, nil},
		{"no columns", [][]float64{{}, {}}, []int{-1, -1}},
		{"the sum counts", [][]float64{{10, 9}, {9, 1}}, []int{1, 0}},
		{"more rows", [][]float64{{1}, {3}, {2}}, []int{-1, 0, -1}},
		{"more columns", [][]float64{{1, 5, 2}}, []int{1}},
		{"negative", [][]float64{{-1, -4}, {-2, -3}}, []int{0, 1}},
	} {
		if got := speakers.Assign(tt.weight); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// Every published way to cluster finds voices that are well apart, however many there are,
// and keeps to bounds.
func TestVoices(t *testing.T) {
	for _, n := range []int{1, 2, 4, 11} {
		x, of := voices(n, 20, 0.1)
		got, _ := speakers.Published.Cluster(t.Context(), x)
		if !slices.Equal(got, of) {
			t.Errorf("%d voices: %d", n, got)
		}
		if got, _ := speakers.KMeans(t.Context(), speakers.Unit(x), n); !slices.Equal(got, of) {
			t.Errorf("k-means of %d voices: %d", n, got)
		}
	}
	x, _ := voices(4, 20, 0.1)
	for _, b := range []speakers.Bounds{{Max: 2}, {Min: 6}, {Min: 3, Max: 3}} {
		a := speakers.Published
		a.Bounds, a.MinSize = b, 1
		labels, _ := a.Cluster(t.Context(), x)
		n := slices.Max(labels) + 1
		if n < b.Min || b.Max > 0 && n > b.Max {
			t.Errorf("%d speakers, bounds %+v", n, b)
		}
	}
	for _, x := range [][][]float32{nil, {{1, 2}}, {{0, 0}, {0, 0}, {0, 0}}} {
		if got, _ := speakers.Published.Cluster(t.Context(), x); len(got) != len(x) || len(x) > 0 && slices.Max(got) != 0 {
			t.Errorf("clusters %d of %v", got, x)
		}
	}
}

// A frame that one window of two takes for speech is speech: halves are rounded up. Two
// local speakers who are one count as one voice; speakers in no window have no turns.
func TestTimeline(t *testing.T) {
	line := speakers.Timeline{Frames: speakers.Frames{Step: 1, Rate: 1}, Windows: []speakers.Window{
		{First: 0, Active: []uint8{0, 1, 3, 3}, Of: []int{1, 1}},
		{First: 1, Active: []uint8{0, 3, 1, 1}, Of: []int{1, 0}},
	}}
	if got, want := line.Counts(), []int{0, 1, 2, 2, 1}; !slices.Equal(got, want) {
		t.Errorf("counts %d, want %d", got, want)
	}
	if got, want := line.Turns(), []speakers.Turn{{1, 5, 1}, {2, 3, 0}}; !slices.Equal(got, want) {
		t.Errorf("turns %v, want %v", got, want)
	}
	line.Most = 1
	if got, want := line.Turns(), []speakers.Turn{{1, 5, 1}}; !slices.Equal(got, want) {
		t.Errorf("one at a time: %v, want %v", got, want)
	}
	if got := (&speakers.Timeline{}).Turns(); got != nil {
		t.Errorf("turns of nothing: %v", got)
	}
	line = speakers.Timeline{Frames: line.Frames, Gap: 2, Least: 1, Windows: []speakers.Window{
		{Active: []uint8{1, 0, 1, 0, 0, 1, 0}, Of: []int{0}},
		{First: 20, Active: []uint8{1, 1}, Of: []int{-1}},
	}}
	if got, want := line.Turns(), []speakers.Turn{{0, 3, 0}}; !slices.Equal(got, want) {
		t.Errorf("joined: %v, want %v", got, want)
	}
}

// Two narrow clusters are two speakers though they are nearer to each other than others may
// be; wide ones, those beside each other, and those that are of one stretch of sound are one.
// Short vectors tell how wide clusters are, and make none.
func TestGap(t *testing.T) {
	around := func(angle, width float64, n int) (list [][]float32) {
		for i := range n {
			at := angle + width*(float64(i)/float64(max(1, n-1))-0.5)
			list = append(list, []float32{float32(math.Cos(at)), float32(math.Sin(at))})
		}
		return list
	}
	for name, tt := range map[string]struct {
		apart, width  float64
		second, short int     // vectors of the second voice
		shortAt       float64 // in the place of the second voice
		every         int     // from the start of one span of 10 to that of the next
		want          int
	}{
		"narrow":                {0.6, 0.05, 5, 0, 0, 10, 2},
		"of the same sound":     {0.6, 0.05, 5, 0, 0, 1, 1},
		"wide":                  {0.6, 0.5, 5, 0, 0, 10, 1},
		"one":                   {0.6, 0, 1, 0, 0, 10, 1},
		"one and a short one":   {0.6, 0.05, 1, 1, 0.05, 10, 2},
		"one and one elsewhere": {0.6, 0.05, 1, 1, -0.2, 10, 1},
		"short ones far away":   {0, 0.05, 5, 3, 2, 10, 1},
		"beside":                {0.3, 0.02, 5, 0, 0, 10, 1},
		"beyond":                {0.9, 0.5, 3, 0, 0, 10, 2},
	} {
		x := append(around(0, tt.width, 6), around(tt.apart, tt.width, tt.second)...)
		of := speakers.Heard{Short: around(tt.apart+tt.shortAt, 0, tt.short)}
		for i := range len(x) + tt.short {
			of.Spans = append(of.Spans, speakers.Span{Start: i * tt.every, End: i*tt.every + 10})
		}
		c := speakers.NewClustering(nil, 10.0/3)
		if means, _, _ := c.Centroids(t.Context(), x, of, speakers.Bounds{}); len(means) != tt.want {
			t.Errorf("%s: %d speakers, want %d", name, len(means), tt.want)
		}
		if means, _, _ := c.Centroids(t.Context(), x, of, speakers.Bounds{Max: 1}); len(means) != 1 {
			t.Errorf("%s: %d speakers where there is one at most", name, len(means))
		}
	}
}

// Segments are cut where the speaker changes; words where two speak are marked.
func TestLabel(t *testing.T) {
	word := func(text string, start, end float64) heard.Word {
		return heard.Word{Text: text, Start: start, End: end}
	}
	r := speakers.Result{
		Turns: []speakers.Turn{{0, 2, 0}, {1.5, 4, 1}},
		Sole:  []speakers.Turn{{0, 1.8, 0}, {1.8, 4, 1}},
	}
	got := r.Label([]heard.Segment{
		{ID: 7, Start: 0, End: 4, Text: " a b c d", Words: []heard.Word{word(" a", 0, 1), word(" b", 1.5, 1.8), word(" c", 2, 3), word(" d", 4.5, 5)}},
		{ID: 8, Start: 3, End: 4, Text: " e"},
	})
	type said struct {
		ID, Speaker int
		Text        string
		Start, End  float64
		Overlap     bool
	}
	var list []said
	for _, s := range got {
		list = append(list, said{s.ID, s.Speaker, s.Text, s.Start, s.End, s.Overlap})
	}
	if want := []said{{0, 1, " a b", 0, 1.8, false}, {1, 2, " c d", 2, 4, false}, {2, 2, " e", 3, 4, false}}; !reflect.DeepEqual(list, want) {
		t.Errorf("segments %+v, want %+v", list, want)
	}
	if w := got[0].Words; w[0].Overlap || !w[1].Overlap || w[1].Speaker != 1 {
		t.Errorf("words %+v", w)
	}
	// A word beside a long turn is of that, however near the middle of a short one is, and a word
	// without length of the turn around it.
	long := speakers.Result{Sole: []speakers.Turn{{0, 60, 0}, {66, 67, 1}}}
	for at, want := range map[float64]int{59: 1, 60.2: 1, 65.5: 2, 66: 2} {
		s := long.Label([]heard.Segment{{Words: []heard.Word{word(" a", at, at)}}})[0]
		if s.Speaker != want || s.Words[0].Speaker != want {
			t.Errorf("a word at %g s is of speaker %d, want %d", at, s.Words[0].Speaker, want)
		}
	}
	// Two others at once are no more time than one of them.
	r.Turns = []speakers.Turn{{0, 4, 0}, {1, 2, 1}, {1.5, 2.5, 2}}
	r.Sole = r.Turns[:1]
	for _, s := range r.Label([]heard.Segment{{End: 4}, {End: 3}}) {
		if s.Overlap != (s.End == 3) {
			t.Errorf("overlap %v to %v s", s.Overlap, s.End)
		}
	}
	for _, s := range (&speakers.Result{}).Label([]heard.Segment{{Text: " a", Words: []heard.Word{word(" a", 0, 1)}}}) {
		if s.Speaker != 0 || s.Words[0].Speaker != 0 {
			t.Errorf("a speaker without speech: %+v", s)
		}
	}
}

// plain makes a PLDA that keeps the first of the numbers.
func plain(in, out int) *speakers.PLDA {
	p := &speakers.PLDA{Mean: make([]float64, in), LDA: make([]float64, in*out), After: make([]float64, out), Mu: make([]float64, out), Tr: make([]float64, out*out), Psi: make([]float64, out)}
	for i := range out {
		p.LDA[i*out+i], p.Tr[i*out+i], p.Psi[i] = 1, 3, 5+float64(i)
	}
	return p
}

// VBx joins clusters of one voice that agglomeration has left apart, keeps the others, and
// gives way to k-means where another number is asked for.
func TestBayes(t *testing.T) {
	const in, out = 24, 6
	p := plain(in, out)
	if err := p.Ready(in + 1); err == nil {
		t.Error("a PLDA is taken for embeddings of another width")
	}
	if err := p.Ready(in); err != nil {
		t.Fatal(err)
	}
	x, of := voices(3, 20, 0.3)
	c := speakers.NewClustering(p, 1)
	means, apart, err := c.Centroids(t.Context(), x, speakers.Heard{}, speakers.Bounds{})
	if err != nil || len(means) != 3 || !apart {
		t.Fatalf("%d speakers, apart %v: %v", len(means), apart, err)
	}
	same := speakers.Nearest(x, means, false)
	for i := range x {
		if same[i] != same[of[i]] {
			t.Errorf("vector %d is of speaker %d, want %d", i, same[i], same[of[i]])
		}
	}
	if means, apart, _ = c.Centroids(t.Context(), x, speakers.Heard{}, speakers.Bounds{Min: 5, Max: 5}); len(means) != 5 || apart {
		t.Errorf("asked for 5: %d speakers, apart %v", len(means), apart)
	}
	// Of noise every vector would be a cluster, and a round of VBx take as long as their square.
	x, _ = voices(3, 200, 2)
	labels, _ := c.Cluster(t.Context(), x)
	if n := slices.Max(labels) + 1; n != 128 {
		t.Errorf("VBx starts from %d clusters, want 128", n)
	}
	if means, _, _ = c.Centroids(t.Context(), nil, speakers.Heard{}, speakers.Bounds{Min: 2}); len(means) != 0 {
		t.Errorf("%d speakers of nothing", len(means))
	}
	p.Psi[0] = math.NaN()
	if err := p.Ready(in); err == nil {
		t.Error("a PLDA that holds no numbers")
	}
}

// A leaver is a context that ends when it has been asked so often whether it has.
type leaver struct {
	context.Context
	left int
}

func (c *leaver) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestLeave: clusters are not made for a caller who has left, wherever that is noticed.
func TestLeave(t *testing.T) {
	x, _ := voices(3, 10, 2)
	p := plain(len(x[0]), 6)
	if err := p.Ready(len(x[0])); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]speakers.Clustering{"agglomeration": speakers.NewClustering(nil, 1), "vbx": speakers.NewClustering(p, 1)} {
		for _, b := range []speakers.Bounds{{}, {Min: 5, Max: 5}} {
			const most = 1000
			ctx := &leaver{t.Context(), most}
			if _, _, err := c.Centroids(ctx, x, speakers.Heard{}, b); err != nil {
				t.Fatal(err)
			}
			asked := most - ctx.left
			if asked < 2*len(x)-1 {
				t.Errorf("%s: asked %d times whether the caller is there, for %d vectors", name, asked, len(x))
			}
			for n := range asked {
				if _, _, err := c.Centroids(&leaver{t.Context(), n}, x, speakers.Heard{}, b); !errors.Is(err, context.Canceled) {
					t.Errorf("%s %+v: left after %d of %d steps: %v", name, b, n, asked, err)
				}
			}
		}
	}
}

// Two local speakers of a window are two, where that is asked for, and one without an
// embedding has no speaker, −1.
func TestNearest(t *testing.T) {
	x, centroids := [][]float32{{1, 0.1}, nil, {1, 0.2}}, [][]float32{{1, 0}, {0, 1}}
	if got, want := speakers.Nearest(x, centroids, false), []int{0, -1, 0}; !slices.Equal(got, want) {
		t.Errorf("%d, want %d", got, want)
	}
	if got, want := speakers.Nearest(x, centroids, true), []int{0, -1, 1}; !slices.Equal(got, want) {
		t.Errorf("apart: %d, want %d", got, want)
	}
	// One known voice is of the second speaker, one of none.
	if got, want := speakers.Known(centroids, []string{"ann", "bob"}, [][]float32{{-1, -1}, {0.1, 2}}), []string{"", "bob"}; !slices.Equal(got, want) {
		t.Errorf("known %q, want %q", got, want)
	}
}
