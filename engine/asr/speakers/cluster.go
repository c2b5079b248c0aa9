package speakers

import (
	"context"
	"math"
)

// Options are facts about the speakers that are known before.
type Options struct {
	Bounds
	// Threshold is how far apart clusters are that are joined, as a multiple of the published
	// distance; 0 means 1. With more there are fewer speakers.
	Threshold float64
	Known     []Voice
}

// A Voice is that of a person who is known by name.
type Voice struct {
	Name  string
	Sound []float32 // mono at 16 kHz, of this person alone
}

// Clustering makes speakers of embeddings: by agglomeration or, where there is a PLDA of
// their model, by VBx, which starts from that.
type Clustering struct {
	Agglomeration
	PLDA *PLDA // ready, or nil
}

// NewClustering returns the published clustering for windows that are so many seconds
// apart, which is VBx where p is not nil. Of windows farther apart than a second a speaker
// has fewer; the share of all that a speaker has at least is a hundredth, so that one of
// eleven is not taken for another. Noise and telephones bring all voices nearer to each
// other, but not to themselves: speakers are kept apart from half the threshold on where more than
// four times the width of each lies between them. A width is known of those who are heard in
// two places that share no sound; windows over one turn are alike whatever the network. So
// those of one person would be taken for two only where two of them are clusters within a
// quarter of their distance, 0.18 at most, a cosine of 0.984: shown with networks that
// measure tones, and only expected of trained ones, whose weights were not there to try.
//
// pyannote: speaker-diarization-3.1, and -community-1, config.yaml.
func NewClustering(p *PLDA, step float64) Clustering {
	if p == nil {
		a := Published
		a.MinSize, a.MinShare = int(math.Ceil(float64(a.MinSize)/max(1, step))), 0.01
		a.Gap = Gap{Times: 4, From: 0.5}
		return Clustering{Agglomeration: a}
	}
	return Clustering{Agglomeration{Threshold: 0.6, MinSize: 1, Bounds: Bounds{Max: mostStarts}}, p}
}

// mostStarts bounds the clusters that VBx starts from, whose work grows with them: embeddings of
// noise may each be a cluster. It is four times as many speakers as a request may ask for.
const mostStarts = 128

// Centroids returns the mean embedding of every speaker, within the bounds where there are
// as many embeddings, and whether the local speakers of a window are to be different ones.
// An error is that of ctx, as it is of all that makes clusters.
func (c Clustering) Centroids(ctx context.Context, x [][]float32, of Heard, b Bounds) (means [][]float32, apart bool, err error) {
	if len(x) == 0 {
		return nil, false, nil
	}
	if c.PLDA == nil {
		c.Bounds, c.Heard = b, of
	}
	labels, err := c.Cluster(ctx, x)
	if err != nil {
		return nil, false, err
	}
	if c.PLDA == nil {
		return Means(x, labels), false, nil
	}
	vbx := VBx{Phi: c.PLDA.phi(), Fa: 0.07, Fb: 0.8, Rounds: 20}
	gamma, pi, _, err := vbx.Resegment(ctx, c.PLDA.project(x), labels)
	if err != nil {
		return nil, false, err
	}
	n := 0
	for k, p := range pi {
		if p > present {
			for _, g := range gamma {
				g[n] = g[k]
			}
			n++
		}
	}
	if want := b.fit(n); want != n {
		if labels, err = KMeans(ctx, Unit(x), want); err != nil {
			return nil, false, err
		}
		return Means(x, labels), false, nil
	}
	return weighted(x, gamma, n), true, nil
}

// Nearest returns the speakers of the local speakers of a window: each the centroid that is
// nearest to its embedding by cosine, or with apart as many as there can be of different
// ones. Of a nil embedding it is −1.
func Nearest(x, centroids [][]float32, apart bool) []int {
	out := make([]int, len(x))
	var rows []int
	var weight [][]float64
	for i, v := range x {
		if out[i] = -1; v == nil || len(centroids) == 0 {
			continue
		}
		w, best := make([]float64, len(centroids)), 0
		for k, m := range centroids {
			if w[k] = Cosine(v, m); math.IsNaN(w[k]) {
				w[k] = -1
			}
			if w[k] > w[best] {
				best = k
			}
		}
		out[i] = best
		rows, weight = append(rows, i), append(weight, w)
	}
	if apart {
		for i, k := range Assign(weight) {
			out[rows[i]] = k
		}
	}
	return out
}

// Known gives centroids the names of known voices, one to one: those most alike, where a
// voice and a centroid have a cosine of at least alike. Others have "".
func Known(centroids [][]float32, names []string, voices [][]float32) []string {
	out := make([]string, len(centroids))
	for i, k := range Nearest(voices, centroids, true) {
		if k >= 0 && Cosine(voices[i], centroids[k]) >= alike {
			out[k] = names[i]
		}
	}
	return out
}

// alike is the cosine from which two embeddings are taken for one voice. It is ours: no
// recipe names one for means of many windows.
const alike = 0.4
