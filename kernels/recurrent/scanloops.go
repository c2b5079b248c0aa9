package recurrent

// The inner loops of the scans: whole vectors by assembly where there is some, which says how
// many it did, and what is left here. An element's bits depend on its index and the CPU level.

// decay does row ← row·by; sum ← sum + row·x.
func decay(row, sum []float32, by, x float32) {
	for i := decayFast(row, sum, by, x); i < len(row); i++ {
		row[i] *= by
		sum[i] += row[i] * x
	}
}

// learn does row ← row + delta·x; sum ← sum + row·y.
func learn(row, delta, sum []float32, x, y float32) {
	for i := learnFast(row, delta, sum, x, y); i < len(row); i++ {
		row[i] += delta[i] * x
		sum[i] += row[i] * y
	}
}

// tap does dst ← dst + w·x.
func tap(dst, w, x []float32) {
	for i := tapFast(dst, w, x); i < len(dst); i++ {
		dst[i] += w[i] * x[i]
	}
}

// step does row ← row·by + b·x and returns Σ row·c.
func step(row, b, c []float32, by, x float32) float32 {
	done, sum := stepFast(row, b, c, by, x)
	for i := done; i < len(row); i++ {
		row[i] = row[i]*by + b[i]*x
		sum += row[i] * c[i]
	}
	return sum
}
