package diarize

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/asr/audio"
	"quern/engine/asr/speakers"
	"quern/engine/onnx"
	fonnx "quern/formats/onnx"
	"quern/kernels/threads"
)

// compiler runs graphs on two threads.
func compiler(t testing.TB) Compiler {
	pool := threads.NewPool(2)
	t.Cleanup(pool.Close)
	return func(_ context.Context, m *fonnx.Model) (Graph, error) { return onnx.New(m, onnx.Options{Pool: pool}) }
}

func model(t testing.TB, name string) string {
	return fixtures.Path(t, "diarise", "models", name+".onnx")
}

// open loads two of the fixtures' models.
func open(t testing.TB, segmentation, embedding string) *Model {
	t.Helper()
	m, err := Open(t.Context(), Files{Segmentation: model(t, segmentation), Embedding: model(t, embedding)}, compiler(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// asSherpa gives a model the windows, the features and the pieces of sherpa-onnx.
func asSherpa(t testing.TB, m *Model) *Model {
	f, err := audio.NewFeatures("kaldi-sherpa-wespeaker")
	if err != nil {
		t.Fatal(err)
	}
	m.step, m.embedding.features, m.gap, m.least = rate, f, 0.5, 0.3
	m.clustering = speakers.NewClustering(nil, 1)
	return m
}

// talk is the fixtures' conversation.
func talk(t testing.TB) []float32 { return signal(t, "talk") }

func signal(t testing.TB, name string) (x []float32) {
	t.Helper()
	data, err := os.ReadFile(fixtures.Path(t, "diarise", "signals", name+".wav"))
	if err != nil {
		t.Fatal(err)
	}
	for data = data[44:]; len(data) > 1; data = data[2:] {
		x = append(x, float32(int16(binary.LittleEndian.Uint16(data)))/32768)
	}
	return x
}

type pipeline struct {
	Chunks  int
	Firsts  []int      `json:"first_frame_of_chunk"`
	Classes [][][2]int `json:"classes_rle"`
	Pairs   []struct {
		Chunk, Speaker int
		Samples        [][2]int
		Embedding      []float32
	}
	Truth    [][3]any
	Segments map[string][][]float64
}

func readPipeline(t testing.TB) (p pipeline) {
	t.Helper()
	data, err := os.ReadFile(fixtures.Path(t, "diarise", "golden", "talk.pipeline.json"))
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The networks give what ONNX Runtime gives.
func TestNetworks(t *testing.T) {
	ctx := t.Context()
	compile := compiler(t)
	floats := func(file string) (x []float32) {
		data, err := os.ReadFile(fixtures.Path(t, "diarise", file))
		if err != nil {
			t.Fatal(err)
		}
		for ; len(data) > 3; data = data[4:] {
			x = append(x, math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
		return x
	}
	near := func(name string, got, want []float32) {
		t.Helper()
		if len(got) != len(want) {
			t.Fatalf("%s: %d numbers, want %d", name, len(got), len(want))
		}
		for i := range got {
			if math.Abs(float64(got[i]-want[i])) > 1e-4 {
				t.Fatalf("%s: number %d is %v, want %v", name, i, got[i], want[i])
			}
		}
	}
	x := talk(t)
	for name, c := range map[string]struct {
		model string
		from  []int
		n     int
	}{
		"seg-tiny.10s":     {"pyannote-seg-tiny", []int{0}, 160000},
		"seg-tiny.4s":      {"pyannote-seg-tiny", []int{100000}, 64000},
		"seg-tiny.batch2":  {"pyannote-seg-tiny", []int{0, 200000}, 48000},
		"seg-bands.chunk0": {"pyannote-seg-bands", []int{0}, 160000},
	} {
		g, err := fonnx.Open(model(t, c.model))
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		s, err := newSegmentation(ctx, g, compile)
		if err != nil {
			t.Fatal(err)
		}
		if s.count != 589 {
			t.Errorf("%s: %d frames, want 589", c.model, s.count)
		}
		var in []float32
		for _, from := range c.from {
			in = append(in, x[from:from+c.n]...)
		}
		got, err := s.graph.Run(ctx, map[string]*onnx.Tensor{s.in: onnx.NewFloats([]int{len(c.from), 1, c.n}, in)})
		if err != nil {
			t.Fatal(err)
		}
		near(name, got[s.out].F, floats("golden/"+name+".f32"))
	}
	for name, c := range map[string]struct{ model, features string }{
		"wespeaker-emb-tiny.sweep":  {"wespeaker-emb-tiny", "features/sweep.kaldi-wespeaker.f32"},
		"wespeaker-emb-tiny.pulses": {"wespeaker-emb-tiny", "features/pulses.kaldi-wespeaker.f32"},
		"campplus-emb-tiny.pulses":  {"campplus-emb-tiny", "features/pulses.kaldi-3dspeaker.f32"},
		"campplus-emb-tiny.talk":    {"campplus-emb-tiny", "golden/in.fbank.3dspeaker.T528.f32"},
	} {
		g, err := fonnx.Open(model(t, c.model))
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		e, err := newEmbedding(ctx, g, compile)
		if err != nil {
			t.Fatal(err)
		}
		if e.parts == nil {
			t.Errorf("%s is not split: %s", c.model, e.whyJoined)
		}
		got, err := e.rows(ctx, floats(c.features))
		if err != nil {
			t.Fatal(err)
		}
		near(name, got, floats("golden/"+name+".f32"))
	}
}

// The network of the fixtures that looks at the mean of features gets them with it, and
// tells the voices apart as it comes; those that do not, without.
func TestFeaturesWithMean(t *testing.T) {
	r := listen(t, open(t, "pyannote-seg-bands", "wespeaker-emb-bands"), talk(t), speakers.Options{})
	if e := (speakers.Scoring{}).Rate(turns(readPipeline(t).Truth), r.Turns); e.DER() > 0.05 || len(r.Names) != 4 {
		t.Errorf("DER %.3f of %d speakers", e.DER(), len(r.Names))
	}
	for _, name := range []string{"wespeaker-emb-tiny", "campplus-emb-tiny"} {
		m := open(t, "pyannote-seg-bands", name)
		if f := m.embedding.features; f.Of(make([]float32, rate))[0] != 0 {
			t.Errorf("%s gets features with their mean", name)
		}
	}
}

// TitaNet gets bands before frames, zeros up to a multiple of 16 frames, and the length; its
// second output is the embedding.
func TestTitaNet(t *testing.T) {
	g, err := fonnx.Open(model(t, "titanet-emb-tiny"))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	e, err := newEmbedding(t.Context(), g, compiler(t))
	if err != nil {
		t.Fatal(err)
	}
	if e.parts != nil || e.whyJoined == "" || e.width != 16 {
		t.Errorf("split %v, %q, %d numbers", e.parts != nil, e.whyJoined, e.width)
	}
	data, err := os.ReadFile(fixtures.Path(t, "diarise", "golden", "titanet-emb-tiny.embs.f32"))
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"sweep", "pulses"} {
		got, err := e.voice(t.Context(), signal(t, name))
		if err != nil || len(got) != 16 {
			t.Fatalf("%s: %d numbers, %v", name, len(got), err)
		}
		for j, v := range got {
			want := math.Float32frombits(binary.LittleEndian.Uint32(data[4*(16*i+j):]))
			if math.Abs(float64(v-want)) > 1e-3 { // the features are float32 here
				t.Errorf("%s: number %d is %v, want %v", name, j, v, want)
			}
		}
	}
}

// Windows, pieces and embeddings are those of sherpa-onnx, where the network of voices runs
// over joined pieces as it does there.
func TestSherpaPipeline(t *testing.T) {
	p := readPipeline(t)
	m := asSherpa(t, open(t, "pyannote-seg-bands", "wespeaker-emb-bands"))
	m.embedding.joinAll(t, compiler(t))
	l := m.Listen(speakers.Options{})
	hear(t, l, talk(t))
	if _, err := l.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(l.windows) != len(p.Classes) {
		t.Fatalf("%d windows, want %d", len(l.windows), len(p.Classes))
	}
	for c, runs := range p.Classes {
		w := l.windows[c]
		var want []uint8
		for _, r := range runs {
			want = append(want, slices.Repeat([]uint8{m.segmentation.classes[r[0]]}, r[1])...)
		}
		if w.First != p.Firsts[c] || !slices.Equal(w.Active, want[:len(w.Active)]) || slices.Max(append(want[len(w.Active):], 0)) > 0 {
			t.Errorf("window %d begins at %d and has %d, want %d and %d", c, w.First, w.Active, p.Firsts[c], want)
		}
	}
	pairs := 0
	for _, pair := range p.Pairs {
		w := l.windows[pair.Chunk]
		got := w.voices[pair.Speaker]
		if got == nil {
			t.Errorf("window %d has no speaker %d", pair.Chunk, pair.Speaker)
			continue
		}
		pairs++
		for i, v := range got {
			if math.Abs(float64(v-pair.Embedding[i])) > 2e-3 {
				t.Errorf("window %d, speaker %d: number %d is %v, want %v", pair.Chunk, pair.Speaker, i, v, pair.Embedding[i])
				break
			}
		}
		mask := make([]bool, m.segmentation.count)
		for f, set := range w.Active {
			mask[f] = set == 1<<pair.Speaker
		}
		list := m.pieces(mask, pair.Chunk*m.step)
		if !slices.Equal(list, pair.Samples) {
			t.Errorf("window %d, speaker %d: samples %d, want %d", pair.Chunk, pair.Speaker, list, pair.Samples)
		}
	}
	for _, w := range l.windows {
		for _, v := range w.voices {
			if v != nil {
				pairs--
			}
		}
	}
	if pairs != 0 {
		t.Errorf("%d embeddings too few", pairs)
	}
}

// joinAll has e run as a whole for every speaker.
func (e *embedding) joinAll(t testing.TB, compile Compiler) {
	t.Helper()
	g, err := fonnx.Open(model(t, "wespeaker-emb-bands"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if e.graph, err = compile(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	e.parts = nil
}

// hear feeds a listener sound in uneven pieces.
func hear(t testing.TB, l *Listener, x []float32) {
	t.Helper()
	for n := 1; len(x) > 0; n = n*7%100003 + 1 {
		n = min(n, len(x))
		if err := l.Hear(t.Context(), x[:n]); err != nil {
			t.Fatal(err)
		}
		x = x[n:]
	}
}

// The turns are those of sherpa-onnx with the published clustering too, whether voices are
// embedded from joined pieces or from one run a window, and with windows farther apart.
func TestTalk(t *testing.T) {
	p := readPipeline(t)
	truth := turns(p.Truth)
	for _, tt := range []struct {
		name   string
		step   int
		joined bool
		o      speakers.Options
		want   string
	}{
		{"as sherpa-onnx", rate, true, speakers.Options{}, "threshold 0.5"},
		{"one run over the sound", rate, false, speakers.Options{}, "threshold 0.5"},
		{"windows far apart", int(stepSeconds * rate), false, speakers.Options{}, ""},
		{"four are given", int(stepSeconds * rate), false, speakers.Options{Bounds: speakers.Bounds{Min: 4, Max: 4}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := asSherpa(t, open(t, "pyannote-seg-bands", "wespeaker-emb-bands"))
			m.step = tt.step
			if m.embedding.parts == nil {
				t.Fatalf("not split: %s", m.embedding.whyJoined)
			}
			if tt.joined {
				m.embedding.joinAll(t, compiler(t))
			}
			l := m.Listen(tt.o)
			hear(t, l, talk(t))
			r, err := l.Finish(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			e := speakers.Scoring{}.Rate(truth, r.Turns)
			t.Logf("DER %.4f, %d speakers", e.DER(), len(r.Names))
			if e.DER() > 0.05 || len(r.Names) != 4 {
				t.Errorf("DER %.3f of %d speakers: %v", e.DER(), len(r.Names), r.Turns)
			}
			want := p.Segments[tt.want]
			if want != nil && len(want) != len(r.Turns) {
				t.Fatalf("%d turns, want %d: %v", len(r.Turns), len(want), r.Turns)
			}
			for i, w := range want {
				if u := r.Turns[i]; math.Abs(u.Start-w[0]) > 1e-4 || math.Abs(u.End-w[1]) > 1e-4 || u.Speaker != int(w[2]) {
					t.Errorf("turn %v, want %v", u, w)
				}
			}
		})
	}
}

func turns(list [][3]any) (out []speakers.Turn) {
	for _, u := range list {
		out = append(out, speakers.Turn{Start: u[1].(float64), End: u[2].(float64), Speaker: strings.Index("ABCD", u[0].(string))})
	}
	return out
}
