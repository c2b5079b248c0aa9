package codecs_test

import (
	"bytes"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"quern/codecs"
	"quern/codecs/internal/audiotest"
)

// Damaged files must neither hang nor take much memory. The heap of the whole
// process bounds what any one of them took.
func TestHostile(t *testing.T) {
	variants := 60
	if testing.Short() {
		variants = 10
	}
	rng := rand.New(rand.NewPCG(1, 2))
	slowest, slowestFile := time.Duration(0), ""
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
			start := time.Now()
			s, err := codecs.Open(bytes.NewReader(b), codecs.Options{MaxDuration: 10 * time.Second})
			if err != nil {
				continue
			}
			m, err := codecs.NewMono(s, 16000)
			if err != nil {
				continue
			}
			buf := make([]float32, 16000)
			for err == nil {
				_, err = m.Read(buf)
			}
			if took := time.Since(start); took > slowest {
				slowest, slowestFile = took, tt.path
			}
		}
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	t.Logf("heap %d MiB, slowest %v (%s)", mem.HeapSys>>20, slowest, slowestFile)
	if mem.HeapSys > 256<<20 {
		t.Errorf("the heap grew to %d MiB", mem.HeapSys>>20)
	}
	if slowest > 20*time.Second {
		t.Errorf("a variant of %s took %v", slowestFile, slowest)
	}
}
