// Command proxy runs three querns behind a proxy as deploy/proxy configures it, and has them
// stream, keep sessions, leave (SIGTERM) and die (SIGKILL) under load.
//
//	go run ./bench/proxy -quern ./quern -kind haproxy deploy/proxy/haproxy.cfg
//	go run ./bench/proxy -quern ./quern -kind nginx deploy/proxy/nginx.conf
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/system"
)

const servers = 3

func main() {
	quern := flag.String("quern", "quern", "binary")
	kind := flag.String("kind", "haproxy", "haproxy or nginx")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	must.End("FAIL", run(ctx, *quern, *kind, flag.Arg(0)))
}

// A fleet is the servers and the proxy in front of them.
type fleet struct {
	dir, quern string
	ports      [servers]string
	querns     [servers]*exec.Cmd
	base       string // of the proxy
	messages   bool   // the proxy reads the first message
}

func run(ctx context.Context, quern, kind, config string) (err error) {
	defer must.Catch(&err)
	text := must.Get(os.ReadFile(config))
	dir := must.Get(os.MkdirTemp("", "quern-proxy-"))
	defer os.RemoveAll(dir)
	f := &fleet{dir: dir, quern: quern, messages: kind == "haproxy"}
	ports := must.Get(system.FreePorts(servers + 1))
	mine := string(text)
	for i := range servers {
		f.ports[i] = ports[i]
		mine = strings.ReplaceAll(mine, fmt.Sprintf("127.0.0.1:%d", 8081+i), "127.0.0.1:"+ports[i])
	}
	mine = strings.ReplaceAll(mine, "127.0.0.1:8080", "127.0.0.1:"+ports[servers])
	f.base = "http://127.0.0.1:" + ports[servers]
	file := filepath.Join(dir, "proxy.conf")
	must.Do(os.WriteFile(file, []byte(mine), 0o600))
	for i := range servers {
		must.Do(f.start(i))
		defer func() { f.end(i, syscall.SIGKILL) }()
	}
	for i := range servers { // the proxy finds all of them
		if err := ready(ctx, "http://127.0.0.1:"+f.ports[i]); err != nil {
			return fmt.Errorf("q%d: %w", i+1, err)
		}
	}
	args := map[string][]string{"haproxy": {"-db", "-f", file}, "nginx": {"-p", dir, "-e", "stderr", "-c", file}}[kind]
	proxy := exec.Command(kind, args...)
	proxy.Stderr = os.Stderr
	must.Do(proxy.Start())
	defer func() {
		proxy.Process.Signal(syscall.SIGTERM)
		proxy.Wait()
	}()
	if err := ready(ctx, f.base); err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	for _, check := range []struct {
		name string
		do   func(context.Context) (string, error)
	}{{"stream", f.streams}, {"WebSocket", f.sockets}, {"affinity", f.affinity}, {"leave", f.leaves}, {"kill", f.dies}} {
		told, err := check.do(ctx)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", kind, check.name, err)
		}
		fmt.Printf("%s, %s: %s\n", kind, check.name, told)
	}
	return nil
}

// start runs a server.
func (f *fleet) start(i int) error {
	name := fmt.Sprintf("q%d", i+1)
	file := filepath.Join(f.dir, name+".yaml")
	config := fmt.Sprintf("listen: 127.0.0.1:%s\ninstance: %s\nthreads: 1\nshutdown_delay: 2s\nlog: {level: error}\n", f.ports[i], name)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	c := exec.Command(f.quern, "serve", "--config", file)
	c.Env = append(os.Environ(), "HOME="+f.dir)
	c.Stderr = os.Stderr
	f.querns[i] = c
	return c.Start()
}

// end sends a server a signal and waits until it is gone.
func (f *fleet) end(i int, sig syscall.Signal) {
	if f.querns[i] != nil {
		f.querns[i].Process.Signal(sig)
		f.querns[i].Wait()
		f.querns[i] = nil
	}
}

func ready(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		res, err := http.Get(base + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not ready within a minute: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
