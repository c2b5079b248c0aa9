package lm

import (
	"strings"
	"testing"

	"quern/engine"
	"quern/engine/graph"
)

// TestFitCache: layers with a window take what the sequences that run together see, not what
// they have read; where memory is short fewer windows are kept, but one request always fits.
func TestFitCache(t *testing.T) {
	const one = 8192 / BlockSize
	full, near := Pool{Bytes: 100}, Pool{Bytes: 500, Reach: graph.Reach{Window: 1024}}
	held := near.held()
	if held != 33 { // a window lies in 32 blocks, or begins within one
		t.Fatalf("a window of 1024 lies in %d blocks", held)
	}
	step := 512 / BlockSize
	for _, tt := range []struct {
		name       string
		pools      []Pool
		limit      int64
		room       int64 // cache_memory
		full, near int
	}{
		{"all see everything", []Pool{full}, 1 << 40, 0, 4 * one, 0},
		{"plenty", []Pool{full, near}, 1 << 40, 0, 4 * one, 8*held + step},
		{"what is left goes to what sees everything", []Pool{full, near}, 4 * (100*300 + 500*int64(8*held+step)), 0, 300, 8*held + step},
		{"fewer windows", []Pool{full, near}, 4 * (100*one + 500*int64(4*held+step)), 0, one, 4*held + step},
		{"no room", []Pool{full, near}, 1, 0, one, held + step},
		{"as asked for", []Pool{full, near}, 1, 100*one + 500*int64(held+step), one, held + step},
		{"nothing sees everything", []Pool{{}, near}, 1 << 40, 1 << 30, 4 * one, 8*held + step},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Estimate{Context: 8192}
			o := engine.ModelOptions{Slots: 4, Batch: 512, CacheBytes: tt.room}
			if err := s.FitCache("m", o, tt.pools, tt.limit); err != nil {
				t.Fatal(err)
			}
			if got := tt.pools[0].Blocks; got != tt.full {
				t.Errorf("%d blocks see everything, want %d", got, tt.full)
			}
			if len(tt.pools) > 1 && tt.pools[1].Blocks != tt.near {
				t.Errorf("%d blocks have a window, want %d", tt.pools[1].Blocks, tt.near)
			}
		})
	}
	o := engine.ModelOptions{Slots: 4, Batch: 512, CacheBytes: 100*one + 500*int64(held+step) - 1}
	if err := new(Estimate).fit8192(o, []Pool{full, near}); err == nil || !strings.Contains(err.Error(), "cache_memory") {
		t.Errorf("a byte less than one request takes: %v", err)
	}
}

func (s *Estimate) fit8192(o engine.ModelOptions, pools []Pool) error {
	s.Context = 8192
	return s.FitCache("m", o, pools, 1)
}
