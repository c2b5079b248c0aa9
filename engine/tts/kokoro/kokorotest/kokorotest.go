// Package kokorotest makes networks of Kokoro's published sizes with random
// weights, for benchmarks: what they say is noise, but the work is the same.
package kokorotest

import (
	"math"
	"math/rand/v2"
	"strings"

	"quern/formats/weights"
	"quern/kernels/quant"
)

// widths say which side of the small network's tensors stands for which of the
// published one, by the beginning of the tensor's name; the first match counts.
var widths = []struct {
	prefix string
	side   map[int]int
}{
	{"bert_encoder.weight", map[int]int{24: 768}},
	{"bert.", map[int]int{24: 768, 8: 128, 40: 2048}},
	{"decoder.decode.3.norm2", map[int]int{48: 1024, 24: 512, 8: 128}},
	{"decoder.asr_res", map[int]int{6: 64, 24: 512}},
	{"decoder.decode", map[int]int{40: 1024, 48: 1090, 96: 2180, 80: 2048, 24: 512, 8: 128}},
	{"decoder.encode", map[int]int{40: 1024, 26: 514, 52: 1028, 80: 2048, 8: 128}},
	{"decoder.generator", map[int]int{24: 512, 12: 256, 6: 128, 8: 128}},
	{"decoder.generator.conv_post", map[int]int{6: 128}},
	{"", map[int]int{24: 512, 12: 256, 48: 1024, 32: 640, 8: 128}},
}

// Published returns a network with the tensors of tiny, testdata's small one, in the
// published sizes. With brisk a symbol lasts some 60 ms, as in speech, and not the
// 0.7 s that random weights make of it. The same arguments give the same weights.
func Published(tiny *weights.Set, brisk bool) (*weights.Set, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	var normal [65537]float32 // as 82 M draws would take seconds; a prime, so no two rows are the same
	for i := range normal {
		normal[i] = float32(rng.NormFloat64())
	}
	var set weights.Set
	for x := range tiny.All() {
		var side map[int]int
		for _, w := range widths {
			if strings.HasPrefix(x.Name, w.prefix) {
				side = w.side
				break
			}
		}
		y := &weights.Tensor{Name: x.Name, Type: quant.F32}
		n, fan := 1, 1
		for i, d := range x.Shape {
			if i == 2 {
				// the taps of a convolution
			} else if to := side[d]; to > 0 && !(i == 0 && x.Name == "bert_encoder.weight") {
				d = to
			} else if i == 0 && strings.HasPrefix(x.Name, "bert_encoder") {
				d = 512
			}
			y.Shape = append(y.Shape, d)
			n *= d
			if i > 0 {
				fan *= d
			}
		}
		scale, one := float32(1/math.Sqrt(float64(fan))), float32(1)
		if len(x.Shape) == 1 {
			scale, one = 0.1*scale, 0.1
		}
		w := make([]float32, n)
		switch {
		case brisk && x.Name == "predictor.duration_proj.linear_layer.bias":
			fill(w, -3) // of a sigmoid: fifty of them make the frames of a symbol
		case strings.HasSuffix(x.Name, "weight_g") || strings.Contains(x.Name, "alpha") || strings.HasSuffix(x.Name, "LayerNorm.weight"):
			fill(w, one)
		default:
			at := rng.IntN(len(normal))
			for i := range w {
				w[i] = normal[at] * scale
				if at++; at == len(normal) {
					at = 0
				}
			}
		}
		y.Data = quant.Floats(w)
		if err := set.Add(y); err != nil {
			return nil, err
		}
	}
	return &set, nil
}

func fill(w []float32, v float32) {
	for i := range w {
		w[i] = v
	}
}
