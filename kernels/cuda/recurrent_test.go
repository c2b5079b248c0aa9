package cuda_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"quern/kernels/cuda"
	"quern/kernels/recurrent"
	"quern/kernels/vec"
)

// A scanned op is held against the portable one: run does rows [from, to) of a sequence on its
// state, launch does the runs of a batch.
type scanned struct {
	name   string
	width  int // of a row of the result
	state  int
	inputs []int // widths of rows of what varies
	run    func(dst []float32, in [][]float32, state []float32)
	launch func(g *gpu, runs, longest int, dst uint64, in []uint64, states, table uint64, stride int)
}

const slots, lead = 4, 3 // an op's states begin behind those of another

// check runs three sequences, two of them in pieces and beside others, with a row that fills up;
// in one piece and alone comes the same.
func (s *scanned) check(t *testing.T, lengths [3]int) {
	t.Helper()
	g := newGPU(t)
	all := lengths[0] + lengths[1] + lengths[2]
	in := make([][]float32, len(s.inputs))
	for i, n := range s.inputs {
		in[i] = random(uint64(20+i), all*n)
	}
	stride := s.state + lead
	begin := [3]int{0, lengths[0], lengths[0] + lengths[1]}
	slot := [3]int{2, 0, 3}
	// rows gives rows [from, to) of the sequences, one after the other, with a row of padding.
	type piece struct{ seq, from, to int }
	step := func(states uint64, pieces ...piece) [][]float32 {
		var table []int32
		batch := make([][]float32, len(in))
		row, longest := 0, 1
		for _, p := range pieces {
			for i, n := range s.inputs {
				batch[i] = append(batch[i], in[i][(begin[p.seq]+p.from)*n:(begin[p.seq]+p.to)*n]...)
			}
			fresh := int32(0)
			if p.from == 0 {
				fresh = 1
			}
			table = append(table, int32(row), int32(row+p.to-p.from), int32(slot[p.seq]), fresh)
			row, longest = row+p.to-p.from, max(longest, p.to-p.from)
		}
		for i, n := range s.inputs {
			batch[i] = append(batch[i], random(99, n)...)
		}
		table = append(table, int32(row), int32(row+1), -1, 1, 0, 0, -1, 1)
		row++
		var at []uint64
		for _, b := range batch {
			at = append(at, g.floats(b))
		}
		dst := g.Alloc(4 * row * s.width)
		s.launch(g, len(table)/4, longest, dst, at, states+4*lead, g.ints(table...), stride)
		got := g.got(dst, row*s.width)
		var out [][]float32
		for _, p := range pieces {
			n := (p.to - p.from) * s.width
			out, got = append(out, got[:n]), got[n:]
		}
		return out
	}
	before := random(98, slots*stride)
	whole := g.floats(before)
	alone := make([][]float32, 3)
	for q, n := range lengths {
		alone[q] = step(whole, piece{q, 0, n})[0]
	}
	cut := g.floats(before)
	first := step(cut, piece{1, 0, 1}, piece{0, 0, lengths[0] - 1})
	second := step(cut, piece{0, lengths[0] - 1, lengths[0]}, piece{2, 0, lengths[2]}, piece{1, 1, lengths[1]})
	same(t, s.name+" of a sequence in pieces", slices.Concat(first[1], second[0]), alone[0])
	same(t, s.name+" of another", slices.Concat(first[0], second[2]), alone[1])
	same(t, s.name+" beside others", second[1], alone[2])
	states := g.got(whole, slots*stride)
	same(t, s.name+"'s states", g.got(cut, slots*stride), states)

	for q, n := range lengths {
		state, want := make([]float32, s.state), make([]float32, n*s.width)
		rows := make([][]float32, len(in))
		for i, w := range s.inputs {
			rows[i] = in[i][begin[q]*w : (begin[q]+n)*w]
		}
		s.run(want, rows, state)
		for _, x := range []struct {
			what      string
			got, want []float32
		}{{"", alone[q], want}, {"'s state", states[slot[q]*stride+lead : (slot[q]+1)*stride], state}} {
			largest := 0.0
			for _, v := range x.want {
				largest = max(largest, math.Abs(float64(v)))
			}
			near(t, fmt.Sprintf("%s of %d rows%s", s.name, n, x.what), x.got, x.want, func(int) float64 { return 4e-6 * (1 + largest) })
		}
	}
	// What no sequence has stays.
	same(t, s.name+": another slot", states[stride:2*stride], before[stride:2*stride])
	same(t, s.name+": another op's states", states[2*stride:2*stride+lead], before[2*stride:2*stride+lead])
}

// negative are rates of forgetting.
func negative(seed uint64, n int) []float32 {
	v := random(seed, n)
	for i := range v {
		v[i] = -float32(math.Abs(float64(v[i])))
	}
	return v
}

func TestShortConv(t *testing.T) {
	for _, tt := range []struct {
		channels, taps int
		bias, act      bool
		lengths        [3]int
	}{{130, 4, true, true, [3]int{5, 2, 1}}, {7, 3, false, false, [3]int{130, 3, 65}}, {9, 8, true, false, [3]int{4, 3, 9}}, {3, 2, false, true, [3]int{64, 2, 1}}} {
		w, bias := random(1, tt.channels*tt.taps), random(2, tt.channels)
		turned := make([]float32, len(w)) // (taps, channels)
		for i, v := range w {
			turned[i%tt.taps*tt.channels+i/tt.taps] = v
		}
		var act func(dst, x []float32)
		on := 0
		if tt.act {
			on, act = 1, func(dst, x []float32) { vec.SiLUGate(dst, x, slices.Repeat([]float32{1}, len(x))) }
		}
		if !tt.bias {
			bias = nil
		}
		s := scanned{
			name: fmt.Sprintf("short_conv of %d taps", tt.taps), width: tt.channels, state: (tt.taps - 1) * tt.channels, inputs: []int{tt.channels},
			run: func(dst []float32, in [][]float32, state []float32) {
				recurrent.ShortConv(dst, in[0], tt.channels, turned, bias, state, tt.taps, 0, tt.channels, act)
			},
			launch: func(g *gpu, runs, longest int, dst uint64, in []uint64, states, table uint64, stride int) {
				at := none
				if bias != nil {
					at = g.floats(bias)
				}
				g.run("short_conv", cuda.Dims{Out: tt.channels, Rows: runs, Splits: longest}, dst, in[0], g.floats(w), at, states, table, tt.channels, tt.taps, on, stride)
			},
		}
		s.check(t, tt.lengths)
	}
}

func TestMamba2(t *testing.T) {
	for _, tt := range []struct{ heads, head, groups, n int }{{4, 20, 2, 30}, {2, 16, 1, 128}, {1, 5, 1, 132}} {
		a, d, bias := negative(1, tt.heads), random(2, tt.heads), random(3, tt.heads)
		bias[0] = 21 // so that softplus is what it is given
		inner := tt.heads * tt.head
		width := inner + 2*tt.groups*tt.n
		s := scanned{
			name: cuda.Mamba2Name(tt.n), width: inner, state: inner * tt.n, inputs: []int{width, tt.heads},
			run: func(dst []float32, in [][]float32, state []float32) {
				for r := range len(dst) / inner {
					row := in[0][r*width : (r+1)*width]
					for h := range tt.heads {
						g, at := h/(tt.heads/tt.groups), r*inner+h*tt.head
						recurrent.SSD(dst[at:at+tt.head], row[h*tt.head:(h+1)*tt.head], row[inner+g*tt.n:inner+(g+1)*tt.n], row[inner+(tt.groups+g)*tt.n:inner+(tt.groups+g+1)*tt.n],
							state[h*tt.head*tt.n:(h+1)*tt.head*tt.n], recurrent.Softplus(in[1][r*tt.heads+h]+bias[h]), a[h], d[h])
					}
				}
			},
			launch: func(g *gpu, runs, _ int, dst uint64, in []uint64, states, table uint64, stride int) {
				g.run(cuda.Mamba2Name(tt.n), cuda.Dims{Heads: tt.heads, Out: tt.head, Rows: runs}, dst, in[0], in[1], g.floats(a), g.floats(d), g.floats(bias), states, table, tt.heads, tt.head, tt.groups, tt.n, stride)
			},
		}
		s.check(t, [3]int{10, 3, 1})
	}
}

func TestMamba1(t *testing.T) {
	for _, tt := range []struct{ width, n int }{{20, 16}, {17, 3}, {16, 40}} {
		a, d := negative(1, tt.width*tt.n), random(2, tt.width)
		s := scanned{
			name: cuda.Mamba1Name(tt.n), width: tt.width, state: tt.width * tt.n, inputs: []int{tt.width, tt.width, tt.n, tt.n},
			run: func(dst []float32, in [][]float32, state []float32) {
				step := make([]float32, tt.width)
				for r := range len(dst) / tt.width {
					of := func(i, n int) []float32 { return in[i][r*n : (r+1)*n] }
					for i, x := range of(1, tt.width) {
						step[i] = recurrent.Softplus(x)
					}
					recurrent.Selective(dst[r*tt.width:(r+1)*tt.width], of(0, tt.width), step, of(2, tt.n), of(3, tt.n), state, a, d, make([]float32, len(a)+tt.width))
				}
			},
			launch: func(g *gpu, runs, _ int, dst uint64, in []uint64, states, table uint64, stride int) {
				g.run(cuda.Mamba1Name(tt.n), cuda.Dims{Heads: 1, Out: tt.width, Rows: runs}, dst, in[0], in[1], in[2], in[3], g.floats(a), g.floats(d), states, table, tt.width, tt.n, stride)
			},
		}
		s.check(t, [3]int{10, 3, 1})
	}
}

func TestDeltaNet(t *testing.T) {
	for _, tt := range []struct {
		heads, keyHeads, key, value int
		tiled                       bool
	}{{4, 2, 30, 36, true}, {2, 1, 64, 8, false}, {1, 1, 130, 5, false}} {
		a, bias := negative(1, tt.heads), random(2, tt.heads)
		keys := tt.keyHeads * tt.key
		width := 2*keys + tt.heads*tt.value
		s := scanned{
			name: cuda.DeltaName(tt.key), width: tt.heads * tt.value, state: tt.heads * tt.key * tt.value, inputs: []int{width, tt.heads, tt.heads},
			run: func(dst []float32, in [][]float32, state []float32) {
				work, q, k := make([]float32, tt.value), make([]float32, tt.key), make([]float32, tt.key)
				unit := func(dst, x []float32, by float64) {
					ss := 1e-6
					for _, v := range x {
						ss += float64(v) * float64(v)
					}
					vec.Scale(dst, x, float32(by/math.Sqrt(ss)))
				}
				for r := range len(dst) / (tt.heads * tt.value) {
					row := in[0][r*width : (r+1)*width]
					for h := range tt.heads {
						of := h / (tt.heads / tt.keyHeads)
						if tt.tiled {
							of = h % tt.keyHeads
						}
						unit(q, row[of*tt.key:(of+1)*tt.key], 1/math.Sqrt(float64(tt.key)))
						unit(k, row[keys+of*tt.key:keys+(of+1)*tt.key], 1)
						at, v, one := (r*tt.heads+h)*tt.value, 2*keys+h*tt.value, r*tt.heads+h
						recurrent.Delta(dst[at:at+tt.value], q, k, row[v:v+tt.value], state[h*tt.key*tt.value:(h+1)*tt.key*tt.value], work,
							a[h]*recurrent.Softplus(in[2][one]+bias[h]), 1/(1+vec.ExpScalar(-in[1][one])))
					}
				}
			},
			launch: func(g *gpu, runs, _ int, dst uint64, in []uint64, states, table uint64, stride int) {
				on := 0
				if tt.tiled {
					on = 1
				}
				g.run(cuda.DeltaName(tt.key), cuda.Dims{Heads: tt.heads, Out: tt.value, Rows: runs}, dst, in[0], in[1], in[2], g.floats(a), g.floats(bias), states, table, tt.heads, tt.keyHeads, tt.key, tt.value, on, stride)
			},
		}
		s.check(t, [3]int{10, 3, 1})
	}
}

func TestTokenShift(t *testing.T) {
	for _, tt := range []struct {
		width, n int
		lengths  [3]int
	}{{130, 6, [3]int{5, 2, 1}}, {7, 1, [3]int{130, 3, 65}}} {
		mix := random(1, tt.n*tt.width)
		s := scanned{
			name: "token_shift", width: tt.n * tt.width, state: tt.width, inputs: []int{tt.width},
			run: func(dst []float32, in [][]float32, state []float32) {
				recurrent.TokenShift(dst, in[0], tt.width, mix, state, 0, tt.width)
			},
			launch: func(g *gpu, runs, longest int, dst uint64, in []uint64, states, table uint64, stride int) {
				g.run("token_shift", cuda.Dims{Out: tt.width, Rows: runs, Splits: longest}, dst, in[0], g.floats(mix), states, table, tt.width, tt.n, stride)
			},
		}
		s.check(t, tt.lengths)
	}
}

func TestWKV7(t *testing.T) {
	for _, tt := range []struct{ heads, head int }{{2, 64}, {3, 20}} {
		width := tt.heads * tt.head
		m := recurrent.RWKV{Key: random(1, width), Rate: random(2, width), Bonus: random(3, width), Norm: random(4, width), Shift: random(5, width), Eps: 1e-5}
		s := scanned{
			name: fmt.Sprintf("wkv7 with heads of %d", tt.head), width: width, state: width * tt.head, inputs: slices.Repeat([]int{width}, 5),
			run: func(dst []float32, in [][]float32, state []float32) {
				work := make([]float32, recurrent.RWKVWork*tt.head)
				for r := range len(dst) / width {
					for h := range tt.heads {
						of := func(x []float32) []float32 { return x[r*width+h*tt.head : r*width+(h+1)*tt.head] }
						m.Row(of(dst), of(in[0]), of(in[1]), of(in[2]), of(in[3]), of(in[4]), h, state[h*tt.head*tt.head:(h+1)*tt.head*tt.head], work)
					}
				}
			},
			launch: func(g *gpu, runs, _ int, dst uint64, in []uint64, states, table uint64, stride int) {
				g.run("wkv7", cuda.Dims{Heads: tt.heads, Out: 1, Rows: runs}, dst, in[0], in[1], in[2], in[3], in[4],
					g.floats(m.Key), g.floats(m.Rate), g.floats(m.Bonus), g.floats(m.Norm), g.floats(m.Shift), states, table, width, tt.head, m.Eps, stride)
			},
		}
		s.check(t, [3]int{10, 3, 1})
	}
}
