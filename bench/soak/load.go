//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"quern/bench/internal/must"
)

// A crowd is clients of all kinds, and what came of their requests.
type crowd struct {
	*client
	mu     sync.Mutex
	asked  map[string]int
	known  map[string]string // answers, which are always the same
	faults []error
}

func newCrowd(s *server) *crowd {
	return &crowd{client: newClient(s), asked: map[string]int{}, known: map[string]string{}}
}

// kinds are what clients do, and how often.
var kinds = []struct {
	name   string
	weight int
	do     func(*crowd, context.Context, int) error
}{
	{"chat", 5, (*crowd).chats},
	{"stream", 4, (*crowd).streams},
	{"leave", 4, (*crowd).leaves},
	{"dawdle", 1, (*crowd).dawdles},
	{"nonsense", 2, (*crowd).nonsense},
	{"speech", 1, (*crowd).speech},
	{"file", 1, (*crowd).file},
	{"scrape", 1, func(c *crowd, ctx context.Context, _ int) error {
		return c.send(ctx, http.MethodGet, "/metrics", "", nil, new([]byte))
	}},
}

// work has n clients ask for a while.
func (c *crowd) work(ctx context.Context, n int, d time.Duration) {
	total := 0
	for _, k := range kinds {
		total += k.weight
	}
	over := time.Now().Add(d)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for time.Now().Before(over) && ctx.Err() == nil {
				dice := rand.IntN(total)
				for _, k := range kinds {
					if dice -= k.weight; dice < 0 {
						c.note(k.name, k.do(c, ctx, rand.IntN(1000)))
						break
					}
				}
			}
		})
	}
	all.Wait()
	c.http.CloseIdleConnections()
}

// note counts a request. A server may say that it is full.
func (c *crowd) note(kind string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[kind]++
	if r, ok := errors.AsType[*refusal](err); ok && r.status == http.StatusServiceUnavailable {
		c.asked["503"]++
		return
	}
	if err != nil {
		c.faults = append(c.faults, fmt.Errorf("%s: %w", kind, err))
	}
}

// told is what was asked, and an error of the first faults.
func (c *crowd) told() (string, error) {
	var b strings.Builder
	sum := 0
	for _, k := range slices.Sorted(maps.Keys(c.asked)) {
		fmt.Fprintf(&b, ", %s %d", k, c.asked[k])
		if k != "503" {
			sum += c.asked[k]
		}
	}
	var err error
	if n := len(c.faults); n > 0 {
		err = fmt.Errorf("%d faults, the first: %w", n, errors.Join(c.faults[:min(n, 10)]...))
	}
	return fmt.Sprintf("%d requests, %d faults (%s)", sum, len(c.faults), strings.TrimPrefix(b.String(), ", ")), err
}

// same reports whether a question has the answer it always had.
func (c *crowd) same(question, answer string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := c.known[question]
	if !known {
		c.known[question] = answer
	} else if was != answer {
		return fmt.Errorf("%q was answered with %q, now with %q", question, was, answer)
	}
	return nil
}

func sum(i int) string { return fmt.Sprintf("What is %d plus %d?", i%7, i%5) }

func (c *crowd) chats(ctx context.Context, i int) error {
	a, err := c.chat(ctx, sum(i))
	if err != nil {
		return err
	}
	return c.same(sum(i), a)
}

func (c *crowd) streams(ctx context.Context, i int) error {
	a, err := c.stream(ctx, sum(i))
	if err != nil {
		return err
	}
	return c.same(sum(i), a)
}

// leaves goes away in the middle of a long answer.
func (c *crowd) leaves(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(5+i/5)*time.Millisecond)
	defer cancel()
	resp, err := c.open(ctx, http.MethodPost, "/v1/completions", "application/json", story)
	if err == nil {
		_, _ = io.Copy(io.Discard, resp.Body) // until the time is over
		resp.Body.Close()
	}
	return nil
}

// story asks for a long answer.
var story = marshal(map[string]any{"prompt": "Once", "stream": true, "max_tokens": 500, "temperature": 1.2, "ignore_eos": true})

// post writes a request for a story to a connection of its own.
func (c *client) post(ctx context.Context, d net.Dialer) (_ net.Conn, err error) {
	defer must.Catch(&err)
	u := must.Get(url.Parse(c.base))
	conn := must.Get(d.DialContext(ctx, "tcp", u.Host))
	_, err = fmt.Fprintf(conn, "POST /v1/completions HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", u.Host, len(story), story)
	return conn, err
}

// dawdles reads a few bytes at a time, and is gone before the end.
func (c *crowd) dawdles(ctx context.Context, _ int) (err error) {
	defer must.Catch(&err)
	conn := must.Get(c.post(ctx, net.Dialer{}))
	defer conn.Close()
	for range 20 {
		must.Get(conn.Read(make([]byte, 16)))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// rubbish is malformed requests.
var rubbish = []string{
	`{`, `[]`, `{"messages":[]}`, `{"messages":[{"role":"user","content":"x"}],"max_tokens":"many"}`,
	`{"model":"none","messages":[{"role":"user","content":"x"}]}`, `{"messages":[{"role":"user","content":"x"}],"temperature":1e300}`,
	strings.Repeat("[", 100000), "\xff\xfe", "",
}

// nonsense has to be refused as the client's mistake.
func (c *crowd) nonsense(ctx context.Context, i int) error {
	text := rubbish[i%len(rubbish)]
	err := c.send(ctx, http.MethodPost, "/v1/chat/completions", "application/json", []byte(text), nil)
	var r *refusal
	if !errors.As(err, &r) || r.status/100 != 4 {
		return fmt.Errorf("%.40q: %w", text, errors.Join(err, errors.New("want a status of 4xx")))
	}
	return nil
}

func (c *crowd) speech(ctx context.Context, i int) error {
	var sound []byte
	err := c.send(ctx, http.MethodPost, "/v1/audio/speech", "application/json", marshal(map[string]any{"input": fmt.Sprintf("All is well, number %d.", i%9), "voice": "alloy"}), &sound)
	if err == nil && len(sound) < 1000 {
		err = fmt.Errorf("%d bytes of sound", len(sound))
	}
	return err
}

// file uploads, reads and removes one.
func (c *crowd) file(ctx context.Context, i int) (err error) {
	defer must.Catch(&err)
	content := []byte(strings.Repeat(fmt.Sprintf("{\"n\": %d}\n", i), 1000))
	id := must.Get(c.upload(ctx, content))
	must.Do(c.whole(ctx, id, content))
	return c.send(ctx, http.MethodDelete, "/v1/files/"+id, "", nil, nil)
}

// load is clients of all kinds for a while. What the server takes is compared between a fifth of
// the time, when it has seen everything once, and the end, each without clients.
func load(ctx context.Context, o *options) (_ string, err error) {
	defer must.Catch(&err)
	s := must.Get(started(ctx, o, small))
	defer s.kill()
	c := newCrowd(s)
	c.work(ctx, o.clients, o.d/5)
	before := must.Get(s.rests(ctx, usage{}))
	c.work(ctx, o.clients, o.d-o.d/5)
	after, err := s.rests(ctx, before)
	said, faults := c.told()
	fmt.Println(said)
	said = fmt.Sprintf("%v; before: %v; after: %v", o.d, before, after)
	// Five per cent; and what the allocator keeps of a moment with much under way, which is more
	// than the fifth of a short time has seen.
	spare := int64(8 << 20)
	if o.d < 5*time.Minute {
		spare = 48 << 20
	}
	if most := before.memory + before.memory/20 + spare; after.memory > most {
		err = errors.Join(err, fmt.Errorf("memory grew: %s", said))
	}
	return said, errors.Join(faults, err, ctx.Err(), s.stop())
}

// rests waits until no request runs or waits, and goroutines and files are as few as before.
func (s *server) rests(ctx context.Context, before usage) (u usage, err error) {
	const spare = 4 // of the runtime, which starts some when it likes
	err = poll(ctx, 30*time.Second, "the server rests", func() error {
		m, err := s.metrics(ctx)
		if err != nil {
			return err
		}
		if m["quern_requests_running"]+m["quern_requests_waiting"] > 0 {
			return errors.New("requests are under way")
		}
		if u, err = s.usage(ctx); err != nil {
			return err
		}
		if before != (usage{}) && (u.goroutines > before.goroutines+spare || u.files > before.files+spare) {
			return fmt.Errorf("%v, and before %v", u, before)
		}
		return nil
	})
	return u, err
}
