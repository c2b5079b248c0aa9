package graph

import "fmt"

// LatentAttention writes the batch's keys to layer Layer of the cache and attends causally
// over each row's sequence so far. All heads share one key, whose first Values numbers are
// its value: nothing else is kept. Inputs: q (rows, Heads·HeadDim), k (rows, HeadDim).
// Result: (rows, Heads·Values).
// DeepSeek-AI, "DeepSeek-V2", 2024, §2.1, with the projections of keys and values of each head
// absorbed into queries and results.
type LatentAttention struct {
	Layer, Heads    int
	HeadDim, Values int     // of a key, and of these its value
	Scale           float32 // of the scores, before softmax
}

func (o LatentAttention) Out(in ...Shape) (Shape, error) {
	if o.Heads <= 0 || o.Values <= 0 || o.HeadDim <= o.Values {
		return nil, fmt.Errorf("latent attention: %d heads of %d with values of %d", o.Heads, o.HeadDim, o.Values)
	}
	rows := in[0][0]
	if q, k := (Shape{rows, o.Heads * o.HeadDim}), (Shape{rows, o.HeadDim}); !in[0].equal(q) || !in[1].equal(k) {
		return nil, fmt.Errorf("latent attention: q %v, k %v; want %v, %v", in[0], in[1], q, k)
	}
	return Shape{rows, o.Heads * o.Values}, nil
}

func (b *Builder) LatentAttention(q, k Value, o LatentAttention) Value { return b.apply(o, q, k) }
