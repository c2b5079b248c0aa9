package speakers

import "context"

// KMeans divides vectors among k clusters so that each is with the nearest mean: the
// start is the vectors farthest from those chosen before. There are fewer clusters where
// there are fewer vectors.
//
// Gonzalez, "Clustering to minimize the maximum intercluster distance", 1985; Lloyd,
// "Least squares quantization in PCM", 1982.
func KMeans(ctx context.Context, x [][]float32, k int) ([]int, error) {
	labels := make([]int, len(x))
	k = min(k, len(x))
	if k < 2 {
		return labels, nil
	}
	apart := func(a, b []float32) (sum float64) {
		for i, v := range a {
			e := float64(v) - float64(b[i])
			sum += e * e
		}
		return sum
	}
	means := [][]float32{x[0]}
	far := make([]float64, len(x))
	for i := range x {
		far[i] = apart(x[i], x[0])
	}
	for len(means) < k {
		next := 0
		for i := range x {
			if far[i] > far[next] {
				next = i
			}
		}
		means = append(means, x[next])
		for i := range x {
			far[i] = min(far[i], apart(x[i], x[next]))
		}
	}
	const rounds = 100
	for range rounds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		moved := false
		for i, v := range x {
			best := labels[i]
			for c, m := range means {
				if apart(v, m) < apart(v, means[best]) {
					best = c
				}
			}
			moved = moved || best != labels[i]
			labels[i] = best
		}
		if !moved {
			break
		}
		for c, m := range Means(x, labels) {
			if norm(m) > 0 { // else nothing is left of it
				means[c] = m
			}
		}
	}
	return renumber(labels), nil
}
