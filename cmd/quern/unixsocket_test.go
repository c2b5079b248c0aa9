package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestServeUnix: a socket of this machine is served, taken over where a killed server left it,
// and never taken from another program.
func TestServeUnix(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of sockets are written otherwise")
	}
	dir, err := os.MkdirTemp("", "q") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	p := start(t, nil, "serve", "--listen", "unix:"+socket)
	p.wait(t, `listening on unix:`+socket+`\n`)
	p.wait(t, `curl --unix-socket `+socket+` http://localhost/v1/chat/completions -d`)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
	res, err := client.Post("http://localhost/v1/chat/completions", "application/json", strings.NewReader(franceBody+"}"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || res.StatusCode != http.StatusOK || !strings.Contains(string(text), "Paris") {
		t.Errorf("%s, %v: %s", res.Status, err, text)
	}
	if strings.Contains(p.out.String(), "browser") {
		t.Errorf("an address for a browser is printed: %s", p.out.String())
	}
	file := filepath.Join(dir, "file")
	write(t, file, "mine")
	for address, want := range map[string]string{
		"unix:" + socket: socket + " is in use by another program",
		"unix:" + file:   file + " is there already, and is no socket",
	} {
		code, _, errs := quern(t, "", nil, "serve", "--listen", address)
		if code != 1 || !strings.Contains(errs, want) || !strings.Contains(errs, "--listen") {
			t.Errorf("%s: exit code %d, %q", address, code, errs)
		}
	}
	for args, want := range map[string]string{"--listen unix:quern.sock": "the whole path", "--open --listen unix:" + file: "no browser can open"} {
		if code, _, errs := quern(t, "", nil, append([]string{"serve"}, strings.Fields(args)...)...); code != 2 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, %q", args, code, errs)
		}
	}
	client.CloseIdleConnections()
	if code := p.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	if _, err := os.Lstat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	if readFile(t, file) != "mine" {
		t.Error("a file was overwritten")
	}
}
