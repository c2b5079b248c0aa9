package onnx

import (
	"slices"

	"quern/formats/onnx"
)

// inside returns an index that may count from the end as one from the start.
func inside(i int64, n int) int {
	if i < -int64(n) || i >= int64(n) {
		fail("%w: index %d of %d", onnx.ErrFormat, i, n)
	}
	if i < 0 {
		i += int64(n)
	}
	return int(i)
}

// upTo returns 0, 1, … n-1.
func upTo(n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return at
}

// split returns the elements before axis, along it and after it.
func split(shape []int, axis int) (outer, n, inner int) {
	return count(shape[:axis]), shape[axis], count(shape[axis+1:])
}

// count returns the product of shape, within the limits.
func count(shape []int) int {
	if len(shape) > maxRank {
		fail("%w: rank %d, limit %d", onnx.ErrUnsupported, len(shape), maxRank)
	}
	n := 1
	for _, d := range shape {
		if d < 0 {
			fail("%w: shape %d", onnx.ErrFormat, shape)
		}
		if d == 0 {
			return 0
		}
	}
	for _, d := range shape {
		if d > maxElems/n {
			fail("%w: shape %d has more than %d elements", onnx.ErrUnsupported, shape, maxElems)
		}
		n *= d
	}
	return n
}

// strides returns the steps of a row-major shape.
func strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// walk returns base + Σ coordinate·step for every coordinate of shape in
// row-major order.
func walk(shape, step []int, base int) []int {
	at := make([]int, 0, count(shape))
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

// broadcast returns the shape two shapes broadcast to.
func broadcast(a, b []int) []int {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := append([]int{}, a...)
	for i, d := range b {
		switch o := &out[len(a)-len(b)+i]; {
		case *o == 1:
			*o = d
		case d != 1 && d != *o:
			fail("%w: shapes %d and %d do not broadcast", onnx.ErrFormat, a, b)
		}
	}
	return out
}

// spread returns the elements of shape for each of out, nil if they are the same.
func spread(shape, out []int) []int {
	if len(shape) == len(out) {
		same := true
		for i := range out {
			same = same && shape[i] == out[i]
		}
		if same {
			return nil
		}
	}
	return walk(out, spreadSteps(shape, out), 0)
}

// spreadSteps returns the strides with which a tensor of shape is read as one of
// shape out, which it must broadcast to.
func spreadSteps(shape, out []int) []int {
	if len(shape) > len(out) {
		fail("%w: shape %d as %d", onnx.ErrFormat, shape, out)
	}
	step := make([]int, len(out))
	for i, s := range strides(shape) {
		switch d := len(out) - len(shape) + i; {
		case shape[i] == out[d]:
			step[d] = s
		case shape[i] != 1:
			fail("%w: shape %d as %d", onnx.ErrFormat, shape, out)
		}
	}
	return step
}

// axis checks an axis that may count from the end.
func axis(a, rank int) int {
	if a < -rank || a >= rank {
		fail("%w: axis %d of rank %d", onnx.ErrFormat, a, rank)
	}
	if a < 0 {
		a += rank
	}
	return a
}

func ones(n int) []int { return slices.Repeat([]int{1}, n) }

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// pickOr returns element i of a list that may be shorter.
func pickOr(list []int, i, missing int) int {
	if i < len(list) {
		return list[i]
	}
	return missing
}
