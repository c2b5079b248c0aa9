package amx

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Palette 1: eight tiles of at most 16 rows of 64 bytes.
const (
	tiles    = 8
	maxRows  = 16
	maxBytes = 64
)

// A State is what AMX adds to a thread: the configuration and the tiles. The zero
// value is the state after TILERELEASE.
type State struct {
	configured bool
	config     [64]byte
	shape      [tiles]struct{ rows, bytes int }
	data       [tiles][maxRows][maxBytes]byte
}

// Configured reports whether LDTILECFG was executed after the last TILERELEASE.
func (s *State) Configured() bool { return s.configured }

// Registers are the general-purpose registers, numbered as they are encoded.
type Registers [16]uint64

// Memory is a thread's. The i-th of rows is at addr + i·stride; an error says
// that one of the bytes is not mapped.
type Memory interface {
	Read(rows [][]byte, addr, stride uint64) error
	Write(rows [][]byte, addr, stride uint64) error
}

// A Fault is the exception an instruction raises; it has changed nothing then,
// except that rows of a store may have been written.
type Fault struct {
	Kind FaultKind
	Addr uint64 // of a page fault
	Why  string
}

// A FaultKind is an exception of the CPU.
type FaultKind string

const (
	UD FaultKind = "#UD" // invalid opcode
	GP FaultKind = "#GP" // general protection
	PF FaultKind = "#PF" // page fault
)

func (f *Fault) Error() string { return string(f.Kind) + ": " + f.Why }

func fault(k FaultKind, format string, args ...any) *Fault {
	return &Fault{Kind: k, Why: fmt.Sprintf(format, args...)}
}

// Exec executes one instruction, which next follows in memory.
func (s *State) Exec(in Inst, r *Registers, next uint64, m Memory) *Fault {
	switch in.Op {
	case LDTILECFG:
		var c [64]byte
		if f := access(m.Read, [][]byte{c[:]}, in.Mem.address(r, next)+in.Mem.stride(r), 0); f != nil {
			return f
		}
		return s.configure(&c)
	case STTILECFG:
		return access(m.Write, [][]byte{s.config[:]}, in.Mem.address(r, next)+in.Mem.stride(r), 0)
	case TILERELEASE:
		*s = State{}
		return nil
	}
	if f := s.valid(in.C); f != nil {
		return f
	}
	switch in.Op {
	case TILEZERO:
		s.data[in.C] = [maxRows][maxBytes]byte{}
	case TILELOADD, TILELOADDT1:
		var t [maxRows][maxBytes]byte // what a tile's shape leaves out becomes zero
		if f := access(m.Read, s.shaped(in.C, &t), in.Mem.address(r, next), in.Mem.stride(r)); f != nil {
			return f
		}
		s.data[in.C] = t
	case TILESTORED:
		return access(m.Write, s.shaped(in.C, &s.data[in.C]), in.Mem.address(r, next), in.Mem.stride(r))
	default:
		return s.product(in)
	}
	return nil
}

// address is base and displacement; for tiles that is the first row.
func (o Operand) address(r *Registers, next uint64) uint64 {
	at := uint64(int64(o.Disp))
	switch {
	case o.RIP:
		return at + next
	case o.Base >= 0:
		at += r[o.Base]
	}
	return at
}

// stride is the shifted index: what rows are apart, or for other operands the rest
// of the address.
func (o Operand) stride(r *Registers) uint64 {
	if o.Index < 0 {
		return 0
	}
	return r[o.Index] << o.Shift
}

func access(f func([][]byte, uint64, uint64) error, rows [][]byte, addr, stride uint64) *Fault {
	if err := f(rows, addr, stride); err != nil {
		return &Fault{Kind: PF, Addr: addr, Why: err.Error()}
	}
	return nil
}

// shaped returns the rows of t that tile i's shape has.
func (s *State) shaped(i int, t *[maxRows][maxBytes]byte) [][]byte {
	rows := make([][]byte, s.shape[i].rows)
	for r := range rows {
		rows[r] = t[r][:s.shape[i].bytes]
	}
	return rows
}

func (s *State) valid(t int) *Fault {
	if !s.configured {
		return fault(UD, "tiles are not configured")
	}
	if s.shape[t].rows == 0 {
		return fault(UD, "tile %d is not configured", t)
	}
	return nil
}

// configure is LDTILECFG: byte 0 is the palette, byte 1 the row to restart from,
// words from 16 on bytes of a row, bytes from 48 on rows. A row to restart from,
// which only loads that were interrupted leave, is not executed here.
func (s *State) configure(c *[64]byte) *Fault {
	if c[0] == 0 {
		*s = State{}
		return nil
	}
	if c[0] > 1 {
		return fault(GP, "palette %d", c[0])
	}
	n := State{configured: true, config: *c}
	for i := range n.shape {
		b, rows := int(binary.LittleEndian.Uint16(c[16+2*i:])), int(c[48+i])
		if b > maxBytes || rows > maxRows || (b == 0) != (rows == 0) {
			return fault(GP, "tile %d of %d rows of %d bytes", i, rows, b)
		}
		n.shape[i].rows, n.shape[i].bytes = rows, b
	}
	for i, b := range c[1:] {
		if i++; b != 0 && (i < 16 || 32 <= i && i < 48 || 56 <= i) {
			return fault(GP, "byte %d of a configuration is %d", i, b)
		}
	}
	*s = n
	return nil
}

// product is C += A·B. A's rows hold groups of four bytes (two BF16), k to k+3; a
// row of B holds the same four k of every column.
func (s *State) product(in Inst) *Fault {
	for _, t := range []int{in.A, in.B} {
		if f := s.valid(t); f != nil {
			return f
		}
	}
	a, b, c := s.shape[in.A], s.shape[in.B], s.shape[in.C]
	switch {
	case in.C == in.A || in.A == in.B || in.C == in.B:
		return fault(UD, "%v of tiles %d, %d and %d", in.Op, in.C, in.A, in.B)
	case a.bytes%4 != 0 || b.bytes%4 != 0 || c.bytes%4 != 0 || c.rows != a.rows || a.bytes/4 != b.rows || c.bytes != b.bytes:
		return fault(UD, "%v of %d×%d and %d×%d to %d×%d", in.Op, a.rows, a.bytes, b.rows, b.bytes, c.rows, c.bytes)
	}
	var out [maxRows][maxBytes]byte
	if in.Op == TDPBF16PS {
		s.productBF16(&out, in)
	} else {
		do := dot4(in.Op == TDPBSSD || in.Op == TDPBSUD, in.Op == TDPBSSD || in.Op == TDPBUSD)
		for m := range c.rows {
			do(out[m][:c.bytes], s.data[in.C][m][:c.bytes], s.data[in.A][m][:a.bytes], &s.data[in.B])
		}
	}
	s.data[in.C] = out
	return nil
}

// dot4 returns the function of one row of bytes that are signed or not. Sums wrap.
func dot4(aSigned, bSigned bool) func(out, c, a []byte, b *[maxRows][maxBytes]byte) {
	value := func(signed bool, v byte) int32 {
		if signed {
			return int32(int8(v))
		}
		return int32(v)
	}
	return func(out, c, a []byte, b *[maxRows][maxBytes]byte) {
		var sums [maxBytes / 4]int32
		for n := range len(c) / 4 {
			sums[n] = int32(binary.LittleEndian.Uint32(c[4*n:]))
		}
		for k, v := range a {
			v, row := value(aSigned, v), b[k/4][k%4:]
			for n := range len(c) / 4 {
				sums[n] += v * value(bSigned, row[4*n])
			}
		}
		for n := range len(c) / 4 {
			binary.LittleEndian.PutUint32(out[4*n:], uint32(sums[n]))
		}
	}
}

// productBF16 is product for TDPBF16PS.
func (s *State) productBF16(out *[maxRows][maxBytes]byte, in Inst) {
	a, c := s.shape[in.A], s.shape[in.C]
	n := a.bytes / 2
	bf16 := func(p []byte) float32 {
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(p)) << 16)
	}
	var columns [maxBytes / 4][maxBytes / 2]float32
	for j := range c.bytes / 4 {
		for k := range n {
			columns[j][k] = bf16(s.data[in.B][k/2][4*j+k%2*2:])
		}
	}
	var row [maxBytes / 2]float32
	for m := range c.rows {
		for k := range n {
			row[k] = bf16(s.data[in.A][m][2*k:])
		}
		for j := range c.bytes / 4 {
			sum := math.Float32frombits(binary.LittleEndian.Uint32(s.data[in.C][m][4*j:]))
			binary.LittleEndian.PutUint32(out[m][4*j:], math.Float32bits(DotBF16(sum, row[:n], columns[j][:n])))
		}
	}
}

// DotBF16 returns what TDPBF16PS makes of one sum and the numbers of a row and of a
// column, which are BF16 and of even number.
//
// Pairs' first and second products are summed apart, in ascending order and from zero,
// each by a fused multiply-add; then the two sums are added to each other, and that
// to sum. All round to nearest even; subnormal inputs and results are
// replaced by zero; no exception is raised, and MXCSR does not matter.
func DotBF16(sum float32, a, b []float32) float32 {
	var sums [2]float32
	for k := 0; k < len(a); k += 2 {
		sums[0] = fma(flush(a[k]), flush(b[k]), sums[0])
		sums[1] = fma(flush(a[k+1]), flush(b[k+1]), sums[1])
	}
	return flush(flush(sum) + flush(sums[0]+sums[1]))
}

// flush returns x, or for a subnormal number zero with its sign. A float32 sum
// that is subnormal is exact, so flushing it is all that flushing takes.
func flush(x float32) float32 {
	if bits := math.Float32bits(x); bits&0x7f800000 == 0 {
		return math.Float32frombits(bits & (1 << 31))
	}
	return x
}

// fma returns a·b + c rounded once, of BF16 a and b: their product is exact in
// float64, and the sum there is rounded to odd, so that rounding it again to
// float32 is the only rounding that shows.
func fma(a, b, c float32) float32 {
	p, q := float64(a)*float64(b), float64(c)
	sum := p + q
	if !math.IsInf(sum, 0) && sum == sum {
		t := sum - p // what the sum left out, exactly: Knuth's TwoSum
		if lost := (p - (sum - t)) + (q - t); lost != 0 {
			if bits := math.Float64bits(sum); bits&1 == 0 {
				if (lost > 0) == (sum > 0) {
					bits++
				} else {
					bits--
				}
				sum = math.Float64frombits(bits)
			}
		}
	}
	// Small is what would be small if exponents had no end: 2⁶⁴ times as large, it
	// is rounded like a normal number.
	if r := float32(sum * 0x1p64); r > -0x1p-62 && r < 0x1p-62 {
		return float32(math.Copysign(0, sum))
	}
	return float32(sum)
}
