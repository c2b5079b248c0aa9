package driver

import (
	"errors"
	"strings"
	"testing"
)

// double multiplies n floats by two, one thread each.
const double = `.version 6.3
.target sm_75
.address_size 64
.visible .entry double(.param .u64 p, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .f32 %f<3>;
	.reg .b32 %r<4>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %tid.x;
	setp.ge.s32 %p1, %r2, %r1;
	@%p1 bra done;
	mul.wide.s32 %rd2, %r2, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.f32 %f1, [%rd3];
	add.f32 %f2, %f1, %f1;
	st.global.f32 [%rd3], %f2;
done:
	ret;
}
`

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// A stream's work is done in order when it is waited for, and a graph repeats it.
func TestFakeStream(t *testing.T) {
	f := NewFake(1, 1<<20)
	c := must[Context](t)(f.Open(0))
	s := must[Stream](t)(c.Stream())
	host := must[[]byte](t)(c.Pinned(8))
	at := must[Ptr](t)(c.Alloc(8))
	k := must[Kernel](t)(must[Module](t)(c.Module(double)).Kernel("double", 0))
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	copy(host, []byte{0, 0, 0x80, 0x3f, 0, 0, 0x40, 0x40}) // 1, 3
	ok(s.Upload(at, host))
	shape := Launch{Block: [3]int{32, 1, 1}}
	ok(s.Launch(k, shape, []uint64{uint64(at), 2}))
	g := must[Graph](t)(s.Capture(func() error { return s.Launch(k, shape, []uint64{uint64(at), 2}) }))
	ok(s.Replay(g))
	if f.Launches != 0 {
		t.Errorf("%d launches ran before a wait", f.Launches)
	}
	ok(s.Sync())
	ok(s.Download(host, at))
	ok(s.Sync())
	if want := [8]byte{0, 0, 0x80, 0x40, 0, 0, 0x40, 0x41}; [8]byte(host) != want { // 4, 12
		t.Errorf("got % x, want % x", host, want)
	}
	if err := s.Upload(at, make([]byte, 8)); err == nil {
		t.Error("memory that is not pinned was accepted")
	}
	if live := f.Live(); live["memory"] != 1 || live["pinned"] != 1 || live["graph"] != 1 || live["context"] != 1 {
		t.Errorf("live: %v", live)
	}
	ok(c.Close())
	if live := f.Live(); len(live) != 0 || f.Used(0) != 0 {
		t.Errorf("after Close %v and %d bytes are live", live, f.Used(0))
	}
}

func TestErrorIs(t *testing.T) {
	for _, tt := range []struct {
		code int
		want error
	}{
		{2, ErrMemory}, {700, ErrFault}, {719, ErrFault}, {100, ErrUnavailable}, {222, ErrUnavailable}, {1, nil}, {600, nil},
	} {
		err := error(&Error{Call: "cuCall", Code: tt.code, Name: "CUDA_ERROR"})
		for _, kind := range []error{ErrMemory, ErrFault, ErrUnavailable} {
			if got := errors.Is(err, kind); got != (kind == tt.want) {
				t.Errorf("code %d is %v: %v", tt.code, kind, got)
			}
		}
	}
}

// A device refuses PTX for later ones, and for others where a target names one alone.
func TestFakeTarget(t *testing.T) {
	for _, tt := range []struct {
		target     string
		capability int
		ok         bool
	}{
		{"sm_75", 75, true}, {"sm_80", 75, false}, {"sm_80", 80, true}, {"sm_80", 90, true},
		{"sm_90a", 90, true}, {"sm_90a", 100, false}, {"sm_90a", 80, false},
	} {
		f := NewFake(1, 1<<20)
		f.List[0].Capability = tt.capability
		c := must[Context](t)(f.Open(0))
		if _, err := c.Module(strings.Replace(double, "sm_75", tt.target, 1)); (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s on %d: %v", tt.target, tt.capability, err)
		}
	}
}

// Every later call reports a fault, until the context is closed.
func TestFakeFault(t *testing.T) {
	f := NewFake(1, 1<<20)
	c := must[Context](t)(f.Open(0))
	s := must[Stream](t)(c.Stream())
	at := must[Ptr](t)(c.Alloc(4))
	k := must[Kernel](t)(must[Module](t)(c.Module(double)).Kernel("double", 0))
	// The second float lies outside the allocation.
	if err := s.Zero(at, 4); err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(k, Launch{Block: [3]int{32, 1, 1}}, []uint64{uint64(at), 2}); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(); !errors.Is(err, ErrFault) {
		t.Errorf("Sync after a kernel left its memory: %v", err)
	}
	if _, err := c.Alloc(4); !errors.Is(err, ErrFault) {
		t.Errorf("Alloc after a fault: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	again := must[Context](t)(f.Open(0))
	must[Ptr](t)(again.Alloc(4))
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
