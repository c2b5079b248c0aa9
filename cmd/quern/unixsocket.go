package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
)

// bindUnix opens a socket of this machine. One that a server left behind which was killed is
// taken over; one that is listened on, and any other file, is not.
func bindUnix(ctx context.Context, path string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "unix", path)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return ln, err
	}
	if st, err := os.Lstat(path); err != nil || st.Mode().Type() != fs.ModeSocket {
		return nil, fmt.Errorf("%s is there already, and is no socket", path)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%s %s", path, inUse)
	}
	if err := os.Remove(path); err != nil {
		return nil, err
	}
	return lc.Listen(ctx, "unix", path)
}
