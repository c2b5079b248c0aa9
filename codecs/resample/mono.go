package resample

import (
	"fmt"
	"slices"
)

// weights lists, by number of channels in WAVE order, what each one counts in
// the mix. Up to two it is the mean. Beyond, front left and right get 1/√2, the
// centre 1, surrounds 1/2 and the LFE nothing, as ITU-R BS.775-3 folds down
// (its table 2, left and right added). Weights are scaled to a sum of 1.
var weights = [9][]float32{
	1: {1},
	2: {1, 1},
	3: {.7071, .7071, 1},
	4: {.7071, .7071, .5, .5},
	5: {.7071, .7071, 1, .5, .5},
	6: {.7071, .7071, 1, 0, .5, .5},
	7: {.7071, .7071, 1, 0, .5, .5, .5},
	8: {.7071, .7071, 1, 0, .5, .5, .5, .5},
}

// Mono appends to dst one sample for each interleaved frame of src. More than
// eight channels count alike.
func Mono(dst, src []float32, channels int) []float32 {
	if channels <= 0 || len(src)%channels != 0 {
		panic(fmt.Sprintf("resample: Mono of %d samples with %d channels", len(src), channels))
	}
	switch channels {
	case 1:
		return append(dst, src...)
	case 2:
		n := len(dst)
		dst = slices.Grow(dst, len(src)/2)[:n+len(src)/2]
		for i := range dst[n:] {
			dst[n+i] = (src[2*i] + src[2*i+1]) / 2
		}
		return dst
	}
	var w []float32
	if channels < len(weights) {
		w = weights[channels]
	}
	total := float32(0)
	for c := range channels {
		if w == nil {
			total++
		} else {
			total += w[c]
		}
	}
	for ; len(src) > 0; src = src[channels:] {
		sum := float32(0)
		for c, v := range src[:channels] {
			if w != nil {
				v *= w[c]
			}
			sum += v
		}
		dst = append(dst, sum/total)
	}
	return dst
}
