package onnx_test

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	run "quern/engine/onnx"
	"quern/formats/onnx"
)

// TestDFT compares with the sum that defines it, at lengths of every kind.
func TestDFT(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 7, 12, 64, 100, 127, 400} {
		x := wave(2, n, 2)
		want := make([]float64, 2*n*2)
		for b := range 2 {
			for k := range n {
				var sum complex128
				for i := range n {
					sum += complex(float64(x.F[(b*n+i)*2]), float64(x.F[(b*n+i)*2+1])) * cmplx.Rect(1, -2*math.Pi*float64(i*k%n)/float64(n))
				}
				want[(b*n+k)*2], want[(b*n+k)*2+1] = real(sum), imag(sum)
			}
		}
		got, err := runNode(t, node("DFT", "a", "y"), run.Options{}, x)
		if err != nil {
			t.Fatal(err)
		}
		near(t, doubles(t, got), want, 1e-5)
		back, err := runNode(t, node("DFT", "a", "y", intAttr("inverse", 1)), run.Options{}, got)
		if err != nil {
			t.Fatal(err)
		}
		near(t, doubles(t, back), doubles(t, x), 1e-5)
	}
}

// TestEinsum compares with sums over every label.
func TestEinsum(t *testing.T) {
	sizes := map[rune]int{'a': 2, 'b': 3, 'c': 4, 'd': 5, 'e': 1}
	for _, tt := range []struct {
		equation string // with an arrow
		given    string // the equation the node has
	}{
		{"ab,bc->ac", "ab,bc"}, {"ab,bc->ac", "ab, bc -> ac"}, {"abc,acd->abd", ""}, {"abc,adc->abd", ""}, {"ab,ab->", ""}, {"ab,ab->ab", ""},
		{"aab->ba", ""}, {"aa->", "aa"}, {"a,b->ba", ""}, {"abc->cab", ""}, {"ab,bc,cd->da", ""}, {"abcd,ec->dab", ""}, {"ae,eb->ab", ""},
		{"ae,eb->aeb", ""}, {"aab,b->a", ""}, {"a,ab,b->", ""},
	} {
		if tt.given == "" {
			tt.given = tt.equation
		}
		t.Run(tt.given, func(t *testing.T) {
			var terms []string
			term, out, arrow := "", "", false
			for _, r := range tt.equation {
				switch {
				case r == '>':
				case r == '-':
					terms, arrow = append(terms, term), true
				case arrow:
					out += string(r)
				case r == ',':
					terms, term = append(terms, term), ""
				default:
					term += string(r)
				}
			}
			var in []*run.Tensor
			names, used := "", make(map[rune]bool)
			for i, s := range terms {
				var shape []int
				for _, r := range s {
					shape, used[r] = append(shape, sizes[r]), true
				}
				in = append(in, wave(shape...))
				names += " " + string(rune('a'+i))
			}
			var labels []rune
			for _, r := range "abcde" {
				if used[r] {
					labels = append(labels, r)
				}
			}
			at := make(map[rune]int)
			index := func(s string) (i int) {
				for _, r := range s {
					i = i*sizes[r] + at[r]
				}
				return i
			}
			n := 1
			for _, r := range out {
				n *= sizes[r]
			}
			want := make([]float64, n)
			var sum func(rest []rune)
			sum = func(rest []rune) {
				if len(rest) == 0 {
					p := 1.0
					for i, s := range terms {
						p *= float64(in[i].F[index(s)])
					}
					want[index(out)] += p
					return
				}
				for i := range sizes[rest[0]] {
					at[rest[0]] = i
					sum(rest[1:])
				}
			}
			sum(labels)
			got, err := runNode(t, node("Einsum", names, "y", textAttr("equation", tt.given)), run.Options{}, in...)
			if err != nil {
				t.Fatal(err)
			}
			near(t, doubles(t, got), want, 1e-5)
		})
	}
}

func TestSignals(t *testing.T) {
	one := func(in ...*run.Tensor) []*run.Tensor { return in }
	size := func(n int64) *run.Tensor { return ints64(nil, n) }
	equation := func(s string) *onnx.Attr { return textAttr("equation", s) }
	checkNodes(t, []nodeCase{
		{"Hann", node("HannWindow", "a", "y"), one(size(4)), []int{4}, []float64{0, 0.5, 1, 0.5}, nil},
		{"Hann to both ends", node("HannWindow", "a", "y", intAttr("periodic", 0)), one(size(3)), []int{3}, []float64{0, 1, 0}, nil},
		{"Hamming", node("HammingWindow", "a", "y"), one(size(2)), []int{2}, []float64{4.0 / 46, 1}, nil},
		{"Blackman", node("BlackmanWindow", "a", "y"), one(size(2)), []int{2}, []float64{0, 1}, nil},
		{"a window without end", node("HannWindow", "a", "y"), one(size(1 << 50)), nil, nil, onnx.ErrUnsupported},
		{"determinants", node("Det", "a", "y"), one(floats([]int{2, 2, 2}, 0, 2, 3, 4, 1, 2, 2, 4)), []int{2}, []float64{-6, 0}, nil},
		{"frames", node("STFT", "a b _ c", "y"), one(floats([]int{1, 6, 1}, 1, 2, 3, 4, 5, 6), size(2), size(4)), []int{1, 2, 3, 2},
			[]float64{10, 0, -2, 2, -2, 0, 18, 0, -2, 2, -2, 0}, nil},
		{"real again", node("DFT", "a", "y", intAttr("inverse", 1), intAttr("onesided", 1)), one(floats([]int{1, 3, 2}, 10, 0, -2, 2, -2, 0)), []int{1, 4, 1}, []float64{1, 2, 3, 4}, nil},
		{"a transform of nothing", node("DFT", "a b", "y"), one(floats([]int{1, 3, 2}, 1, 2, 3, 4, 5, 6), size(0)), nil, nil, onnx.ErrUnsupported},
		{"ellipsis", node("Einsum", "a b", "y", equation("...ij,jk->...ik")), one(counted(2, 1, 2), floats([]int{2, 1}, 1, 10)), []int{2, 1, 1}, []float64{10, 32}, nil},
		{"ellipses that broadcast", node("Einsum", "a b", "y", equation("i...,...i->...")), one(counted(2, 1, 2), counted(3, 1, 2)), []int{3, 2}, []float64{2, 3, 6, 11, 10, 19}, nil},
		{"sizes that differ", node("Einsum", "a b", "y", equation("ij,jk")), one(counted(2, 3), counted(2, 3)), nil, nil, onnx.ErrFormat},
		{"a label from nowhere", node("Einsum", "a", "y", equation("ij->ik")), one(counted(2, 3)), nil, nil, onnx.ErrFormat},
	})
}

// TestMelWeights checks that triangles rise to 1 and fall to 0.
func TestMelWeights(t *testing.T) {
	got, err := runNode(t, node("MelWeightMatrix", "a b c d e", "y"), run.Options{}, ints64(nil, 8), ints64(nil, 256), ints64(nil, 16000), floats(nil, 0), floats(nil, 8000))
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprint(got.Shape); s != "[129 8]" {
		t.Fatalf("shape %s, want [129 8]", s)
	}
	for m := range 8 {
		top := float32(0)
		for bin := range 129 {
			v := got.F[bin*8+m]
			if top = max(top, v); v < 0 {
				t.Errorf("mel %d of bin %d is %v", m, bin, v)
			}
		}
		if top != 1 {
			t.Errorf("mel %d has at most %v, want 1", m, top)
		}
	}
}
