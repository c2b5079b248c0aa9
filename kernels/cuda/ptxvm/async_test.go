package ptxvm_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"quern/kernels/cuda/ptxvm"
)

// matrices copies 32 rows of eight numbers of 16 bits, the last one as zeros, and
// loads them as four matrices.
const matrices = `.version 7.0
.target sm_80
.address_size 64
.visible .entry matrices(.param .u64 x, .param .u64 y)
{
	.reg .pred %p<2>;
	.reg .b32 %r<20>;
	.reg .b64 %rd<9>;
	.shared .align 16 .b8 rows[512];
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	mov.u32 %r1, %tid.x;
	mul.wide.s32 %rd3, %r1, 16;
	add.s64 %rd1, %rd1, %rd3;
	add.s64 %rd2, %rd2, %rd3;
	shl.b32 %r2, %r1, 4;
	mov.u32 %r3, rows;
	add.s32 %r3, %r3, %r2;
	setp.eq.s32 %p1, %r1, 31;
	selp.b32 %r4, 0, 16, %p1;
	cp.async.cg.shared.global [%r3], [%rd1], 16, %r4;
	cp.async.commit_group;
	WAIT
	ldmatrix.sync.aligned.m8n8.x4TRANS.shared.b16 {%r10, %r11, %r12, %r13}, [%r3];
	st.global.v4.u32 [%rd2], {%r10, %r11, %r12, %r13};
	ret;
}
`

func TestMatrices(t *testing.T) {
	for _, trans := range []string{"", ".trans"} {
		m, err := ptxvm.Parse(strings.NewReplacer("WAIT", "cp.async.wait_group 0;", "TRANS", trans).Replace(matrices))
		if err != nil {
			t.Fatal(err)
		}
		var d ptxvm.Device
		x, y := d.Alloc(31*16), d.Alloc(512) // the last row is not there
		number := func(matrix, row, column int) uint16 {
			if matrix == 3 && row == 7 {
				return 0
			}
			return uint16(1000*matrix + 10*row + column + 1)
		}
		b := make([]byte, 31*16)
		for i := range len(b) / 2 {
			binary.LittleEndian.PutUint16(b[2*i:], number(i/64, i/8%8, i%8))
		}
		if err := d.Write(x, b); err != nil {
			t.Fatal(err)
		}
		if err := d.Launch(m.Kernel("matrices"), ptxvm.Config{Block: [3]int{32}}, x, y); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 512)
		if err := d.Read(y, got); err != nil {
			t.Fatal(err)
		}
		for lane := range 32 {
			for i := range 4 {
				for half := range 2 {
					row, column := lane/4, lane%4*2+half
					if trans != "" {
						row, column = column, row
					}
					if got, want := binary.LittleEndian.Uint16(got[16*lane+4*i+2*half:]), number(i, row, column); got != want {
						t.Fatalf("lane %d has %d of matrix %d%s, want %d", lane, got, i, trans, want)
					}
				}
			}
		}
	}
}

// A copy that was not waited for is not there.
func TestAsyncFaults(t *testing.T) {
	for _, wait := range []string{"", "cp.async.wait_group 1;"} {
		m, err := ptxvm.Parse(strings.NewReplacer("WAIT", wait, "TRANS", "").Replace(matrices))
		if err != nil {
			t.Fatal(err)
		}
		var d ptxvm.Device
		x, y := d.Alloc(31*16), d.Alloc(512)
		if err := d.Write(x, make([]byte, 31*16)); err != nil {
			t.Fatal(err)
		}
		var f *ptxvm.Fault
		if err := d.Launch(m.Kernel("matrices"), ptxvm.Config{Block: [3]int{32}}, x, y); !errors.As(err, &f) || !strings.Contains(f.Why, "never written") {
			t.Errorf("%q: %v, want a fault", wait, err)
		}
	}
}
