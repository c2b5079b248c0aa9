package ml

import (
	"math"
	"slices"

	"quern/engine/onnx/internal/run"
	"quern/engine/onnx/internal/tensor"
	"quern/formats/onnx"
)

// An svm is what support vector machines have in common: vectors, how features
// are compared with them, and coefficients.
type svm struct {
	vectors, coefficients, rho []float32
	count, width               int // of the vectors
	kernel                     func(dot, square float64) float64
}

// readSVM reads the attributes of a machine with a number of vectors. Without any,
// coefficients are vectors of their own, lines of them.
func readSVM(c *run.Call, count, lines int) *svm {
	s := &svm{vectors: floatsAttr(c, "support_vectors"), coefficients: floatsAttr(c, "coefficients"), rho: floatsAttr(c, "rho"), count: count}
	p := floatsAttr(c, "kernel_params") // gamma, coef0, degree
	if len(p) == 0 {
		p = []float32{0, 0, 0}
	}
	if len(p) < 3 || len(s.rho) == 0 || len(s.coefficients) == 0 || count < 0 || lines < 1 {
		tensor.Malformed("%s with %d parameters, %d coefficients and %d rho", c.Node.Op, len(p), len(s.coefficients), len(s.rho))
	}
	gamma, zero, degree := float64(p[0]), float64(p[1]), float64(p[2])
	kind := c.Text("kernel_type", "LINEAR")
	if count == 0 {
		s.vectors, s.count, kind = s.coefficients, lines, "LINEAR"
	}
	kinds := map[string]func(dot, square float64) float64{
		"LINEAR":  func(dot, _ float64) float64 { return dot },
		"POLY":    func(dot, _ float64) float64 { return math.Pow(gamma*dot+zero, degree) },
		"RBF":     func(_, square float64) float64 { return math.Exp(-gamma * square) },
		"SIGMOID": func(dot, _ float64) float64 { return math.Tanh(gamma*dot + zero) },
	}
	if s.kernel = kinds[kind]; s.kernel == nil {
		tensor.Malformed("kernel_type %.20q", kind)
	}
	s.width = len(s.vectors) / s.count
	if s.width*s.count != len(s.vectors) || s.width == 0 {
		tensor.Malformed("%d numbers in %d vectors", len(s.vectors), s.count)
	}
	return s
}

// compare writes how near row r of x is to every vector.
func (s *svm) compare(dst []float64, x *tensor.Tensor, r int) {
	for v := range dst {
		dot, square := 0.0, 0.0
		for i, w := range s.vectors[v*s.width : (v+1)*s.width] {
			f := x.At(r*s.width + i)
			d := f - float64(w)
			dot += f * float64(w)
			square += d * d
		}
		dst[v] = s.kernel(dot, square)
	}
}

// svmFeatures is features, of the width of vectors.
func svmFeatures(c *run.Call, s *svm) (x *tensor.Tensor, rows int) {
	x, rows, n := features(c)
	if n != s.width {
		tensor.Malformed("%d features for vectors of %d", n, s.width)
	}
	return x, rows
}

// svmRegressor is a sum over support vectors, or its sign for a machine of one
// class.
func svmRegressor(c *run.Call) []*tensor.Tensor {
	supports := c.Int("n_supports", 0)
	s := readSVM(c, supports, 1)
	x, rows := svmFeatures(c, s)
	if supports > 0 && len(s.coefficients) != supports {
		tensor.Malformed("%d coefficients for %d vectors", len(s.coefficients), supports)
	}
	out := c.Blank(onnx.Float, rows, 1)
	byBlocks(c, rows, s.count*s.width, func(from, to int) {
		near := make([]float64, s.count)
		for r := from; r < to; r++ {
			s.compare(near, x, r)
			sum := float64(s.rho[0])
			for i, v := range near {
				if supports > 0 {
					v *= float64(s.coefficients[i])
				}
				sum += v
			}
			if c.Int("one_class", 0) != 0 {
				sum = math.Copysign(1, sum)
			}
			out.F[r] = float32(sum)
		}
	})
	return run.One(out)
}

// svmClassifier lets every two classes vote, or scores classes by lines.
//
// Chang & Lin, "LIBSVM: A Library for Support Vector Machines", 2011, sec. 7 and 8.
func svmClassifier(c *run.Call) []*tensor.Tensor {
	labels, per := labels(c, "classlabels_ints"), c.List("vectors_per_class", -1)
	classes, supports := labels.Len(), 0
	first := make([]int, len(per)) // vector of a class
	for i, n := range per {
		if n < 0 || n > tensor.MaxElems {
			tensor.Malformed("%d vectors of a class", n)
		}
		first[i] = supports
		supports += n
	}
	s := readSVM(c, supports, classes)
	x, rows := svmFeatures(c, s)
	post := c.Text("post_transform", "NONE")
	if supports == 0 {
		out, label := c.Blank(onnx.Float, rows, classes), make([]int, rows)
		byBlocks(c, rows, classes*s.width, func(from, to int) {
			near := make([]float64, classes)
			for r := from; r < to; r++ {
				s.compare(near, x, r)
				row := out.F[r*classes : (r+1)*classes]
				for i, v := range near {
					row[i] = float32(v + float64(s.rho[0]))
				}
				label[r] = best(row)
				transform(post, row)
			}
		})
		return []*tensor.Tensor{labels.Pick(label, rows), out}
	}
	pairs := classes * (classes - 1) / 2
	probA, probB := floatsAttr(c, "prob_a"), floatsAttr(c, "prob_b")
	if len(per) != classes || classes < 2 || len(s.coefficients) != (classes-1)*supports || len(s.rho) < pairs ||
		len(probA) != len(probB) || len(probA) > 0 && len(probA) < pairs {
		tensor.Malformed("%d coefficients, %d rho and %d probabilities for %d vectors of %d classes", len(s.coefficients), len(s.rho), len(probA), supports, classes)
	}
	width := pairs
	if len(probA) > 0 || classes == 2 {
		width = classes
	}
	out, label := c.Blank(onnx.Float, rows, width), make([]int, rows)
	byBlocks(c, rows, s.count*s.width, func(from, to int) {
		near, scores, votes := make([]float64, supports), make([]float64, pairs), make([]int, classes)
		for r := from; r < to; r++ {
			s.compare(near, x, r)
			clear(votes)
			p := 0
			for i := range classes {
				for j := i + 1; j < classes; j++ {
					sum := float64(s.rho[p])
					for k := first[i]; k < first[i]+per[i]; k++ {
						sum += float64(s.coefficients[(j-1)*supports+k]) * near[k]
					}
					for k := first[j]; k < first[j]+per[j]; k++ {
						sum += float64(s.coefficients[i*supports+k]) * near[k]
					}
					if scores[p] = sum; sum > 0 {
						votes[i]++
					} else {
						votes[j]++
					}
					p++
				}
			}
			label[r] = slices.Index(votes, slices.Max(votes))
			row := out.F[r*width : (r+1)*width]
			switch {
			case len(probA) > 0:
				for i, v := range coupled(scores, probA, probB, classes) {
					row[i] = float32(v)
				}
				transform(post, row)
			case classes == 2 && post == "NONE":
				row[0], row[1] = float32(-scores[0]), float32(scores[0])
			case classes == 2:
				row[0], row[1] = 1-float32(scores[0]), float32(scores[0])
			default:
				for i, v := range scores {
					row[i] = float32(v)
				}
				transform(post, row)
			}
		}
	})
	return []*tensor.Tensor{labels.Pick(label, rows), out}
}

// coupled returns the probabilities of classes whose pairs have those of the
// logistic function of their scores.
//
// Wu, Lin & Weng, "Probability Estimates for Multi-class Classification by
// Pairwise Coupling", 2004, algorithm 2.
func coupled(scores []float64, a, b []float32, n int) []float64 {
	const tiny = 1e-7
	r := make([]float64, n*n)
	p := 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			v := 1 / (1 + math.Exp(scores[p]*float64(a[p])+float64(b[p])))
			v = min(max(v, tiny), 1-tiny)
			r[i*n+j], r[j*n+i] = v, 1-v
			p++
		}
	}
	q := make([]float64, n*n)
	for i := range n {
		for j := range n {
			if i != j {
				q[i*n+i] += r[j*n+i] * r[j*n+i]
				q[i*n+j] = -r[j*n+i] * r[i*n+j]
			}
		}
	}
	x, qx := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = 1 / float64(n)
	}
	for range 100 {
		whole := 0.0
		for i := range n {
			qx[i] = 0
			for j := range n {
				qx[i] += q[i*n+j] * x[j]
			}
			whole += x[i] * qx[i]
		}
		worst := 0.0
		for _, v := range qx {
			worst = max(worst, math.Abs(v-whole))
		}
		if worst < 0.005/float64(n) {
			break
		}
		for i := range n {
			d := (whole - qx[i]) / q[i*n+i]
			x[i] += d
			whole = (whole + d*(d*q[i*n+i]+2*qx[i])) / (1 + d) / (1 + d)
			for j := range n {
				qx[j] = (qx[j] + d*q[i*n+j]) / (1 + d)
				x[j] /= 1 + d
			}
		}
	}
	return x
}
