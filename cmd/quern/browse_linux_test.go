package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/poll"
)

// TestServeOpens has a program of the name xdg-open note what it is asked for.
func TestServeOpens(t *testing.T) {
	bin := t.TempDir()
	asked := filepath.Join(bin, "asked")
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte("#!/bin/sh\necho \"$@\" >"+asked+".new && mv "+asked+".new "+asked+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	p := start(t, nil, "serve", "--listen", "127.0.0.1:0", "--open")
	base := p.wait(t, `Open it in a browser: (http://127\.0\.0\.1:[1-9]\d*/)\n`)[1]
	poll.Until(t, "the page is opened", func() bool {
		_, err := os.Stat(asked)
		return err == nil
	})
	if got, err := os.ReadFile(asked); err != nil || string(got) != base+"\n" {
		t.Errorf("asked for %q (%v), want %q", got, err, base)
	}
	if code := p.end(t); code != 0 {
		t.Errorf("ended with %d", code)
	}
}

// TestServeOpensNothing says how to open the page where no program can.
func TestServeOpensNothing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	p := start(t, nil, "serve", "--listen", "127.0.0.1:0", "--open")
	base := p.wait(t, `Open it in a browser: (\S+)\n`)[1]
	want := "open " + base + " in one\n"
	poll.Until(t, want+" is said", func() bool { return strings.Contains(p.err.String(), want) })
	if code := p.end(t); code != 0 {
		t.Errorf("ended with %d", code)
	}
}
