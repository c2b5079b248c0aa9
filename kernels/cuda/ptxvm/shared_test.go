package ptxvm_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"quern/kernels/cuda/ptxvm"
)

// dynamic passes each thread's number on through memory the launch adds.
const dynamic = `.version 6.3
.target sm_75
.address_size 64
.extern .shared .align 16 .b8 more[];
.visible .entry dynamic(.param .u64 y)
{
	.reg .b32 %r<9>;
	.reg .b64 %rd<6>;
	.shared .align 4 .b8 own[4];
	ld.param.u64 %rd1, [y];
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, own;
	st.shared.u32 [%r2], -1;
	shl.b32 %r3, %r1, 2;
	mov.u32 %r4, more;
	add.s32 %r4, %r4, %r3;
	st.shared.u32 [%r4], %r1;
	ld.shared.u32 %r5, [%r4];
	mul.wide.s32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	st.global.u32 [%rd4], %r5;
	ret;
}
`

// Dynamic shared memory lies behind the kernel's own, and ends where the launch says.
func TestDynamicShared(t *testing.T) {
	m, err := ptxvm.Parse(dynamic)
	if err != nil {
		t.Fatal(err)
	}
	d := ptxvm.Device{}
	y := d.Alloc(32)
	if err := d.Launch(m.Kernel("dynamic"), ptxvm.Config{Block: [3]int{8}, Shared: 32}, y); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 32)
	if err := d.Read(y, b); err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		if got := binary.LittleEndian.Uint32(b[4*i:]); got != uint32(i) {
			t.Errorf("thread %d read %d", i, got)
		}
	}
	var f *ptxvm.Fault
	if err := d.Launch(m.Kernel("dynamic"), ptxvm.Config{Block: [3]int{8}, Shared: 28}, y); !errors.As(err, &f) || !strings.Contains(f.Why, "outside") {
		t.Errorf("28 bytes for 32: %v, want a fault", err)
	}
	for _, bad := range []string{".extern .shared .align 16 .b8 more[4];", ".extern .global .align 16 .b8 more[];"} {
		if _, err := ptxvm.Parse(strings.Replace(dynamic, ".extern .shared .align 16 .b8 more[];", bad, 1)); !errors.Is(err, ptxvm.ErrUnsupported) {
			t.Errorf("%s: %v, want ErrUnsupported", bad, err)
		}
	}
}
