package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// asQuern makes this test binary the program itself.
const asQuern = "TEST_BINARY_IS_QUERN"

func TestMain(m *testing.M) {
	if os.Getenv(asQuern) != "" {
		os.Unsetenv(asQuern)
		main()
	}
	os.Exit(m.Run())
}

// A console is a quern that runs on a pseudo terminal of its own.
type console struct {
	t    *testing.T
	cmd  *exec.Cmd
	pty  *os.File
	mu   sync.Mutex
	more *sync.Cond
	b    bytes.Buffer // all that was printed
	end  bool
}

// onTerminal starts quern on a terminal so many columns wide.
func onTerminal(t *testing.T, columns int, env []string, args ...string) *console {
	t.Helper()
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals:", err)
	}
	t.Cleanup(func() { pty.Close() })
	fd := int(pty.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)})); err != nil {
		t.Skip("no pseudo terminals:", err)
	}
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals:", err)
	}
	defer tty.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &console{t: t, pty: pty, cmd: exec.CommandContext(t.Context(), self, args...)}
	p.more = sync.NewCond(&p.mu)
	p.cmd.Env = append([]string{asQuern + "=1", "TERM=xterm", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	p.cmd.Dir = t.TempDir()
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := pty.Read(buf)
			p.mu.Lock()
			p.b.Write(buf[:n])
			p.end = err != nil // EIO when the last process has closed it
			p.more.Broadcast()
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p
}

// wait waits until text is printed behind the first from bytes, and returns where it ends.
func (p *console) wait(from int, text string) int {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if i := bytes.Index(p.b.Bytes()[from:], []byte(text)); i >= 0 {
			return from + i + len(text)
		}
		if p.end {
			p.t.Fatalf("no %q in %q", text, p.b.String()[from:])
		}
		p.more.Wait()
	}
}

func (p *console) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.pty, text); err != nil {
		p.t.Fatal(err)
	}
}

// ended waits for the end and returns the exit code and all that was printed.
func (p *console) ended() (int, string) {
	p.t.Helper()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.end {
		p.more.Wait()
	}
	return p.cmd.ProcessState.ExitCode(), p.b.String()
}

// screen is what a terminal shows of text: the lines of it, after the sequences that
// bars and line editors use.
func screen(text string, columns int) []string {
	var lines [][]rune
	row, col := 0, 0
	at := func() {
		for len(lines) <= row {
			lines = append(lines, nil)
		}
	}
	at()
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			return 1
		}
		return n
	}
	for rest := []rune(text); len(rest) > 0; {
		r := rest[0]
		rest = rest[1:]
		switch {
		case r == '\r':
			col = 0
		case r == '\n':
			row++
		case r == '\b':
			col = max(col-1, 0)
		case r == 0x1b && len(rest) > 0 && rest[0] == '[':
			end := 1
			for end < len(rest) && (rest[end] < '@' || rest[end] > '~') {
				end++
			}
			arg := string(rest[1:end])
			switch rest[end] {
			case 'A':
				row = max(row-number(arg), 0)
			case 'C':
				col += number(arg)
			case 'D':
				col = max(col-number(arg), 0)
			case 'J':
				at()
				lines = lines[:row+1]
				lines[row] = lines[row][:min(col, len(lines[row]))]
			case 'K':
				at()
				if arg == "2" {
					lines[row] = nil
				} else {
					lines[row] = lines[row][:min(col, len(lines[row]))]
				}
			}
			rest = rest[end+1:]
		case r < ' ':
		default:
			if col >= columns {
				row, col = row+1, 0
			}
			at()
			for len(lines[row]) <= col {
				lines[row] = append(lines[row], ' ')
			}
			lines[row][col] = r
			col++
		}
		at()
	}
	var out []string
	for _, l := range lines {
		if s := strings.TrimRight(string(l), " "); s != "" {
			out = append(out, s)
		}
	}
	return out
}
