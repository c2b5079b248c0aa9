package ptxvm_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"quern/kernels/cuda/ptxvm"
)

// single is a kernel of one thread with three arguments in all kinds of
// registers; its result is 8 bytes.
const single = `.version 6.3
.target sm_75
.address_size 64
.visible .entry single(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c)
{
	.reg .pred %p<4>;
	.reg .b16 %h<8>;
	.reg .b32 %r<16>;
	.reg .f32 %f<16>;
	.reg .b64 %rd<16>;
	ld.param.u64 %rd0, [out];
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	cvt.u32.u64 %r1, %rd1;
	cvt.u32.u64 %r2, %rd2;
	cvt.u32.u64 %r3, %rd3;
	mov.b32 %f1, %r1;
	mov.b32 %f2, %r2;
	mov.b32 %f3, %r3;
	BODY
	st.global.u64 [%rd0], %rd9;
	ret;
}
`

// How a body hands its result over.
const (
	as32 = "cvt.u64.u32 %rd9, %r9;"
	asF  = "mov.b32 %r9, %f9; cvt.u64.u32 %rd9, %r9;"
	asP  = "selp.b32 %r9, 1, 0, %p1; cvt.u64.u32 %rd9, %r9;"
)

func TestOpcodes(t *testing.T) {
	f := func(x float32) uint64 { return uint64(math.Float32bits(x)) }
	i := func(x int32) uint64 { return uint64(uint32(x)) }
	inf := float32(math.Inf(1))
	for _, tt := range []struct {
		body, end string
		a, b, c   uint64
		want      uint64
	}{
		{"add.s32 %r9, %r1, %r2;", as32, i(7), i(-9), 0, i(-2)},
		{"bfe.s32 %r9, %r1, 4, 8;", as32, i(0xf85), 0, 0, i(-8)},
		{"st.global.u32 [%rd0], %r1; atom.global.inc.u32 %r9, [%rd0], %r2; ld.global.u32 %r8, [%rd0]; shl.b32 %r8, %r8, 8; or.b32 %r9, %r9, %r8;", as32, 2, 3, 0, 0x302},
		{"st.global.u32 [%rd0], %r1; atom.global.inc.u32 %r9, [%rd0], %r2; ld.global.u32 %r8, [%rd0]; shl.b32 %r8, %r8, 8; or.b32 %r9, %r9, %r8;", as32, 3, 3, 0, 3},
		{"sub.rn.f16x2 %r9, %r1, %r2;", as32, 0x7bff_6480, 0xfbff_6481, 0, 0x7c00_bc00}, // infinity, 1152 - 1153
		{"mul.rn.f16x2 %r9, %r1, %r2;", as32, 0x0401_4200, 0x3800_c000, 0, 0x0200_c600}, // half of a subnormal and a bit; 3 · -2
		{"bfe.s32 %r9, %r1, 28, 8;", as32, i(-1 << 30), 0, 0, i(-4)},
		{"bfe.u32 %r9, %r1, 4, 8;", as32, i(0xf85), 0, 0, 0xf8},
		{"bfe.u64 %rd9, %rd1, 60, 8;", "", 9 << 60, 0, 0, 9},
		{"bfe.u32 %r9, %r1, 4, 0;", as32, i(0xf85), 0, 0, 0},
		{"copysign.f32 %f9, %f1, %f2;", asF, f(-1), f(2), 0, f(-2)},
		{"cvt.s8.s32 %h1, %r1; cvt.rn.f32.s16 %f9, %h1;", asF, i(0x180), 0, 0, f(-128)},
		{"sub.s32 %r9, %r1, %r2;", as32, i(7), i(-9), 0, i(16)},
		{"mul.lo.s32 %r9, %r1, %r2;", as32, i(-7), i(9), 0, i(-63)},
		{"mul.wide.s32 %rd9, %r1, %r2;", "", i(-70000), i(70000), 0, 18446744068809551616},
		{"mul.wide.u32 %rd9, %r1, %r2;", "", 1 << 31, 6, 0, 6 << 31},
		{"mul.hi.u32 %r9, %r1, %r2;", as32, 1 << 31, 6, 0, 3},
		{"mad.lo.s32 %r9, %r1, %r2, %r3;", as32, i(-7), i(9), i(100), i(37)},
		{"add.s64 %rd9, %rd1, %rd2;", "", 1 << 40, 5, 0, 1<<40 + 5},
		{"mul.lo.s64 %rd9, %rd1, %rd2;", "", 1 << 40, 5, 0, 5 << 40},
		{"div.s32 %r9, %r1, %r2;", as32, i(-7), i(2), 0, i(-3)},
		{"div.u32 %r9, %r1, %r2;", as32, 0xfffffff9, 2, 0, 0x7ffffffc},
		{"rem.s32 %r9, %r1, %r2;", as32, i(-7), i(2), 0, i(-1)},
		{"rem.u32 %r9, %r1, %r2;", as32, 17, 5, 0, 2},
		{"min.s32 %r9, %r1, %r2;", as32, i(-7), i(2), 0, i(-7)},
		{"max.u32 %r9, %r1, %r2;", as32, i(-7), i(2), 0, i(-7)},
		{"abs.s32 %r9, %r1;", as32, i(-7), 0, 0, 7},
		{"neg.s32 %r9, %r1;", as32, 7, 0, 0, i(-7)},
		{"and.b32 %r9, %r1, %r2;", as32, 0b1100, 0b1010, 0, 0b1000},
		{"or.b32 %r9, %r1, %r2;", as32, 0b1100, 0b1010, 0, 0b1110},
		{"xor.b32 %r9, %r1, %r2;", as32, 0b1100, 0b1010, 0, 0b0110},
		{"not.b32 %r9, %r1;", as32, 0, 0, 0, 0xffffffff},
		{"shl.b32 %r9, %r1, %r2;", as32, 3, 4, 0, 48},
		{"shl.b32 %r9, %r1, %r2;", as32, 3, 32, 0, 0},
		{"shr.u32 %r9, %r1, %r2;", as32, i(-16), 2, 0, 0x3ffffffc},
		{"shr.s32 %r9, %r1, %r2;", as32, i(-16), 2, 0, i(-4)},
		{"shr.s32 %r9, %r1, %r2;", as32, i(-16), 40, 0, i(-1)},
		{"bfe.u32 %r9, %r1, %r2, %r3;", as32, 0x12345678, 8, 12, 0x456},
		{"dp4a.s32.s32 %r9, %r1, %r2, %r3;", as32, 0x7f80ff01, 0x02020202, 5, i(2*(127-128-1+1) + 5)},

		{"add.rn.f32 %f9, %f1, %f2;", asF, f(1.5), f(0.1), 0, f(1.5 + float32(0.1))},
		{"sub.rn.f32 %f9, %f1, %f2;", asF, f(1.5), f(0.25), 0, f(1.25)},
		{"mul.rn.f32 %f9, %f1, %f2;", asF, f(1.5), f(-3), 0, f(-4.5)},
		{"fma.rn.f32 %f9, %f1, %f2, %f3;", asF, f(1 + 0x1p-20), f(1 - 0x1p-20), f(-1), f(-0x1p-40)},
		{"div.rn.f32 %f9, %f1, %f2;", asF, f(1), f(3), 0, f(float32(1) / 3)},
		{"min.f32 %f9, %f1, %f2;", asF, f(float32(math.NaN())), f(3), 0, f(3)},
		{"max.f32 %f9, %f1, %f2;", asF, f(-1), f(3), 0, f(3)},
		{"abs.f32 %f9, %f1;", asF, f(-1), 0, 0, f(1)},
		{"neg.f32 %f9, %f1;", asF, f(-1), 0, 0, f(1)},
		{"sqrt.rn.f32 %f9, %f1;", asF, f(2), 0, 0, f(float32(math.Sqrt2))},
		{"rsqrt.approx.f32 %f9, %f1;", asF, f(4), 0, 0, f(0.5)},
		{"rcp.rn.f32 %f9, %f1;", asF, f(8), 0, 0, f(0.125)},
		{"rcp.rn.f32 %f9, %f1;", asF, f(0), 0, 0, f(inf)},
		{"ex2.approx.f32 %f9, %f1;", asF, f(-3), 0, 0, f(0.125)},

		{"setp.lt.s32 %p1, %r1, %r2;", asP, i(-1), 1, 0, 1},
		{"setp.lt.u32 %p1, %r1, %r2;", asP, i(-1), 1, 0, 0},
		{"setp.ge.s64 %p1, %rd1, %rd2;", asP, 1 << 40, 1, 0, 1},
		{"setp.eq.s32 %p1, %r1, %r2;", asP, 5, 5, 0, 1},
		{"setp.ne.s32 %p1, %r1, %r2;", asP, 5, 5, 0, 0},
		{"setp.gt.f32 %p1, %f1, %f2;", asP, f(2), f(1), 0, 1},
		{"setp.gt.f32 %p1, %f1, %f2;", asP, f(float32(math.NaN())), f(1), 0, 0},
		{"setp.gt.s32 %p2, %r1, %r2; selp.b32 %r9, %r1, %r2, %p2;", as32, i(-4), 3, 0, 3},

		{"cvt.rn.f32.s32 %f9, %r1;", asF, i(-3), 0, 0, f(-3)},
		{"cvt.rn.f32.u32 %f9, %r1;", asF, 1 << 31, 0, 0, f(1 << 31)},
		{"cvt.rzi.s32.f32 %r9, %f1;", as32, f(-3.7), 0, 0, i(-3)},
		{"cvt.rni.s32.f32 %r9, %f1;", as32, f(2.5), 0, 0, 2},
		{"cvt.rzi.s32.f32 %r9, %f1;", as32, f(1e20), 0, 0, math.MaxInt32},
		{"cvt.s64.s32 %rd9, %r1;", "", i(-3), 0, 0, math.MaxUint64 - 2},
		{"cvt.rn.f16.f32 %h1, %f1; cvt.f32.f16 %f9, %h1;", asF, f(1.0009765625 + 0.0002), 0, 0, f(1.0009765625)},
		{"st.global.u32 [%rd0], %r1; ld.global.s32 %rd9, [%rd0];", "", i(-3), 0, 0, math.MaxUint64 - 2},
		{"st.global.u32 [%rd0], %r1; ld.global.s8 %r9, [%rd0];", as32, i(-3), 0, 0, i(-3)},
		{"cvt.rn.f16x2.f32 %r9, %f1, %f2;", as32, f(1), f(-2), 0, 0x3c00c000},
		{"cvt.rn.bf16x2.f32 %r9, %f1, %f2;", as32, f(1), f(-2 - 0x1p-7), 0, 0x3f80c000},
		{"cvt.rn.bf16x2.f32 %r9, %f1, %f2;", as32, f(float32(math.NaN())), f(-2 - 0x1.8p-6), 0, 0x7fffc002},
		{"mov.b64 %rd9, {%r1, %r2};", "", 1, 2, 0, 2<<32 + 1},
		{"mov.b64 {_, %r9}, %rd1;", as32, 7<<32 + 1, 0, 0, 7},
		{"prmt.b32 %r9, %r1, %r2, 0x7441U;", as32, 0x44332211, 0x88776655, 0, 0x88555522},
		{"prmt.b32 %r9, %r1, %r2, %r3;", as32, 0x44b32211, 0, 0xa9a2, 0xff00ffb3},
		{"mov.b64 {%r8, %r9}, %rd1;", as32, 7<<32 + 1, 0, 0, 7},
	} {
		t.Run(tt.body, func(t *testing.T) {
			m, err := ptxvm.Parse(strings.Replace(single, "BODY", tt.body+"\n\t"+tt.end, 1))
			if err != nil {
				t.Fatal(err)
			}
			d := ptxvm.Device{Limit: 1 << 12}
			out := d.Alloc(8)
			if err := d.Launch(m.Kernel("single"), ptxvm.Config{}, out, tt.a, tt.b, tt.c); err != nil {
				t.Fatal(err)
			}
			var b [8]byte
			if err := d.Read(out, b[:]); err != nil {
				t.Fatal(err)
			}
			if got := binary.LittleEndian.Uint64(b[:]); got != tt.want {
				t.Errorf("%#x, %#x, %#x give %#x; want %#x", tt.a, tt.b, tt.c, got, tt.want)
			}
		})
	}
}
