package main

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAlive asks the kernel for how long a connection is kept whose other end is gone.
func TestAlive(t *testing.T) {
	ln, err := bind(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	got := map[int]int{}
	if err := raw.Control(func(fd uintptr) {
		if on, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_KEEPALIVE); err != nil || on == 0 {
			t.Errorf("it is not looked after: %d, %v", on, err)
		}
		for _, what := range []int{unix.TCP_KEEPIDLE, unix.TCP_KEEPINTVL, unix.TCP_KEEPCNT} {
			n, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, what)
			if err != nil {
				t.Error(err)
			}
			got[what] = n
		}
	}); err != nil {
		t.Fatal(err)
	}
	if s := got[unix.TCP_KEEPIDLE] + got[unix.TCP_KEEPINTVL]*got[unix.TCP_KEEPCNT]; s < 30 || s > 60 {
		t.Errorf("a connection without the other end is kept for %d s, want at most 60", s)
	}
}
