package ptxvm_test

import (
	"fmt"
	"log"

	"quern/kernels/cuda/ptxvm"
)

// A kernel in which each thread writes its number.
func Example() {
	m, err := ptxvm.Parse(`.version 6.3
.target sm_75
.address_size 64
.visible .entry count(.param .u64 y)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [y];
	mov.u32 %r1, %tid.x;
	mul.wide.s32 %rd2, %r1, 4;
	add.s64 %rd3, %rd1, %rd2;
	st.global.u32 [%rd3], %r1;
	ret;
}
`)
	if err != nil {
		log.Fatal(err)
	}
	var d ptxvm.Device
	y := d.Alloc(16)
	if err := d.Launch(m.Kernel("count"), ptxvm.Config{Block: [3]int{4}}, y); err != nil {
		log.Fatal(err)
	}
	b := make([]byte, 16)
	fmt.Println(d.Read(y, b), b)
	// Output:
	// <nil> [0 0 0 0 1 0 0 0 2 0 0 0 3 0 0 0]
}
