package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quern/bench/fixtures"
)

// An error on a narrow terminal has whole words.
func TestTerminalError(t *testing.T) {
	p := onTerminal(t, 40, nil, "run", "nothere.gguf", "hello")
	code, all := p.ended()
	if code != 1 || !strings.Contains(all, "no file \"nothere.gguf\" and no\r\nmodel of that name; there is") {
		t.Errorf("exit code %d: %q", code, all)
	}
}

// A chat on a narrow terminal: words are whole, several lines are one turn, Ctrl-C does
// not end it and Ctrl-D does.
func TestTerminalChat(t *testing.T) {
	p := onTerminal(t, 40, nil, "run", "--temperature", "0")
	at := p.wait(0, "/help for commands")
	at = p.wait(at, "> ")
	p.send("Tell me a story.\r")
	at = p.wait(at, ".\r\n")
	at = p.wait(at, "> ")
	p.send("\x03")
	at = p.wait(at, "Ctrl-D or /exit ends the chat.")
	p.send("/help\r")
	at = p.wait(at, "being typed.")
	at = p.wait(at, "> ")
	p.send("\"\"\"What is the capital\r")
	at = p.wait(at, ". ")
	p.send("of France?\"\"\"\r")
	at = p.wait(at, "Paris.")
	p.wait(at, "> ")
	p.send("\x04")
	code, all := p.ended()
	if code != 0 {
		t.Errorf("exit code %d: %q", code, all)
	}
	broken := 0
	for line := range strings.Lines(all) {
		line = strings.TrimRight(line, "\r\n")
		if strings.Contains(line, "\x1b") {
			continue // the line editor's
		}
		line = line[strings.LastIndexByte(line, '\r')+1:] // before it, a line of progress that was taken away
		if len(line) > 40 {
			t.Errorf("a line of %d columns: %q", len(line), line)
		}
		if len(line) > 25 {
			broken++
		}
	}
	if broken < 3 {
		t.Errorf("the story is not there: %q", all)
	}
}

// Ctrl-C in a pull leaves the screen in order, however narrow it is.
func TestTerminalPullStopped(t *testing.T) {
	for _, columns := range []int{40, 80} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			p := onTerminal(t, columns, []string{"HF_ENDPOINT=" + stuckHub(t, nil), "QUERN_MODELS=store"}, "pull", "o/n")
			at := p.wait(0, "to download")
			p.wait(at, "%")
			p.send("\x03")
			code, all := p.ended()
			lines := screen(all, columns)
			if code != 1 || len(lines) < 2 || lines[len(lines)-1] != "quern: stopped" {
				t.Errorf("exit code %d, the screen shows\n%s", code, strings.Join(lines, "\n"))
			}
			if i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, "%") || strings.Contains(l, "[==") }); i >= 0 {
				t.Errorf("left of a bar: %q in\n%s\n%q", lines[i], strings.Join(lines, "\n"), all)
			}
		})
	}
}

// A second pull waits for the first one and goes on when that is killed.
func TestTerminalPullWaits(t *testing.T) {
	release := make(chan struct{})
	store := t.TempDir()
	env := []string{"HF_ENDPOINT=" + stuckHub(t, release), "QUERN_MODELS=" + store}
	first := onTerminal(t, 80, env, "pull", "o/n")
	first.wait(first.wait(0, "to download"), "%")
	second := onTerminal(t, 80, env, "pull", "o/n")
	at := second.wait(0, "waiting for it.\r\n")
	second.wait(at, "of the other pull")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	close(release)
	second.wait(at, "Serve it:")
	if code, all := second.ended(); code != 0 {
		t.Errorf("exit code %d: %q", code, all)
	}
	if st, err := os.Stat(filepath.Join(store, "o", "n", stuckFile)); err != nil || st.Size() != stuckSize {
		t.Errorf("%v, %v", st, err)
	}
}

const (
	stuckFile = "a-rather-long-name-of-a-model-Q4_K_M.gguf"
	stuckSize = 1 << 20
	stuckSum  = "30e14955ebf1352266dc2ff8067e68104607e750abb9d3b36582b8af909fcb58" // of zeros
)

// stuckHub has o/n with one file, of which it gives a quarter until released.
func stuckHub(t *testing.T, release <-chan struct{}) string {
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Repo-Commit", fmt.Sprintf("%040d", 1))
		if strings.HasPrefix(r.URL.Path, "/api/models/") {
			fmt.Fprintf(w, `{"sha": "%040d", "siblings": [{"rfilename": "%s", "size": %d, "lfs": {"sha256": "%s", "size": %d}}]}`, 1, stuckFile, stuckSize, stuckSum, stuckSize)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, &stuck{bytes.NewReader(make([]byte, stuckSize)), release, r.Context().Done()})
	}))
	t.Cleanup(hub.Close)
	return hub.URL
}

// stuck is a file that is read to a quarter and then no further.
type stuck struct {
	*bytes.Reader
	release, end <-chan struct{}
}

func (s *stuck) Read(b []byte) (int, error) {
	if s.Len() < int(s.Size())*3/4 {
		select {
		case <-s.release:
		case <-s.end:
		}
	}
	return s.Reader.Read(b)
}

// Sound is neither written to a terminal nor read from one, and a note is printed
// where a text has to be typed.
func TestTerminalSound(t *testing.T) {
	model := fixtures.Path(t, "whisper", "ggml-tiny-f16.bin")
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"say", "-o", "-", "Hello"}, 2, "sound is not written to a terminal"},
		{[]string{"transcribe", "--model", model, "-"}, 1, "send audio there with < FILE"},
	} {
		if code, all := onTerminal(t, 200, nil, tt.args...).ended(); code != tt.code || !strings.Contains(all, tt.want) || strings.Contains(all, "RIFF") {
			t.Errorf("%q: exit code %d, %.200q", tt.args, code, all)
		}
	}
	p := onTerminal(t, 80, nil, "tokenize", "--ids")
	p.wait(0, "Ctrl-D on a line of its own ends it.")
	p.send("Hello\n\x04")
	if code, all := p.ended(); code != 0 {
		t.Errorf("exit code %d, %q", code, all)
	}
}

// Help on a narrow terminal has whole words too.
func TestTerminalHelp(t *testing.T) {
	for _, columns := range []int{40, 80} {
		for _, args := range [][]string{nil, {"help", "serve"}, {"run", "--help"}, {"bench", "--help"}} {
			p := onTerminal(t, columns, nil, args...)
			code, all := p.ended()
			if code != 0 || !strings.Contains(all, "Usage:") {
				t.Errorf("%q: exit code %d, %.100q", args, code, all)
			}
			for line := range strings.Lines(all) {
				// Words that are wider than the terminal stand alone.
				if n := len([]rune(strings.TrimRight(line, "\r\n"))); n > columns && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%q: a line of %d columns: %q", args, n, line)
				}
			}
		}
	}
}

// A call of the built-in model in a chat: quern asks, takes yes, Ctrl-C and always for an
// answer, and goes on.
func TestTerminalCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tools.json")
	write(t, file, `[{"type":"function","command":["echo","{\"celsius\": 21}"],"function":{"name":"get_weather","description":"Current weather in a city",
		"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}]`)
	p := onTerminal(t, 80, nil, "run", "--temperature", "0", "--tools", file)
	at := p.wait(0, "/help for commands")
	for _, answer := range []string{"y\r", "\x03", "a\r", ""} {
		at = p.wait(at, "> ")
		p.send("/clear\r")
		at = p.wait(at, "Forgotten.")
		at = p.wait(at, "> ")
		p.send("What is the weather in Oslo?\r")
		at = p.wait(at, `get_weather {"city":"Oslo"}`)
		if answer != "" { // after always it is not asked
			at = p.wait(at, `Run echo "{\"celsius\": 21}" for get_weather {"city":"Oslo"}`)
			at = p.wait(at, "a(lways for get_weather)? ")
			p.send(answer)
		}
		if answer == "\x03" {
			at = p.wait(at, "(stopped)")
		} else {
			at = p.wait(at, "21 degrees")
		}
		at = p.wait(at, "\n")
	}
	p.wait(at, "> ")
	p.send("\x04")
	if code, all := p.ended(); code != 0 || strings.Count(all, "Run echo") != 3 {
		t.Errorf("exit code %d: %q", code, all)
	}
}
