// Package peer runs other people's programs beside quern: a script of Node.js that
// answers every line of JSON with one.
package peer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"quern/bench/internal/must"
)

// A Process is a script that answers Q with A, or with the member "error".
type Process[Q, A any] struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start runs script with dir as its argument, which has pkg in its node_modules.
func Start[Q, A any](script, dir, pkg string, env ...string) (_ *Process[Q, A], err error) {
	defer must.Catch(&err)
	if _, err := os.Stat(filepath.Join(dir, "node_modules", pkg)); err != nil {
		return nil, fmt.Errorf("%s holds no node_modules: %w; see the top of main.go", dir, err)
	}
	p := &Process[Q, A]{cmd: exec.Command("node", script, dir)}
	p.cmd.Stderr = os.Stderr
	p.cmd.Env = append(os.Environ(), env...)
	p.in = must.Get(p.cmd.StdinPipe())
	p.out = bufio.NewReader(must.Get(p.cmd.StdoutPipe()))
	return p, p.cmd.Start()
}

// Stop ends the process and waits for it.
func (p *Process[Q, A]) Stop() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }

// Ask sends a line and reads the answer.
func (p *Process[Q, A]) Ask(q Q) (a A, err error) {
	defer must.Catch(&err)
	line := must.Get(json.Marshal(q))
	must.Get(p.in.Write(append(line, '\n')))
	if line, err = p.out.ReadBytes('\n'); err != nil {
		return a, fmt.Errorf("the peer ended: %w", err)
	}
	var failed struct{ Error string }
	must.Do(json.Unmarshal(line, &failed))
	if failed.Error != "" {
		return a, fmt.Errorf("the peer: %s", failed.Error)
	}
	return a, json.Unmarshal(line, &a)
}
