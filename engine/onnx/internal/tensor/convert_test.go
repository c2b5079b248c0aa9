package tensor

import (
	"math"
	"testing"

	"quern/formats/onnx"
)

// TestRoundAll compares the rounding of many numbers with that of one, for bits all
// over float32.
func TestRoundAll(t *testing.T) {
	for _, typ := range []onnx.DType{
		onnx.Float, onnx.Float16, onnx.BFloat16, onnx.Float8E4M3FN, onnx.Float8E5M2, onnx.Float8E8M0, onnx.Float4E2M1,
	} {
		for bits := uint32(0); bits < 1<<32-40_009; bits += 40_009 {
			v := math.Float32frombits(bits)
			got := []float32{v}
			RoundAll(typ, got)
			want := float32(Round(typ, float64(v)))
			if math.Float32bits(got[0]) != math.Float32bits(want) && (got[0] == got[0] || want == want) {
				t.Fatalf("%v: %g (bits %#x) becomes %g, want %g", typ, v, bits, got[0], want)
			}
		}
	}
}
