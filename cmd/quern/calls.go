package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/chzyer/readline"

	"quern/cmd/quern/internal/terminal"
	"quern/cmd/quern/internal/tools"
	"quern/engine/chat"
)

// readTools reads the file of --tools, and holds --allow against it.
func (o *replyOptions) readTools() error {
	if o.toolFile == "" {
		if len(o.allow) > 0 {
			return errors.New("--allow has no effect without --tools")
		}
		return nil
	}
	b, err := readFlagFile(o.toolFile)
	if err == nil {
		o.tools, err = tools.Read(b)
		if err != nil {
			err = fmt.Errorf("%s: %w", o.toolFile, err)
		}
	}
	if err != nil {
		return fmt.Errorf("--tools: %w", err)
	}
	for _, name := range o.allow {
		if t := o.tool(name); t == nil || t.Command == nil {
			return fmt.Errorf("--allow: %s has no tool %q with a command", o.toolFile, name)
		}
	}
	return nil
}

// tool is the tool called name, nil without one.
func (o *replyOptions) tool(name string) *tools.Tool {
	if i := slices.IndexFunc(o.tools, func(t tools.Tool) bool { return t.Name == name }); i >= 0 {
		return &o.tools[i]
	}
	return nil
}

// showCall prints a call on a line.
func showCall(w io.Writer, c chat.Call) error {
	if _, err := io.WriteString(w, c.Name+" "); err != nil {
		return err
	}
	if _, err := tools.Show(w, c.Arguments); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// notRun is the result of a call that was not run: templates need a result of each call.
const notRun = "it was not run"

// call runs the commands of calls that the user allows. Every call has a result, also with
// an error. more: the model is to go on with them, which it is if each call
// could be run, whether it was allowed or not.
func (s *session) call(ctx context.Context, calls []chat.Call) (results []chat.Message, more bool, err error) {
	more = s.runnable(calls)
	for _, c := range calls {
		result := failed(notRun)
		if more && err == nil {
			result, err = s.runCall(ctx, c)
		}
		results = append(results, chat.Message{Role: chat.RoleTool, Name: c.Name, ToolCallID: c.ID, Text: result})
	}
	return results, more && err == nil, err
}

// runnable reports whether there is a command for each call and the user can be asked, or
// has said before that it may run. What is missing is printed once.
func (s *session) runnable(calls []chat.Call) bool {
	for _, c := range calls {
		t := s.options.tool(c.Name)
		if t == nil || t.Command == nil {
			return false
		}
		if !slices.Contains(s.options.allow, c.Name) && s.question == nil {
			fmt.Fprintf(s.app.err, "quern: nothing was run: here is no terminal to ask on; --allow %s runs %s without asking\n", c.Name, t.Line())
			return false
		}
	}
	return true
}

// runCall returns the result of a call. Its command runs where the user allows it. An
// error ends the reply.
func (s *session) runCall(ctx context.Context, c chat.Call) (string, error) {
	t := s.options.tool(c.Name)
	if !json.Valid([]byte(c.Arguments)) { // calls of this format are not constrained
		return failed("the arguments are no JSON"), nil
	}
	if allowed, err := s.allowed(ctx, t, c); err != nil || !allowed {
		return failed("the user does not allow this call"), err
	}
	stderr := s.app.err
	if terminal.Is(stderr) {
		stderr = &terminal.PlainWriter{W: stderr}
	}
	result, err := t.Run(ctx, c.Arguments, stderr)
	if ctx.Err() != nil {
		return failed(notRun), ctx.Err()
	}
	if err != nil {
		fmt.Fprintf(s.app.err, "quern: %s: %v\n", t.Line(), err)
		return failed(err.Error()), nil
	}
	return result, nil
}

// failed is the result of a call that has none, in JSON as most results are.
func failed(why string) string {
	b, _ := json.Marshal(map[string]string{"error": why})
	return string(b)
}

// maxQuestions bounds how often one thing is asked when the answer is none of those wanted.
const maxQuestions = 3

// allowed asks whether a command may run for a call, unless that was answered for all calls
// of the tool.
func (s *session) allowed(ctx context.Context, t *tools.Tool, c chat.Call) (bool, error) {
	if slices.Contains(s.options.allow, t.Name) {
		return true, nil
	}
	var question strings.Builder
	question.WriteString("Run " + t.Line() + " for ")
	_ = showCall(&question, c) // a Builder returns no error
	for range maxQuestions {
		line, err := s.question(ctx, question.String(), "y(es), n(o), a(lways for "+t.Name+")? ")
		switch {
		case errors.Is(err, readline.ErrInterrupt):
			return false, context.Canceled
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		case "a", "always":
			s.options.allow = append(slices.Clip(s.options.allow), t.Name)
			return true, nil
		}
	}
	return false, nil
}

// A questioner asks the user about something and returns the line that is the answer.
type questioner func(ctx context.Context, about, prompt string) (string, error)

// questioner asks between two lines of a chat.
func (s *session) questioner(in lineReader) questioner {
	return func(_ context.Context, about, ask string) (string, error) {
		s.note("%s", about)
		in.SetPrompt(ask)
		defer in.SetPrompt(prompt)
		return in.Readline()
	}
}

// questioner asks outside of a chat, nil where there is no terminal to ask on. Questions are
// no part of the reply: they go to standard error.
func (a *app) questioner() questioner {
	if !terminal.Is(a.in) || !terminal.Is(a.err) {
		return nil
	}
	in := bufio.NewReader(a.in)
	return func(ctx context.Context, about, ask string) (line string, err error) {
		fmt.Fprint(a.err, about+ask)
		read := make(chan struct{})
		go func() { // a terminal's reader cannot be woken up: it ends with the program
			defer close(read)
			line, err = in.ReadString('\n')
		}()
		select {
		case <-read:
			return line, err
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
