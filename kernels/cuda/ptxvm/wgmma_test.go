package ptxvm_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"quern/kernels/cuda/ptxvm"
)

// warpgroupProduct copies 32 KiB to shared memory, loads D and stores what the
// product makes of it. Lanes load and store what the ISA's figures give them.
func warpgroupProduct(n int, a, flags string) string {
	var names, load, store []string
	for i := range n / 2 {
		name, off := fmt.Sprintf("d%d", i), 4*((i>>1&1)*8*n+i>>2*8+i&1)
		names = append(names, name)
		load = append(load, fmt.Sprintf("ld.global.f32 %s, [%%rd6+%d];", name, off))
		store = append(store, fmt.Sprintf("st.global.f32 [%%rd6+%d], %s;", off, name))
	}
	return strings.NewReplacer("COUNT", fmt.Sprint(n/2), "SHAPE", fmt.Sprintf("m64n%dk16", n), "WIDTH", fmt.Sprint(n),
		"SUMS", "{"+strings.Join(names, ", ")+"}", "LOAD", strings.Join(load, "\n\t"), "STORE", strings.Join(store, "\n\t"),
		"AFROM", a, "FLAGS", flags).Replace(`.version 8.0
.target sm_90a
.address_size 64
.visible .entry product(.param .u64 image, .param .u64 rows, .param .u64 c, .param .u64 adesc, .param .u64 bdesc, .param .u32 keep)
{
	.reg .pred %p<4>;
	.reg .b32 %r<16>;
	.reg .b64 %rd<16>;
	.reg .f32 d<COUNT>;
	.shared .align 1024 .b8 s[32768];
	ld.param.u64 %rd1, [image];
	ld.param.u64 %rd2, [rows];
	ld.param.u64 %rd3, [c];
	ld.param.u64 %rd4, [adesc];
	ld.param.u64 %rd5, [bdesc];
	ld.param.u32 %r1, [keep];
	setp.ne.s32 %p1, %r1, 0;
	mov.u32 %r2, %tid.x;
	shl.b32 %r3, %r2, 4;
copy:
	cvt.u64.u32 %rd7, %r3;
	add.s64 %rd8, %rd1, %rd7;
	ld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd8];
	st.shared.v4.b32 [%r3], {%r4, %r5, %r6, %r7};
	add.s32 %r3, %r3, 2048;
	setp.lt.s32 %p2, %r3, 32768;
	@%p2 bra copy;
	shr.u32 %r8, %r2, 5;
	shl.b32 %r8, %r8, 4;
	bfe.u32 %r9, %r2, 2, 3;
	add.s32 %r8, %r8, %r9;
	and.b32 %r9, %r2, 3;
	shl.b32 %r10, %r8, 5;
	shl.b32 %r11, %r9, 2;
	add.s32 %r10, %r10, %r11;
	cvt.u64.u32 %rd7, %r10;
	add.s64 %rd8, %rd2, %rd7;
	ld.global.b32 %r4, [%rd8];
	ld.global.b32 %r5, [%rd8+256];
	ld.global.b32 %r6, [%rd8+16];
	ld.global.b32 %r7, [%rd8+272];
	mul.lo.s32 %r10, %r8, WIDTH;
	shl.b32 %r11, %r9, 1;
	add.s32 %r10, %r10, %r11;
	shl.b32 %r10, %r10, 2;
	cvt.u64.u32 %rd7, %r10;
	add.s64 %rd6, %rd3, %rd7;
	LOAD
	fence.proxy.async.shared::cta;
	bar.sync 0;
	wgmma.fence.sync.aligned;
	wgmma.mma_async.sync.aligned.SHAPE.f32.bf16.bf16 SUMS, AFROM, %rd5, %p1, FLAGS;
	wgmma.commit_group.sync.aligned;
	wgmma.wait_group.sync.aligned 0;
	STORE
	ret;
}
`)
}

// A tile is a layout of shared memory: rows of width bytes that are turned about
// by their number, or none where width is 16. Values run along k, or across it.
type tile struct {
	width  int
	across bool
}

var tiles = func() (all []tile) {
	for _, width := range []int{16, 32, 64, 128} {
		all = append(all, tile{width, false}, tile{width, true})
	}
	return all
}()

func (l tile) String() string {
	if l.across {
		return fmt.Sprintf("%d bytes across k", l.width)
	}
	return fmt.Sprintf("%d bytes along k", l.width)
}

// put lays a matrix of n rows of 16 of k out from address at on and returns its
// descriptor. Blocks of up to 64 rows lie apart by more than they need.
func (l tile) put(image []byte, at, n int, x func(mn, k int) uint16) uint64 {
	start, lbo, sbo := at, 0, 0
	var place func(mn, k int) int
	// turned is byte b of row r of a block of 8 rows.
	turned := func(r, b int) int {
		by := map[int]int{32: r / 4, 64: r / 2, 128: r}[l.width]
		return r*l.width + (b/16^by)*16 + b%16
	}
	switch {
	case l.width == 16 && !l.across:
		lbo, sbo = 144, 320
		place = func(mn, k int) int { return mn/8*sbo + k/8*lbo + mn%8*16 + k%8*2 }
	case l.width == 16:
		lbo, sbo = n/8*128+16, 128
		place = func(mn, k int) int { return mn/8*sbo + k/8*lbo + k%8*16 + mn%8*2 }
	case !l.across:
		sbo = 8 * l.width
		if n <= 64 {
			sbo += 1024
		}
		from := l.width - 32 // the last 16 of k of the row
		start += from
		place = func(mn, k int) int { return mn/8*sbo + turned(mn%8, from+2*k) }
	default:
		per := l.width / 2
		sbo, lbo = 1024, 2048
		place = func(mn, k int) int { return mn/per*lbo + k/8*sbo + turned(k%8, mn%per*2) }
	}
	for mn := range n {
		for k := range 16 {
			binary.LittleEndian.PutUint16(image[at+place(mn, k):], x(mn, k))
		}
	}
	kind := map[int]uint64{16: 0, 128: 1, 64: 2, 32: 3}[l.width]
	return uint64(start)>>4 | uint64(lbo)>>4<<16 | uint64(sbo)>>4<<32 | kind<<62
}

// whole numbers of bf16, whose products and sums are exact.
func wholeA(mn, k int) uint16 { return brainBits((mn*7+k*5)%17 - 8) }
func wholeB(mn, k int) uint16 { return brainBits((mn*3+k*11)%19 - 9) }

func brainBits(n int) uint16 { return uint16(math.Float32bits(float32(n)) >> 16) }
func brainNumber(b uint16) float32 {
	return math.Float32frombits(uint32(b) << 16)
}

func TestWarpgroupProduct(t *testing.T) {
	type test struct {
		a, b           tile
		n              int
		registers      bool
		keep           uint64
		scaleA, scaleB int
	}
	var tests []test
	for _, a := range tiles {
		for _, b := range tiles {
			tests = append(tests, test{a: a, b: b, n: 64, keep: 1, scaleA: 1, scaleB: 1})
		}
		tests = append(tests, test{b: a, n: 128, registers: true, scaleA: 1, scaleB: -1})
	}
	along := tile{width: 128}
	for _, n := range []int{8, 24, 120} {
		tests = append(tests, test{a: along, b: along, n: n, keep: 1, scaleA: -1, scaleB: 1})
	}
	tests = append(tests, test{a: along, b: tile{width: 16}, n: 256, keep: 0, scaleA: -1, scaleB: -1})
	for _, tt := range tests {
		name := fmt.Sprintf("A %v, B %v of %d", tt.a, tt.b, tt.n)
		if tt.registers {
			name = fmt.Sprintf("A in registers, B %v of %d", tt.b, tt.n)
		}
		t.Run(name, func(t *testing.T) {
			image := make([]byte, 32768)
			bit := map[bool]int{true: 1}
			from, flags := "%rd4", fmt.Sprintf("%d, %d, %d, %d", tt.scaleA, tt.scaleB, bit[tt.a.across], bit[tt.b.across])
			var adesc uint64
			if tt.registers {
				from, flags = "{%r4, %r5, %r6, %r7}", fmt.Sprintf("%d, %d, %d", tt.scaleA, tt.scaleB, bit[tt.b.across])
			} else {
				adesc = tt.a.put(image, 0, 64, wholeA)
			}
			at := 16384
			if tt.n > 128 || tt.registers {
				at = 0
			}
			if tt.n == 256 {
				at = 20480 // B of 256 rows takes 10240 bytes, A along k 16384
			}
			bdesc := tt.b.put(image, at, tt.n, wholeB)
			d, out, err := launchWarpgroup(warpgroupProduct(tt.n, from, flags), image, tt.n, 128, adesc, bdesc, tt.keep)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, 4*64*tt.n)
			if err := d.Read(out, got); err != nil {
				t.Fatal(err)
			}
			for row := range 64 {
				for col := range tt.n {
					want := float32(0)
					if tt.keep != 0 {
						want = float32(row*tt.n+col) / 4
					}
					for k := range 16 {
						want += float32(tt.scaleA*tt.scaleB) * brainNumber(wholeA(row, k)) * brainNumber(wholeB(col, k))
					}
					if got := math.Float32frombits(binary.LittleEndian.Uint32(got[4*(row*tt.n+col):])); got != want {
						t.Fatalf("row %d, column %d: %g, want %g", row, col, got, want)
					}
				}
			}
		})
	}
}

func launchWarpgroup(src string, image []byte, n, threads int, adesc, bdesc, keep uint64) (d *ptxvm.Device, out uint64, err error) {
	m, err := ptxvm.Parse(src)
	if err != nil {
		return nil, 0, err
	}
	d = &ptxvm.Device{Limit: 1 << 22}
	rows, c := make([]byte, 64*32), make([]byte, 4*64*n)
	for row := range 64 {
		for k := range 16 {
			binary.LittleEndian.PutUint16(rows[32*row+2*k:], wholeA(row, k))
		}
	}
	for i := range 64 * n {
		binary.LittleEndian.PutUint32(c[4*i:], math.Float32bits(float32(i)/4))
	}
	pi, pr, pc := d.Alloc(len(image)), d.Alloc(len(rows)), d.Alloc(len(c))
	if err := errors.Join(d.Write(pi, image), d.Write(pr, rows), d.Write(pc, c)); err != nil {
		return nil, 0, err
	}
	return d, pc, d.Launch(m.Kernel("product"), ptxvm.Config{Block: [3]int{threads}}, pi, pr, pc, adesc, bdesc, keep)
}

// What a GPU leaves undefined is a fault.
func TestWarpgroupFaults(t *testing.T) {
	const product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, %rd4, %rd5, %p1, 1, 1, 0, 0;"
	const inRegisters = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {d0, d1, d2, d3}, {%r4, %r5, %r6, %r7}, %rd5, %p1, 1, 1, 0;"
	const fence, commit, wait = "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"
	for _, tt := range []struct {
		name, from, to string
		threads        int
		start          uint64 // added to A's
		why            string // "" for none
	}{
		{"whole", "", "", 128, 0, ""},
		{"two products of the same sums", product, product + product, 128, 0, ""},
		{"two groups", product + "\n\t" + commit, product + commit + product + commit + "wgmma.wait_group.sync.aligned 1;" + fence + product + commit, 128, 0, ""},
		{"part of a warpgroup", "", "", 96, 0, "part of a warpgroup"},
		{"no fence", fence, "", 128, 0, "without a wgmma.fence"},
		{"no proxy fence", "fence.proxy.async.shared::cta;", "", 128, 0, "without a fence.proxy.async"},
		{"a proxy fence by others", "fence.proxy.async.shared::cta;", "setp.lt.s32 %p3, %r2, 32; @%p3 fence.proxy.async;", 128, 0, "without a fence.proxy.async"},
		{"sums read too early", commit, commit + "mov.f32 d1, d0;", 128, 0, "not waited for"},
		{"sums written too early", commit, commit + "mov.f32 d0, 0f00000000;", 128, 0, "was written while"},
		{"a group left", wait, "wgmma.wait_group.sync.aligned 1;", 128, 0, "not waited for"},
		{"an end without a wait", wait, "ret;", 128, 0, "the end before a wait"},
		{"A written too early", product, inRegisters + "add.s32 %r4, %r4, 1;", 128, 0, "was written while a wgmma read it"},
		{"shared memory written too early", commit, commit + "mov.b32 %r3, 96; st.shared.b32 [%r3], %r4;", 128, 0, "a store at 0x60"},
		{"a descriptor of its own in a lane", fence, fence + "cvt.u64.u32 %rd9, %r2; add.s64 %rd4, %rd4, %rd9;", 128, 0, "differs between lanes"},
		{"a descriptor of its own in a warp", fence, fence + "shr.u32 %r3, %r2, 5; cvt.u64.u32 %rd9, %r3; shl.b64 %rd9, %rd9, 6; add.s64 %rd4, %rd4, %rd9;", 128, 0, "not that of another warp"},
		{"one warp more", commit, "setp.lt.s32 %p3, %r2, 32; @%p3 bra twice; bra once; twice: " + product + " once: " + commit, 128, 0, "of another of its warpgroup"},
		{"a start within a pattern", "", "", 128, 256 >> 4, "does not begin at a multiple"},
		{"a base offset", "", "", 128, 1 << 49, "does not begin at a multiple"},
		{"outside", "", "", 128, 31744 >> 4, "outside"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			image := make([]byte, 32768)
			l := tile{width: 128}
			adesc, bdesc := l.put(image, 0, 64, wholeA), l.put(image, 16384, 8, wholeB)
			src := warpgroupProduct(8, "%rd4", "1, 1, 0, 0")
			if tt.from != "" && strings.Count(src, tt.from) != 1 {
				t.Fatalf("%d times %q", strings.Count(src, tt.from), tt.from)
			}
			if tt.from != "" {
				src = strings.Replace(src, tt.from, tt.to, 1)
			}
			_, _, err := launchWarpgroup(src, image, 8, tt.threads, adesc+tt.start, bdesc, 1)
			var f *ptxvm.Fault
			if tt.why == "" && err != nil || tt.why != "" && (!errors.As(err, &f) || !strings.Contains(f.Why, tt.why)) {
				t.Errorf("got %v, want a fault about %q", err, tt.why)
			}
		})
	}
}

// Forms that do not exist, or are not run here, are refused when they are read.
func TestWarpgroupRefused(t *testing.T) {
	good := warpgroupProduct(8, "%rd4", "1, 1, 0, 0")
	for _, tt := range []struct{ name, from, to string }{
		{"n is 12", "m64n8k16", "m64n12k16"},
		{"half precision", "f32.bf16.bf16", "f32.f16.f16"},
		{"too few sums", "{d0, d1, d2, d3}", "{d0, d1, d2}"},
		{"a sum twice", "{d0, d1, d2, d3}", "{d0, d1, d2, d2}"},
		{"a scale of 2", "1, 1, 0, 0;", "1, 2, 0, 0;"},
		{"registers across k", "%rd4, %rd5, %p1", "{%r4, %r5, %r6, %r7}, %rd5, %p1"},
		{"another proxy", "fence.proxy.async.shared::cta", "fence.proxy.alias"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := strings.Replace(good, tt.from, tt.to, 1)
			if _, err := ptxvm.Parse(src); src == good || !errors.Is(err, ptxvm.ErrUnsupported) && !errors.Is(err, ptxvm.ErrFormat) {
				t.Errorf("got %v", err)
			}
		})
	}
}
