package attention

import (
	"math"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/internal/kerneltest"
	"quern/kernels/quant"
)

// A cache that is arranged must give the results of one that is not, whatever slots contain
// that were not Put. Where vectors multiply bf16, queries and weights are rounded to that.
func TestArranged(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 2))
		for _, typ := range []quant.Type{quant.F32, quant.F16, quant.BF16, quant.Q8_0, quant.Q4_0} {
			for _, size := range []int{5, 16, 32, 48, 64} {
				bound := 1e-5
				if typ == quant.BF16 {
					bound = 2e-2
					if size%2 == 1 { // no pairs
						continue
					}
				}
				for _, dim := range []int{24, 64, 160} {
					const layers, kvHeads, group, blocks = 2, 2, 3, 12
					var kvs [2]*KV
					for i := range kvs {
						kv, err := NewKV(typ, layers, blocks, size, kvHeads, dim)
						if err != nil { // no whole number of blocks
							continue
						}
						kv.Data = make([]byte, kv.Size())
						for j := range kv.Data {
							kv.Data[j] = 0xff // NaN
						}
						kvs[i] = kv
					}
					if kvs[1] == nil {
						continue
					}
					kvs[1].byDim = true // also where it is not faster
					table := make([]int32, blocks)
					for i, b := range r.Perm(blocks) {
						table[i] = int32(b)
					}
					n := blocks*size - size/2
					for i := range n {
						k, v := kerneltest.Floats(r, kvHeads*dim), kerneltest.Floats(r, kvHeads*dim)
						for _, kv := range kvs {
							kv.Put(1, table[i/size], i%size, k, v)
						}
					}
					for _, reach := range []reach{{0, 1}, {0, n}, {1, n - 1}, {size - 1, size + 1}, {n / 2, n - 1}, {n - 1, n}} {
						for head := range kvHeads {
							q := kerneltest.Floats(r, group*dim)
							var dst [2][]float32
							for i, kv := range kvs {
								dst[i] = make([]float32, group*dim)
								kv.Attend(dst[i], q, 1, head, table, reach.first, reach.end, AttendOptions{Scale: 1 / float32(math.Sqrt(float64(dim)))}, NewScratch(kv, group))
							}
							for i, f := range dst[1] {
								kerneltest.Within(t, f, float64(dst[0][i]), bound, "%v block %d dim %d %v [%d]", typ, size, dim, reach, i)
							}
						}
					}
				}
			}
		}
	})
}

func TestExpTop(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for _, n := range []int{1, 7, 8, 15, 16, 17, 48, 64, 67, 250} {
			const top = 3
			x := make([]float32, n)
			for i := range x {
				x[i] = top - 87.3*float32(i*i)/float32(n*n)
			}
			if got := largest(x); got != top {
				t.Errorf("largest of %d = %g, want %d", n, got, top)
			}
			y := append([]float32(nil), x...)
			got, sum := expTop(y, top), 0.0
			for i, f := range y {
				want := math.Exp(float64(x[i] - top))
				kerneltest.Within(t, f, want, want*2*0x1p-23, "exp(%g)", x[i]-top)
				sum += float64(f)
			}
			kerneltest.Within(t, got, sum, sum*float64(n)*0x1p-24, "sum of %d", n)
			for i := range x {
				x[i] = float32(math.Inf(-1))
			}
			x[n/2] = 1
			expTop(x, 1)
			for i, f := range x {
				if i == n/2 && f != 1 || i != n/2 && !(f >= 0 && f < 2e-38) {
					t.Errorf("exp of -Inf or 0 = %g at %d of %d", f, i, n)
				}
			}
			nan := math.Float32frombits(0xffc00001 + uint32(n)) // whatever it says of itself
			x[0], x[n-1] = nan, nan
			if sum := expTop(x, 0); x[0] == x[0] || x[n-1] == x[n-1] || sum == sum {
				t.Errorf("exp of NaN = %g, %g, sum %g", x[0], x[n-1], sum)
			}
			x[0], x[n-1] = nan, nan
			for i := 1; i < n-1; i++ {
				x[i] = float32(-i)
			}
			want := float32(-1)
			if n < 3 {
				want = float32(math.Inf(-1))
			}
			if got := largest(x); got != want {
				t.Errorf("largest of %d with NaN = %g, want %g", n, got, want)
			}
		}
	})
}

func TestScores(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 3))
		for _, tt := range []struct {
			typ   quant.Type
			byDim bool
			bound float64
		}{{quant.F32, false, 1e-5}, {quant.F32, true, 1e-5}, {quant.F16, false, 1e-5}, {quant.F16, true, 1e-5}, {quant.BF16, false, 1e-5}, {quant.BF16, true, 1e-5}, {quant.Q8_0, false, 4e-2}, {quant.Q8_0, true, 4e-2}, {quant.Q4_0, false, 4e-2}, {quant.Q4_0, true, 4e-2}} {
			const size, kvHeads, dim, tokens = 16, 2, 64, 37
			kv, err := NewKV(tt.typ, 2, 4, size, kvHeads, dim)
			if err != nil {
				t.Fatal(err)
			}
			kv.byDim = tt.byDim
			kv.Data = make([]byte, kv.Size())
			table, keys := []int32{2, 0, 3}, make([]float32, tokens*dim)
			for i := range tokens {
				k := kerneltest.Floats(r, kvHeads*dim)
				kv.Put(1, table[i/size], i%size, k, k)
				row := kv.values(1, table[i/size], 1) // the value is the key
				if kv.InPairs() {
					row = kv.valueRows(row, i%size, i%size+1)
				} else {
					row = row[i%size*kv.token:][:kv.token]
				}
				tt.typ.Layout().Decode(keys[i*dim:(i+1)*dim], row)
			}
			q := kerneltest.Floats(r, dim)
			for _, n := range []int{0, 1, 16, tokens} {
				dst := make([]float32, n)
				kv.Scores(dst, q, 1, 1, table)
				for i, f := range dst {
					want, mass := 0.0, 0.0
					for d := range dim {
						v := float64(q[d]) * float64(keys[i*dim+d])
						want, mass = want+v, mass+math.Abs(v)
					}
					kerneltest.Within(t, f, want, mass*tt.bound, "%v by dimension %v, %d tokens [%d]", tt.typ, tt.byDim, n, i)
				}
			}
		}
	})
}
