package codecs_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"quern/bench/fixtures"
	"quern/codecs"
	"quern/codecs/internal/audiotest"
)

// Damaged files must neither be read again and again, nor give more than
// they may, nor take much memory. The heap of the whole
// process bounds what any one of them took.
func TestHostile(t *testing.T) {
	variants := 10
	if fixtures.Whole {
		variants = 60
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range testFiles {
		whole := audiotest.ReadFile(t, filepath.FromSlash(tt.path))
		for range variants {
			b := bytes.Clone(whole)
			for range 1 + rng.IntN(8) {
				at := rng.IntN(len(b))
				switch rng.IntN(4) {
				case 0:
					b[at] = byte(rng.Uint32())
				case 1:
					b[at] = 0xff
				case 2:
					copy(b[at:], b[rng.IntN(len(b)):])
				case 3:
					b = b[:max(at, 1)]
				}
			}
			src := &counted{Reader: bytes.NewReader(b)}
			s, err := codecs.Open(src, codecs.Options{MaxDuration: 10 * time.Second})
			if err != nil {
				continue
			}
			m, err := codecs.NewMono(s, 16000)
			if err != nil {
				continue
			}
			buf := make([]float32, 16000)
			reads, samples := 0, 0
			for n := 0; err == nil; reads++ {
				n, err = m.Read(buf)
				samples += n
			}
			if samples > 11*16000 || reads > 11*16000 {
				t.Fatalf("%s: %d samples in %d reads, want ten seconds", tt.path, samples, reads)
			}
			if src.bytes > 4*len(whole)+1<<17 || src.calls > len(whole)+1000 {
				t.Errorf("%s of %d bytes: %d bytes in %d reads", tt.path, len(whole), src.bytes, src.calls)
			}
		}
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("heap %d MiB", mem.HeapSys>>20)
	if mem.HeapSys > 256<<20 {
		t.Errorf("the heap grew to %d MiB", mem.HeapSys>>20)
	}
}

// counted counts what is read of a file.
type counted struct {
	*bytes.Reader
	calls, bytes int
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.calls, c.bytes = c.calls+1, c.bytes+n
	return n, err
}
