package conformer

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
	"quern/engine/cpu"
	"quern/engine/onnx/serve"
	fonnx "quern/formats/onnx"
)

// compiler prepares graphs as quern serve does.
func compiler(t testing.TB) Compiler {
	backend := cpu.Open(2)
	t.Cleanup(func() { backend.Close() })
	return func(ctx context.Context, m *fonnx.Model) (Graph, error) {
		return serve.Host{Processor: backend, Limit: 1 << 30}.Graph(ctx, m)
	}
}

func open(t testing.TB, path string, o OpenOptions) *Model {
	t.Helper()
	o.Compile = compiler(t)
	m, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func floatsOf(t testing.TB, name ...string) []float32 {
	t.Helper()
	data, err := os.ReadFile(fixtures.Path(t, append([]string{"diarise"}, name...)...))
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(data)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return x
}

// sound reads a signal of the fixtures.
func sound(t testing.TB, name string) (x audio.Samples) {
	t.Helper()
	data, err := os.ReadFile(fixtures.Path(t, "diarise", "signals", name+".wav"))
	if err != nil {
		t.Fatal(err)
	}
	for data = data[44:]; len(data) > 1; data = data[2:] { // behind the header
		x = append(x, float32(int16(binary.LittleEndian.Uint16(data)))/32768)
	}
	return x
}

// A golden decoding of the fixtures.
type golden struct {
	Tokens, Frames, Durations []int
	Logprobs                  []float64
	Text                      string
}

type goldens struct {
	Cases map[string]struct {
		Features string
		Rows     int
		Frames   int
		Sherpa   *golden
		Onnx     *golden `json:"onnx-asr"`
	}
}

func readGoldens(t testing.TB) (g goldens) {
	t.Helper()
	data, err := os.ReadFile(fixtures.Path(t, "diarise", "golden", "tdt.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

// decoded writes down windows of features together.
func decoded(t testing.TB, m *Model, list ...*window) {
	t.Helper()
	for _, w := range list {
		w.ctx, w.limit = t.Context(), 1<<20
	}
	if err := m.encoder.run(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if err := m.decoder.decode(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

func (g *golden) compare(t *testing.T, name string, got []spoken) {
	t.Helper()
	ids, frames, durations, worst := []int{}, []int{}, []int{}, 0.0
	for i, s := range got {
		ids, frames, durations = append(ids, s.id), append(frames, s.at), append(durations, s.frames)
		if i < len(g.Logprobs) {
			worst = max(worst, math.Abs(s.logprob-g.Logprobs[i]))
		}
	}
	if !slices.Equal(ids, g.Tokens) || !slices.Equal(frames, g.Frames) || !slices.Equal(durations, g.Durations) || worst > 2e-4 {
		t.Errorf("%s: tokens %v at %v for %v, log-probabilities off by %g; want %v at %v for %v", name, ids, frames, durations, worst, g.Tokens, g.Frames, g.Durations)
	}
}

// Both layouts write the tokens, times, durations and log-probabilities that ONNX Runtime
// and sherpa-onnx's program find, under the limits of both programs.
func TestTDT(t *testing.T) {
	g := readGoldens(t)
	for _, layout := range []string{"parakeet-sherpa", "parakeet-onnx-asr"} {
		for _, limit := range []int{5, 10} {
			m := open(t, fixtures.Path(t, "diarise", "models", layout), OpenOptions{PerFrame: limit})
			if m.Kind != TDT || m.durations != 5 || m.positions != 120 {
				t.Fatalf("%s: %s of %d durations, %d positions", layout, m.Kind, m.durations, m.positions)
			}
			if _, ok := m.decoder.(*transducer).joint.(*parts); !ok || m.batches != "" {
				t.Errorf("%s: the joint is a %T; batches: %q", layout, m.decoder.(*transducer).joint, m.batches)
			}
			compared := 0
			for name, c := range g.Cases {
				want := c.Onnx
				if limit == 5 {
					want = c.Sherpa
				}
				if want == nil {
					continue
				}
				compared++
				x := floatsOf(t, strings.Split(c.Features, "/")...)
				w := &window{features: x[:c.Rows*128], frames: c.Rows}
				decoded(t, m, w)
				want.compare(t, layout+" "+name, w.tokens)
			}
			if compared < 3 {
				t.Errorf("%d goldens", compared)
			}
		}
	}
}
