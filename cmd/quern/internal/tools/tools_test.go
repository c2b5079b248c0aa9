package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"testing"
	"time"

	"quern/engine/chat"
)

// A command of these tests is this test binary: its arguments say what it does.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "tool" {
		act(os.Args[2:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func act(args []string) {
	switch args[0] {
	case "echo":
		b, _ := io.ReadAll(os.Stdin)
		fmt.Printf("%q %q\n", args[1:], b)
	case "print":
		fmt.Print(args[1])
	case "fail":
		fmt.Println("half")
		fmt.Fprintln(os.Stderr, "no such city")
		os.Exit(3)
	case "flood":
		for {
			if _, err := fmt.Println(strings.Repeat("x", 1000)); err != nil {
				os.Exit(1)
			}
		}
	case "stay":
		fmt.Fprint(os.Stderr, "staying")
		stay()
	case "parent": // of one that holds the output
		fmt.Println("here")
		self, err := os.Executable()
		r, w, bad := os.Pipe()
		if err != nil || bad != nil {
			os.Exit(1)
		}
		child := exec.Command(self, "tool", "child", args[1])
		child.Stdout, child.Stderr, child.Stdin = os.Stdout, w, nil
		if child.Start() != nil {
			os.Exit(1)
		}
		_, _ = r.Read(make([]byte, 1)) // it has called
	case "child":
		if _, err := net.Dial("tcp", args[1]); err != nil {
			os.Exit(1)
		}
		fmt.Fprint(os.Stderr, "x")
		stay()
	}
}

// stay waits for ever.
func stay() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	for {
		<-c
	}
}

func command(t *testing.T, args ...string) *Tool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Tool{Name: "f", Command: append([]string{self, "tool"}, args...), Limit: time.Hour}
}

func TestRead(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(fmt.Appendf(nil, `[
		{"type": "function", "command": [%q, "a b"], "function": {"name": "get_weather", "parameters": {"type": "object"}, "strict": true}},
		{"function": {"name": "x"}, "type": "function"}]`, self))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "get_weather" || len(got[0].Command) != 2 || got[1].Command != nil || got[0].Limit != limit {
		t.Errorf("read %+v", got)
	}
	// Templates show what is there, and a command is none of the model's business.
	if want := `{"type":"function","function":{"name": "get_weather", "parameters": {"type": "object"}, "strict": true}}`; string(got[0].Raw) != want {
		t.Errorf("the model is shown %s; want %s", got[0].Raw, want)
	}
}

func TestReadRefuses(t *testing.T) {
	tool := func(function, more string) string { return `[{"type":"function","function":` + function + more + `}]` }
	for _, tt := range []struct{ name, file, want string }{
		{"no JSON", `[{]`, "no JSON: "},
		{"a second value", `[] []`, "no JSON: "},
		{"nothing", ``, "no JSON: "},
		{"an object", `{"tools": []}`, "the tools must be an array"},
		{"no tools", `[]`, "no tools"},
		{"no tools either", `null`, "no tools"},
		{"no object", `[3]`, "tools[0]: a tool has the members type, function and command"},
		{"null", `[null]`, `tools[0].type: must be "function"`},
		{"a slip", tool(`{"name":"a"}`, `,"comand":["x"]`), `tools[0]: a tool has the members type, function and command: json: unknown field "comand"`},
		{"another type", `[{"type":"web_search"}]`, `tools[0].type: must be "function", got "web_search"`},
		{"no function", `[{"type":"function"}]`, "tools[0].function: "},
		{"no name", tool(`{}`, ""), "tools[0].function.name: must be 1 to 64 letters"},
		{"a name with a quote", tool(`{"name":"a\"b"}`, ""), "tools[0].function.name: "},
		{"the same name", `[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}]`, `tools[1].function.name: is the name of another tool: "a"`},
		{"parameters that are a list", tool(`{"name":"a","parameters":[]}`, ""), "tools[0].function: "},
		{"parameters of a string", tool(`{"name":"a","parameters":{"type":"string"}}`, ""), `tools[0].function.parameters.type: must be "object"`},
		{"a line of a shell", tool(`{"name":"a"}`, `,"command":"ls"`), "tools[0]: "},
		{"no words", tool(`{"name":"a"}`, `,"command":[]`), "tools[0].command: must be a program and its arguments"},
		{"an empty word", tool(`{"name":"a"}`, `,"command":[""]`), "tools[0].command: "},
		{"no such program", tool(`{"name":"a"}`, `,"command":["./quern-has-no-such-program"]`), "tools[0].command: "},
		{"too many", "[" + strings.Repeat(`{},`, chat.MaxTools) + "{}]", "129 tools; at most 128"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Read([]byte(tt.file))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("read %+v, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name      string
		args      []string
		in        string
		want, err string
		stderr    string
		limit     time.Duration
	}{
		{name: "arguments are not words of the line", args: []string{"echo", "$HOME; ls", "*"}, in: `{"city":"$(ls) 'Oslo'"}`,
			want: `["$HOME; ls" "*"] "{\"city\":\"$(ls) 'Oslo'\"}\n"`},
		{name: "lines", args: []string{"print", "one\ntwo\r\n\n"}, want: "one\ntwo"},
		{name: "no input is read", args: []string{"print", "x"}, in: strings.Repeat("y", 1<<20), want: "x"},
		{name: "no UTF-8", args: []string{"print", "a\xffb"}, want: "a\uFFFDb"},
		{name: "a failure", args: []string{"fail"}, want: "half", err: "exit status 3", stderr: "no such city\n"},
		{name: "too much", args: []string{"flood"}, err: errLong.Error()},
		{name: "as much as there may be", args: []string{"print", strings.Repeat("x", MaxResult)}, want: strings.Repeat("x", MaxResult)},
		{name: "no end", args: []string{"stay"}, err: errSlow.Error(), limit: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tool := command(t, tt.args...)
			if tt.limit > 0 {
				tool.Limit = tt.limit
			}
			var stderr strings.Builder
			got, err := tool.Run(t.Context(), tt.in, &stderr)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Errorf("error %v; want %q", err, tt.err)
			}
			if got != tt.want || tt.limit == 0 && stderr.String() != tt.stderr {
				t.Errorf("result %.200q, stderr %q; want %.200q, %q", got, stderr.String(), tt.want, tt.stderr)
			}
		})
	}
}

// What is stopped while it runs is ended, and Run says why.
func TestRunStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun := writer(func(b []byte) (int, error) { cancel(); return len(b), nil })
	if _, err := command(t, "stay").Run(ctx, "{}", begun); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want %v", err, context.Canceled)
	}
}

// A command does not leave processes behind that hold its output.
func TestRunLeavesNothing(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes have no groups")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := command(t, "parent", l.Addr().String()).Run(t.Context(), "{}", io.Discard)
	if got != "here" || err == nil || !strings.Contains(err.Error(), "left a process behind") {
		t.Errorf("result %q, error %v", got, err)
	}
	child, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer child.Close()
	if _, err := child.Read(make([]byte, 1)); err == nil { // hangs as long as it lives
		t.Error("the child speaks")
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

func TestLine(t *testing.T) {
	tool := Tool{Command: []string{"./weather", "--unit=C", "a b", "", "x;ls", "\x1b[2J", "\u202e"}}
	if got, want := tool.Line(), `./weather --unit=C "a b" "" "x;ls" "\x1b[2J" "\u202e"`; got != want {
		t.Errorf("shown %s; want %s", got, want)
	}
}

// Text of a model cannot hide a part of the question to the user.
func TestShow(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
		ok               bool
	}{
		{"one line", "{\n  \"city\": \"São  Paulo\"\n}", `{"city":"São  Paulo"}`, true},
		{"escapes stay", `{"a":"\n\u001b"}`, `{"a":"\n\u001b"}`, true},
		{"direction", "{\"a\":\"\u202ex\"}", `{"a":"\u202ex"}`, true},
		{"controls of eight bits", "{\"a\":\"\u009b2J\"}", `{"a":"\u009b2J"}`, true},
		{"no width", "{\"a\":\"\u200b\"}", `{"a":"\u200b"}`, true},
		{"beyond sixteen bits", "{\"a\":\"\U000e0041\"}", `{"a":"\udb40\udc41"}`, true},
		{"no JSON", "\x1b[2J\n", `\u001b[2J\u000a`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if ok, err := Show(&out, tt.text); ok != tt.ok || err != nil || out.String() != tt.want {
				t.Errorf("%q, %v, %v; want %q, %v", out.String(), ok, err, tt.want, tt.ok)
			}
		})
	}
}
