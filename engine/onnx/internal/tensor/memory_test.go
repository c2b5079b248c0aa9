package tensor

import (
	"testing"

	"quern/formats/onnx"
)

// Runs over inputs of ever other lengths leave no more spare memory than half of what one
// of them needs.
func TestSpareMemory(t *testing.T) {
	m := Memory{Limit: 1 << 30}
	for run := range 40 {
		n := (1 + run*7%16) << 12
		for range 3 { // nine values, three at a time
			mark := m.Mark()
			for range 3 {
				m.Blank(onnx.Float, n)
			}
			m.Settle(mark)
			n += n / 3
		}
		peak := max(m.peak, m.last)
		m.Reset()
		if m.spare > peak*3/2 {
			t.Fatalf("run %d: %d bytes are spare, %d were needed at a time", run, m.spare, peak)
		}
	}
}
