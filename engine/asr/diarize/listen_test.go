package diarize

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/engine/asr/heard"
	"quern/engine/asr/speakers"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
)

// slots are the tones by which pyannote-seg-bands tells local speakers apart.
var slots = []float64{400, 1200, 2600}

// play makes a sound of n seconds in which voices sing: each the tone of a slot with two of
// six others, by which the embedding tells them apart.
func play(seconds float64, turns []speakers.Turn) []float32 {
	x := make([]float32, int(seconds*rate))
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = float32(1e-4 * rng.NormFloat64())
	}
	for _, u := range turns {
		tone := slots[u.Speaker%len(slots)]
		var pairs [][2]float64
		for i := range 6 {
			for j := range i {
				pairs = append(pairs, [2]float64{3400 + 800*float64(i), 3400 + 800*float64(j)})
			}
		}
		own := pairs[u.Speaker]
		for i := int(u.Start * rate); i < min(len(x), int(u.End*rate)); i++ {
			at := 2 * math.Pi * float64(i) / rate
			x[i] += float32(0.15*math.Sin(at*tone) + 0.15*math.Sin(at*own[0]) + 0.15*math.Sin(at*own[1]))
		}
	}
	return x
}

// said makes turns of their starts, ends and speakers.
func said(list ...float64) (turns []speakers.Turn) {
	for ; len(list) > 0; list = list[3:] {
		turns = append(turns, speakers.Turn{Start: list[0], End: list[1], Speaker: int(list[2])})
	}
	return turns
}

// listen tells who speaks in a sound, with windows as they are by default.
func listen(t *testing.T, m *Model, x []float32, o speakers.Options) *speakers.Result {
	t.Helper()
	l := m.Listen(o)
	hear(t, l, x)
	r, err := l.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bands is the model of the fixtures that tells tones apart, with windows as by default.
func bands(t *testing.T) *Model {
	m := asSherpa(t, open(t, "pyannote-seg-bands", "wespeaker-emb-bands"))
	m.step, m.gap, m.least = int(stepSeconds*rate), 0, 0
	return m
}

// What is hard to tell apart: silence, one speaker, eleven, two who always speak together,
// sound that breaks off, and sound shorter than a window or a frame.
func TestHardSound(t *testing.T) {
	var eleven, chorus []speakers.Turn
	for round := range 2 {
		for v := range 11 {
			at := float64(round*11+v) * 4
			eleven = append(eleven, speakers.Turn{Start: at, End: at + 3.7, Speaker: v})
		}
	}
	for i := range 6 {
		chorus = append(chorus, speakers.Turn{Start: float64(10*i) + 1, End: float64(10*i) + 9, Speaker: 0}, speakers.Turn{Start: float64(10*i) + 1, End: float64(10*i) + 9, Speaker: 1})
	}
	for _, tt := range []struct {
		name    string
		seconds float64
		turns   []speakers.Turn
		o       speakers.Options
		n       int
		most    float64 // DER
	}{
		{"nothing", 0, nil, speakers.Options{}, 0, 0},
		{"a sample", 1.0 / rate, nil, speakers.Options{}, 0, 0},
		{"silence", 31, nil, speakers.Options{}, 0, 0},
		{"one speaker", 40, said(1, 12, 0, 14, 38, 0), speakers.Options{}, 1, 0.05},
		{"shorter than a window", 4, said(0.5, 2, 0, 2, 3.5, 1), speakers.Options{}, 2, 0.05},
		{"two in a window, one is allowed", 6, said(0.5, 3, 0, 3, 5.5, 1), speakers.Options{Bounds: speakers.Bounds{Max: 1}}, 1, 0.6},
		{"eleven speakers", 88, eleven, speakers.Options{Threshold: 0.4}, 11, 0.1},
		{"overlap throughout", 60, chorus, speakers.Options{}, 2, 0.1},
		{"broken off", 23.3, said(1, 9, 0, 9.5, 30, 1), speakers.Options{}, 2, 0.05},
		{"at most two of four", 44, eleven[:4], speakers.Options{Bounds: speakers.Bounds{Max: 2}}, 2, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := listen(t, bands(t), play(tt.seconds, tt.turns), tt.o)
			for i := range tt.turns {
				tt.turns[i].End = min(tt.turns[i].End, tt.seconds)
			}
			e := speakers.Scoring{}.Rate(tt.turns, r.Turns)
			t.Logf("DER %.3f", e.DER())
			if len(r.Names) != tt.n || e.DER() > tt.most {
				t.Errorf("%d speakers, DER %.3f, want %d and %.2f: %v", len(r.Names), e.DER(), tt.n, tt.most, r.Turns)
			}
			for _, u := range append(r.Turns, r.Sole...) {
				if u.Start < 0 || u.End > tt.seconds+0.04 || u.End <= u.Start || u.Speaker >= len(r.Names) {
					t.Errorf("turn %v of %v s with %d speakers", u, tt.seconds, len(r.Names))
				}
			}
			// Words of half a second are marked where two speak through half of them.
			var s heard.Segment
			for at := 0.0; at+0.5 < tt.seconds; at += 0.5 {
				s.Words = append(s.Words, heard.Word{Start: at, End: at + 0.5})
			}
			for _, s := range r.Label([]heard.Segment{s}) {
				for _, w := range s.Words {
					most := 0.0
					for _, a := range tt.turns {
						for _, b := range tt.turns {
							if a.Speaker < b.Speaker {
								most += b.Overlaps(max(a.Start, w.Start), min(a.End, w.End))
							}
						}
					}
					if w.Overlap != (most >= 0.25) && math.Abs(most-0.25) > 0.1 {
						t.Errorf("the word at %v s: overlap %v, %v s of it", w.Start, w.Overlap, most)
					}
				}
			}
		})
	}
}

// Voices that are known get their names, in short and in long sound; those that do not
// speak get none.
func TestKnown(t *testing.T) {
	voice := func(v int) []float32 { return play(4, said(0, 4, float64(v))) }
	bea := voice(1)
	bea[100], bea[200] = float32(math.NaN()), float32(math.Inf(1)) // which are taken for silence, as in the sound
	o := speakers.Options{Known: []speakers.Voice{{Name: "Bea", Sound: bea}, {Name: "Max", Sound: voice(8)}}}
	for _, seconds := range []float64{8, 40} {
		turns := said(0.5, 3, 0, 3.5, 7, 1)
		r := listen(t, bands(t), play(seconds, turns), o)
		if len(r.Names) != 2 || r.Names[0] != "" || r.Names[1] != "Bea" {
			t.Errorf("%v s: names %q", seconds, r.Names)
		}
	}
}

// A listener keeps no sound that windows have been made of.
func TestFlat(t *testing.T) {
	m := bands(t)
	l := m.Listen(speakers.Options{})
	most := 0
	x := play(20, said(1, 18, 0))
	for range 6 {
		for from := 0; from < len(x); from += rate / 2 {
			if err := l.Hear(t.Context(), x[from:from+rate/2]); err != nil {
				t.Fatal(err)
			}
			most = max(most, cap(l.x))
		}
	}
	if limit := 2 * (m.segmentation.window + batch*m.step); most > limit {
		t.Errorf("%d samples are kept, want at most %d", most, limit)
	}
}

// A listener ends with its context.
func TestCancelled(t *testing.T) {
	m := bands(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Listen(speakers.Options{}).Hear(ctx, make([]float32, 30*rate)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Networks with random weights go through it all, whatever they say.
func TestRandom(t *testing.T) {
	for _, embedding := range []string{"wespeaker-emb-tiny", "campplus-emb-tiny", "titanet-emb-tiny"} {
		m := open(t, "pyannote-seg-tiny", embedding)
		if split := m.Joined() == ""; split != (embedding != "titanet-emb-tiny") {
			t.Errorf("%s: %q", embedding, m.Joined())
		}
		r := listen(t, m, talk(t)[:20*rate], speakers.Options{})
		for _, u := range r.Turns {
			if u.Speaker >= len(r.Names) {
				t.Errorf("%s: turn %v, names %q", embedding, u, r.Names)
			}
		}
	}
}

// graph writes a file with one input and one output.
func graph(t *testing.T, in string, dims []any, out string, meta map[string]string) string {
	t.Helper()
	b := onnxtest.New(17)
	x := b.Input(in, fonnx.Float, dims...)
	b.Output(out, b.Node("Identity", []string{x}), fonnx.Float, dims...)
	b.Model.Meta = meta
	path := filepath.Join(t.TempDir(), "graph.onnx")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What does not fit is refused by its name.
func TestRefused(t *testing.T) {
	segmentation, embedding := model(t, "pyannote-seg-bands"), model(t, "wespeaker-emb-bands")
	sound, rows := []any{"N", 1, "T"}, []any{"B", "T", 80}
	for _, tt := range []struct {
		name string
		f    Files
		want []string
	}{
		{"no segmentation", Files{Embedding: embedding}, []string{"segmentation"}},
		{"no embedding", Files{Segmentation: segmentation}, []string{"embedding"}},
		{"changed about", Files{Segmentation: embedding, Embedding: segmentation}, []string{"segmentation", "feats", "pyannote"}},
		{"a segmentation as embedding", Files{Segmentation: segmentation, Embedding: segmentation}, []string{"embedding", "3d-speaker"}},
		{"another input", Files{Segmentation: segmentation, Embedding: graph(t, "wave", sound, "y", nil)}, []string{`"wave"`, "wespeaker"}},
		{"another framework", Files{Segmentation: segmentation, Embedding: graph(t, "x", rows, "y", map[string]string{"framework": "speechbrain"})}, []string{"speechbrain"}},
		{"another rate", Files{Segmentation: graph(t, "x", sound, "y", map[string]string{"sample_rate": "8000"}), Embedding: embedding}, []string{"sample_rate", "8000"}},
		{"other classes", Files{Segmentation: graph(t, "x", sound, "y", map[string]string{"num_classes": "8"}), Embedding: embedding}, []string{"8 classes"}},
		{"it gives what it takes", Files{Segmentation: graph(t, "x", sound, "y", nil), Embedding: embedding}, []string{"segmentation", "7 classes"}},
		{"no PLDA", Files{Segmentation: segmentation, Embedding: embedding, PLDA: t.TempDir()}, []string{"plda", transformFile}},
	} {
		m, err := Open(t.Context(), tt.f, compiler(t))
		if err == nil {
			m.Close()
			t.Errorf("%s: no error", tt.name)
			continue
		}
		for _, w := range tt.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q in it", tt.name, err, w)
			}
		}
	}
	if err := Check(Files{Segmentation: segmentation, Embedding: embedding}); err != nil {
		t.Error(err)
	}
	if err := Check(Files{Segmentation: embedding}); err == nil {
		t.Error("an embedding is taken for a segmentation")
	}
}

// npz writes an archive of arrays as numpy.savez does.
func npz(t testing.TB, arrays map[string]*onnx.Tensor) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, a := range arrays {
		w, err := z.Create(name + ".npy")
		if err == nil {
			err = onnx.WriteNPY(w, a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// writePLDA makes the files of a PLDA for embeddings of 16 numbers.
func writePLDA(t *testing.T) string {
	t.Helper()
	const in, out = 16, 8
	lda, tr, psi := make([]float64, in*out), make([]float64, out*out), make([]float64, out)
	for i := range out {
		lda[i*out+i], lda[(i+out)*out+i], tr[i*out+i], psi[i] = 1, 0.5, 8, 10
	}
	dir := t.TempDir()
	for name, arrays := range map[string]map[string]*onnx.Tensor{
		transformFile: {"mean1": onnx.NewFloats([]int{in}, make([]float32, in)), "mean2": onnx.NewDoubles([]int{out}, make([]float64, out)), "lda": onnx.NewDoubles([]int{in, out}, lda)},
		pldaFile:      {"mu": onnx.NewDoubles([]int{out}, make([]float64, out)), "tr": onnx.NewDoubles([]int{out, out}, tr), "psi": onnx.NewDoubles([]int{out}, psi)},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), npz(t, arrays), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// With the files of a PLDA speakers are found by VBx.
func TestPLDA(t *testing.T) {
	m, err := Open(t.Context(), Files{model(t, "pyannote-seg-bands"), model(t, "wespeaker-emb-bands"), writePLDA(t)}, compiler(t))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	clustering := m.clustering
	if asSherpa(t, m).clustering = clustering; clustering.PLDA == nil {
		t.Fatal("no PLDA")
	}
	r := listen(t, m, talk(t), speakers.Options{})
	e := speakers.Scoring{}.Rate(turns(readPipeline(t).Truth), r.Turns)
	t.Logf("DER %.3f, %d speakers", e.DER(), len(r.Names))
	if e.DER() > 0.1 {
		t.Errorf("DER %.3f of %d speakers: %v", e.DER(), len(r.Names), r.Turns)
	}
	for _, other := range []string{"wespeaker-emb-tiny", "campplus-emb-tiny"} {
		m, err := Open(t.Context(), Files{model(t, "pyannote-seg-bands"), model(t, other), writePLDA(t)}, compiler(t))
		if other == "campplus-emb-tiny" && (err == nil || !strings.Contains(err.Error(), "24")) {
			t.Errorf("a PLDA of embeddings of 16 numbers with those of 24: %v", err)
		}
		if m != nil {
			m.Close()
		}
	}
}

// Archives that are not what they should be are refused.
func FuzzNPZ(f *testing.F) {
	f.Add(npz(f, map[string]*onnx.Tensor{"mu": onnx.NewDoubles([]int{2}, []float64{1, 2})}))
	f.Add([]byte("PK\x05\x06"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var mu []float64
		if err := readNPZ(data, map[string]*[]float64{"mu": &mu}); err == nil && len(mu) > mostNPZ/2 {
			t.Errorf("%d numbers of %d bytes", len(mu), len(data))
		}
	})
}
