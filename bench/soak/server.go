//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/system"
)

// A server is a quern that is started, asked how it is, and ended.
type server struct {
	base, watch string // addresses of the API and of the operations listener
	quern, dir  string
	log         string
	wrap        []string // a command that quern is run by
	env         []string
	cmd         *exec.Cmd
}

// small has the cache used up soon, since memory that is touched for the first time would be taken
// for growth, and lets all requests wait.
const small = "model_defaults: {cache_memory: 32MiB, queue: 1000}\n"

// newServer writes the settings of a server, which are those of extra beside what all have.
func newServer(o *options, extra string) (*server, error) {
	ports, err := system.FreePorts(2)
	if err != nil {
		return nil, err
	}
	listen, watch := "127.0.0.1:"+ports[0], "127.0.0.1:"+ports[1]
	s := &server{base: "http://" + listen, watch: "http://" + watch, quern: o.quern, dir: o.dir, log: filepath.Join(o.dir, "quern.log")}
	text := fmt.Sprintf("listen: %s\nbuiltin: true\noperations: {listen: %s}\n%s", listen, watch, extra)
	return s, os.WriteFile(filepath.Join(o.dir, "quern.yaml"), []byte(text), 0o600)
}

// started is a new one, started.
func started(ctx context.Context, o *options, extra string) (*server, error) {
	s, err := newServer(o, extra)
	if err == nil {
		_, err = s.start(ctx)
	}
	return s, err
}

// start starts it, and returns how long it took until it was ready.
func (s *server) start(ctx context.Context) (_ time.Duration, err error) {
	defer must.Catch(&err)
	log := must.Get(os.OpenFile(s.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600))
	defer log.Close()
	args := slices.Concat(s.wrap, []string{s.quern, "serve", "--config", filepath.Join(s.dir, "quern.yaml")})
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = slices.Concat(os.Environ(), []string{"HOME=" + s.dir, "XDG_DATA_HOME=" + filepath.Join(s.dir, "data"), "XDG_CONFIG_HOME=" + s.dir}, s.env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	began := time.Now()
	must.Do(cmd.Start())
	s.cmd = cmd
	err = poll(ctx, time.Minute, "the server is ready", func() error { return get(ctx, s.base+"/readyz", io.Discard) })
	return time.Since(began), err
}

// kill ends it as kill -9 does.
func (s *server) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill() // it may have ended
		_ = s.cmd.Wait()         // says that it was killed
		s.cmd = nil
	}
}

// stop ends it well, and looks into its log.
func (s *server) stop() error {
	cmd := s.cmd
	if s.cmd = nil; cmd == nil {
		return errors.New("the server is not there")
	}
	err := cmd.Process.Signal(syscall.SIGTERM)
	if err2 := cmd.Wait(); err == nil && err2 != nil {
		err = fmt.Errorf("the server did not end well: %w", err2)
	}
	text, err2 := os.ReadFile(s.log)
	for _, bad := range []string{"panic", "DATA RACE", "fatal error"} {
		if bytes.Contains(text, []byte(bad)) {
			err = errors.Join(err, fmt.Errorf("the server's log says %q", bad))
		}
	}
	return errors.Join(err, err2)
}

// usage is what a server takes.
type usage struct{ memory, heap, goroutines, files int64 }

func (u usage) String() string {
	return fmt.Sprintf("%d MiB, %d of them live, %d goroutines, %d files", u.memory>>20, u.heap>>20, u.goroutines, u.files)
}

// usage asks the operations listener, after a collection of garbage.
func (s *server) usage(ctx context.Context) (u usage, err error) {
	if err := get(ctx, s.watch+"/debug/pprof/heap?gc=1", io.Discard); err != nil {
		return u, err
	}
	m, err := s.metrics(ctx)
	return usage{int64(m["process_resident_memory_bytes"]), int64(m["go_memstats_heap_alloc_bytes"]), int64(m["go_goroutines"]), int64(m["process_open_fds"])}, err
}

// metrics are the series without labels.
func (s *server) metrics(ctx context.Context) (map[string]float64, error) {
	var b bytes.Buffer
	if err := get(ctx, s.watch+"/metrics", &b); err != nil {
		return nil, err
	}
	all := map[string]float64{}
	for lines := bufio.NewScanner(&b); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && !strings.Contains(name, "{") {
			if v, err := strconv.ParseFloat(value, 64); err == nil {
				all[name] = v
			}
		}
	}
	return all, nil
}

// get fails where the answer is not 200.
func get(ctx context.Context, url string, to io.Writer) (err error) {
	defer must.Catch(&err)
	r := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, url, nil))
	r.Close = true // it leaves nothing behind that would be counted
	resp := must.Get(http.DefaultClient.Do(r))
	defer resp.Body.Close()
	must.Get(io.Copy(to, resp.Body))
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

// poll tries until f has no error, for at most d.
func poll(ctx context.Context, d time.Duration, what string, f func() error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %v: %s: %w", d, what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}
