package conformer

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/asr"
	"quern/engine/asr/audio"
	"quern/engine/onnx"
	"quern/formats/onnx/onnxtest"
)

// heard collects the segments of sound.
func hear(t testing.TB, m *Model, src audio.Source, o asr.Options) (list []asr.Segment) {
	t.Helper()
	for s, err := range m.Transcribe(t.Context(), src, o) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func textOf(list []asr.Segment) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s.Text)
	}
	return strings.TrimSpace(b.String())
}

// From sound to text: what the fixtures' features give, the features made here give.
func TestTranscribe(t *testing.T) {
	want := readGoldens(t).Cases["pulses"].Onnx
	m := open(t, fixtures.Path(t, "diarise", "models", "parakeet-onnx-asr"), OpenOptions{})
	x := sound(t, "pulses")
	var info asr.Info
	list := hear(t, m, &x, asr.Options{Without: asr.GuardVAD, Words: true, Logprobs: true, Info: &info})
	if textOf(list) != want.Text || len(list) != 1 {
		t.Fatalf("%q in %d segments, want %q", textOf(list), len(list), want.Text)
	}
	s := list[0]
	if len(s.Words) != 3 || s.Words[1].Text != " grain" || s.Words[1].Start != 0.32 || s.Words[1].End != 0.64 || len(s.Logprobs) != 3 ||
		math.Abs(s.Words[1].Probability-math.Exp(want.Logprobs[1])) > 1e-4 || math.Abs(s.AvgLogprob-(want.Logprobs[0]+want.Logprobs[1]+want.Logprobs[2])/3) > 1e-4 {
		t.Errorf("%+v", s)
	}
	if n := sound(t, "pulses"); info.Duration != float64(len(n))/audio.Rate || info.Language != "" {
		t.Errorf("%+v", info)
	}
}

// Long sound is cut into windows that the positions reach for, with times of the whole, and
// gives the same text whether it comes at once or in small pieces.
func TestLongSound(t *testing.T) {
	m := open(t, fixtures.Path(t, "diarise", "models", "parakeet-sherpa"), OpenOptions{})
	if m.window() != 9.6 {
		t.Fatalf("windows of %g s, want 9.6", m.window())
	}
	x := sound(t, "talk")
	runs := m.worker.runs.Load()
	whole := hear(t, m, &x, asr.Options{Words: true, Without: asr.GuardVAD})
	if n := m.worker.runs.Load() - runs; n < 1 || n > 8 {
		t.Errorf("%d runs", n)
	}
	x = sound(t, "talk")
	if got := hear(t, m, &dribble{&x}, asr.Options{Words: true, Without: asr.GuardVAD}); textOf(got) != textOf(whole) || len(got) != len(whole) {
		t.Errorf("in pieces it says %q, at once %q", textOf(got), textOf(whole))
	}
	last := 0.0
	for i, s := range whole {
		if s.ID != i || s.Start < last-0.01 || s.End < s.Start || s.End > 35.38 || s.End-s.Start > segmentSeconds+1 {
			t.Errorf("segment %d: %d from %g to %g behind %g", i, s.ID, s.Start, s.End, last)
		}
		last = s.Start
	}
	if last < 25 {
		t.Errorf("the last segment begins at %g s of 35", last)
	}
	// With the detector, what it leaves out is skipped and times stay those of the source.
	x = append(make(audio.Samples, 20*audio.Rate), sound(t, "talk")[:8*audio.Rate]...)
	list := hear(t, m, &x, asr.Options{})
	if len(list) == 0 || list[0].Start < 19.5 {
		t.Errorf("behind 20 s of silence: %+v", list)
	}
}

// A dribble is a Source of a hundred samples at a time.
type dribble struct{ audio.Source }

func (d *dribble) Read(dst []float32) (int, error) { return d.Source.Read(dst[:min(len(dst), 100)]) }

// Silence, and less than a window's least sound, have no text.
func TestNothing(t *testing.T) {
	m := open(t, fixtures.Path(t, "diarise", "models", "parakeet-sherpa"), OpenOptions{})
	for _, n := range []int{0, 1, 1599, 30 * audio.Rate} {
		x := make(audio.Samples, n)
		if list := hear(t, m, &x, asr.Options{}); len(list) != 0 {
			t.Errorf("%d samples of silence: %q", n, textOf(list))
		}
	}
	// A word of 0.2 s is heard where no detector takes it for a click.
	short := sound(t, "pulses")[:3200]
	if list := hear(t, m, &short, asr.Options{Without: asr.GuardVAD}); len(list) == 0 {
		t.Error("nothing of 0.2 s")
	}
	x := make(audio.Samples, audio.Rate)
	for _, s := range hear(t, m, &x, asr.Options{Without: asr.GuardVAD}) {
		if math.IsNaN(s.AvgLogprob) {
			t.Errorf("silence that is not left out: %+v", s)
		}
	}
}

// A slow graph holds its runs back, and tells that one begins.
type slow struct {
	Graph
	begun, open chan struct{}
}

// hold makes the encoder of a model slow.
func hold(m *Model) slow {
	s := slow{m.encoder.Graph, make(chan struct{}, 100), make(chan struct{})}
	m.encoder.Graph = s
	return s
}

func (s slow) Run(ctx context.Context, in map[string]*onnx.Tensor) (map[string]*onnx.Tensor, error) {
	s.begun <- struct{}{}
	<-s.open
	return s.Graph.Run(ctx, in)
}

// submitAll submits windows so that the others wait while the first is computed.
func submitAll(m *Model, list []*window) {
	held := hold(m)
	m.worker.submit(list[0])
	<-held.begun
	for _, w := range list[1:] {
		m.worker.submit(w)
	}
	close(held.open)
}

// Requests share runs, and each gets what it gets alone: padding changes nothing.
func TestRequestsTogether(t *testing.T) {
	m := open(t, fixtures.Path(t, "diarise", "models", "parakeet-onnx-asr"), OpenOptions{})
	if m.batches != "" {
		t.Fatal(m.batches)
	}
	talk := sound(t, "talk")
	make4 := func() (list []*window) {
		for i := range 4 {
			x := talk[i*6*audio.Rate:][:(5+i%3)*audio.Rate+i*777]
			list = append(list, &window{ctx: t.Context(), features: m.features.Of(x), frames: m.features.Frames(len(x)), limit: 1 << 20})
		}
		return list
	}
	alone, together := make4(), make4()
	for _, w := range alone {
		m.worker.submit(w)
		<-w.done
	}
	before := m.worker.runs.Load()
	submitAll(m, together)
	for _, w := range together {
		<-w.done
	}
	if runs := m.worker.runs.Load() - before; runs != 2 {
		t.Errorf("%d runs of the encoder for four windows, want the first alone and three together", runs)
	}
	for i, w := range together {
		a := alone[i]
		if w.err != nil || len(w.tokens) == 0 || len(w.tokens) != len(a.tokens) {
			t.Fatalf("window %d: %v; %d tokens, alone %d", i, w.err, len(w.tokens), len(a.tokens))
		}
		for k, s := range w.tokens {
			if b := a.tokens[k]; s.id != b.id || s.at != b.at || s.frames != b.frames || math.Abs(s.logprob-b.logprob) > 2e-4 {
				t.Errorf("window %d, token %d: %+v, alone %+v", i, k, s, b)
			}
		}
	}
}

// A noted graph writes down how many frames its runs have.
type noted struct {
	Graph
	frames *[]int
}

func (g noted) Run(ctx context.Context, in map[string]*onnx.Tensor) (map[string]*onnx.Tensor, error) {
	*g.frames = append(*g.frames, in["audio_signal"].Shape[2])
	return g.Graph.Run(ctx, in)
}

// Requests are served by turns: a short one waits for one window of a long one.
func TestTurns(t *testing.T) {
	m := open(t, fixtures.Path(t, "diarise", "models", "parakeet-onnx-asr"), OpenOptions{})
	m.batches = "a window a run"
	var frames []int
	m.encoder.Graph = noted{m.encoder.Graph, &frames}
	file, live := new(request), new(request)
	windows := m.noise(80, 88, 96, 104, 40, 48)
	for i, w := range windows {
		w.ctx, w.limit, w.request = t.Context(), 10, file
		if i >= 4 {
			w.request = live
		}
	}
	submitAll(m, windows)
	for _, w := range windows {
		if <-w.done; w.err != nil {
			t.Fatal(w.err)
		}
	}
	if want := []int{80, 88, 40, 96, 48, 104}; !slices.Equal(frames, want) {
		t.Errorf("runs of %d frames, want %d", frames, want)
	}
}

// A tight graph has no memory for more than one window.
type tight struct{ Graph }

func (g tight) Run(ctx context.Context, in map[string]*onnx.Tensor) (map[string]*onnx.Tensor, error) {
	for _, x := range in {
		if len(x.Shape) > 0 && x.Shape[0] > 1 {
			return nil, onnx.ErrMemory
		}
	}
	return g.Graph.Run(ctx, in)
}

// Windows that do not fit into memory together are transcribed one by one, whichever graph it is
// that lacks the memory.
func TestOneByOne(t *testing.T) {
	for _, tt := range []struct {
		name string
		to   func(m *Model) *Graph
	}{
		{"encoder", func(m *Model) *Graph { return &m.encoder.Graph }},
		{"joint", func(m *Model) *Graph { return &m.decoder.(*transducer).joint.(*parts).rest.Graph }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := open(t, fixtures.Path(t, "diarise", "models", "parakeet-onnx-asr"), OpenOptions{})
			talk := sound(t, "talk")
			var list []*window
			for i := range 4 {
				x := talk[i*6*audio.Rate:][:5*audio.Rate]
				list = append(list, &window{ctx: t.Context(), features: m.features.Of(x), frames: m.features.Frames(len(x)), limit: 1 << 20})
			}
			alone := &window{ctx: t.Context(), features: list[3].features, frames: list[3].frames, limit: 1 << 20}
			m.worker.submit(alone)
			<-alone.done
			g := tt.to(m)
			*g = tight{*g}
			submitAll(m, list)
			for i, w := range list {
				if <-w.done; w.err != nil || len(w.tokens) == 0 {
					t.Errorf("window %d: %d tokens, %v", i, len(w.tokens), w.err)
				}
			}
			if last := list[3]; !slices.Equal(ids(last.tokens), ids(alone.tokens)) {
				t.Errorf("%v, alone %v", ids(last.tokens), ids(alone.tokens))
			}
		})
	}
}

// The golden batch of the fixtures: two windows of one run, padded.
func TestEncoderBatch(t *testing.T) {
	m := open(t, fixtures.Path(t, "diarise", "models", "parakeet-sherpa"), OpenOptions{})
	x := floatsOf(t, "features", "pulses.nemo-128.f32")
	a, b := &window{features: x[:60*128], frames: 60}, &window{features: x[:76*128], frames: 76}
	if err := m.encoder.run(t.Context(), []*window{a, b}); err != nil {
		t.Fatal(err)
	}
	want := floatsOf(t, "golden", "tdt-encoder.batch2.f32") // (2, 32, 10)
	for i, w := range []*window{a, b} {
		if n := []int{8, 10}[i]; w.states.frames != n {
			t.Fatalf("window %d has %d frames, want %d", i, w.states.frames, n)
		}
		for f := range w.states.frames {
			for k := range 32 {
				if d := w.states.x[f*32+k] - want[(i*32+k)*10+f]; math.Abs(float64(d)) > 1e-4 {
					t.Fatalf("window %d, frame %d, number %d is off by %g", i, f, k, d)
				}
			}
		}
	}
}

// Exports whose windows see each other, or that look at the range of a run, get one window a
// run, and say why.
func TestNoBatches(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(b *onnxtest.Builder, x string) string
		says string
	}{
		{"the mean of all windows is added", func(b *onnxtest.Builder, x string) string {
			return b.Node("Add", []string{x, b.Node("ReduceMean", []string{x})})
		}, "other results"},
		{"quantised as it comes", func(b *onnxtest.Builder, x string) string {
			q := []string{"q", "scale", "zero"}
			b.Named(q, "DynamicQuantizeLinear", []string{x})
			return b.Node("DequantizeLinear", q)
		}, "DynamicQuantizeLinear"},
		{"one window", func(b *onnxtest.Builder, x string) string {
			return b.Node("Reshape", []string{x, b.List(1, toyBands, -1)})
		}, "one window at a time"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := toyTransducer(t, 3, 2, make([]float32, 15))
			write(t, dir, map[string][]byte{"encoder-model.onnx": toyEncoder(tt.edit)})
			m := open(t, dir, OpenOptions{})
			if tt.name == "one window" {
				if m.batches == "" {
					t.Error("windows are run together")
				}
			} else if !strings.Contains(m.batches, tt.says) {
				t.Errorf("it says %q", m.batches)
			}
			if m.together([]*window{{frames: 100}}, &window{frames: 100}) {
				t.Error("windows join")
			}
		})
	}
}

// A joint that is run as it is writes what one that is cut does.
func TestWholeJoint(t *testing.T) {
	path := fixtures.Path(t, "diarise", "models", "parakeet-onnx-asr")
	m := open(t, path, OpenOptions{})
	x := floatsOf(t, "golden", "in.nemo128.T800.f32")
	cut := &window{features: x, frames: 800}
	decoded(t, m, cut)
	p, err := newPart(t.Context(), compiler(t), m.graphs[combined])
	if err != nil {
		t.Fatal(err)
	}
	size, err := memoryOf(p.in[3:], m.first())
	if err != nil {
		t.Fatal(err)
	}
	m.decoder.(*transducer).joint = &whole{part: p, memory: size, width: -1}
	plain, beams := &window{features: x, frames: 800}, &window{features: x, frames: 800, beams: 3}
	decoded(t, m, plain, beams)
	if !slices.Equal(ids(cut.tokens), ids(plain.tokens)) || len(plain.tokens) == 0 || len(beams.tokens) == 0 {
		t.Errorf("%v as it is, %v cut", ids(plain.tokens), ids(cut.tokens))
	}
}

// A request that ends frees its windows, and what it has read is no more than it must.
func TestStopping(t *testing.T) {
	m := open(t, fixtures.Path(t, "diarise", "models", "parakeet-sherpa"), OpenOptions{})
	var x audio.Samples
	for range 10 {
		x = append(x, sound(t, "talk")...)
	}
	count := &audio.Counter{Source: &x}
	for range m.Transcribe(t.Context(), count, asr.Options{Without: asr.GuardVAD}) {
		break
	}
	if read := float64(count.N) / audio.Rate; read > (ahead+2)*m.window() {
		t.Errorf("%g s were read for the first segment", read)
	}
	if len(m.worker.queue) != 0 {
		t.Error("windows are left")
	}
	ctx, cancel := context.WithCancel(t.Context())
	held := hold(m)
	y := sound(t, "talk")
	go func() {
		<-held.begun
		cancel()
		close(held.open)
	}()
	var err error
	for _, err = range m.Transcribe(ctx, &y, asr.Options{Without: asr.GuardVAD}) {
		if err == nil {
			t.Error("a segment of a request that ended")
		}
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	// The source's error is returned.
	for _, err = range m.Transcribe(t.Context(), broken{}, asr.Options{}) {
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken source: %v", err)
	}
}

type broken struct{}

func (broken) Read([]float32) (int, error) { return 0, io.ErrUnexpectedEOF }

// What a Parakeet cannot do is refused by name before anything is read.
func TestRefuses(t *testing.T) {
	m := open(t, toyTransducer(t, 4, 2, make([]float32, 24)), OpenOptions{}) // pieces of English letters
	for _, tt := range []struct {
		o    asr.Options
		name string
	}{
		{asr.Options{Prompt: "x"}, "prompt"},
		{asr.Options{Keywords: []string{"x"}}, "keywords"},
		{asr.Options{Prefix: "x"}, "prefix"},
		{asr.Options{Translate: true}, "target_language"},
		{asr.Options{Target: "de"}, "target_language"},
		{asr.Options{Language: "de"}, "language"},
		{asr.Options{Temperatures: []float64{0.5}}, "temperature"},
		{asr.Options{NoPunctuation: true}, "punctuation"},
		{asr.Options{SkipSilence: 2}, "hallucination_silence_threshold"},
		{asr.Options{BestOf: 3}, "best_of"},
		{asr.Options{Beams: 11}, "beam_size"},
	} {
		count := &audio.Counter{Source: &audio.Samples{1, 2, 3}}
		for _, err := range m.Transcribe(t.Context(), count, tt.o) {
			var named *asr.OptionError
			if !errors.As(err, &named) || named.Name != tt.name || count.N != 0 {
				t.Errorf("%+v: %v after %d samples; want %s refused", tt.o, err, count.N, tt.name)
			}
		}
	}
	var info asr.Info
	x := make(audio.Samples, audio.Rate)
	hear(t, m, &x, asr.Options{Language: "English", Beams: 4, NoContext: true, Seed: 3, Chunked: true, Without: asr.NoGuards, Info: &info})
	if info.Language != "en" || m.Translates() {
		t.Errorf("%+v", info)
	}
}

// A token costs a bounded number of allocations.
func TestAllocations(t *testing.T) {
	m := open(t, fixtures.Path(t, "diarise", "models", "parakeet-onnx-asr"), OpenOptions{})
	x := floatsOf(t, "golden", "in.nemo128.T800.f32")
	w := &window{features: x, frames: 800}
	decoded(t, m, w)
	n := testing.AllocsPerRun(5, func() {
		w.tokens = nil
		if err := m.decoder.decode(t.Context(), []*window{w}); err != nil {
			t.Fatal(err)
		}
	})
	if per := n / float64(len(w.tokens)); per > 400 {
		t.Errorf("%g allocations a token of %d", per, len(w.tokens))
	} else {
		t.Logf("%g allocations a token of %d", per, len(w.tokens))
	}
}

// link copies files of the fixtures' models into a folder under other names.
func link(t testing.TB, from string, names map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, of := range names {
		data, err := os.ReadFile(fixtures.Path(t, "diarise", "models", from, of))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, map[string][]byte{name: data})
	}
	return dir
}
