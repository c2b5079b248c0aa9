package model

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"

	"quern/engine/rescue"
	"quern/formats/weights"
	"quern/kernels/quant"
)

// Weights of eight bits a number come with scales in tensors of their own. They
// are decoded to BF16 when a model is loaded: a product in eight bits, as some
// accelerators have it, would need the scales of activations too, which the CPU
// has no use for.

// quantMethods are the values of quantization_config.quant_method whose tensors
// quern reads, and what else their settings must say.
var quantMethods = map[string]func(q map[string]any) bool{
	"fp8":        func(map[string]any) bool { return true },
	"fbgemm_fp8": func(map[string]any) bool { return true },
	"mxfp4":      func(map[string]any) bool { return true },
	"modelopt":   func(q map[string]any) bool { return q["quant_algo"] == "FP8" },
	"compressed-tensors": func(q map[string]any) bool {
		groups, _ := q["config_groups"].(map[string]any)
		for _, g := range groups {
			group, _ := g.(map[string]any)
			w, _ := group["weights"].(map[string]any)
			if w["type"] != "float" || w["num_bits"] != int64(8) {
				return false
			}
		}
		return len(groups) > 0
	},
}

// refuseQuantised names the methods whose tensors are no plain numbers.
func (c *hfConfig) refuseQuantised() {
	q, ok := c.m["quantization_config"].(map[string]any)
	if !ok {
		return
	}
	method, _ := q["quant_method"].(string)
	if ok := quantMethods[method]; ok != nil && ok(q) {
		return
	}
	for _, k := range []string{"format", "quant_algo"} {
		if more, ok := q[k].(string); ok {
			method += " " + more
		}
	}
	c.refuse("weights quantised with %q; quern reads eight-bit floats and MXFP4; use the original model, or a GGUF file of it", method)
}

// float8 are the eight-bit types as SafeTensors files call them.
var float8 = map[string]quant.Narrow{"F8_E4M3": quant.E4M3, "F8_E5M2": quant.E5M2}

// scaleNames end the names of tensors that belong to a weight or, all but the
// first three, to activations and the cache.
var scaleNames = []string{".weight_scale", ".weight_scale_inv", ".weight_scale_2",
	".input_scale", ".input_scale_ub", ".activation_scale", ".output_scale", ".k_scale", ".v_scale", ".kv_scale", ".q_scale", ".prob_output_scale"}

func isScale(name string) bool {
	return slices.ContainsFunc(scaleNames, func(s string) bool { return strings.HasSuffix(name, s) })
}

// readRaws makes tensors of those that quant has no type for, and drops the
// ones that are not needed.
func (tr *translation) readRaws() ([]*weights.Tensor, error) {
	var out []*weights.Tensor
	raws := make(map[string]*weights.Raw)
	for _, r := range tr.from.Raws() {
		raws[r.Name] = r
	}
	for _, r := range tr.from.Raws() {
		if isScale(r.Name) {
			continue
		}
		if base, ok := strings.CutSuffix(r.Name, "_blocks"); ok && r.DType == "U8" && raws[base+"_scales"] != nil {
			t, err := mxfp4(base, r, raws[base+"_scales"])
			if err != nil {
				return nil, err
			}
			out = append(out, t)
			continue
		}
		if base, ok := strings.CutSuffix(r.Name, "_scales"); ok && r.DType == "U8" && raws[base+"_blocks"] != nil {
			continue
		}
		to, _, err := tr.name(r.Name)
		switch {
		case err != nil:
			return nil, err
		case to == "":
		case float8[r.DType] == 0:
			return nil, fmt.Errorf("%w: tensor %s is %s; quern reads F32, F16, BF16, F8_E4M3, F8_E5M2 and MXFP4", ErrUnsupported, r.Name, r.DType)
		default:
			t, err := tr.float8(r, raws)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// A scaling is the scales of a matrix: one for every rows × cols of it.
type scaling struct {
	rows, cols int
	across     int // scales side by side
	x          []float32
}

// float8 is r with its scales, as BF16.
func (tr *translation) float8(r *weights.Raw, raws map[string]*weights.Raw) (*weights.Tensor, error) {
	s, err := tr.scaling(r, raws)
	if err != nil {
		return nil, err
	}
	t := &weights.Tensor{Name: r.Name, Type: quant.BF16, Shape: r.Shape}
	var table [256]float32
	for i := range table {
		table[i] = float8[r.DType].Decode(uint16(i))
	}
	cols := 1
	if n := len(r.Shape); n > 0 {
		cols = max(1, r.Shape[n-1])
	}
	t.Later(func(dst []byte) error {
		parallel(len(r.Data)/cols, func(from, to int) {
			for row := from; row < to; row++ {
				line := s.x[row/s.rows*s.across:]
				for i, b := range r.Data[row*cols : (row+1)*cols] {
					binary.LittleEndian.PutUint16(dst[2*(row*cols+i):], quant.F32ToBF16(table[b]*line[i/s.cols]))
				}
			}
		})
		return nil
	})
	return t, nil
}

// scaling finds the scales of r: one for all, one a row, or one a block, in
// whichever of the spellings in use. A weight is its number times its scale
// even where the name says inv. Without a quantization_config scales may be
// missing.
func (tr *translation) scaling(r *weights.Raw, raws map[string]*weights.Raw) (*scaling, error) {
	var t *weights.Tensor
	for _, suffix := range []string{"_scale_inv", "_scale"} {
		if x, ok := tr.from.Tensor(r.Name + suffix); ok {
			t = x
		} else if x := raws[r.Name+suffix]; x != nil {
			if x.DType != "F8_E8M0" {
				return nil, fmt.Errorf("%w: scales %s are %s", ErrUnsupported, x.Name, x.DType)
			}
			t = powers(x)
		}
	}
	if t == nil {
		if tr.c.m["quantization_config"] != nil {
			return nil, fmt.Errorf("%w: tensor %s has no %s_scale", ErrFormat, r.Name, r.Name)
		}
		return &scaling{rows: math.MaxInt, cols: math.MaxInt, across: 1, x: []float32{1}}, nil
	}
	x, err := t.Floats()
	if err != nil {
		return nil, err
	}
	s := &scaling{x: x}
	for _, x := range s.x {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, fmt.Errorf("%w: %s holds %g", ErrFormat, t.Name, x)
		}
	}
	wrong := fmt.Errorf("%w: scales %s of shape %v for %s of shape %v", ErrFormat, t.Name, t.Shape, r.Name, r.Shape)
	if len(s.x) == 1 {
		s.rows, s.cols, s.across = math.MaxInt, math.MaxInt, 1
		return s, nil
	}
	if len(r.Shape) != 2 {
		return nil, wrong
	}
	rows, cols := r.Shape[0], r.Shape[1]
	switch {
	case len(s.x) == rows && (len(t.Shape) == 1 || t.Shape[len(t.Shape)-1] == 1):
		s.rows, s.cols, s.across = 1, math.MaxInt, 1
		return s, nil
	case len(t.Shape) != 2:
		return nil, wrong
	}
	s.rows, s.cols, s.across = 128, 128, t.Shape[1]
	if b := tr.c.weightBlock(); b != nil {
		s.rows, s.cols = b[0], b[1]
	}
	if t.Shape[0] != (rows+s.rows-1)/s.rows || t.Shape[1] != (cols+s.cols-1)/s.cols {
		return nil, wrong
	}
	return s, nil
}

// powers turns scales that are exponents of two into numbers.
func powers(r *weights.Raw) *weights.Tensor {
	x := make([]float32, len(r.Data))
	for i, e := range r.Data {
		x[i] = quant.E8M0ToF32(e)
	}
	t := floats(r.Name, x)
	t.Shape = r.Shape
	return t
}

// weightBlock is quantization_config's weight_block_size, nil where there is
// none.
func (c *hfConfig) weightBlock() []int {
	q, _ := c.m["quantization_config"].(map[string]any)
	list, _ := q["weight_block_size"].([]any)
	if len(list) != 2 {
		return nil
	}
	var out []int
	for _, v := range list {
		n, ok := v.(int64)
		if !ok || n < 1 || n > maxWidth {
			return nil
		}
		out = append(out, int(n))
	}
	return out
}

// mxfp4 puts numbers of four bits and their scales, one for 32, into the blocks
// of GGUF files. blocks has shape (…, out, in/32, 16) with neighbours sharing a
// byte; in GGUF's blocks a number shares it with the sixteenth after it.
func mxfp4(name string, blocks, scales *weights.Raw) (*weights.Tensor, error) {
	n := len(blocks.Shape)
	if n < 3 || blocks.Shape[n-1] != 16 || !slices.Equal(blocks.Shape[:n-1], scales.Shape) {
		return nil, fmt.Errorf("%w: %s of shape %v with scales of shape %v", ErrFormat, blocks.Name, blocks.Shape, scales.Shape)
	}
	shape := slices.Clone(blocks.Shape[:n-1])
	shape[n-2] *= 32
	t := &weights.Tensor{Name: name, Type: quant.MXFP4, Shape: shape}
	t.Later(func(dst []byte) error {
		parallel(len(scales.Data), func(from, to int) {
			for b := from; b < to; b++ {
				out, in := dst[17*b:17*b+17], blocks.Data[16*b:16*b+16]
				out[0] = scales.Data[b]
				for i := range 8 {
					lo, hi := in[i], in[i+8]
					out[1+2*i] = lo&15 | hi<<4
					out[2+2*i] = lo>>4 | hi&0xf0
				}
			}
		})
		return nil
	})
	return t, nil
}

// parallel calls f for parts of n, on every processor, and waits.
func parallel(n int, f func(from, to int)) {
	procs := min(max(1, n), runtime.GOMAXPROCS(0))
	rescue.Spread(procs, func(i int) { f(n*i/procs, n*(i+1)/procs) })
}
