package speakers_test

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/asr/speakers"
)

// golden reads a file of shared/fixtures/diarise/golden.
func golden[T any](t *testing.T, name string) (v T) {
	t.Helper()
	data, err := os.ReadFile(fixtures.Path(t, "diarise", "golden", name))
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// pipeline is what is used of talk.pipeline.json.
type pipeline struct {
	Chunks  int                    `json:"chunks"`
	Firsts  []int                  `json:"first_frame_of_chunk"`
	Classes [][][2]int             `json:"classes_rle"`
	Counts  [][2]int               `json:"speakers_per_frame_rle"`
	Heights []float64              `json:"merge_heights"`
	Results map[string][][]float64 `json:"segments"`
	Pairs   []struct {
		Chunk, Speaker, Cluster int
		Embedding               []float32
	}
}

// powerset are pyannote's classes as sets of speakers.
var powerset = []uint8{0, 1, 2, 4, 3, 5, 6}

var pyannote = speakers.Frames{Step: 270, Field: 991, Rate: 16000}

func spread(runs [][2]int) (out []int) {
	for _, r := range runs {
		out = append(out, slices.Repeat([]int{r[0]}, r[1])...)
	}
	return out
}

// Windows, counts, clusters and turns are those of sherpa-onnx.
func TestSherpa(t *testing.T) {
	p := golden[pipeline](t, "talk.pipeline.json")
	line := speakers.Timeline{Frames: pyannote, Gap: 0.5, Least: 0.3}
	for c, runs := range p.Classes {
		w := speakers.Window{First: line.Nearest(16000 * c), Of: []int{-1, -1, -1}}
		if w.First != p.Firsts[c] {
			t.Errorf("window %d begins at frame %d, want %d", c, w.First, p.Firsts[c])
		}
		for _, class := range spread(runs) {
			w.Active = append(w.Active, powerset[class])
		}
		line.Windows = append(line.Windows, w)
	}
	// sherpa-onnx counts a few frames behind the last window.
	if got, want := line.Counts(), spread(p.Counts); len(got) > len(want) || !slices.Equal(got, want[:len(got)]) || slices.Max(want[len(got):]) > 0 {
		t.Errorf("speakers of frames:\n%d, want\n%d", got, want)
	}
	var x [][]float32
	for _, pair := range p.Pairs {
		x = append(x, pair.Embedding)
	}
	tree, err := speakers.Link(t.Context(), speakers.Unit(x), speakers.Complete)
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range tree.Merges {
		if math.Abs(m.Height-p.Heights[i]) > 1e-3 {
			t.Errorf("merge %d has height %g, want %g", i, m.Height, p.Heights[i])
		}
	}
	for name, labels := range map[string][]int{
		"threshold 0.5":              tree.Below(0.5),
		"threshold 0.5, clusters 3":  tree.First(len(x) - 3),
		"threshold 0.5, clusters 2":  tree.First(len(x) - 2),
		"threshold 1.2, clusters -1": tree.Below(1.2),
	} {
		for i, pair := range p.Pairs {
			if name == "threshold 0.5" && labels[i] != pair.Cluster {
				t.Errorf("pair %d is in cluster %d, want %d", i, labels[i], pair.Cluster)
			}
			line.Windows[pair.Chunk].Of[pair.Speaker] = labels[i]
		}
		// Where the two who overlap are one cluster, sherpa-onnx has a speaker speak whom no
		// window has.
		want := slices.DeleteFunc(p.Results[name], func(r []float64) bool {
			return max(0, slices.Max(labels)) == 1 && r[0] > 15 && r[0] < 16 && r[2] == 0
		})
		same(t, name, line.Turns(), want)
	}
}

// same compares turns with a golden's.
func same(t *testing.T, name string, got []speakers.Turn, want [][]float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d turns, want %d: %v", name, len(got), len(want), got)
	}
	for i, u := range got {
		if w := want[i]; math.Abs(u.Start-w[0]) > 1e-4 || math.Abs(u.End-w[1]) > 1e-4 || u.Speaker != int(w[2]) {
			t.Errorf("%s: turn %v, want %v", name, u, w)
		}
	}
}

// Centroid linkage, minimum sizes and bounded numbers of speakers are pyannote's.
func TestAgglomeration(t *testing.T) {
	g := golden[struct {
		Embeddings [][]float32
		Threshold  float64
		MinSize    int `json:"min_cluster_size"`
		Results    map[string][]int
	}](t, "pyannote-ahc.json")
	a := speakers.Agglomeration{Threshold: g.Threshold, MinSize: g.MinSize, MinShare: 0.1}
	if !reflect.DeepEqual(a, speakers.Published) {
		t.Errorf("published %+v, the golden is of %+v", speakers.Published, a)
	}
	for name, with := range map[string]speakers.Agglomeration{
		"free":               a,
		"three speakers":     {a.Threshold, a.MinSize, a.MinShare, speakers.Bounds{Min: 3, Max: 3}, speakers.Gap{}},
		"two speakers":       {a.Threshold, a.MinSize, a.MinShare, speakers.Bounds{Min: 2, Max: 2}, speakers.Gap{}},
		"at least four":      {a.Threshold, a.MinSize, a.MinShare, speakers.Bounds{Min: 4}, speakers.Gap{}},
		"at most two":        {a.Threshold, a.MinSize, a.MinShare, speakers.Bounds{Max: 2}, speakers.Gap{}},
		"min_cluster_size 2": {a.Threshold, 2, a.MinShare, speakers.Bounds{}, speakers.Gap{}},
	} {
		if got, _ := with.Cluster(t.Context(), g.Embeddings); !slices.Equal(got, g.Results[name]) {
			t.Errorf("%s:\n%d, want\n%d", name, got, g.Results[name])
		}
	}
	if len(g.Results) != 6 {
		t.Errorf("%d results, want 6", len(g.Results))
	}
}

// VBx is pyannote's function.
func TestVBx(t *testing.T) {
	g := golden[struct {
		X, Gamma   [][]float64
		Phi, Pi    []float64
		Bound      []float64
		First      []int
		Labels     []int
		Fa, Fb     float64
		Iterations int
	}](t, "vbx.json")
	o := speakers.VBx{Phi: g.Phi, Fa: g.Fa, Fb: g.Fb, Rounds: g.Iterations}
	gamma, pi, bound, err := o.Resegment(t.Context(), g.X, g.First)
	if err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want []float64) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
		}
		for i := range got {
			if math.Abs(got[i]-want[i]) > 1e-6 {
				t.Errorf("%s: %g, want %g", what, got[i], want[i])
			}
		}
	}
	near("pi", pi, g.Pi)
	near("bound", bound, g.Bound)
	for i := range gamma {
		near("gamma", gamma[i], g.Gamma[i])
		best := 0
		for k, v := range gamma[i] {
			if v > gamma[i][best] {
				best = k
			}
		}
		if best != g.Labels[i] {
			t.Errorf("vector %d is of speaker %d, want %d", i, best, g.Labels[i])
		}
	}
}

// Words have the speaker with the most of their time, else the nearest.
func TestWords(t *testing.T) {
	g := golden[struct {
		Segments [][]float64
		Words    []struct {
			Start, End float64
			Speaker    *int
			Nearest    int `json:"speaker_or_nearest"`
		}
	}](t, "words.json")
	var turns []speakers.Turn
	for _, s := range g.Segments {
		turns = append(turns, speakers.Turn{Start: s[0], End: s[1], Speaker: int(s[2])})
	}
	for _, w := range g.Words {
		got := speakers.Speaking(turns, w.Start, w.End)
		if want := w.Speaker; want == nil && got != -1 || want != nil && got != *want {
			t.Errorf("%v to %v: speaker %d", w.Start, w.End, got)
		}
		if got < 0 {
			got = speakers.Closest(turns, w.Start, w.End)
		}
		if got != w.Nearest {
			t.Errorf("%v to %v: speaker %d or nearest, want %d", w.Start, w.End, got, w.Nearest)
		}
	}
}

// Error rates are those of NIST's md-eval, at both collars, with and without overlap.
func TestRate(t *testing.T) {
	type turns [][3]any
	for _, g := range golden[[]struct {
		Name     string
		Ref, Hyp turns
		Scores   []struct {
			Collar                        float64 `json:"collar_each_side"`
			SkipOverlap                   bool    `json:"skip_overlap"`
			Total, Missed, Confusion, DER float64
			FalseAlarm                    float64 `json:"false_alarm"`
			Mapping                       map[string]string
		}
	}](t, "der.json") {
		read := func(list turns) (out []speakers.Turn, names []string) {
			for _, u := range list {
				name := u[2].(string)
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
				out = append(out, speakers.Turn{Start: u[0].(float64), End: u[1].(float64), Speaker: slices.Index(names, name)})
			}
			return out, names
		}
		ref, refs := read(g.Ref)
		hyp, hyps := read(g.Hyp)
		for _, s := range g.Scores {
			e := speakers.Scoring{Collar: s.Collar, SkipOverlap: s.SkipOverlap}.Rate(ref, hyp)
			for _, x := range [][2]float64{{e.Total, s.Total}, {e.Missed, s.Missed}, {e.FalseAlarm, s.FalseAlarm}, {e.Confusion, s.Confusion}, {e.DER(), s.DER}} {
				if math.Abs(x[0]-x[1]) > 1e-6 {
					t.Errorf("%s, collar %v, skip %v: %+v (DER %.6f), want %+v", g.Name, s.Collar, s.SkipOverlap, e, e.DER(), s)
					break
				}
			}
			mapping := make(map[string]string)
			for r, h := range e.Mapping {
				mapping[refs[r]] = hyps[h]
			}
			if !reflect.DeepEqual(mapping, s.Mapping) {
				t.Errorf("%s, collar %v: mapping %v, want %v", g.Name, s.Collar, mapping, s.Mapping)
			}
		}
	}
}
