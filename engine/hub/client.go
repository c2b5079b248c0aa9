package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"quern/engine/diskspace"
)

// Options configure a Client. Only Store is needed.
type Options struct {
	Store    Store
	Endpoint string // "" is DefaultEndpoint
	Token    Token  // sent to Endpoint's host only
	Cache    string // Hugging Face cache to take files from; "" is none
	Offline  string // why the network is not asked, such as "QUERN_OFFLINE is set"; "" asks it
	Agent    string // User-Agent; "" is "quern"

	Parallel int           // connections at a time; 0 means 4
	Chunk    int64         // bytes one request asks for; 0 means 64 MiB
	Retries  int           // failures in a row, without progress, that end a pull; 0 means 6
	Backoff  time.Duration // pause after the first failure, doubled after each; 0 means 500 ms
	Stall    time.Duration // silence that ends a connection; 0 means 30 s

	Free func(dir string) int64 // bytes that may be written to the disk of a folder, -1 when unknown; nil asks the system

	Log *slog.Logger // nil discards

	// Progress, when not nil, is called with the progress of a pull, by one goroutine at a
	// time. It must not block.
	Progress func(Progress)
}

// A Client pulls models from one hub.
type Client struct {
	o    Options
	base *url.URL
	http sender
	log  *slog.Logger
}

// New makes a Client. It does not use the network.
func New(o Options) (*Client, error) {
	o.Endpoint = cmp.Or(strings.TrimRight(o.Endpoint, "/"), DefaultEndpoint)
	base, err := url.Parse(o.Endpoint)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" ||
		base.User != nil || base.RawQuery != "" || base.Fragment != "" {
		// A URL that does not parse may hold a password: it is not repeated.
		return nil, errors.New("hub endpoint: want a URL such as " + DefaultEndpoint + ", without name, password or query")
	}
	o.Agent = cmp.Or(o.Agent, "quern")
	o.Parallel = cmp.Or(max(o.Parallel, 0), 4)
	o.Chunk = cmp.Or(max(o.Chunk, 0), 64<<20)
	o.Retries = cmp.Or(max(o.Retries, 0), 6)
	o.Backoff = cmp.Or(max(o.Backoff, 0), 500*time.Millisecond)
	o.Stall = cmp.Or(max(o.Stall, 0), 30*time.Second)
	if o.Free == nil {
		o.Free = diskspace.Free
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Client{o: o, base: base, log: o.Log, http: newSender(o)}, nil
}

// Close gives idle connections back.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// again marks a failure that may pass.
type again struct {
	err   error
	after time.Duration // the server asked to wait so long; 0 when it did not
}

func (a *again) Error() string { return a.err.Error() }
func (a *again) Unwrap() error { return a.err }

// maxPause bounds how long a server may make us wait.
const maxPause = 5 * time.Minute

// pause sleeps before try n, from 1.
func (c *Client) pause(ctx context.Context, n int, a *again) error {
	d := min(c.o.Backoff<<min(n-1, 10), 30*time.Second)
	d = d/2 + rand.N(d/2+1) // so that many clients do not come back together
	if a.after > 0 {
		if a.after > maxPause {
			return fmt.Errorf("%w; it asks to be left alone for %s", a.err, a.after)
		}
		d = a.after
	}
	c.log.WarnContext(ctx, "hub request failed; trying again", "try", n, "in", d.Round(time.Millisecond), "err", a.err)
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// retry calls f until it succeeds, fails for good, or failed too often.
func (c *Client) retry(ctx context.Context, f func() error) error {
	for n := 1; ; n++ {
		err := f()
		var a *again
		if err == nil || !errors.As(err, &a) || ctx.Err() != nil {
			return err
		}
		if n > c.o.Retries {
			return fmt.Errorf("gave up after %d tries: %w", n, a.err)
		}
		if err := c.pause(ctx, n, a); err != nil {
			return err
		}
	}
}

// sameOrigin compares scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	if strings.EqualFold(u.Scheme, "https") {
		return "443"
	}
	return "80"
}

// linked is what the hub's own answers say about a file they redirect from.
type linked struct {
	commit string
	etag   string
	size   int64 // −1 when not said
}

// An answer is a response after its redirects.
type answer struct {
	*http.Response
	from   *url.URL // where it came from
	own    bool     // the hub's own origin, not a storage host
	linked linked
}

// maxHops bounds redirects.
const maxHops = 8

// open sends one request and follows redirects, to http and https only and
// never from https to http. The token goes to the hub's origin and nowhere
// else. The caller closes the body. Errors name hosts, never whole addresses:
// those of storage hosts are signed and work as passwords.
func (c *Client) open(ctx context.Context, method string, u *url.URL, byteRange string) (*answer, error) {
	a := &answer{linked: linked{size: -1}}
	for range maxHops {
		req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
		if err != nil {
			return nil, fmt.Errorf("%w: %s redirects to no address", ErrFormat, c.base.Host)
		}
		req.Header.Set("User-Agent", c.o.Agent)
		req.Header.Set("Accept-Encoding", "identity")
		if byteRange != "" {
			req.Header.Set("Range", byteRange)
		}
		a.own = sameOrigin(u, c.base)
		if a.own && c.o.Token.Set() {
			req.Header.Set("Authorization", "Bearer "+c.o.Token.value)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			err = fmt.Errorf("%s: %w", u.Host, c.http.refused(u, bare(err)))
			if final(err) {
				return nil, err
			}
			return nil, &again{err: err}
		}
		if a.own {
			a.linked.note(resp.Header)
		}
		location := resp.Header.Get("Location")
		if resp.StatusCode < 300 || resp.StatusCode > 399 || location == "" {
			a.Response, a.from = resp, u
			return a, nil
		}
		// The connection is of use again when a short body is read.
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
		resp.Body.Close()
		next, err := u.Parse(location)
		if err != nil || next.Scheme != "http" && next.Scheme != "https" || next.Host == "" || next.User != nil {
			return nil, fmt.Errorf("%w: %s redirects to no web address", ErrFormat, u.Host)
		}
		if u.Scheme == "https" && next.Scheme == "http" {
			return nil, fmt.Errorf("%w: %s redirects from https to http", ErrFormat, u.Host)
		}
		u = next
	}
	return nil, fmt.Errorf("%w: %s redirects more than %d times", ErrFormat, c.base.Host, maxHops)
}

// bare takes the address out of an error of net/http.
func bare(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

func (l *linked) note(h http.Header) {
	if v := h.Get("X-Repo-Commit"); v != "" {
		l.commit = v
	}
	if v := h.Get("X-Linked-ETag"); v != "" {
		l.etag = plainETag(v)
	} else if v := h.Get("ETag"); v != "" && l.etag == "" && !redirectsHidden {
		l.etag = plainETag(v)
	}
	if n, err := strconv.ParseInt(h.Get("X-Linked-Size"), 10, 64); err == nil && n >= 0 {
		l.size = n
	}
}

func plainETag(s string) string {
	return strings.ToLower(strings.Trim(strings.TrimPrefix(s, "W/"), `"`))
}

// drain closes a body, keeping the connection when little is left of it.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	resp.Body.Close()
}

// passing returns an error to try again after for answers that mean "later",
// nil for others.
func passing(a *answer) error {
	switch a.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &again{err: fmt.Errorf("%s answers %s", a.from.Host, status(a.Response)), after: retryAfter(a.Header)}
	}
	return nil
}

func status(r *http.Response) string {
	if text := http.StatusText(r.StatusCode); text != "" {
		return strconv.Itoa(r.StatusCode) + " " + text
	}
	return strconv.Itoa(r.StatusCode)
}

// retryAfter reads seconds or a date.
func retryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(v, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(time.Until(t), 0)
	}
	return 0
}

// refusal explains a 4xx answer of the hub's own origin. revision is as asked.
func (c *Client) refusal(a *answer, r Ref) error {
	page := c.base.JoinPath(r.Owner, r.Name)
	code := a.Header.Get("X-Error-Code")
	keys := "set HF_TOKEN, or hub.token_file in the configuration, to a token from " + c.base.JoinPath("settings", "tokens").String()
	switch {
	case code == "RevisionNotFound":
		return fmt.Errorf("%w: %s has no revision %q", ErrNotFound, r.Repo(), r.revision())
	case code == "EntryNotFound":
		return fmt.Errorf("%w: %s has no such file at revision %q", ErrNotFound, r.Repo(), r.revision())
	case code == "DisabledRepo":
		return fmt.Errorf("%w: %s is disabled; %s says why", ErrAccess, r.Repo(), page)
	case code == "GatedRepo" && !c.o.Token.Set():
		return fmt.Errorf("%w: %s is gated: accept its conditions at %s, then %s", ErrAccess, r.Repo(), page, keys)
	case code == "GatedRepo":
		return fmt.Errorf("%w: %s is gated, and the account of the %s may not read it: accept its conditions at %s and wait until access is granted; a fine-grained token also needs the permission to read public gated repositories", ErrAccess, r.Repo(), c.o.Token, page)
	case a.StatusCode == http.StatusUnauthorized && c.o.Token.Set() && code != "RepoNotFound":
		return fmt.Errorf("%w: %s does not accept the %s; it may have expired: %s", ErrAccess, c.base.Host, c.o.Token, keys)
	case a.StatusCode == http.StatusUnauthorized || code == "RepoNotFound" && !c.o.Token.Set():
		// The hub says 401 for what is not there, so as not to tell.
		return fmt.Errorf("%w: there is no public repository %s; look at %s whether the name is right; if it is private or gated, %s", ErrNotFound, r.Repo(), page, keys)
	case a.StatusCode == http.StatusForbidden:
		return fmt.Errorf("%w: %s does not let the %s read %s: accept its conditions, if any, at %s, or %s", ErrAccess, c.base.Host, c.o.Token, r.Repo(), page, keys)
	case a.StatusCode == http.StatusNotFound || code == "RepoNotFound":
		return fmt.Errorf("%w: there is no repository %s that the %s may read, or no revision %q of it", ErrNotFound, r.Repo(), c.o.Token, r.revision())
	}
	return fmt.Errorf("%w: %s answers %s", ErrFormat, a.from.Host, status(a.Response))
}
