package tensor

import (
	"slices"
)

// Inside returns an index that may count from the end as one from the start.
func Inside(i int64, n int) int {
	if i < -int64(n) || i >= int64(n) {
		Malformed("index %d of %d", i, n)
	}
	if i < 0 {
		i += int64(n)
	}
	return int(i)
}

// UpTo returns 0, 1, … n-1.
func UpTo(n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return at
}

// Split returns the elements before axis, along it and after it.
func Split(shape []int, axis int) (outer, n, inner int) {
	return Count(shape[:axis]), shape[axis], Count(shape[axis+1:])
}

// Cut returns the elements before dimension a, which may count from the end or be
// the rank, and from there on.
func Cut(shape []int, a int) (before, after int) {
	if a < 0 {
		a += len(shape)
	}
	if a < 0 || a > len(shape) {
		Malformed("axis %d of rank %d", a, len(shape))
	}
	return Count(shape[:a]), Count(shape[a:])
}

// Count returns the product of shape, within the limits.
func Count(shape []int) int {
	if len(shape) > MaxRank {
		Unsupported("rank %d, limit %d", len(shape), MaxRank)
	}
	n := 1
	for _, d := range shape {
		if d < 0 {
			Malformed("shape %d", shape)
		}
		if d == 0 {
			return 0
		}
	}
	for _, d := range shape {
		if d > MaxElems/n {
			Unsupported("shape %d has more than %d elements", shape, MaxElems)
		}
		n *= d
	}
	return n
}

// Strides returns the steps of a row-major shape.
func Strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// Walk returns base + Σ coordinate·step for every coordinate of shape in
// row-major order.
func Walk(shape, step []int, base int) []int {
	at := make([]int, 0, Count(shape))
	if cap(at) == 0 {
		return at
	}
	pos := make([]int, len(shape))
	for {
		at = append(at, base)
		d := len(shape) - 1
		for ; d >= 0; d-- {
			base += step[d]
			if pos[d]++; pos[d] < shape[d] {
				break
			}
			base -= step[d] * shape[d]
			pos[d] = 0
		}
		if d < 0 {
			return at
		}
	}
}

// Broadcast returns the shape two shapes broadcast to.
func Broadcast(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := append([]int{}, a...)
	for i, d := range b {
		switch o := &out[len(a)-len(b)+i]; {
		case *o == 1:
			*o = d
		case d != 1 && d != *o:
			Malformed("shapes %d and %d do not broadcast", a, b)
		}
	}
	return out
}

// Spread returns the elements of shape for each of out, nil if they are the same.
func Spread(shape, out []int) []int {
	if len(shape) == len(out) {
		same := true
		for i := range out {
			same = same && shape[i] == out[i]
		}
		if same {
			return nil
		}
	}
	return Walk(out, SpreadSteps(shape, out), 0)
}

// SpreadSteps returns the strides with which a tensor of shape is read as one of
// shape out, which it must broadcast to.
func SpreadSteps(shape, out []int) []int {
	if len(shape) > len(out) {
		Malformed("shape %d as %d", shape, out)
	}
	step := make([]int, len(out))
	for i, s := range Strides(shape) {
		switch d := len(out) - len(shape) + i; {
		case shape[i] == out[d]:
			step[d] = s
		case shape[i] != 1:
			Malformed("shape %d as %d", shape, out)
		}
	}
	return step
}

// Axis checks an axis that may count from the end.
func Axis(a, rank int) int {
	if a < -rank || a >= rank {
		Malformed("axis %d of rank %d", a, rank)
	}
	if a < 0 {
		a += rank
	}
	return a
}

// Ones returns n times 1.
func Ones(n int) []int { return slices.Repeat([]int{1}, n) }

// Fill sets every element to v.
func Fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// PickOr returns element i of a list that may be shorter.
func PickOr(list []int, i, missing int) int {
	if i < len(list) {
		return list[i]
	}
	return missing
}
