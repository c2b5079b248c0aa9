package conformer

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"testing"

	"quern/bench/fixtures"
	fonnx "quern/formats/onnx"
	"quern/formats/onnx/onnxtest"
	"quern/kernels/quant"
)

// half makes a graph one of float16, as exporters do: all of it, or with inputs and outputs
// of float32 and casts beside them.
func half(m *fonnx.Model, castSides bool) {
	tensor := func(t *fonnx.Tensor) {
		if t == nil || t.Type != fonnx.Float {
			return
		}
		data := make([]byte, len(t.Data)/2)
		for i := range len(data) / 2 {
			v := math.Float32frombits(binary.LittleEndian.Uint32(t.Data[4*i:]))
			binary.LittleEndian.PutUint16(data[2*i:], quant.F32ToF16(v))
		}
		t.Type, t.Data = fonnx.Float16, data
	}
	g := m.Graph
	for _, t := range g.Initializers {
		tensor(t)
	}
	inside := make(map[string]string) // names of what sides are inside
	for i := range g.Nodes {
		n := g.Nodes[i]
		for _, a := range n.Attrs {
			tensor(a.T)
			if n.Op == "Cast" && a.Name == "to" && a.I == int64(fonnx.Float) {
				a.I = int64(fonnx.Float16)
			}
		}
	}
	var before, after []*fonnx.Node
	for _, sides := range [][]fonnx.Value{g.Inputs, g.Outputs} {
		for i := range sides {
			v := &sides[i]
			switch {
			case v.Type.Elem != fonnx.Float:
			case !castSides:
				v.Type.Elem = fonnx.Float16
			default:
				inside[v.Name] = v.Name + "_half"
			}
		}
	}
	cast := func(from, to string, elem fonnx.DType) *fonnx.Node {
		return onnxtest.NewNode([]string{to}, "Cast", []string{from}, onnxtest.Int("to", int64(elem)))
	}
	for _, v := range g.Inputs {
		if name := inside[v.Name]; name != "" {
			before = append(before, cast(v.Name, name, fonnx.Float16))
		}
	}
	for _, v := range g.Outputs {
		if name := inside[v.Name]; name != "" {
			after = append(after, cast(name, v.Name, fonnx.Float))
		}
	}
	for _, n := range g.Nodes {
		for _, names := range [][]string{n.Inputs, n.Outputs} {
			for i, name := range names {
				if other := inside[name]; other != "" {
					names[i] = other
				}
			}
		}
	}
	g.Nodes = append(append(before, g.Nodes...), after...)
}

// halved writes the fixtures' Parakeet with graphs of float16.
func halved(t *testing.T, layout string, castSides bool, graphs, beside []string) string {
	dir := t.TempDir()
	from := func(name string) string { return fixtures.Path(t, "diarise", "models", layout, name) }
	for _, name := range graphs {
		m, err := fonnx.Open(from(name + ".onnx"))
		if err != nil {
			t.Fatal(err)
		}
		half(m, castSides)
		write(t, dir, map[string][]byte{name + ".fp16.onnx": onnxtest.Marshal(m)})
		m.Close()
	}
	for _, name := range beside {
		data, err := os.ReadFile(from(name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, dir, map[string][]byte{filepath.Base(name): data})
	}
	return dir
}

// Exports of float16, with sides of either type, give what those of float32 give, as near as
// halves are, and write the same tokens where those lead by more.
func TestHalf(t *testing.T) {
	g := readGoldens(t)
	for _, tt := range []struct {
		layout         string
		graphs, beside []string
	}{
		{"parakeet-sherpa", []string{"encoder", "decoder", "joiner"}, []string{"tokens.txt"}},
		{"parakeet-onnx-asr", []string{"encoder-model", "decoder_joint-model"}, []string{"vocab.txt", "config.json"}},
	} {
		for _, castSides := range []bool{false, true} {
			dir := halved(t, tt.layout, castSides, tt.graphs, tt.beside)
			info, err := Describe(dir)
			if err != nil || info.Number != "F16" || info.Kind != TDT || info.Durations != 5 || info.Longest == 0 {
				t.Fatalf("%s: %+v, %v", tt.layout, info, err)
			}
			m := open(t, dir, OpenOptions{})
			c := g.Cases["pulses"]
			x := floatsOf(t, "features", "pulses.nemo-128.f32")
			w := &window{features: x[:c.Rows*128], frames: c.Rows}
			if err := m.encoder.run(t.Context(), []*window{w}); err != nil {
				t.Fatal(err)
			}
			want := floatsOf(t, "golden", "tdt-encoder.pulses.f32") // (32, frames)
			n, most, worst := w.states.frames, 0.0, 0.0
			for f := range n {
				for k := range 32 {
					v := float64(want[k*n+f])
					most, worst = max(most, math.Abs(v)), max(worst, math.Abs(float64(w.states.x[f*32+k])-v))
				}
			}
			if n != c.Frames || worst > 0.02*most || worst == 0 {
				t.Errorf("%s, casts %v: %d frames, off by %g of %g", tt.layout, castSides, n, worst, most)
			}
			for _, name := range []string{"pulses", "pulses-as-sherpa", "sweep-as-sherpa"} {
				c := g.Cases[name]
				w := &window{features: floatsOf(t, "features", filepath.Base(c.Features))[:c.Rows*128], frames: c.Rows}
				decoded(t, m, w)
				if len(w.tokens) != len(c.Onnx.Tokens) {
					t.Errorf("%s, casts %v, %s: %d tokens, want %d", tt.layout, castSides, name, len(w.tokens), len(c.Onnx.Tokens))
					continue
				}
				for i, s := range w.tokens {
					if s.id != c.Onnx.Tokens[i] || s.at != c.Onnx.Frames[i] || s.frames != c.Onnx.Durations[i] || math.Abs(s.logprob-c.Onnx.Logprobs[i]) > 0.05 {
						t.Errorf("%s, casts %v, %s: token %d is %+v, want %d at %d", tt.layout, castSides, name, i, s, c.Onnx.Tokens[i], c.Onnx.Frames[i])
					}
				}
			}
		}
	}
}
