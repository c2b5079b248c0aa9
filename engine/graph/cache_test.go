package graph

import (
	"testing"

	"quern/kernels/quant"
)

// What a token takes: latents are kept once, values beside keys, and layers of a pool count
// for its blocks only.
func TestCacheBytes(t *testing.T) {
	s := CacheSpec{
		Layers: []CacheLayer{{KVHeads: 1, HeadDim: 576, Latent: 512}, {KVHeads: 2, HeadDim: 64}, {KVHeads: 2, HeadDim: 64, Near: 1}, {}},
		Blocks: 10, BlockSize: 32, Near: []Near{{Reach{Window: 64}, 3}}, Type: quant.F16, State: 5, States: 2,
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	for l, want := range []int64{1152 * 32, 512 * 32, 512 * 32, 0} {
		if got, ok := s.LayerBytes(l); got != want || !ok {
			t.Errorf("a block takes %d bytes in layer %d, %v; want %d", got, l, ok, want)
		}
	}
	if got, want := s.Bytes(), int64(10*(1152+512)*32+3*512*32+4*5*2); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	for name, spoil := range map[string]func(*CacheSpec){
		"two latent heads":        func(s *CacheSpec) { s.Layers[0].KVHeads = 2 },
		"values wider than keys":  func(s *CacheSpec) { s.Layers[0].Latent = 600 },
		"a pool that is not":      func(s *CacheSpec) { s.Layers[1].Near = 2 },
		"a pool without blocks":   func(s *CacheSpec) { s.Near[0].Blocks = 0 },
		"a pool that sees all":    func(s *CacheSpec) { s.Near[0].Reach = Reach{} },
		"values cut within Q8_0":  func(s *CacheSpec) { s.Type, s.Layers[0].Latent = quant.Q8_0, 500 },
		"a head without a number": func(s *CacheSpec) { s.Layers[1].HeadDim = 0 },
	} {
		bad := s
		bad.Layers, bad.Near = append([]CacheLayer(nil), s.Layers...), append([]Near(nil), s.Near...)
		spoil(&bad)
		if bad.Check() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// Reach.First and the rows of a window or chunk.
func TestReach(t *testing.T) {
	for _, tt := range []struct {
		r           Reach
		pos, first  int
		description string
	}{
		{Reach{}, 100, 0, "everything"},
		{Reach{Window: 4}, 2, 0, "a window of 4"}, {Reach{Window: 4}, 3, 0, "a window of 4"}, {Reach{Window: 4}, 4, 1, "a window of 4"},
		{Reach{Chunk: 4}, 3, 0, "chunks of 4"}, {Reach{Chunk: 4}, 4, 4, "chunks of 4"}, {Reach{Chunk: 4}, 11, 8, "chunks of 4"},
	} {
		if got := tt.r.First(tt.pos); got != tt.first || tt.r.String() != tt.description {
			t.Errorf("%v: row %d sees from %d, want %d of %s", tt.r, tt.pos, got, tt.first, tt.description)
		}
	}
}
