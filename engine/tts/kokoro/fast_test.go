package kokoro

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"quern/engine/tts/kokoro/kokorotest"
	"quern/formats/weights"
	"quern/kernels/conv"
	"quern/kernels/threads"
)

// TestFastBlocks holds the generator's blocks of published size against the same
// ones with plain convolutions: the fixtures' channels are too few for fast ones.
func TestFastBlocks(t *testing.T) {
	var blocks weights.Set
	for x := range open(t, "kokoro-tiny.safetensors").All() {
		if strings.HasPrefix(x.Name, "decoder.generator.resblocks.") {
			_ = blocks.Add(x)
		}
	}
	set, err := kokorotest.Published(&blocks, false)
	if err != nil {
		t.Fatal(err)
	}
	pool := threads.NewPool(2)
	defer pool.Close()
	r := rand.New(rand.NewPCG(3, 4))
	style := make([]float32, 128)
	for i := range style {
		style[i] = 0.1 * float32(r.NormFloat64())
	}
	for i := range 6 { // of 3, 7 and 11 taps, twice
		cols := 256 >> (i / 3)
		x := plane{rows: 301, cols: cols, data: make([]float32, 301*cols)}
		for k := range x.data {
			x.data[k] = float32(r.NormFloat64())
		}
		var got [2][]float32
		for j, fast := range []*conv.FastConv{nil, {}} {
			l := &loader{set: set, fast: fast, memory: &memory{}}
			defer l.memory.free()
			b := l.snakeBlock(fmt.Sprintf("decoder.generator.resblocks.%d", i), cols, len(style))
			if l.err != nil {
				t.Fatal(l.err)
			}
			got[j] = slices.Clone(x.data)
			c := &call{ctx: context.Background(), pool: pool, yield: func() {}, arena: &arena{}}
			defer c.arena.free()
			if err := b.apply(c, plane{rows: x.rows, cols: cols, data: got[j]}, style); err != nil {
				t.Fatal(err)
			}
		}
		d := far(got[1], got[0])
		if !(d <= 1e-5) {
			t.Errorf("block %d is off by %.1e, want 1e-5", i, d)
		}
		t.Logf("block %d: %.1e", i, d)
	}
}
