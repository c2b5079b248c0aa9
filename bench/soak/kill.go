//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"quern/bench/internal/must"
)

// An archive is the files that a server has accepted.
type archive struct {
	mu    sync.Mutex
	files map[string][]byte // by id
}

// fill uploads files of different sizes until the server is gone.
func (a *archive) fill(ctx context.Context, c *client, writer int) {
	for i := 0; ; i++ {
		content := []byte(strings.Repeat(fmt.Sprintf("{\"writer\": %d, \"file\": %d}\n", writer, i), 1+rand.IntN(4000)))
		id, err := c.upload(ctx, content)
		if err != nil {
			return
		}
		a.mu.Lock()
		a.files[id] = content
		a.mu.Unlock()
	}
}

// kill kills a server again and again while it takes files and answers. Each time it has to be
// back soon, with every file that it has accepted, and nothing of those it has not.
func kill(ctx context.Context, o *options) (_ string, err error) {
	defer must.Catch(&err)
	s := must.Get(newServer(o, small))
	defer s.kill()
	a := &archive{files: map[string][]byte{}}
	var took []time.Duration
	for n := 0; ; n++ {
		t := must.Get(s.start(ctx))
		took = append(took, t)
		c := newClient(s)
		if err := a.check(ctx, c); err != nil {
			return "", fmt.Errorf("after %d kills: %w", n, err)
		}
		if n == o.times {
			break
		}
		var all sync.WaitGroup
		for w := range 3 {
			all.Go(func() { a.fill(ctx, c, w) })
		}
		all.Go(func() {
			for {
				if _, err := c.stream(ctx, "Tell me a story."); err != nil {
					return
				}
			}
		})
		select {
		case <-ctx.Done():
		case <-time.After(50*time.Millisecond + rand.N(300*time.Millisecond)):
		}
		s.kill()
		all.Wait()
		c.http.CloseIdleConnections()
		must.Do(ctx.Err())
	}
	must.Do(a.alone(o))
	slices.Sort(took)
	slowest := took[len(took)-1]
	said := fmt.Sprintf("%d kills, %d files whole; ready again after %v (median), %v at most", o.times, len(a.files), took[len(took)/2].Round(time.Millisecond), slowest.Round(time.Millisecond))
	if slowest > o.ready {
		return "", fmt.Errorf("%s, more than %v", said, o.ready)
	}
	return said, s.stop()
}

// check looks at all files of the last life and some of those before, and that the server lists
// no other but such as were under way.
func (a *archive) check(ctx context.Context, c *client) (err error) {
	defer must.Catch(&err)
	n := 0
	for id, content := range a.files { // in a random order
		if n++; n > 50 {
			break
		}
		must.Do(c.whole(ctx, id, content))
	}
	var list struct {
		Data []struct {
			ID    string
			Bytes int64
		}
	}
	must.Do(c.send(ctx, http.MethodGet, "/v1/files?limit=10000", "", nil, &list))
	for _, f := range list.Data {
		if _, known := a.files[f.ID]; known {
			continue
		}
		// Accepted, but the answer did not arrive: whole all the same.
		var content []byte
		if err := c.send(ctx, http.MethodGet, "/v1/files/"+f.ID+"/content", "", nil, &content); err != nil {
			return fmt.Errorf("file %s, whose creation was not answered: %w", f.ID, err)
		}
		if int64(len(content)) != f.Bytes || len(content) == 0 || content[len(content)-1] != '\n' {
			return fmt.Errorf("file %s is half: %d bytes of %d", f.ID, len(content), f.Bytes)
		}
		a.files[f.ID] = content
	}
	return nil
}

// alone looks for what writes that were cut short left on the disk.
func (a *archive) alone(o *options) error {
	var left []string
	err := filepath.WalkDir(filepath.Join(o.dir, "data"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".part") {
			left = append(left, path)
		}
		return err
	})
	if len(left) > 0 {
		err = errors.Join(err, fmt.Errorf("half files are left: %v", left))
	}
	return err
}
