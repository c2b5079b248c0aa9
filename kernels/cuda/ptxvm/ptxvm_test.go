package ptxvm_test

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"quern/kernels/cuda/ptxvm"
)

// triple writes 3·x[i] + the number of the thread's mirror in its warp.
const triple = `.version 6.3
.target sm_75
.address_size 64
.visible .entry triple(.param .u64 x, .param .u64 y, .param .u32 n)
.maxntid 64, 1, 1
{
	.reg .pred %p<2>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<6>;
	.shared .align 4 .b8 s[256];
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	shl.b32 %r3, %r2, 2;
	mov.u32 %r4, s;
	add.s32 %r4, %r4, %r3;
	shfl.sync.bfly.b32 %r5, %r2, 31, 31, -1;
	st.shared.u32 [%r4], %r5;
	BARRIER
	setp.ge.s32 %p1, %r2, %r1;
	@%p1 bra $done;
	mul.wide.s32 %rd3, %r2, 4;
	add.s64 %rd4, %rd1, %rd3;
	ld.global.u32 %r6, [%rd4];
	ld.shared.u32 %r7, [%r4];
	mad.lo.s32 %r8, %r6, 3, %r7;
	add.s64 %rd5, %rd2, %rd3;
	st.global.u32 [%rd5], %r8;
$done:
	ret;
}
`

func TestLaunch(t *testing.T) {
	const n = 50
	for _, tt := range []struct {
		name, from, to string
		n              uint64
		why            string // of the fault; "" for none
	}{
		{"whole", "BARRIER", "bar.sync 0;", n, ""},
		{"out of bounds", "BARRIER", "bar.sync 0;", n + 1, "outside"},
		{"misaligned", "[%rd4]", "[%rd4+2]", n, "misaligned"},
		{"unwritten shared", "st.shared.u32 [%r4], %r5;", "", n, "never written"},
		{"unwritten register", "mov.u32 %r2, %tid.x;", "", n, "%r2 was never written"},
		{"part of a block at a barrier", "BARRIER", "setp.eq.s32 %p1, %r2, 40; @%p1 ret; bar.sync 0;", n, "barrier"},
		{"apart, together by a collective, then at a barrier", "BARRIER", "setp.eq.s32 %p1, %r3, 20; @%p1 bra $odd; bra.uni $join; $odd: mov.b32 %r8, %r5; $join: shfl.sync.bfly.b32 %r8, %r5, 1, 31, -1; bar.sync 0;", n, ""},
		{"endless", "BARRIER", "$again: bra $again;", n, "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := strings.Replace(triple, tt.from, tt.to, 1)
			m, err := ptxvm.Parse(strings.Replace(src, "BARRIER", "bar.sync 0;", 1))
			if err != nil {
				t.Fatal(err)
			}
			d := ptxvm.Device{Limit: 1 << 16}
			x, y := d.Alloc(4*n), d.Alloc(4*n)
			in := make([]byte, 4*n)
			for i := range n {
				binary.LittleEndian.PutUint32(in[4*i:], uint32(i*i))
			}
			if err := d.Write(x, in); err != nil {
				t.Fatal(err)
			}
			err = d.Launch(m.Kernel("triple"), ptxvm.Config{Block: [3]int{64}}, x, y, tt.n)
			var f *ptxvm.Fault
			if tt.why != "" {
				if !errors.As(err, &f) || !strings.Contains(f.Why, tt.why) || f.Kernel != "triple" || f.Line == 0 {
					t.Fatalf("got %v; want a fault about %q", err, tt.why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			out := make([]byte, 4*n)
			if err := d.Read(y, out); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				if got, want := binary.LittleEndian.Uint32(out[4*i:]), uint32(3*i*i+(i^31)); got != want {
					t.Errorf("y[%d] = %d, want %d", i, got, want)
				}
			}
		})
	}
}

// product multiplies a (16, k) matrix by a (k, 8) one; lanes load what MMA wants
// of them by themselves, so that a wrong place shows.
const product = `.version 7.0
.target sm_80
.address_size 64
.visible .entry product(.param .u64 .ptr .align 1 a, .param .u64 b, .param .u64 c)
{
	.reg .b32 %r<32>;
	.reg .b64 %rd<9>;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	mov.u32 %r1, %tid.x;
	shr.u32 %r2, %r1, 2;
	and.b32 %r3, %r1, 3;
	shl.b32 %r4, %r2, 5;
	shl.b32 %r5, %r3, 2;
	add.s32 %r4, %r4, %r5;
	{ .reg .b32 tmp; mov.b32 tmp, %r4; cvt.u64.u32 %rd4, tmp; }
	add.s64 %rd5, %rd1, %rd4;
	add.s64 %rd6, %rd2, %rd4;
	ld.global.b32 %r10, [%rd5];
	ld.global.b32 %r11, [%rd5+256];
	ld.global.b32 %r12, [%rd5+16];
	ld.global.b32 %r13, [%rd5+272];
	ld.global.b32 %r14, [%rd6];
	ld.global.b32 %r15, [%rd6+16];
	mov.b32 %r20, START;
	mov.b32 %r21, START;
	mov.b32 %r22, START;
	mov.b32 %r23, START;
	mma.sync.aligned.SHAPE {%r20,%r21,%r22,%r23}, {%r10,%r11,%r12,%r13}, {%r14,%r15}, {%r20,%r21,%r22,%r23};
	shl.b32 %r4, %r2, 5;
	shl.b32 %r5, %r3, 3;
	add.s32 %r4, %r4, %r5;
	cvt.u64.u32 %rd4, %r4;
	add.s64 %rd7, %rd3, %rd4;
	st.global.v2.b32 [%rd7], {%r20, %r21};
	st.global.v2.b32 [%rd7+256], {%r22, %r23};
	ret;
}
`

func TestMatrixProduct(t *testing.T) {
	a, b := make([]byte, 16*32), make([]byte, 8*32) // rows of k, columns of k
	for i := range a {
		a[i] = byte(i*37 + i/32)
	}
	for i := range b {
		b[i] = byte(i*91 + 5)
	}
	brain := func(p []byte, i int) float64 {
		return float64(math.Float32frombits(uint32(p[2*i])<<16 | uint32(p[2*i+1]&0x3f)<<24))
	}
	for i := 1; i < len(a); i += 2 { // bf16: exponents that stay finite
		a[i] &= 0x3f
		b[i%len(b)] &= 0x3f
	}
	for _, tt := range []struct {
		shape, start string
		want         func(row, col int) uint32
	}{
		{"m16n8k32.row.col.s32.s8.s8.s32", "7", func(row, col int) uint32 {
			s := int32(7)
			for k := range 32 {
				s += int32(int8(a[32*row+k])) * int32(int8(b[32*col+k]))
			}
			return uint32(s)
		}},
		{"m16n8k16.row.col.f32.bf16.bf16.f32", "0x3f800000", func(row, col int) uint32 {
			s := 0.0
			for k := range 16 {
				s += brain(a[32*row:], k) * brain(b[32*col:], k)
			}
			return math.Float32bits(float32(1 + s))
		}},
	} {
		t.Run(tt.shape, func(t *testing.T) {
			m, err := ptxvm.Parse(strings.NewReplacer("SHAPE", tt.shape, "START", tt.start).Replace(product))
			if err != nil {
				t.Fatal(err)
			}
			var d ptxvm.Device
			pa, pb, pc := d.Alloc(len(a)), d.Alloc(len(b)), d.Alloc(4*16*8)
			if err := errors.Join(d.Write(pa, a), d.Write(pb, b)); err != nil {
				t.Fatal(err)
			}
			if err := d.Launch(m.Kernel("product"), ptxvm.Config{Block: [3]int{32}}, pa, pb, pc); err != nil {
				t.Fatal(err)
			}
			out := make([]byte, 4*16*8)
			if err := d.Read(pc, out); err != nil {
				t.Fatal(err)
			}
			for i := range 16 * 8 {
				if got, want := binary.LittleEndian.Uint32(out[4*i:]), tt.want(i/8, i%8); got != want {
					t.Errorf("row %d, column %d: %#x, want %#x", i/8, i%8, got, want)
				}
			}
			var f *ptxvm.Fault
			err = d.Launch(m.Kernel("product"), ptxvm.Config{Block: [3]int{31}}, pa, pb, pc)
			if !errors.As(err, &f) || !strings.Contains(f.Why, "part of a warp") {
				t.Errorf("31 lanes: got %v, want a fault", err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(strings.Replace(triple, "BARRIER", "bar.sync 0;", 1))
	f.Add(".version 6.3\n.target sm_75\n.global .align 4 .b32 v[2] = {1, 0f3f800000};")
	f.Add(".visible .entry k() { ret; }")
	f.Add(strings.NewReplacer("SHAPE", "m16n8k32.row.col.s32.s8.s8.s32", "START", "0").Replace(product))
	f.Add(warpgroupProduct(8, "%rd4", "1, 1, 0, 0"))
	f.Add(".entry k { { .reg .b32 x; } } }")
	f.Add(".visible")
	f.Add(".entry k { @{1} setp %p1, 1, 2; ld.u32 %r1, [{1}]; ret; }")
	f.Fuzz(func(t *testing.T, src string) {
		m, err := ptxvm.Parse(src)
		if err != nil {
			if !errors.Is(err, ptxvm.ErrFormat) && !errors.Is(err, ptxvm.ErrUnsupported) {
				t.Fatalf("%v wraps neither sentinel", err)
			}
			return
		}
		d := ptxvm.Device{Limit: 1000}
		for _, name := range m.Names() {
			k := m.Kernel(name)
			// A fault is as good as an end; neither may panic or hang.
			_ = d.Launch(k, ptxvm.Config{}, make([]uint64, len(k.Params()))...)
		}
	})
}
