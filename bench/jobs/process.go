package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"quern/bench/internal/system"
)

// A process is started again as it was.
type process struct {
	name string
	args []string // the binary first
	log  string
	base string // of a quern, else ""
	cmd  *exec.Cmd
}

// newQuern is a server with the built-in model.
func newQuern(o *options, name string, args ...string) (*process, error) {
	ports, err := system.FreePorts(1)
	if err != nil {
		return nil, err
	}
	addr := "127.0.0.1:" + ports[0]
	model := []string{"--builtin"}
	if o.model != "" {
		model = []string{"--model", o.model}
	}
	return &process{name: name, log: filepath.Join(o.dir, name+".log"), base: "http://" + addr,
		args: slices.Concat([]string{o.quern, "serve", "--listen", addr, "--log-level", "info"}, model, args)}, nil
}

// start starts it, and waits until a quern is ready.
func (p *process) start(ctx context.Context) error {
	log, err := os.OpenFile(p.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.cmd = exec.Command(p.args[0], p.args[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Dir = filepath.Dir(p.log)
	p.cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+p.cmd.Dir, "XDG_DATA_HOME="+filepath.Join(p.cmd.Dir, p.name))
	if err := p.cmd.Start(); err != nil || p.base == "" {
		return err
	}
	err = patiently(ctx, func() error {
		resp, err := http.Get(p.base + "/readyz")
		if err != nil {
			return err
		}
		resp.Body.Close()
		if resp.StatusCode != 200 {
			return fmt.Errorf("/readyz says %s", resp.Status)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s is not ready: %w; see %s", p.name, err, p.log)
	}
	return nil
}

// patiently tries again until there is no error, for two minutes at most.
func patiently(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return nil
		}
		if wait(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("given up: %w", err)
		}
	}
}

// kill ends it as kill -9 does.
func (p *process) kill() {
	if p.cmd != nil && p.cmd.Process != nil {
		_ = p.cmd.Process.Kill() // it may have ended
		_ = p.cmd.Wait()         // says that it was killed
		p.cmd = nil
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
