package asr

import (
	"context"
	"fmt"
	"testing"

	"quern/engine/cpu"
	"quern/formats/ggml"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// randomModel is a model with the shape of a published one and random weights
// of a number type. Its vocabulary spells nothing.
func randomModel(t testing.TB, layers, width, heads int, typ quant.Type, threads int) *Model {
	t.Helper()
	set := new(weights.Set)
	set.Meta.Set(ggml.KindKey, ggml.Whisper)
	for key, n := range map[string]int{
		"vocab": 51865, "audio_ctx": 1500, "audio_state": width, "audio_head": heads, "audio_layer": layers,
		"text_ctx": 448, "text_state": width, "text_head": heads, "text_layer": layers, "mels": 80,
	} {
		set.Meta.Set("whisper."+key, int64(n))
	}
	tokens := make([]string, 50257)
	for i := range tokens {
		tokens[i] = fmt.Sprintf(" %d", i)
	}
	set.Meta.Set("whisper.tokens", tokens)
	seed := uint64(0)
	add := func(name string, typ quant.Type, shape ...int) {
		w := &weights.Tensor{Name: name, Type: typ, Shape: shape}
		x := make([]float32, w.Elems())
		for i := range x {
			seed = mix(seed, 1)
			x[i] = (float32(seed>>40)/(1<<24) - 0.5) * 0.1
		}
		n, _ := typ.Size(len(x))
		w.Data = make([]byte, n)
		typ.Layout().Encode(w.Data, x)
		if err := set.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	vector := func(name string) {
		add(name+".weight", quant.F32, width)
		add(name+".bias", quant.F32, width)
	}
	attention := func(name string) {
		vector(name + "_ln")
		for _, p := range []string{"query", "key", "value", "out"} {
			add(name+"."+p+".weight", typ, width, width)
			if p != "key" {
				add(name+"."+p+".bias", quant.F32, width)
			}
		}
	}
	add("encoder.conv1.weight", quant.F16, width, 80, 3)
	add("encoder.conv1.bias", quant.F32, width)
	add("encoder.conv2.weight", quant.F16, width, width, 3)
	add("encoder.conv2.bias", quant.F32, width)
	add("encoder.positional_embedding", quant.F32, 1500, width)
	add("decoder.positional_embedding", quant.F32, 448, width)
	add("decoder.token_embedding.weight", typ, 51865, width)
	for _, side := range []string{"encoder", "decoder"} {
		for i := range layers {
			p := fmt.Sprintf("%s.blocks.%d.", side, i)
			attention(p + "attn")
			if side == "decoder" {
				attention(p + "cross_attn")
			}
			vector(p + "mlp_ln")
			add(p+"mlp.0.weight", typ, 4*width, width)
			add(p+"mlp.0.bias", quant.F32, 4*width)
			add(p+"mlp.2.weight", typ, width, 4*width)
			add(p+"mlp.2.bias", quant.F32, width)
		}
	}
	vector("encoder.ln_post")
	vector("decoder.ln")
	b := cpu.Open(threads)
	m, err := New(context.Background(), set, b, OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.Close()
		b.Close()
	})
	return m
}

// The shape of Whisper base, on two threads.
func BenchmarkBase(b *testing.B) {
	threads := 2
	for _, typ := range []quant.Type{quant.F16, quant.Q8_0} {
		m := randomModel(b, 6, 512, 8, typ, threads)
		ctx := context.Background()
		features := make([]float32, 3000*80)
		for i := range features {
			features[i] = float32(i%17)/17 - 0.5
		}
		b.Run(typ.String()+"/window", func(b *testing.B) {
			for b.Loop() {
				w, err := m.encode(ctx, features, 1)
				if err != nil {
					b.Fatal(err)
				}
				w.close()
			}
		})
		w, err := m.encode(ctx, features, 5)
		if err != nil {
			b.Fatal(err)
		}
		defer w.close()
		m.begin = append(m.begin, m.special.eot)
		m.suppress = append(m.suppress, m.special.eot)
		for _, beams := range []int{1, 5} {
			b.Run(fmt.Sprintf("%v/token/%d", typ, beams), func(b *testing.B) {
				tokens := 0
				for b.Loop() {
					d, err := w.decode(ctx, &decodeOptions{language: "en", stamps: true, beams: beams, limit: 100}, 0)
					if err != nil {
						b.Fatal(err)
					}
					tokens += len(d.tokens)
				}
				b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(tokens), "ms/token")
			})
		}
	}
}
