package dot

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"quern/kernels/internal/isa/isatest"
	"quern/kernels/quant"
)

// interleave returns w with its rows interleaved, and a guard behind them.
func interleave(typ quant.Type, w []byte, rows, n int) []byte {
	out := make([]byte, len(w), len(w)+1)
	Interleave(typ, out, w, rows, n)
	return out
}

// Interleaved rows have Dot's bits, and so those of the rows as they are in the file.
func TestInterleavedRows(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for typ := range quant.All() {
			if !Interleaves(typ, 256) { // a multiple of every block
				continue
			}
			l := typ.Layout()
			r := rand.New(rand.NewPCG(6, uint64(typ)))
			for _, n := range []int{32, 96, 256, 288, 512, 576, 768, 1056, 2304} {
				if n%l.Block != 0 {
					continue
				}
				size, _ := typ.Size(n)
				for _, rows := range []int{16, 48} {
					w := randomWeights(t, r, typ, rows, n)
					got := interleave(typ, w, rows, n)
					for i := range rows {
						row := make([]byte, size)
						if InterleavedRow(typ, row, got, i, n); !bytes.Equal(row, w[i*size:(i+1)*size]) {
							t.Fatalf("%v n=%d: row %d of %d is another after it was interleaved", typ, n, i, rows)
						}
					}
					for _, batch := range []int{1, 2, 3, 7, 17, 37} {
						x, xs := activations(r, l.With, n, batch, 64)
						stride := rows + 1
						dst := make([]float32, batch*stride)
						InterleavedRows(typ, dst, stride, got, rows, n, x, xs, batch)
						for b := range batch {
							if dst[b*stride+rows] != 0 {
								t.Fatalf("%v n=%d rows=%d batch=%d: wrote past row %d", typ, n, rows, batch, b)
							}
							for i := range rows {
								want := l.Dot(n, w[i*size:(i+1)*size], x[b*xs:b*xs+quant.ActBytes(l.With, n)])
								if v := dst[b*stride+i]; !sameFloat(v, want) {
									t.Fatalf("%v n=%d rows=%d batch=%d: weight row %d with row %d = %g, Dot's is %g", typ, n, rows, batch, i, b, v, want)
								}
							}
						}
					}
				}
			}
		}
	})
}

// FuzzInterleaved takes any bytes as weights: the largest scales and magnitudes too, and
// scales that are no numbers.
func FuzzInterleaved(f *testing.F) {
	for _, fill := range []byte{0, 0x0f, 0x7f, 0x80, 0xf0, 0xff} {
		f.Add(uint64(1), fill, true)
		f.Add(uint64(2), fill, false)
	}
	f.Fuzz(func(t *testing.T, seed uint64, fill byte, whole bool) {
		const n, rows = 512, 16
		for typ := range quant.All() {
			if !Interleaves(typ, n) {
				continue
			}
			l := typ.Layout()
			size, _ := typ.Size(n)
			r := rand.New(rand.NewPCG(seed, uint64(typ)))
			w := randomWeights(t, r, typ, rows, n)
			for i := range w {
				if i%l.Bytes >= 4 && (whole || r.IntN(3) == 0) { // all but d and dmin
					w[i] = fill
				} else if !whole && r.IntN(200) == 0 {
					w[i] = byte(r.Uint32())
				}
			}
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(1 - 2*(r.IntN(2)))
				if whole {
					v[i] = 1
				}
			}
			x := make([]byte, quant.ActBytes(l.With, n))
			l.With.Layout().Encode(x, v)
			dst := make([]float32, rows)
			InterleavedRows(typ, dst, rows, interleave(typ, w, rows, n), rows, n, x, len(x), 1)
			for i := range rows {
				if want := l.Dot(n, w[i*size:(i+1)*size], x); !sameFloat(dst[i], want) {
					t.Fatalf("%v row %d = %g, Dot's is %g", typ, i, dst[i], want)
				}
			}
		}
	})
}

func TestInterleaveRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    func()
	}{
		{"a type that is not interleaved", func() { Interleave(quant.F16, make([]byte, 1<<16), make([]byte, 1<<16), 16, 256) }},
		{"rows that are no sixteens", func() { Interleave(quant.Q4_K, make([]byte, 1<<16), make([]byte, 1<<16), 15, 256) }},
		{"too few bytes", func() { Interleave(quant.Q4_K, make([]byte, 16*144), make([]byte, 16*144-1), 16, 256) }},
		{"results that do not fit", func() {
			InterleavedRows(quant.Q4_K, make([]float32, 15), 16, make([]byte, 16*144), 16, 256, make([]byte, 320), 320, 1)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			tt.f()
		})
	}
}

// BenchmarkInterleaved is BenchmarkRows with interleaved rows.
func BenchmarkInterleaved(b *testing.B) {
	const n, rows = 2048, 1024
	for typ := range quant.All() {
		if !Interleaves(typ, n) {
			continue
		}
		for _, batch := range []int{1, 2, 4, 8, 16, 32, 64, 512} {
			b.Run(fmt.Sprintf("%v/batch=%d", typ, batch), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				w := interleave(typ, randomWeights(b, r, typ, rows, n), rows, n)
				x, xs := activations(r, typ.Layout().With, n, batch, 0)
				dst := make([]float32, batch*rows)
				b.SetBytes(int64(len(w) + len(x) + 4*len(dst)))
				b.ReportAllocs()
				for b.Loop() {
					InterleavedRows(typ, dst, rows, w, rows, n, x, xs, batch)
				}
				b.ReportMetric(float64(rows*n*batch)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
			})
		}
	}
}
