package tensor

import "quern/formats/onnx"

// leastHalves is the number of elements from which a constant stays as its file has it.
var leastHalves = 1 << 16

// Halves returns a constant of floats of 16 bits as float32, whose numbers are widened when
// they are read: a large one takes twice its file's bytes otherwise, beside what is laid
// out of it for products.
func Halves(f *onnx.Tensor) (*Tensor, error) {
	if n := Count(f.Shape); n < leastHalves || len(f.Data) != 2*n {
		t, err := FromFile(f)
		if err == nil {
			t.Type = onnx.Float
		}
		return t, err
	}
	return &Tensor{Type: onnx.Float, Shape: append([]int{}, f.Shape...), halves: f.Data, halvesOf: f.Type}, nil
}

// AreHalves reports whether t's numbers are still to be widened.
func (t *Tensor) AreHalves() bool { return t.halves != nil }

// Floats returns the numbers of float32, of halves widened for the caller alone.
func (t *Tensor) Floats() []float32 {
	if !t.AreHalves() {
		return t.F
	}
	x := make([]float32, len(t.halves)/2)
	decodeAll(x, t.halvesOf, t.halves, 16)
	return x
}

// Widen widens halves for good.
func (t *Tensor) Widen() { t.F, t.halves = t.Floats(), nil }
