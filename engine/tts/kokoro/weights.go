package kokoro

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"quern/formats/weights"
	"quern/kernels/conv"
	"quern/kernels/gemm"
	"quern/kernels/quant"
	"quern/kernels/recurrent"
	"quern/kernels/vec"
)

// A loader takes tensors out of a file and turns them into layers. Its first
// error sticks.
type loader struct {
	set *weights.Set
	err error
	// fast is set while the generator's blocks are loaded, whose convolutions
	// over many rows are most of the work; elsewhere rows are few, and weights of
	// twice the size cost more than they save.
	fast *conv.FastConv
	// memory has all packed weights.
	memory *memory
	norms  map[int]*vec.AdaIN // by channels: one norm runs at a time
}

func (l *loader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf("%w: "+format, append([]any{weights.ErrFormat}, args...)...)
	}
}

// find returns a tensor's floats and shape, or nil. A file with a number that is
// not finite is damaged: the network would make nothing but NaN of it.
func (l *loader) find(name string) ([]float32, []int) {
	t, ok := l.set.Tensor(name)
	if !ok {
		return nil, nil
	}
	x, err := t.Floats()
	if err != nil {
		if l.err == nil {
			l.err = fmt.Errorf("tensor %q: %w", name, err)
		}
		return nil, nil
	}
	if i := notFinite(x); i >= 0 {
		l.fail("tensor %q holds %v at %d: the file is damaged", name, x[i], i)
	}
	return x, t.Shape
}

// notFinite returns the place of the first number that is NaN or infinite, or -1.
func notFinite(x []float32) int {
	return slices.IndexFunc(x, func(v float32) bool { return v-v != 0 })
}

// vector returns a tensor that must have n values, of any shape. With n ≤ 0 any
// number will do. The first name that exists counts.
func (l *loader) vector(n int, names ...string) []float32 {
	for _, name := range names {
		if x, shape := l.find(name); x != nil {
			if n > 0 && len(x) != n {
				l.fail("tensor %q has shape %v; it should hold %d values", name, shape, n)
				return make([]float32, n)
			}
			return x
		}
	}
	l.fail("tensor %q is missing", names[0])
	return make([]float32, max(n, 1))
}

// optional is vector for what files may leave out.
func (l *loader) optional(n int, name string) []float32 {
	if _, ok := l.set.Tensor(name); !ok {
		return nil
	}
	return l.vector(n, name)
}

// weight returns a weight with its normalisation folded in, g·v/‖v‖, where the
// norm is over all axes but the first; see Salimans & Kingma, "Weight
// Normalization", 2016, eq. 2.
func (l *loader) weight(name string) ([]float32, []int) {
	for _, pair := range [][2]string{
		{".weight_g", ".weight_v"},
		{".parametrizations.weight.original0", ".parametrizations.weight.original1"},
	} {
		v, shape := l.find(name + pair[1])
		if v == nil {
			continue
		}
		if len(shape) == 0 || shape[0] == 0 {
			l.fail("tensor %q has shape %v", name+pair[1], shape)
			return nil, nil
		}
		g := l.vector(shape[0], name+pair[0])
		n := len(v) / shape[0]
		for i, scale := range g {
			var sum float64
			row := v[i*n : (i+1)*n]
			for _, x := range row {
				sum += float64(x) * float64(x)
			}
			by := float32(float64(scale) / math.Sqrt(sum))
			for k := range row {
				row[k] *= by
			}
		}
		if i := notFinite(v); i >= 0 {
			l.fail("tensor %q cannot be normalised: row %d is zero or too large", name+pair[1], i/n)
		}
		return v, shape
	}
	w, shape := l.find(name + ".weight")
	if w == nil {
		l.fail("tensor %q is missing", name+".weight")
	}
	return w, shape
}

// cube returns a convolution's weight as (a, b, k), whatever of the layouts
// (a, b, k) and (a, k, b) the file has; b decides.
func (l *loader) cube(name string, b int) (w []float32, a, k int) {
	w, shape := l.weight(name)
	if l.err != nil {
		return []float32{0}, 1, 1
	}
	if len(shape) != 3 || shape[1] != b && shape[2] != b {
		l.fail("the weight of %q has shape %v; one side should be %d", name, shape, b)
		return []float32{0}, 1, 1
	}
	if shape[1] == b {
		return w, shape[0], shape[2]
	}
	// (a, k, b), as MLX keeps it.
	a, k = shape[0], shape[1]
	out := make([]float32, len(w))
	for i := range a {
		for t := range k {
			for c := range b {
				out[(i*b+c)*k+t] = w[(i*k+t)*b+c]
			}
		}
	}
	return out, a, k
}

// conv loads a convolution of in channels, with pad steps of zeros at both
// ends.
func (l *loader) conv(name string, in, stride, dilation, pad int) *convolution {
	w, out, k := l.cube(name, in)
	if l.err != nil {
		return nil
	}
	r := swapTaps(w, out, in, k)
	if pad == same {
		pad = dilation * (k - 1) / 2
	}
	m := conv.NewConv(r, out, k, in, conv.ConvOptions{
		Stride: stride, Dilation: dilation, Left: pad, Right: pad, Bias: l.optional(out, name+".bias"), Fast: l.fast,
	})
	m.Move(l.memory.floats)
	return &convolution{out: out, in: in, taps: k, m: m}
}

// same is pad for a convolution that keeps the length.
const same = -1

// swapTaps turns (out, in, taps) into (out, taps, in).
func swapTaps(w []float32, out, in, k int) []float32 {
	r := make([]float32, len(w))
	for o := range out {
		for c := range in {
			for t := range k {
				r[(o*k+t)*in+c] = w[(o*in+c)*k+t]
			}
		}
	}
	return r
}

// convT loads a transposed convolution whose kernel is twice its stride.
func (l *loader) convT(name string, in int) *convT {
	// Its weight is (in, out, taps): normalisation is per input channel.
	w, shape := l.weight(name)
	if l.err != nil {
		return nil
	}
	if len(shape) != 3 || shape[0] != in {
		l.fail("the weight of %q has shape %v; the first side should be %d", name, shape, in)
		return nil
	}
	out, k := shape[1], shape[2]
	if k%2 != 0 || k < 2 {
		l.fail("%q has a kernel of %d; it should be even", name, k)
		return nil
	}
	r := make([]float32, len(w))
	for c := range in {
		for o := range out {
			for t := range k {
				r[(o*k+t)*in+c] = w[(c*out+o)*k+t]
			}
		}
	}
	s := k / 2
	// What is cut off both ends makes the length a multiple of the input's.
	m := conv.NewConvTranspose(r, out, k, in, s, s/2, s%2, l.optional(out, name+".bias"))
	m.Move(l.memory.floats)
	return &convT{out: out, in: in, stride: s, m: m}
}

// linear loads a matrix (out, in); in ≤ 0 takes what the file has.
func (l *loader) linear(name string, in int) *dense {
	w, shape := l.weight(name)
	if l.err != nil {
		return nil
	}
	if len(shape) != 2 || in > 0 && shape[1] != in {
		l.fail("the weight of %q has shape %v; it should have %d columns", name, shape, in)
		return nil
	}
	p := gemm.NewPanels(shape[0], shape[1])
	p.PackRows(w, shape[1])
	p.Move(l.memory.floats)
	return &dense{out: shape[0], in: shape[1], m: gemm.NewGemm(p, l.optional(shape[0], name+".bias"))}
}

// lstm loads one bidirectional layer.
func (l *loader) lstm(name string, in int) *lstm {
	var side [2]recurrent.LSTMWeights
	h := 0
	for dir, suffix := range [2]string{"", "_reverse"} {
		wi, si := l.find(name + ".weight_ih_l0" + suffix)
		wh, sh := l.find(name + ".weight_hh_l0" + suffix)
		if wi == nil || wh == nil {
			l.fail("the weights of %q are missing", name)
			return nil
		}
		if len(si) != 2 || len(sh) != 2 || si[1] != in || si[0] != sh[0] || sh[0] != 4*sh[1] || dir > 0 && sh[1] != h {
			l.fail("the weights of %q have shapes %v and %v; %d inputs are expected", name, si, sh, in)
			return nil
		}
		h = sh[1]
		bias := l.vector(4*h, name+".bias_ih_l0"+suffix)
		for i, v := range l.vector(4*h, name+".bias_hh_l0"+suffix) {
			bias[i] += v
		}
		side[dir] = recurrent.LSTMWeights{In: wi, Rec: wh, Bias: bias}
	}
	m := recurrent.NewLSTM(in, h, side[0], &side[1])
	m.Move(l.memory.floats)
	return &lstm{m: m, width: 2 * h}
}

// affine loads the style layer of a normalisation over cols channels.
func (l *loader) affine(name string, cols, style int) *affine {
	w, shape := l.weight(name + ".fc")
	if l.err == nil && (len(shape) != 2 || shape[0] != 2*cols || shape[1] != style) {
		l.fail("the weight of %q has shape %v; it should be %d×%d", name+".fc", shape, 2*cols, style)
	}
	bias := l.vector(2*cols, name+".fc.bias")
	if l.err != nil {
		return &affine{}
	}
	p := gemm.NewPanels(2*cols, style)
	p.PackRows(w, style)
	p.Move(l.memory.floats)
	a := &affine{m: gemm.NewGemm(p, bias), cols: cols}
	a.gain, a.bias = l.optional(cols, name+".norm.weight"), l.optional(cols, name+".norm.bias")
	return a
}

// norm loads a normalisation that act follows.
func (l *loader) norm(name string, cols, style int, act vec.AdaINActivation) norm {
	if l.norms == nil {
		l.norms = make(map[int]*vec.AdaIN)
	}
	if l.norms[cols] == nil {
		l.norms[cols] = vec.NewAdaIN(cols)
	}
	return norm{affine: l.affine(name, cols, style), m: l.norms[cols], act: act}
}

// count returns how many numbers i from 0 on have a tensor that begins with
// name and i.
func (l *loader) count(name string) int {
	n := 0
	for l.has(fmt.Sprintf("%s.%d.", name, n)) {
		n++
	}
	return n
}

// has reports whether a tensor's name begins with prefix.
func (l *loader) has(prefix string) bool {
	for t := range l.set.All() {
		if strings.HasPrefix(t.Name, prefix) {
			return true
		}
	}
	return false
}

// decodable reports whether a tensor's type is one of plain numbers.
func decodable(t quant.Type) bool { return t == quant.F32 || t == quant.F16 || t == quant.BF16 }
