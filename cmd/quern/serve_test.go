package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"quern/bench/poll"
	"quern/cmd/quern/internal/notify"
)

// output collects what a command prints while it runs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// A process is a quern that runs in-process.
type process struct {
	out, err output
	stop     context.CancelFunc // as a signal would
	code     chan int
}

func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	p := &process{code: make(chan int, 1)}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(t.Context())
	a := &app{in: strings.NewReader(""), out: &p.out, err: &p.err, environ: env}
	go func() { p.code <- a.main(ctx, args) }()
	t.Cleanup(p.stop)
	return p
}

// wait returns the first match of pattern in what p printed.
func (p *process) wait(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	var m []string
	poll.Until(t, fmt.Sprintf("%q is printed", pattern), func() bool {
		select {
		case code := <-p.code:
			t.Fatalf("ended with %d: %s%s", code, p.out.String(), p.err.String())
		default:
		}
		m = re.FindStringSubmatch(p.out.String())
		return m != nil
	})
	return m
}

func (p *process) end(t *testing.T) int {
	t.Helper()
	p.stop()
	return <-p.code
}

// post sends body and returns status and answer.
func post(t *testing.T, url, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

const franceBody = `{"temperature": 0, "messages": [{"role": "user", "content": "What is the capital of France?"}]`

func TestServe(t *testing.T) {
	p := start(t, []string{"QUERN_API_KEY=secret"}, "serve", "--listen", "127.0.0.1:0", "--log-format", "json")
	base := p.wait(t, `listening on (http://127\.0\.0\.1:[1-9]\d*)\n`)[1]
	p.wait(t, `Chat is answered by quern-tiny \(`)
	if line := p.wait(t, `curl (\S+) -H "Authorization: Bearer \$QUERN_API_KEY" -d '(.*)'\n`); line[1] != base+"/v1/chat/completions" || !json.Valid([]byte(line[2])) {
		t.Errorf("the line to try is %q", line[0])
	}
	res, err := http.Get(base + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK || !regexp.MustCompile(`^[0-9a-f]{8}$`).MatchString(res.Header.Get("X-Quern-Instance")) {
		t.Errorf("ready: %s, by %q", res.Status, res.Header.Get("X-Quern-Instance"))
	}

	if code, text := post(t, base+"/v1/chat/completions", "wrong", franceBody+"}"); code != http.StatusUnauthorized {
		t.Errorf("wrong key: %d %s", code, text)
	}
	code, text := post(t, base+"/v1/chat/completions", "secret", franceBody+"}")
	if code != http.StatusOK || !strings.Contains(text, "Paris") {
		t.Errorf("plain: %d %s", code, text)
	}
	code, text = post(t, base+"/v1/chat/completions", "secret", franceBody+`, "stream": true}`)
	var reply strings.Builder
	for _, m := range regexp.MustCompile(`"content":"([^"]*)"`).FindAllStringSubmatch(text, -1) {
		reply.WriteString(m[1])
	}
	if code != http.StatusOK || !strings.Contains(reply.String(), "Paris") || !strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Errorf("streamed: %d %s", code, text)
	}

	if code := p.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	if strings.Contains(p.err.String(), "secret") || strings.Contains(p.err.String(), "capital") {
		t.Errorf("the log has a key or a prompt: %s", p.err.String())
	}
	// The line of each message that names its request: the engine's when a request made
	// it load the model, and no other than requests' own.
	named := map[string]bool{}
	for line := range strings.Lines(p.err.String()) {
		var l struct{ Msg, Request string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("not JSON in the log: %s", line)
		}
		named[l.Msg] = strings.HasPrefix(l.Request, "req_")
	}
	if want := map[string]bool{"loading model": true, "model loaded": true, "request": true, "shutting down": false, "serving": false}; !maps.Equal(named, want) {
		t.Errorf("messages with the id of a request: %v, want %v", named, want)
	}
}

// A service manager with a NOTIFY_SOCKET is notified when the server is ready, and when it ends.
func TestServeTellsManager(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no datagrams between processes")
	}
	dir, err := os.MkdirTemp("", "q") // names of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	told := func() string {
		b := make([]byte, 100)
		n, err := manager.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	p := start(t, []string{"NOTIFY_SOCKET=" + socket}, "serve", "--listen", "127.0.0.1:0")
	base := p.wait(t, `listening on (\S+)\n`)[1]
	if got := told(); got != "READY=1" {
		t.Fatalf("notified %q", got)
	}
	res, err := http.Get(base + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Errorf("ready, and /readyz is %s", res.Status)
	}
	if code := p.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
	if err := notify.Send(socket, "nothing else"); err != nil { // or the read would block if the server sends nothing
		t.Fatal(err)
	}
	if got := told(); got != "STOPPING=1" {
		t.Errorf("notified %q", got)
	}
}

// A request that runs when the server is asked to stop is answered.
func TestServeDrains(t *testing.T) {
	p := start(t, nil, "serve", "--listen", "127.0.0.1:0")
	base := p.wait(t, `listening on (\S+)\n`)[1]
	p.wait(t, `Try:`)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v1/chat/completions",
		strings.NewReader(`{"stream": true, "max_tokens": 100, "messages": [{"role": "user", "content": "Tell me a story."}]}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, 1)
	if _, err := io.ReadFull(res.Body, first); err != nil {
		t.Fatal(err)
	}
	p.stop()
	rest, err := io.ReadAll(res.Body)
	if err != nil || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("the running stream ended with %v: %s", err, rest)
	}
	if code := p.end(t); code != 0 {
		t.Errorf("exit code %d: %s", code, p.err.String())
	}
}

func TestServeAddressInUse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	code, _, errs := quern(t, "", nil, "serve", "--listen", ln.Addr().String())
	if code != 1 || !strings.Contains(errs, ln.Addr().String()+" is in use") || !strings.Contains(errs, "--listen") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

func TestServeBadModel(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "text.gguf", "this is no model")
	code, _, errs := quern(t, "", nil, "serve", "--listen", "127.0.0.1:0", "--model", "text.gguf")
	if code != 1 || !strings.Contains(errs, "text") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

func TestRunOnce(t *testing.T) {
	code, out, errs := quern(t, "", nil, "run", "--temperature", "0", "quern-tiny", "What", "is", "the capital of France?")
	if code != 0 || !strings.Contains(out, "Paris") || errs != "" {
		t.Errorf("exit code %d, %q, %q", code, out, errs)
	}
	code, again, _ := quern(t, "What is the capital of France?\n", nil, "run", "--temperature", "0")
	if code != 0 || again != out {
		t.Errorf("from standard input: exit code %d, %q; want %q", code, again, out)
	}
	code, _, errs = quern(t, "", nil, "run", "quern-tinny", "hi")
	if code != 1 || !strings.Contains(errs, "quern-tinny") {
		t.Errorf("unknown model: exit code %d, %q", code, errs)
	}
}

func TestTokenize(t *testing.T) {
	const text = "Hello wörld"
	code, ids, errs := quern(t, "", nil, "tokenize", "--ids", "--no-special", text)
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d, %q", code, errs)
	}
	if code, back, _ := quern(t, "", nil, "tokenize", "--decode", ids); code != 0 || strings.TrimSpace(back) != text {
		t.Errorf("exit code %d, back %q; want %q", code, back, text)
	}
	_, asJSON, _ := quern(t, text, nil, "tokenize", "--json", "--no-special")
	var r struct {
		Count  int
		Tokens []struct {
			ID    int
			Bytes []int
		}
	}
	if err := json.Unmarshal([]byte(asJSON), &r); err != nil {
		t.Fatal(err)
	}
	var list []string
	var joined []byte
	for _, tok := range r.Tokens {
		list = append(list, fmt.Sprint(tok.ID))
		for _, b := range tok.Bytes {
			joined = append(joined, byte(b))
		}
	}
	if strings.TrimSpace(string(joined)) != text {
		t.Errorf("the bytes are %q; want %q", joined, text)
	}
	if strings.Join(list, " ") != strings.TrimSpace(ids) || r.Count != len(list) {
		t.Errorf("JSON has %v; want %s", list, ids)
	}
	_, table, _ := quern(t, "", nil, "tokenize", "--no-special", text)
	if !strings.Contains(table, fmt.Sprintf("%d tokens", len(list))) {
		t.Errorf("table %q", table)
	}
}

func TestBaseURL(t *testing.T) {
	for _, tt := range []struct{ addr, want string }{
		{"127.0.0.1:80", "http://127.0.0.1:80"}, {"0.0.0.0:80", "http://127.0.0.1:80"}, {"[::]:80", "http://127.0.0.1:80"},
		{"[::1]:80", "http://[::1]:80"}, {"10.0.0.1:80", "http://10.0.0.1:80"},
	} {
		addr, err := net.ResolveTCPAddr("tcp", tt.addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := baseURL(addr, false); got != tt.want {
			t.Errorf("baseURL(%s) = %s; want %s", tt.addr, got, tt.want)
		}
	}
}
