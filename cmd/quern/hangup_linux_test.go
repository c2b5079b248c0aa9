package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestEarlyHangup: SIGHUP while a server is on its way, as when it fetches a model, does not end it.
func TestEarlyHangup(t *testing.T) {
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
		http.NotFound(w, r)
	}))
	defer hub.Close()
	cmd := exec.CommandContext(t.Context(), self, "serve", "--listen", "127.0.0.1:0", "--model", "hub:o/n")
	home := t.TempDir()
	cmd.Env = []string{asQuern + "=1", "HOME=" + home, "HF_HOME=" + home, "HF_ENDPOINT=" + hub.URL}
	cmd.Dir = home
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	started <- cmd.Process.Pid
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(said.String(), "o/n") {
		t.Errorf("it ended with %v, and said\n%s", err, said.String())
	}
}
