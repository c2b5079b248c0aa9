package onnx_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

func microsoft(n *onnx.Node) *onnx.Node {
	n.Domain = "com.microsoft"
	return n
}

func normals(r *rand.Rand, shape ...int) *run.Tensor {
	n := 1
	for _, d := range shape {
		n *= d
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return run.NewFloats(shape, v)
}

// groupNormalized is a GroupNorm of x (batch, space, channels) and SiLU.
func groupNormalized(x, scale, bias *run.Tensor, groups int) []float64 {
	batch, space, channels := x.Shape[0], x.Shape[1]*x.Shape[2], x.Shape[3]
	out, per := make([]float64, len(x.F)), channels/groups
	for b := range batch {
		for g := range groups {
			var of []int
			mean, square := 0.0, 0.0
			for s := range space {
				for c := g * per; c < (g+1)*per; c++ {
					i := (b*space+s)*channels + c
					of = append(of, i)
					mean += float64(x.F[i])
				}
			}
			mean /= float64(len(of))
			for _, i := range of {
				square += (float64(x.F[i]) - mean) * (float64(x.F[i]) - mean)
			}
			by := 1 / math.Sqrt(square/float64(len(of))+1e-5)
			for _, i := range of {
				v := (float64(x.F[i])-mean)*by*float64(scale.F[i%channels]) + float64(bias.F[i%channels])
				out[i] = v / (1 + math.Exp(-v))
			}
		}
	}
	return out
}

// TestRewritten holds operators that ONNX Runtime has for GPUs only against
// float64.
func TestRewritten(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	x, skip, c6, d6 := normals(r, 2, 3, 4, 6), normals(r, 2, 6), normals(r, 6), normals(r, 6)
	sum := normals(r, 2, 3, 4, 6)
	for i := range sum.F {
		sum.F[i] = x.F[i] + skip.F[i/72*6+i%6] + c6.F[i%6]
	}
	rows, other, w := normals(r, 2, 5, 6), normals(r, 2, 5, 6), normals(r, 6, 3)
	filter := normals(r, 2, 6, 1, 1)
	each := func(n int, f func(i int) float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	gelu := func(v float64) float64 { return v / 2 * math.Erfc(-v/math.Sqrt2) }
	for _, tt := range []struct {
		node  *onnx.Node
		in    []*run.Tensor
		shape []int
		want  []float64
	}{
		{node("BiasAdd", "a b c", "y"), []*run.Tensor{rows, c6, other}, []int{2, 5, 6},
			each(60, func(i int) float64 { return float64(rows.F[i]) + float64(c6.F[i%6]) + float64(other.F[i]) })},
		{node("BiasSplitGelu", "a b", "y"), []*run.Tensor{rows, c6}, []int{2, 5, 3}, each(30, func(i int) float64 {
			at := i/3*6 + i%3
			return (float64(rows.F[at]) + float64(c6.F[i%3])) * gelu(float64(rows.F[at+3])+float64(c6.F[i%3+3]))
		})},
		{node("GemmFastGelu", "a b", "y"), []*run.Tensor{rows, w}, []int{2, 5, 3}, each(30, func(i int) float64 {
			v := 0.0
			for k := range 6 {
				v += float64(rows.F[i/3*6+k]) * float64(w.F[k*3+i%3])
			}
			return v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		})},
		{node("GroupNorm", "a b c", "y", intAttr("groups", 3), intAttr("activation", 1)), []*run.Tensor{x, c6, d6}, []int{2, 3, 4, 6}, groupNormalized(x, c6, d6, 3)},
		{node("SkipGroupNorm", "a b c d e", "y _", intAttr("groups", 2), intAttr("activation", 1)), []*run.Tensor{x, c6, d6, skip, c6}, []int{2, 3, 4, 6}, groupNormalized(sum, c6, d6, 2)},
		{node("NhwcConv", "a b", "y"), []*run.Tensor{x, filter}, []int{2, 3, 4, 2}, each(48, func(i int) float64 {
			v := 0.0
			for k := range 6 {
				v += float64(x.F[i/2*6+k]) * float64(filter.F[i%2*6+k])
			}
			return v
		})},
		{node("NhwcFusedConv", "a b", "y", &onnx.Attr{Name: "activation", S: "Relu"}), []*run.Tensor{x, filter}, []int{2, 3, 4, 2}, each(48, func(i int) float64 {
			v := 0.0
			for k := range 6 {
				v += float64(x.F[i/2*6+k]) * float64(filter.F[i%2*6+k])
			}
			return max(v, 0)
		})},
	} {
		t.Run(tt.node.Op, func(t *testing.T) {
			y, err := runNode(t, microsoft(tt.node), run.Options{}, tt.in...)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(y.Shape, tt.shape) {
				t.Fatalf("shape %d, want %d", y.Shape, tt.shape)
			}
			for i, want := range tt.want {
				if got := float64(y.F[i]); math.Abs(got-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("element %d is %g, want %g", i, got, want)
				}
			}
		})
	}
}

// TestHints wants a word about what to do without ZipMap.
func TestHints(t *testing.T) {
	_, err := run.New(&onnx.Model{Graph: &onnx.Graph{Nodes: []*onnx.Node{learned(node("ZipMap", "a", "y"))}}, Opsets: map[string]int64{"": 17}}, run.Options{})
	if !errors.Is(err, onnx.ErrUnsupported) || !strings.Contains(err.Error(), "missing operators ai.onnx.ml.ZipMap (it makes maps") {
		t.Errorf("error %v", err)
	}
}
