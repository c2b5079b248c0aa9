package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// MaxResult bounds the output of a command, in bytes.
const MaxResult = 64 << 10

// drain is how long the output of a command may stay open once it has ended, because
// another process that it began holds it.
const drain = time.Second

var (
	errLong = fmt.Errorf("it printed more than %d bytes and was ended", MaxResult)
	errSlow = errors.New("it did not end in time and was ended")
)

// Run runs the command of t with the arguments of a call, JSON, on its standard input, and
// returns what it printed, in UTF-8. Processes that are ended take with them those that
// they began, where the system can do that.
func (t *Tool) Run(ctx context.Context, arguments string, stderr io.Writer) (string, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, t.Limit, errSlow)
	defer cancel()
	cmd := exec.CommandContext(ctx, t.Command[0], t.Command[1:]...)
	cmd.WaitDelay = drain
	kill := inGroup(cmd)
	out := &output{full: func() { stop(errLong) }}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(arguments+"\n"), out, stderr
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		kill()
		err = errors.New("it left a process behind, which was ended")
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return strings.ToValidUTF8(strings.TrimRight(out.b.String(), "\r\n"), "\uFFFD"), err
}

// An output keeps what a command prints.
type output struct {
	b    bytes.Buffer
	full func() // called when there is too much
}

func (o *output) Write(b []byte) (int, error) {
	if o.b.Len()+len(b) > MaxResult {
		o.full()
		return 0, errLong
	}
	return o.b.Write(b)
}
