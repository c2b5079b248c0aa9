package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// hangUp runs quern with a hub at HF_ENDPOINT, and sends it SIGHUP when it first asks that. answer is
// what the hub does then.
func hangUp(t *testing.T, answer http.HandlerFunc, args ...string) (state *os.ProcessState, said string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	started := make(chan int, 1)
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case pid := <-started:
			if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
				t.Error(err)
			}
		default:
		}
		answer(w, r)
	}))
	defer hub.Close()
	cmd := exec.CommandContext(t.Context(), self, args...)
	home := t.TempDir()
	cmd.Env = []string{asQuern + "=1", "HOME=" + home, "HF_HOME=" + home, "HF_ENDPOINT=" + hub.URL}
	cmd.Dir = home
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started <- cmd.Process.Pid
	if err := cmd.Wait(); err == nil {
		t.Errorf("it ended well, and said\n%s", out.String())
	}
	return cmd.ProcessState, out.String()
}

// TestEarlyHangup: SIGHUP while a server is on its way, as when it fetches a model, does not end it.
func TestEarlyHangup(t *testing.T) {
	state, said := hangUp(t, http.NotFound, "serve", "--listen", "127.0.0.1:0", "--model", "hub:o/n")
	if state.ExitCode() != 1 || !strings.Contains(said, "o/n") {
		t.Errorf("it ended with %v, and said\n%s", state, said)
	}
}

// TestTerminalGone: a command whose terminal closes ends by itself, so that it clears up behind it;
// under nohup it goes on.
func TestTerminalGone(t *testing.T) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP) // a command inherits what is ignored, as where this test runs under nohup
	defer signal.Stop(caught)
	state, said := hangUp(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "pull", "o/n")
	if state.ExitCode() != 1 || !strings.Contains(said, "stopped") {
		t.Errorf("it ended with %v, and said\n%s", state, said)
	}
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	if slices.Contains(stopSignals(), os.Signal(syscall.SIGHUP)) {
		t.Error("SIGHUP ends a command under nohup")
	}
}
