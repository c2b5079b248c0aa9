// Package stat holds what several benchmarks do with their numbers.
package stat

import (
	"math"
	"slices"
)

// Values returns one quantity of all runs in ascending order.
func Values[T any](runs []T, of func(T) float64) []float64 {
	var out []float64
	for _, m := range runs {
		out = append(out, of(m))
	}
	slices.Sort(out)
	return out
}

// Median takes numbers in any order.
func Median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Furthest returns the largest difference of two results, by the root of the mean
// square of the second.
func Furthest(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	most, square := 0.0, 0.0
	for i, v := range b {
		d := math.Abs(float64(a[i]) - float64(v))
		if !(d <= most) {
			most = d
		}
		square += float64(v) * float64(v)
	}
	return most / math.Sqrt(square/float64(len(b)))
}
