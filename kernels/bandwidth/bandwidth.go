// Package bandwidth measures how fast memory is read: the bound on decoding, where every
// token reads every weight once.
//
// Its reader does nothing with the bytes but combine them, and reads as memory likes it
// best: several streams at once, each fetched ahead. So what it finds is a bound on the
// kernels, and not one of them.
package bandwidth

import (
	"encoding/binary"
	"time"

	"quern/kernels/threads"
)

// A chunk is read by one worker as four streams of a quarter each.
const (
	chunk   = 256 << 10
	streams = 4
	line    = 64
)

// passes is how often Measure reads everything. The fastest counts: what disturbs a pass
// can only slow it down.
const passes = 4

// Measure returns the bytes a second that the pool's workers read of data together, 0 if
// there is not a chunk of 256 KiB in it. Data that fits in the caches is read from there.
func Measure(pool *threads.Pool, data [][]byte) float64 {
	var chunks [][]byte
	for _, d := range data {
		for len(d) >= chunk {
			chunks, d = append(chunks, d[:chunk]), d[chunk:]
		}
	}
	if len(chunks) == 0 {
		return 0
	}
	mixes := make([][line / 8]uint64, pool.Workers()) // a cache line each
	region := &threads.Region{F: func(w, c int) { mixes[w][0] ^= Read(chunks[c]) }}
	best := 0.0
	for range passes {
		start := time.Now()
		pool.Run(len(chunks), region)
		best = max(best, float64(len(chunks)*chunk)/time.Since(start).Seconds())
	}
	return best
}

// Read reads all of b and returns the exclusive or of its 64-bit words, little-endian, of
// which the last is filled up with zeros.
func Read(b []byte) uint64 {
	n, mix := read(b)
	return mix ^ readGo(b[n:])
}

// readGo is Read in Go.
func readGo(b []byte) (mix uint64) {
	for ; len(b) >= 8; b = b[8:] {
		mix ^= binary.LittleEndian.Uint64(b)
	}
	for i, v := range b {
		mix ^= uint64(v) << (8 * i)
	}
	return mix
}
