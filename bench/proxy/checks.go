package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"quern/bench/internal/must"
)

// An answer is what came of a request.
type answer struct {
	status int
	by     string // instance
	whole  bool   // of a stream: it ended as it should
}

// ask sends a chat. first, where it is not nil, is called when the first event of a stream is
// there, with who sends it.
func (f *fleet) ask(ctx context.Context, message, session string, tokens int, first func(by string)) (_ answer, err error) {
	defer must.Catch(&err)
	body := must.Get(json.Marshal(map[string]any{
		"messages": []map[string]string{{"role": "user", "content": message}}, "max_tokens": tokens, "stream": first != nil, "ignore_eos": true,
	}))
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodPost, f.base+"/v1/chat/completions", strings.NewReader(string(body))))
	req.Header.Set("Content-Type", "application/json")
	if session != "" {
		req.Header.Set("X-Session-Id", session)
	}
	res := must.Get(http.DefaultClient.Do(req))
	defer res.Body.Close()
	a := answer{status: res.StatusCode, by: res.Header.Get("X-Quern-Instance")}
	if first == nil {
		_, err = io.Copy(io.Discard, res.Body)
		return a, err
	}
	lines := bufio.NewScanner(res.Body)
	for n := 0; lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data: {") {
			if n++; n == 1 {
				first(a.by)
			}
		}
		a.whole = a.whole || lines.Text() == "data: [DONE]"
	}
	return a, lines.Err()
}

const long = 600 // tokens of a long stream

// streams checks that events come as they are made: with the first of them the server is
// still at work.
func (f *fleet) streams(ctx context.Context) (string, error) {
	busy := errors.New("no event came")
	a, err := f.ask(ctx, "Tell me a story.", "", long, func(by string) {
		i := int(by[1] - '1')
		res, err := http.Get("http://127.0.0.1:" + f.ports[i] + "/metrics")
		if err != nil {
			busy = err
			return
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if busy = err; err == nil && !strings.Contains(string(text), "\nquern_requests_running 1\n") {
			busy = errors.New("the first event came when the answer was whole")
		}
	})
	if err = errors.Join(err, busy); err == nil && !a.whole {
		err = fmt.Errorf("the stream was cut: %+v", a)
	}
	return "events come as they are made", err
}

// sockets wants WebSockets to come through.
func (f *fleet) sockets(ctx context.Context) (_ string, err error) {
	defer must.Catch(&err)
	req := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, f.base+"/v1/realtime", nil))
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="} {
		req.Header.Set(name, value)
	}
	res := must.Get(http.DefaultClient.Do(req))
	defer res.Body.Close()
	if res.StatusCode != http.StatusSwitchingProtocols {
		return "", fmt.Errorf("/v1/realtime answers %s", res.Status)
	}
	const want = "session.created"
	first := make([]byte, 100)
	if _, err := io.ReadFull(res.Body, first); err != nil || !strings.Contains(string(first), want) {
		return "", fmt.Errorf("no %s but %q, %v", want, first, err)
	}
	return want + " came", nil
}

// affinity checks that sessions, and first messages where the proxy reads them, stay with one
// server, and that all servers have some.
func (f *fleet) affinity(ctx context.Context) (string, error) {
	const groups, times = 20, 3
	told := ""
	for _, by := range []string{"session", "first message"} {
		if by != "session" && !f.messages {
			continue
		}
		seen, used := map[string]string{}, map[string]int{}
		for i := range groups * times {
			key := fmt.Sprintf("%s %d", by, i%groups)
			message, session := fmt.Sprintf("%d", i), key
			if by != "session" {
				message, session = key, ""
			}
			a, err := f.ask(ctx, message, session, 2, nil)
			if err != nil || a.status != http.StatusOK {
				return "", fmt.Errorf("%+v, %v", a, err)
			}
			if was, ok := seen[key]; ok && was != a.by {
				return "", fmt.Errorf("%s went to %s and to %s", key, was, a.by)
			}
			seen[key] = a.by
			used[a.by]++
		}
		if len(used) != servers {
			return "", fmt.Errorf("by %s only %v are used", by, used)
		}
		told += fmt.Sprintf("%d of %d by %s stay, ", groups, groups, by)
	}
	return strings.TrimSuffix(told, ", "), nil
}

// load has clients ask until stop is called, which returns how many answers were whole and what
// went wrong.
func (f *fleet) load(ctx context.Context) (stop func() (whole int64, errs []error)) {
	var over atomic.Bool
	var whole atomic.Int64
	var mu sync.Mutex
	var errs []error
	var all sync.WaitGroup
	for c := range 4 {
		all.Go(func() {
			for i := 0; !over.Load(); i++ {
				a, err := f.ask(ctx, fmt.Sprintf("Hello %d %d", c, i), fmt.Sprintf("s%d-%d", c, i), 4, nil)
				if err == nil && a.status == http.StatusOK {
					whole.Add(1)
					continue
				}
				mu.Lock()
				errs = append(errs, fmt.Errorf("%+v, %v", a, err))
				mu.Unlock()
			}
		})
	}
	return func() (int64, []error) {
		over.Store(true)
		all.Wait()
		return whole.Load(), errs
	}
}

// long begins long streams and returns when all have begun; done tells how many were cut that
// the second server sent, and others.
func (f *fleet) long(ctx context.Context, n int) (on int, done func() (cut, others int)) {
	var mu sync.Mutex
	var all, begun sync.WaitGroup
	cuts := map[bool]int{}
	for i := range n {
		begun.Add(1)
		all.Go(func() {
			by := ""
			var once sync.Once
			defer once.Do(begun.Done)
			a, err := f.ask(ctx, "Tell me a story.", fmt.Sprintf("long %d", i), 4*long, func(b string) {
				mu.Lock()
				if by = b; by == second {
					on++
				}
				mu.Unlock()
				once.Do(begun.Done)
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil || !a.whole {
				cuts[by == second]++
			}
		})
	}
	begun.Wait()
	mu.Lock()
	defer mu.Unlock()
	return on, func() (int, int) {
		all.Wait()
		return cuts[true], cuts[false]
	}
}

const second = "q2"

// leaves has the second server leave under load: every answer and every stream is whole.
func (f *fleet) leaves(ctx context.Context) (string, error) {
	on, done := f.long(ctx, 9)
	stop := f.load(ctx)
	f.end(1, syscall.SIGTERM)
	whole, errs := stop()
	cut, others := done()
	if len(errs) > 0 || cut+others > 0 || on == 0 || whole == 0 {
		return "", fmt.Errorf("%d streams on the server that left, %d and %d others cut; %d answers whole, %d not: %v", on, cut, others, whole, len(errs), errs)
	}
	return fmt.Sprintf("%d answers and 9 streams whole, %d of them of the server that left", whole, on), f.again(ctx)
}

// dies has it killed under load: only streams that it had begun are cut.
func (f *fleet) dies(ctx context.Context) (string, error) {
	on, done := f.long(ctx, 9)
	stop := f.load(ctx)
	f.end(1, syscall.SIGKILL)
	cut, others := done()
	whole, errs := stop()
	if len(errs) > 0 || others > 0 || cut > on || on == 0 || whole == 0 {
		return "", fmt.Errorf("%d streams on the server that died, %d and %d others cut; %d answers whole, %d not: %v", on, cut, others, whole, len(errs), errs)
	}
	return fmt.Sprintf("%d answers whole, %d of 9 streams cut, all of the server that died", whole, cut), f.again(ctx)
}

// again starts the second server, and waits until it is used.
func (f *fleet) again(ctx context.Context) (err error) {
	defer must.Catch(&err)
	must.Do(f.start(1))
	must.Do(ready(ctx, "http://127.0.0.1:"+f.ports[1]))
	for i := 0; ; i++ {
		a, err := f.ask(ctx, "Hello", fmt.Sprintf("again %d", i), 1, nil)
		switch {
		case err != nil:
			return err
		case a.by == second:
			return nil
		case i > 2000:
			return errors.New("the server that came back is not used")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
