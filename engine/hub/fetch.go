package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// A transfer is one run of Fetch.
type transfer struct {
	c    *Client
	root *os.Root
	plan *Plan

	mu       sync.Mutex // of what follows, and of Progress
	all      int64      // bytes that had to be fetched
	done     int64      // of these, bytes that are there
	fileDone map[string]int64
}

// An item is one file of a transfer.
type item struct {
	PlanFile
	name string // in the store
	p    *part

	mu     sync.Mutex
	jobs   int      // pieces not yet dealt with
	direct *url.URL // where storage gives the file; nil asks the hub
	whole  bool     // the server does not know ranges
	stream sync.Mutex
}

// A job is a piece of a file for one request.
type job struct {
	it *item
	at span
}

// transfer fetches what is not Present. Small files come first and what others
// point to comes before them; within that, Parallel requests run at a time.
func (c *Client) transfer(parent context.Context, root *os.Root, p *Plan) (err error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	t := &transfer{c: c, root: root, plan: p, fileDone: map[string]int64{}}
	var items []*item
	defer func() {
		for _, it := range items {
			switch {
			case it.p == nil || it.p.f == nil:
			case it.p.have() > 0 || err == nil:
				// What arrived is kept for the next time.
				err = errors.Join(err, it.p.save(), it.p.f.Close())
			default:
				err = errors.Join(err, it.p.f.Close(), it.p.remove())
			}
		}
	}()
	var jobs []job
	for _, f := range p.Files {
		name := path.Join(p.Ref.Repo(), f.Path)
		if f.State == Present {
			continue
		}
		if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
			return err
		}
		if f.cached != "" {
			ok, err := t.fromCache(ctx, name, f)
			if err != nil {
				return err
			}
			if ok {
				continue
			}
		}
		it := &item{PlanFile: f, name: name}
		items = append(items, it)
		if it.p, err = openPart(root, name, f.File, p.force); err != nil {
			return err
		}
		for _, s := range it.p.missing(c.o.Chunk) {
			jobs = append(jobs, job{it, s})
			it.jobs++
			t.all += s[1] - s[0]
		}
		t.fileDone[f.Path] = it.p.have()
		if it.jobs == 0 {
			// All there, or nothing to it: a job without bytes verifies it.
			jobs = append(jobs, job{it, span{}})
			it.jobs++
		}
	}
	queue := make(chan job, len(jobs))
	for _, j := range jobs {
		queue <- j
	}
	close(queue)
	var workers sync.WaitGroup
	for range min(c.o.Parallel, len(jobs)) {
		workers.Go(func() {
			for j := range queue {
				if ctx.Err() != nil {
					return
				}
				if err := t.work(ctx, j); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	workers.Wait()
	return context.Cause(ctx)
}

// work does one job. Who finishes the last one of a file verifies it.
func (t *transfer) work(ctx context.Context, j job) error {
	if err := t.piece(ctx, j.it, j.at); err != nil {
		return fmt.Errorf("%s: %w", j.it.name, err)
	}
	if j.at != (span{0, j.it.Size}) {
		// A pull that is killed forgets no more than it had in hand.
		if err := j.it.p.save(); err != nil {
			return err
		}
	}
	j.it.mu.Lock()
	j.it.jobs--
	last := j.it.jobs == 0
	j.it.mu.Unlock()
	if !last {
		return nil
	}
	if err := t.finish(ctx, j.it); err != nil {
		return fmt.Errorf("%s: %w", j.it.name, err)
	}
	return nil
}

// finish verifies a file whose bytes are all there and gives it its name. A
// wrong hash may come from the bytes of an earlier pull, or from a fault on the
// way: it is fetched once more, from the start.
func (t *transfer) finish(ctx context.Context, it *item) error {
	for try := 1; ; try++ {
		ok, err := verify(ctx, io.NewSectionReader(it.p.f, 0, it.Size+1), it.File, func(done int64) {
			t.report(Progress{File: it.Path, State: Verifying, Done: done, Size: it.Size})
		})
		if err != nil {
			return err
		}
		if ok {
			break
		}
		if try == 2 {
			err := errors.Join(fmt.Errorf("%w: its hash is not %s, twice", ErrHash, it.hash()), it.p.f.Close(), it.p.remove())
			it.p.f = nil
			return err
		}
		t.c.log.WarnContext(ctx, "wrong hash; fetching the file again", "file", it.name)
		t.moved(it, -it.p.have())
		if err := it.p.reset(); err != nil {
			return err
		}
		it.setDirect(nil)
		if err := t.piece(ctx, it, span{0, it.Size}); err != nil {
			return err
		}
	}
	f := it.p.f
	it.p.f = nil
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := it.p.root.Rename(it.name+partSuffix, it.name); err != nil {
		return err
	}
	if err := errors.Join(it.p.remove(), syncDir(t.root, path.Dir(it.name))); err != nil {
		return err
	}
	t.report(Progress{File: it.Path, State: Present, Done: it.Size, Size: it.Size})
	return nil
}

// fromCache takes a file out of the Hugging Face cache, if it is what the hub
// describes: linked where that can be, for blobs there never change, else
// copied.
func (t *transfer) fromCache(ctx context.Context, name string, f PlanFile) (bool, error) {
	src, err := os.Open(f.cached)
	if err != nil {
		return false, nil // gone since; it is fetched instead
	}
	defer src.Close()
	ok, err := verify(ctx, src, f.File, func(done int64) {
		t.report(Progress{File: f.Path, State: Verifying, Done: done, Size: f.Size})
	})
	if err != nil || !ok {
		if ctx.Err() != nil {
			return false, err
		}
		t.c.log.WarnContext(ctx, "file of the Hugging Face cache is damaged; fetching it", "file", name)
		return false, nil
	}
	part := &part{root: t.root, name: name, file: f.File}
	if err := part.remove(); err != nil {
		return false, err
	}
	if os.Link(f.cached, filepath.Join(t.c.o.Store.Dir, filepath.FromSlash(name+partSuffix))) != nil {
		if _, err := src.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
		dst, err := t.root.OpenFile(name+partSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return false, err
		}
		_, err = io.Copy(dst, src)
		if err = errors.Join(err, dst.Sync(), dst.Close()); err != nil {
			return false, errors.Join(err, part.remove())
		}
	}
	if err := errors.Join(t.root.Rename(name+partSuffix, name), part.remove(), syncDir(t.root, path.Dir(name))); err != nil {
		return false, err
	}
	t.report(Progress{File: f.Path, State: Present, Done: f.Size, Size: f.Size})
	return true, nil
}

// enough is how many bytes count as progress, so that a connection that drops
// again and again after a few does not go on for ever.
const enough = 256 << 10

// piece fetches the bytes of s, over as many requests as it takes.
func (t *transfer) piece(ctx context.Context, it *item, s span) error {
	tries := 0
	for s[0] < s[1] {
		var n int64
		var err error
		if it.streams() {
			var all bool
			if all, err = t.streamed(ctx, it); all {
				return nil
			}
		} else {
			n, err = t.read(ctx, it, s)
			s[0] += n
		}
		if err == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var a *again
		if !errors.As(err, &a) {
			return err
		}
		if n >= enough {
			tries = 0
		}
		if tries++; tries > t.c.o.Retries {
			return fmt.Errorf("gave up after %d tries: %w", tries, a.err)
		}
		if err := t.c.pause(ctx, tries, a); err != nil {
			return err
		}
	}
	return nil
}

// read sends one request for s and writes what arrives, which may be less. It returns how much
// that is, also with an error.
func (t *transfer) read(ctx context.Context, it *item, s span) (int64, error) {
	a, body, cancel, err := t.get(ctx, it, fmt.Sprintf("bytes=%d-%d", s[0], s[1]-1))
	if err != nil {
		return 0, err
	}
	defer cancel()
	defer drain(a.Response)
	if a.StatusCode == http.StatusOK {
		if s[0] != 0 || s[1] != it.Size {
			// It sends everything whatever it is asked for.
			a.Body.Close()
			it.mu.Lock()
			it.whole = true
			it.mu.Unlock()
			return 0, nil
		}
	} else if s, err = ranged(a, s, it.Size); err != nil {
		return 0, err
	}
	return t.copy(it, a, body, s)
}

// copy writes the bytes of s from body.
func (t *transfer) copy(it *item, a *answer, body io.Reader, s span) (int64, error) {
	if want := s[1] - s[0]; a.ContentLength >= 0 && a.ContentLength != want {
		it.setDirect(nil)
		return 0, &again{err: fmt.Errorf("%s sends %d bytes for %d", a.from.Host, a.ContentLength, want)}
	}
	buf := make([]byte, 256<<10)
	var n int64
	for s[0]+n < s[1] {
		k, err := body.Read(buf[:min(int64(len(buf)), s[1]-s[0]-n)])
		if k > 0 {
			if err := it.p.writeAt(buf[:k], s[0]+n); err != nil {
				return n, err
			}
			n += int64(k)
			t.moved(it, int64(k))
		}
		if err != nil && s[0]+n < s[1] {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return n, &again{err: fmt.Errorf("%s: %w after %d of %d bytes", a.from.Host, bare(err), n, s[1]-s[0])}
		}
	}
	return n, nil
}

// streamed fetches a whole file from a server that knows no ranges: one worker
// does, the others wait for it. all says that everything is there.
func (t *transfer) streamed(ctx context.Context, it *item) (all bool, err error) {
	it.stream.Lock()
	defer it.stream.Unlock()
	if it.p.have() == it.Size {
		return true, nil
	}
	a, body, cancel, err := t.get(ctx, it, "")
	if err != nil {
		return false, err
	}
	defer cancel()
	defer drain(a.Response)
	if a.StatusCode != http.StatusOK {
		return false, fmt.Errorf("%w: %s answers %s", ErrFormat, a.from.Host, status(a.Response))
	}
	t.moved(it, -it.p.have())
	if err := it.p.reset(); err != nil {
		return false, err
	}
	n, err := t.copy(it, a, body, span{0, it.Size})
	return n == it.Size, err
}

// get asks for (part of) a file: storage at once where its address is known,
// else the hub. The answer is a 200 or a 206.
func (t *transfer) get(ctx context.Context, it *item, byteRange string) (*answer, io.Reader, context.CancelFunc, error) {
	u := it.address()
	known := u != nil
	if !known {
		u = t.c.resolveURL(t.plan.Ref, t.plan.Commit, it.Path)
	}
	a, body, cancel, err := t.c.watch(ctx, http.MethodGet, u, byteRange)
	if err != nil {
		it.setDirect(nil)
		return nil, nil, nil, err
	}
	if err = t.accept(it, a, known); err != nil {
		drain(a.Response)
		cancel()
		return nil, nil, nil, err
	}
	if !a.own {
		it.setDirect(a.from)
	}
	return a, body, cancel, nil
}

// accept looks at the head of an answer.
func (t *transfer) accept(it *item, a *answer, known bool) error {
	if !known {
		l := a.linked
		if err := passing(a); err == nil && a.StatusCode < 300 {
			switch {
			case l.commit != "" && l.commit != t.plan.Commit:
				return fmt.Errorf("%w: asked for commit %s, the hub gives %s", ErrFormat, t.plan.Commit, printable(l.commit))
			case l.size >= 0 && l.size != it.Size:
				return fmt.Errorf("%w: the hub lists %d bytes and links to %d", ErrFormat, it.Size, l.size)
			case len(l.etag) == 64 && it.SHA256 != "" && l.etag != it.SHA256:
				return fmt.Errorf("%w: the hub lists %s and links to another hash", ErrHash, it.hash())
			}
		}
	}
	if err := passing(a); err != nil {
		return err
	}
	switch {
	case a.Header.Get("Content-Encoding") != "" && !strings.EqualFold(a.Header.Get("Content-Encoding"), "identity"):
		return fmt.Errorf("%w: %s sends the file compressed, which was not asked for", ErrFormat, a.from.Host)
	case a.StatusCode == http.StatusOK || a.StatusCode == http.StatusPartialContent:
		return nil
	case a.own:
		return t.c.refusal(a, t.plan.Ref)
	case a.StatusCode >= 400 && a.StatusCode < 500 && a.StatusCode != http.StatusRequestedRangeNotSatisfiable:
		// A signed address that has expired; the hub gives a new one.
		it.setDirect(nil)
		return &again{err: fmt.Errorf("%s answers %s", a.from.Host, status(a.Response))}
	}
	return fmt.Errorf("%w: %s answers %s", ErrFormat, a.from.Host, status(a.Response))
}

// printable shortens what a server said, for a message.
func printable(s string) string {
	if len(s) > 64 || !only(s, "-._") {
		return "another"
	}
	return s
}

// ranged checks that a 206 is the part that was asked for, or the beginning of it, which servers
// that bound ranges send (RFC 9110, 15.3.7). It returns the part that is sent.
func ranged(a *answer, s span, size int64) (span, error) {
	var from, to, all int64
	if n, err := fmt.Sscanf(a.Header.Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &all); n != 3 || err != nil {
		return span{}, fmt.Errorf("%w: %s sends a part and does not say which", ErrFormat, a.from.Host)
	}
	if least := min(s[1]-s[0], enough); from != s[0] || to < s[0]+least-1 || to > s[1]-1 || all != size {
		return span{}, fmt.Errorf("%w: %s sends bytes %d to %d of %d, asked for %d to %d of %d", ErrFormat, a.from.Host, from, to, all, s[0], s[1]-1, size)
	}
	return span{s[0], to + 1}, nil
}

func (it *item) address() *url.URL {
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.direct
}

func (it *item) setDirect(u *url.URL) {
	it.mu.Lock()
	defer it.mu.Unlock()
	it.direct = u
}

func (it *item) streams() bool {
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.whole
}

// moved counts bytes that arrived, or that have to come again.
func (t *transfer) moved(it *item, n int64) {
	t.mu.Lock()
	t.done += n
	t.fileDone[it.Path] += n
	done := t.fileDone[it.Path]
	t.mu.Unlock()
	t.report(Progress{File: it.Path, State: Downloading, Done: done, Size: it.Size})
}

func (t *transfer) report(p Progress) {
	if t.c.o.Progress == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	// Bytes that an earlier pull left may turn out bad and be fetched too.
	p.AllSize = max(t.all, t.done)
	p.AllDone = max(t.done, 0)
	t.c.o.Progress(p)
}
