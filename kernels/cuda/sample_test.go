package cuda_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"quern/kernels/cuda"
)

// ranked lists the numbers of logits as they are to be ranked.
func ranked(logits []float32) []int32 {
	all := make([]int32, len(logits))
	for i := range all {
		all[i] = int32(i)
	}
	slices.SortFunc(all, func(a, b int32) int {
		x, y := logits[a], logits[b]
		switch {
		case x != x && y != y:
			return cmp.Compare(a, b)
		case x != x:
			return -1
		case y != y:
			return 1
		}
		return cmp.Or(cmp.Compare(y, x), cmp.Compare(a, b))
	})
	return all
}

func TestTop(t *testing.T) {
	inf := float32(math.Inf(1))
	negative := float32(math.Copysign(0, -1))
	for _, tt := range []struct {
		name   string
		n      int
		change func(v []float32)
	}{
		{"one", 1, nil},
		{"few", 40, nil},
		{"a slice", 2048, nil},
		{"slices", 5001, nil},
		{"equals", 2500, func(v []float32) {
			for i := range v {
				v[i] = float32(i % 3)
			}
		}},
		{"falling", 4500, func(v []float32) {
			for i := range v {
				v[i] = -float32(i)
			}
		}},
		{"rising", 4500, func(v []float32) {
			for i := range v {
				v[i] = float32(i)
			}
		}},
		{"zeros", 300, func(v []float32) {
			for i := range v {
				v[i] = []float32{0, negative}[i%2]
			}
		}},
		{"no numbers", 300, func(v []float32) {
			v[7], v[9], v[11], v[12] = inf, float32(math.NaN()), -inf, float32(math.Copysign(math.NaN(), -1))
		}},
		{"impossible", 300, func(v []float32) {
			for i := range v {
				v[i] = -inf
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const rows = 2
			logits := random(uint64(tt.n), rows*tt.n)
			if tt.change != nil {
				tt.change(logits[:tt.n])
			}
			g := newGPU(t)
			p := g.floats(logits)
			ids, values := g.Alloc(4*rows), g.Alloc(4*rows)
			g.run("argmax", cuda.Dims{Rows: rows}, ids, values, p, tt.n)
			parts := cuda.TopSlices(tt.n)
			topIDs, topValues, part := g.Alloc(4*rows*cuda.MaxTop), g.Alloc(4*rows*cuda.MaxTop), g.Alloc(8*rows*parts*cuda.MaxTop)
			g.run("top_part", cuda.Dims{Rows: rows, Out: tt.n}, part, p, tt.n)
			g.run("top", cuda.Dims{Rows: rows}, topIDs, topValues, part, parts)
			for r := range rows {
				row := logits[r*tt.n : (r+1)*tt.n]
				want := ranked(row)
				want = want[:min(len(want), cuda.MaxTop)]
				got := g.gotInts(topIDs+uint64(4*r*cuda.MaxTop), cuda.MaxTop)
				if fmt.Sprint(got[:len(want)]) != fmt.Sprint(want) {
					t.Errorf("row %d: top is %v, want %v", r, got[:len(want)], want)
				}
				for _, id := range got[len(want):] {
					if id != -1 {
						t.Errorf("row %d: %d where there are no more", r, id)
					}
				}
				at := g.got(topValues+uint64(4*r*cuda.MaxTop), cuda.MaxTop)
				for i, id := range want {
					if at[i] != row[id] && (at[i] == at[i] || row[id] == row[id]) {
						t.Errorf("row %d: logit %d is %g, want %g", r, id, at[i], row[id])
					}
				}
				if id, v := g.gotInts(ids+uint64(4*r), 1)[0], g.got(values+uint64(4*r), 1)[0]; id != want[0] || v != at[0] && v == v {
					t.Errorf("row %d: argmax is %d with %g, want %d with %g", r, id, v, want[0], at[0])
				}
			}
		})
	}
}

func TestBar(t *testing.T) {
	const n, rows = 300, 3 // a mask ends within a word
	logits := random(1, rows*n)
	logits[0], logits[2*n+1] = float32(math.NaN()), float32(math.NaN())
	at := []int32{1, -1, 0}
	masks := make([]int32, 2*cuda.MaskWords(n))
	for i := range masks {
		masks[i] = int32(0x9e3779b9 * uint32(i+1))
	}
	g := newGPU(t)
	p := g.floats(logits)
	g.run("bar", cuda.Dims{Rows: rows, Out: n}, p, g.ints(at...), g.ints(masks...), n)
	for r, row := range rowsOf(g.got(p, rows*n), n) {
		for i, v := range row {
			want := logits[r*n+i]
			if at[r] >= 0 && uint32(masks[int(at[r])*cuda.MaskWords(n)+i/32])>>(i%32)&1 == 0 {
				want = float32(math.Inf(-1))
			}
			if math.Float32bits(v) != math.Float32bits(want) {
				t.Fatalf("row %d: logit %d is %g, want %g", r, i, v, want)
			}
		}
	}
}

func rowsOf(v []float32, n int) [][]float32 { return slices.Collect(slices.Chunk(v, n)) }
