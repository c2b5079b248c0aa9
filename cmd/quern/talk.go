package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/chzyer/readline"

	"quern/cmd/quern/internal/terminal"
	"quern/engine/chat"
)

// A lineReader reads lines from a terminal. Readline returns readline.ErrInterrupt
// for Ctrl-C and io.EOF for Ctrl-D.
type lineReader interface {
	Readline() (string, error)
	SetPrompt(string)
	Close() error
}

const (
	prompt     = "> "
	promptMore = ". "
)

const talkHelp = `/help          this list
/clear         forget the conversation
/system TEXT   set the system message; without TEXT show it
/retry         answer the last question again
/stats         speed of the last reply
/exit          end the chat (or Ctrl-D)
A line that ends in \ goes on in the next one; """ begins and ends a text of several
lines. Ctrl-C stops a reply, or drops what is being typed.
`

// talk chats until the user leaves.
func (s *session) talk(ctx context.Context) error {
	var words []readline.PrefixCompleterInterface
	for _, w := range []string{"/help", "/clear", "/system", "/retry", "/stats", "/exit"} {
		words = append(words, readline.PcItem(w))
	}
	// The lines typed are kept for the arrow keys while the chat lasts and are
	// never written to disk.
	rl, err := readline.NewEx(&readline.Config{
		Prompt:       prompt,
		AutoComplete: readline.NewPrefixCompleter(words...),
		Stdout:       s.app.out,
		Stderr:       s.app.err,
	})
	if err != nil {
		return err
	}
	s.note("%s · /help for commands\n", terminal.Plain(s.model.ID))
	// Readline has no context: closing it is what wakes it up.
	stop := context.AfterFunc(ctx, func() { rl.Close() })
	defer stop()
	defer rl.Close()
	return s.loop(ctx, rl)
}

// loop reads lines, runs commands and answers until in ends.
func (s *session) loop(ctx context.Context, in lineReader) error {
	s.question = s.questioner(in)
	for {
		line, command, err := readTurn(in)
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, readline.ErrInterrupt):
			if line == "" { // nothing to drop
				s.note("Ctrl-D or /exit ends the chat.\n")
			}
			continue
		case err != nil:
			return err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		before := s.messages
		if command {
			again, done := s.command(line)
			if done {
				return nil
			}
			if again == "" {
				continue
			}
			line = again
		}
		if err := s.answer(ctx, line); err != nil {
			if len(s.messages) < len(before) {
				s.messages = before // a /retry without an answer
			}
			fmt.Fprintf(s.app.err, "quern: %s\n", explain(err))
		}
	}
}

// quotes stand around a text of several lines.
const quotes = `"""`

// readTurn reads one line and the ones it is continued on: after a \ at its end, or up
// to the closing quotes. command: it is a line that begins with a slash. With
// an error the text is that typed before it.
func readTurn(in lineReader) (text string, command bool, err error) {
	defer in.SetPrompt(prompt)
	line, err := in.Readline()
	if err != nil {
		return line, false, err
	}
	var turn strings.Builder
	more := func() bool {
		turn.WriteString(line + "\n")
		in.SetPrompt(promptMore)
		line, err = in.Readline()
		return err == nil
	}
	if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), quotes); ok {
		line = rest
		for {
			if end, ok := strings.CutSuffix(strings.TrimRight(line, " \t"), quotes); ok {
				return turn.String() + end, false, nil
			}
			if !more() {
				return turn.String() + line, false, err
			}
		}
	}
	for {
		rest, ok := strings.CutSuffix(line, `\`)
		line = rest
		if !ok {
			text = turn.String() + line
			return text, turn.Len() == 0 && strings.HasPrefix(strings.TrimSpace(text), "/"), nil
		}
		if !more() {
			return turn.String() + line, false, err
		}
	}
}

// note prints a message of the chat itself.
func (s *session) note(format string, args ...any) {
	w, flush := terminal.Breaking(s.app.out)
	fmt.Fprintf(w, format, args...)
	// Reading the next line fails where the terminal is closed, which ends the chat.
	_ = flush()
}

// command runs a /command. It returns a question to answer, and whether the
// chat is over.
func (s *session) command(line string) (question string, done bool) {
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	switch name {
	case "/help", "/?":
		s.note(talkHelp)
	case "/clear":
		s.messages = nil
		s.note("Forgotten.\n")
	case "/system":
		if arg != "" {
			s.system = arg
		}
		if s.system == "" {
			s.note("No system message.\n")
		} else {
			s.note("System message: %s\n", s.system)
		}
	case "/retry":
		last := len(s.messages) - 1
		for last >= 0 && s.messages[last].Role != chat.RoleUser {
			last--
		}
		if last < 0 {
			s.note("There is nothing to answer again.\n")
			return "", false
		}
		question, s.messages = s.messages[last].Text, slices.Clip(s.messages[:last])
	case "/stats":
		s.note("%s\n", s.speed())
	case "/exit", "/quit", "/bye":
		return "", true
	default:
		s.note("There is no command %s; /help lists them.\n", name)
	}
	return question, false
}

// speed describes the last reply.
func (s *session) speed() string {
	t := s.last.Timings
	if s.last.OutputTokens == 0 {
		return "No reply yet."
	}
	rate := func(n int, d time.Duration) float64 {
		if d <= 0 {
			return 0
		}
		return float64(n) / d.Seconds()
	}
	fresh := s.last.PromptTokens - s.last.CachedTokens
	return fmt.Sprintf("prompt %d tokens (%d cached), %.1f/s; reply %d tokens, %.1f/s; first after %s",
		s.last.PromptTokens, s.last.CachedTokens, rate(fresh, t.Prompt),
		s.last.OutputTokens, rate(s.last.OutputTokens-1, t.Predict), t.First.Round(time.Millisecond))
}

// answer prints the reply to line. Ctrl-C stops it and keeps the text so far.
func (s *session) answer(ctx context.Context, line string) error {
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	watched := make(chan struct{})
	select {
	case <-s.interrupts: // one that came before this reply
	default:
	}
	go func() {
		defer close(watched)
		select {
		case <-s.interrupts:
			close(stopped)
			cancel()
		case <-ctx.Done():
		}
	}()
	err := s.reply(ctx, line)
	cancel()
	<-watched
	select {
	case <-stopped:
		err = context.Canceled
	default:
	}
	if errors.Is(err, context.Canceled) {
		s.note("(stopped)\n")
		return nil
	}
	return err
}
