package ptxvm_test

import (
	"encoding/binary"
	"errors"
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

func FuzzParse(f *testing.F) {
	f.Add(strings.Replace(triple, "BARRIER", "bar.sync 0;", 1))
	f.Add(".version 6.3\n.target sm_75\n.global .align 4 .b32 v[2] = {1, 0f3f800000};")
	f.Add(".visible .entry k() { ret; }")
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
