package asr

import (
	"math"

	"quern/engine/graph"
)

// eps is the ε of every norm.
const eps = 1e-5

// framesPerPlace is how many mel frames become one place of the encoder.
const framesPerPlace = 2

// A part names a value of the encoder, for tests.
type part struct {
	name  string
	value graph.Value
}

// recordEncoder records the encoder over one window: mel frames in pairs to
// states, of which every layer of the decoder keeps its keys and values in the
// cache. The result is the states.
//
// Radford et al., 2022, §2.2; names as in whisper's model.py.
func recordEncoder(b *graph.Builder, c *config, p *parameters, note func(part)) graph.Value {
	s := c.encoder
	x := b.Conv1D(b.Features(framesPerPlace*c.mels), graph.Conv1D{Weight: p.conv1, Bias: p.conv1Bias, Steps: 2, Stride: 1})
	x = b.Activate(x, graph.GELU)
	note(part{"conv1", x})
	x = b.Activate(b.Conv1D(x, graph.Conv1D{Weight: p.conv2, Bias: p.conv2Bias, Steps: 2, Stride: 2}), graph.GELU)
	note(part{"conv2", x})
	x = b.Add(x, b.Embed(b.Positions(), p.places))
	for i := range p.encoder {
		l := &p.encoder[i]
		q, k, v := project(b, &l.self, b.LayerNorm(x, l.self.norm, l.self.normBias, eps))
		a := b.DenseAttention(q, k, v, graph.DenseAttention{Heads: s.heads, HeadDim: s.headDim(), Scale: scale(s)})
		x = b.Add(x, b.Linear(a, l.self.o, l.self.bias))
		x = feedForward(b, l, x)
		note(part{"block", x})
	}
	x = b.LayerNorm(x, p.post, p.postBias, eps)
	for i := range p.decoder {
		a := &p.decoder[i].cross
		x = b.Store(x, b.Linear(x, a.k, nil), b.Linear(x, a.v, a.vBias), i)
	}
	return x
}

// recordDecoder records the decoder over tokens of any number of windows and
// returns the logits of the wanted rows and, of the heads of, the scores that
// cross-attention has before softmax, layer by layer.
func recordDecoder(b *graph.Builder, c *config, p *parameters, of []head) (logits graph.Value, scores []graph.Value) {
	s := c.decoder
	x := b.Add(b.Embed(b.Tokens(), p.tokens), b.Embed(b.Positions(), p.positions))
	for i := range p.decoder {
		l := &p.decoder[i]
		q, k, v := project(b, &l.self, b.LayerNorm(x, l.self.norm, l.self.normBias, eps))
		a := b.Attention(q, k, v, graph.Attention{Layer: i, Heads: s.heads, KVHeads: s.heads, HeadDim: s.headDim(), Scale: scale(s)})
		x = b.Add(x, b.Linear(a, l.self.o, l.self.bias))

		q = b.Linear(b.LayerNorm(x, l.cross.norm, l.cross.normBias, eps), l.cross.q, l.cross.qBias)
		cross := graph.CrossAttention{Layer: i, Heads: s.heads, HeadDim: s.headDim(), Tokens: c.encoder.places, Scale: scale(s)}
		if heads := inLayer(of, i); len(heads) > 0 {
			scores = append(scores, b.CrossScores(q, graph.CrossScores{CrossAttention: cross, Of: heads}))
		}
		x = b.Add(x, b.Linear(b.CrossAttention(q, cross), l.cross.o, l.cross.bias))
		x = feedForward(b, l, x)
	}
	x = b.LayerNorm(b.Take(x, b.Wanted()), p.last, p.lastBias, eps)
	return b.Linear(x, p.tokens, nil), scores
}

func project(b *graph.Builder, a *attention, h graph.Value) (q, k, v graph.Value) {
	return b.Linear(h, a.q, a.qBias), b.Linear(h, a.k, nil), b.Linear(h, a.v, a.vBias)
}

func feedForward(b *graph.Builder, l *block, x graph.Value) graph.Value {
	h := b.Linear(b.LayerNorm(x, l.norm, l.normBias, eps), l.up, l.upBias)
	return b.Add(x, b.Linear(b.Activate(h, graph.GELU), l.down, l.downBias))
}

// scale is that of the scores. The reference multiplies queries and keys by its
// root each, which half precision needs and float32 does not.
func scale(s stack) float32 { return float32(1 / math.Sqrt(float64(s.headDim()))) }

// inLayer returns the heads of one layer.
func inLayer(of []head, layer int) []int {
	var list []int
	for _, h := range of {
		if h.layer == layer {
			list = append(list, h.head)
		}
	}
	return list
}
