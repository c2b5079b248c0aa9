package asr

import (
	"context"
	"errors"
	"io"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"quern/engine/asr/audio"
	"quern/engine/asr/heard"
	"quern/engine/asr/vad"
	"quern/engine/graph"
	"quern/kernels/quant"
)

// small is a random model that babbles. With MaxTokens it is done soon.
func small(t testing.TB) *Model { return randomModel(t, 2, 32, 2, quant.F16, 2) }

// drained fails when a model holds blocks although nothing is going on.
func drained(t testing.TB, m *Model) {
	t.Helper()
	m.blocks.mu.Lock()
	defer m.blocks.mu.Unlock()
	if m.blocks.pool.Available() != m.most || m.blocks.spare != m.most || len(m.blocks.waiters) > 0 {
		t.Errorf("%d blocks free, %d not reserved, %d waiting; the cache has %d", m.blocks.pool.Available(), m.blocks.spare, len(m.blocks.waiters), m.most)
	}
}

// What a request gets depends neither on those beside it nor on the order of
// things.
func TestAloneOrTogether(t *testing.T) {
	m := small(t)
	type request struct {
		x []float32
		o Options
	}
	requests := []request{
		{hiss(40, 0.1), Options{Language: "de", MaxTokens: 6, Without: GuardVAD, Temperatures: []float64{0, 0.8}}},
		{hiss(7, 0.2), Options{MaxTokens: 20, Beams: 4, Prompt: "1 2 3", Without: NoGuards, Logprobs: true}},
		{sine(35, 0.2), Options{Language: "en", MaxTokens: 9, Chunked: true, Seed: 3, Words: true, Temperatures: []float64{0.7}}},
		{hiss(31, 0.3), Options{Language: "fr", MaxTokens: 9, NoTimestamps: true, Temperatures: []float64{1}, BestOf: 3, Without: NoGuards}},
	}
	alone := make([][]Segment, len(requests))
	for i, r := range requests {
		alone[i] = collect(t, m, r.x, r.o)
		if len(alone[i]) == 0 {
			t.Fatalf("request %d has no segments", i)
		}
	}
	drained(t, m)
	together := make([][]Segment, len(requests))
	var wg sync.WaitGroup
	for i, r := range requests {
		wg.Add(1)
		go func() {
			defer wg.Done()
			src := audio.Samples(r.x)
			for s, err := range m.Transcribe(context.Background(), &src, r.o) {
				if err != nil {
					t.Error(err)
				}
				together[i] = append(together[i], s)
			}
		}()
	}
	wg.Wait()
	for i := range requests {
		if !reflect.DeepEqual(alone[i], together[i]) {
			t.Errorf("request %d alone:\n%+v\ntogether:\n%+v", i, alone[i], together[i])
		}
	}
	drained(t, m)
}

// A counting Exec notes the largest batch.
type counting struct {
	graph.Exec
	sequences int
}

func (c *counting) Run(ctx context.Context, in *graph.Batch, kv graph.Cache) ([][]float32, error) {
	c.sequences = max(c.sequences, len(in.Tables))
	return c.Exec.Run(ctx, in, kv)
}

// Windows of several requests, with several beams each, go through the decoder
// together.
func TestRequestsShareSteps(t *testing.T) {
	m := small(t)
	count := &counting{Exec: m.decode.exec}
	m.decode.exec = count
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			src := audio.Samples(hiss(60, 0.1))
			for _, err := range m.Transcribe(context.Background(), &src, Options{
				Language: "en", NoTimestamps: true, Temperatures: []float64{0}, Beams: 3, MaxTokens: 60, Without: NoGuards,
			}) {
				if err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
	if count.sequences <= 3 {
		t.Errorf("at most %d sequences in a step; three requests have three beams each", count.sequences)
	}
	drained(t, m)
}

func TestSegmentsAreSound(t *testing.T) {
	m := small(t)
	for name, o := range map[string]Options{
		"words":   {Language: "en", Words: true, Logprobs: true, MaxTokens: 10, Temperatures: []float64{0}, Without: NoGuards &^ GuardLength},
		"chunked": {Language: "en", Chunked: true, MaxTokens: 10, Temperatures: []float64{0}, Logprobs: true},
		"silence": {Language: "en", Words: true, SkipSilence: 1, MaxTokens: 10, Logprobs: true, Temperatures: []float64{0}, Without: GuardVAD},
	} {
		var info Info
		o.Info = &info
		x := slices.Concat(sine(3, 0.2), make([]float32, 2*audio.Rate), hiss(30, 0.2))
		list := collect(t, m, x, o)
		last := 0.0
		for i, s := range list {
			if s.ID != i || s.Start < last-0.02 || s.End < s.Start || s.End > 35 || s.Language != "en" || s.Text == "" {
				t.Errorf("%s: segment %d: %+v", name, i, s)
			}
			last = s.Start
			text := 0
			for _, id := range s.Tokens {
				if id < m.special.eot {
					text++
				}
			}
			if len(s.Logprobs) != text {
				t.Errorf("%s: %d log-probabilities of %d tokens", name, len(s.Logprobs), text)
			}
			var words []string
			at := math.Inf(-1)
			for _, w := range s.Words {
				words = append(words, w.Text)
				if w.Start < at || w.End < w.Start || w.Probability < 0 || w.Probability > 1 {
					t.Errorf("%s: word %+v after %g", name, w, at)
				}
				at = w.Start
			}
			if o.Words && strings.Join(words, "") != s.Text {
				t.Errorf("%s: words %q of %q", name, words, s.Text)
			}
		}
		if !near(info.Duration, 35, 1e-9) || info.Speech <= 0 || info.Speech > info.Duration {
			t.Errorf("%s: %+v", name, info)
		}
	}
}

func sine(seconds, level float64) []float32 {
	x := make([]float32, int(seconds*audio.Rate))
	for i := range x {
		x[i] = float32(level * math.Sin(float64(i)*0.3))
	}
	return x
}

func hiss(seconds, level float64) []float32 {
	x := make([]float32, int(seconds*audio.Rate))
	s := uint64(1)
	for i := range x {
		s = mix(s, 7)
		x[i] = float32(level * (float64(s>>11)/(1<<52) - 1))
	}
	return x
}

// A ticking source delivers noise and silence by turns and tells how far it is.
type ticking struct{ at, end int }

func (s *ticking) Read(dst []float32) (int, error) {
	if s.at == s.end {
		return 0, io.EOF
	}
	n := min(len(dst), 1600, s.end-s.at)
	for i := range n {
		k := s.at + i
		dst[i] = 0
		if k/audio.Rate%10 < 7 {
			dst[i] = float32(math.Sin(float64(k)*float64(k%977)) * 0.3)
		}
	}
	s.at += n
	return n, nil
}

// Audio of any length takes the same memory, and segments come before the rest
// is read.
func TestLongAudio(t *testing.T) {
	m := small(t)
	for _, chunked := range []bool{false, true} {
		src := &ticking{end: 240 * audio.Rate}
		heap := [2]uint64{math.MaxUint64, math.MaxUint64} // the least in each half
		for s, err := range m.Transcribe(context.Background(), src, Options{
			Language: "en", NoTimestamps: true, Temperatures: []float64{0}, MaxTokens: 3, NoContext: true, Chunked: chunked, Without: NoGuards &^ GuardVAD,
		}) {
			if err != nil {
				t.Fatal(err)
			}
			ahead := 75 // a window, what speech it takes in silence, and a hop
			if chunked {
				ahead += chunksAtATime * 45
			}
			if read := float64(src.at) / audio.Rate; read > s.Start+float64(ahead) {
				t.Errorf("chunked %v: the segment at %g comes after %g seconds were read", chunked, s.Start, read)
			}
			var stats runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&stats)
			half := &heap[min(1, int(2*s.Start*audio.Rate)/src.end)]
			*half = min(*half, stats.HeapAlloc)
		}
		if grown := int64(heap[1]) - int64(heap[0]); grown > 4<<20 {
			t.Errorf("chunked %v: the heap grew by %d bytes in two minutes of audio", chunked, grown)
		}
	}
	drained(t, m)
}

func TestCancel(t *testing.T) {
	m := small(t)
	for _, chunked := range []bool{false, true} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		src := &ticking{end: 400 * audio.Rate}
		o := Options{Language: "en", Chunked: chunked, MaxTokens: 10, Without: NoGuards}
		n := 0
		var last error
		read := 0
		for _, err := range m.Transcribe(ctx, src, o) {
			last = err
			if n++; n == 1 {
				cancel()
				read = src.at
			}
		}
		if !errors.Is(last, context.Canceled) {
			t.Errorf("chunked %v: the last error is %v", chunked, last)
		}
		if more := src.at - read; n > 2 || more > 45*audio.Rate {
			t.Errorf("chunked %v: after cancelling %d segments and %g s of 400 s of audio were read", chunked, n-2, float64(more)/audio.Rate)
		}
		drained(t, m)
		for range m.Transcribe(context.Background(), &ticking{end: 100 * audio.Rate}, o) {
			break // as a client does that goes away
		}
		drained(t, m)
	}
}

type failing struct{ audio.Samples }

var errFailing = errors.New("the microphone is gone")

func (f *failing) Read(dst []float32) (int, error) {
	n, err := f.Samples.Read(dst)
	if err == io.EOF {
		err = errFailing
	}
	return n, err
}

type stuck struct{}

func (stuck) Read([]float32) (int, error) { return 0, nil }

func TestBadSources(t *testing.T) {
	m := small(t)
	o := Options{Language: "en", Temperatures: []float64{0}, MaxTokens: 5, Without: NoGuards}
	for _, tt := range []struct {
		name string
		src  audio.Source
		want error
	}{
		{"fails", &failing{hiss(40, 0.1)}, errFailing},
		{"is stuck", stuck{}, audio.ErrSource},
	} {
		var last error
		for _, err := range m.Transcribe(context.Background(), tt.src, o) {
			last = err
		}
		if !errors.Is(last, tt.want) {
			t.Errorf("a source that %s: %v, want %v", tt.name, last, tt.want)
		}
	}
	for name, x := range map[string][]float32{"nothing": nil, "a click": {1}, "50 ms": hiss(0.05, 1), "silence": make([]float32, 3*audio.Rate)} {
		if got := collect(t, m, x, Options{}); len(got) > 0 {
			t.Errorf("%s says %q", name, got[0].Text)
		}
	}
	broken := hiss(2, 0.1)
	broken[100], broken[200] = float32(math.NaN()), float32(math.Inf(1))
	if got := collect(t, m, broken, o); len(got) == 0 {
		t.Error("a broken sample silences the audio")
	}
	drained(t, m)
}

func TestOptions(t *testing.T) {
	m := small(t)
	for name, o := range map[string]Options{
		"language":    {Language: "klingon"},
		"beams":       {Beams: 11},
		"draws":       {BestOf: -1},
		"temperature": {Temperatures: []float64{math.NaN()}},
		"no ladder":   {Temperatures: []float64{}},
		"patience":    {Beams: 2, Patience: -1},
		"threshold":   {Speech: vad.Options{Threshold: 2}},
		"padding":     {Speech: vad.Options{Pad: 11}},
		"silence":     {SkipSilence: 2},
		"ratio":       {MaxRatio: math.NaN()},
	} {
		src := audio.Samples(hiss(1, 0.1))
		var last error
		for _, err := range m.Transcribe(context.Background(), &src, o) {
			last = err
		}
		if !errors.Is(last, ErrOptions) {
			t.Errorf("%s: error %v", name, last)
		}
	}
	for in, want := range map[string]string{"EN": "en", "English": "en", "pt-BR": "pt", "zh_Hant": "zh", "mandarin": "zh", " german ": "de", "xx": "", "": "", "yue": "yue"} {
		if got := heard.LanguageCode(in); got != want {
			t.Errorf("heard.LanguageCode(%q) = %q, want %q", in, got, want)
		}
	}
	if heard.LanguageName("de") != "german" || heard.LanguageName("xx") != "" {
		t.Error("names of languages")
	}
}

// What a transcription keeps of its audio does not grow with it: samples and
// frames of a window and what is read ahead, and the places of a window's pieces.
func TestMemoryIsBounded(t *testing.T) {
	m := small(t)
	src := &ticking{end: 300 * audio.Rate}
	o, err := m.resolved(Options{Language: "en", NoTimestamps: true, Temperatures: []float64{0}, MaxTokens: 2, NoContext: true, Without: NoGuards &^ GuardVAD})
	if err != nil {
		t.Fatal(err)
	}
	tr := &transcriber{m: m, o: &o}
	tr.gate = vad.NewGate(audio.NewReader(src), o.Detector, o.Speech)
	tr.read = tr.gate.Fill
	c := tr.newClip(tr.read, 0)
	windows, samples, frames, heard, pieces := 0, 0, 0, 0, 0
	for {
		_, err := c.next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		windows++
		s, f := c.frames.Held()
		samples, frames = max(samples, s), max(frames, f)
		heard, pieces = max(heard, tr.gate.Held()), max(pieces, len(tr.gate.Pieces()))
		tr.gate.Forget(c.seek * audio.FrameStep)
	}
	t.Logf("%d windows; at most %d samples, %d frames, %d samples before the gate, %d pieces", windows, samples, frames, heard, pieces)
	// Slices that grow by appending have up to twice the room they need, and the
	// gate keeps a stretch of speech that is not yet sent.
	if windows < 6 || samples > 4*audio.Rate || frames > 3*c.window || heard > 24*audio.Rate || pieces > 12 {
		t.Errorf("%d windows held up to %d samples, %d frames, %d samples before the gate and %d pieces", windows, samples, frames, heard, pieces)
	}
	drained(t, m)
}
