// Command start measures how long a server takes from its start to the first token of an
// answer, with the file of the model in the system's memory and without, and what memory
// it has then. Servers take turns. Run it from the root of the repository:
//
//	go run ./bench/start -file MODEL.gguf -server "quern=quern serve --model FILE --listen 127.0.0.1:PORT" \
//		-server "ik=llama-server -m FILE --port PORT -t 2"
//
// FILE and PORT stand for the file and for a port that is free. Each has to answer /v1/completions.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/bench/internal/system"
)

type server struct {
	name string
	args []string
}

type options struct {
	file    string
	servers []server
	runs    int
}

func main() {
	var o options
	flag.StringVar(&o.file, "file", "", "`file` of the model; empty for servers that have one built in, which are not started cold")
	flag.IntVar(&o.runs, "runs", 5, "starts of each server")
	flag.Func("server", "NAME=COMMAND of a server, repeatable", func(s string) error {
		name, command, ok := strings.Cut(s, "=")
		if !ok || len(strings.Fields(command)) == 0 {
			return errors.New("want NAME=COMMAND")
		}
		o.servers = append(o.servers, server{name, strings.Fields(command)})
		return nil
	})
	flag.Parse()
	must.End("start", run(context.Background(), os.Stdout, o))
}

// A result is one start.
type result struct {
	seconds          float64
	resident, unfile float64 // MB, after the answer; unfile without the pages of files
}

func run(ctx context.Context, out io.Writer, o options) (err error) {
	defer must.Catch(&err)
	fmt.Fprintf(out, "%s\n\n| server | file in memory | s to the first token | resident, MB | without the file, MB |\n|---|---|---:|---:|---:|\n", stat.Before().Stamp())
	for _, cold := range []bool{false, true} {
		if cold && o.file == "" {
			break
		}
		results := make([][]result, len(o.servers))
		for i := range o.runs + 1 {
			for k := range o.servers {
				k = (i + k) % len(o.servers)
				if cold {
					if !must.Get(system.Forget(o.file)) {
						return fmt.Errorf("starts with a file that is not in memory: %w", errors.ErrUnsupported)
					}
				}
				r := must.Get(start(ctx, o.servers[k], o.file))
				if i > 0 { // the first reads the programs themselves
					results[k] = append(results[k], r)
				}
			}
		}
		for k, s := range o.servers {
			fmt.Fprintf(out, "| %s | %v | %s | %s | %s |\n", s.name, !cold, spread(results[k], "%.3f", func(r result) float64 { return r.seconds }),
				spread(results[k], "%.0f", func(r result) float64 { return r.resident }), spread(results[k], "%.0f", func(r result) float64 { return r.unfile }))
		}
	}
	return nil
}

// spread is the median, and the range in brackets.
func spread(runs []result, format string, of func(result) float64) string {
	v := stat.Values(runs, of)
	return fmt.Sprintf(format+" ("+format+" to "+format+")", stat.Median(v), v[0], v[len(v)-1])
}

// start starts a server, waits for its first token and ends it.
func start(ctx context.Context, s server, file string) (r result, err error) {
	ports, err := system.FreePorts(1)
	if err != nil {
		return r, err
	}
	port := ports[0]
	args := make([]string, len(s.args))
	for i, a := range s.args {
		args[i] = strings.NewReplacer("FILE", file, "PORT", port).Replace(a)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return r, err
	}
	defer func() {
		err = errors.Join(err, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
	}()
	for {
		if ok, err := ask(ctx, "http://127.0.0.1:"+port+"/v1/completions"); err != nil {
			return r, fmt.Errorf("%s: %w", s.name, err)
		} else if ok {
			break
		}
		time.Sleep(time.Millisecond)
	}
	r.seconds = time.Since(began).Seconds()
	m, err := stat.MemoryOf(cmd.Process.Pid)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return r, err
	}
	r.resident, r.unfile = float64(m.Now)/1e6, float64(m.Anonymous)/1e6
	return r, nil
}

// ask asks for one token. It is false while the server does not listen yet, or loads.
func ask(ctx context.Context, url string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(`{"prompt": "Hello", "max_tokens": 1, "temperature": 0}`)))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, ctx.Err()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode == http.StatusServiceUnavailable {
		return false, ctx.Err()
	}
	if res.StatusCode != http.StatusOK {
		return false, fmt.Errorf("%s: %.300s", res.Status, body)
	}
	return true, nil
}
