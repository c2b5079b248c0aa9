package httpapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"quern/httpapi/spool"
)

// A body too large is read on for at most this much, so that a client that is
// still writing gets to see the answer instead of a reset.
const (
	drainBytes = 128 << 20
	drainTime  = 3 * time.Second
)

// readBody reads the whole body, at most limit bytes also when inflated.
// Reading to the end is what makes net/http notice a client that leaves.
// A large body waits for its share of what all large ones may take.
func (a *API) readBody(c *call, limit int64) ([]byte, error) {
	tooLarge := fail(codeTooLarge, "", "the body is larger than limits.json_body (%d bytes); send less or raise the limit", limit)
	tooLarge.unread = true
	if c.r.ContentLength > limit {
		return nil, tooLarge
	}
	body := &idleReader{r: c.r.Body, w: c.w, idle: a.o.BodyIdle}
	var src io.Reader = &countReader{r: body, left: limit}
	switch enc := strings.ToLower(strings.TrimSpace(c.r.Header.Get("Content-Encoding"))); enc {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(src)
		if err != nil {
			return nil, a.bodyError(c, body, err, tooLarge)
		}
		src = &countReader{r: z, left: limit}
	default:
		return nil, fail(codeInvalidValue, "", "Content-Encoding %.40q is not supported; send the body plain or as gzip", enc)
	}
	var b bytes.Buffer
	// A length the client claims is believed only as far as it costs little.
	b.Grow(int(min(max(c.r.ContentLength, 0), 1<<20)) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(src, largeBody+1)); err != nil {
		return nil, a.bodyError(c, body, err, tooLarge)
	}
	if b.Len() <= largeBody {
		c.w.rc.SetReadDeadline(time.Time{})
		return b.Bytes(), nil
	}
	file := a.temp.New()
	defer file.Close()
	if _, err := io.Copy(file, io.MultiReader(&b, src)); err != nil {
		return nil, a.bodyError(c, body, err, tooLarge)
	}
	c.w.rc.SetReadDeadline(time.Time{})
	return a.readLarge(c, file)
}

// readLarge returns what file holds of a large body, once there is a share for it.
// Those who send slowly hold no share, and those who wait hold no memory.
func (a *API) readLarge(c *call, file *spool.Spool) ([]byte, error) {
	ctx, cancel := a.withRequestTimeout(c.r.Context(), c)
	defer cancel()
	share, err := a.bodies.Take(ctx, int(file.Size()))
	if err != nil {
		return nil, classify(ctx, err)
	}
	c.w.share = share
	b := make([]byte, file.Size())
	if n, err := file.ReadAt(b, 0); n < len(b) {
		return nil, err
	}
	return b, nil
}

var errTooLarge = errors.New("body too large")

func (a *API) bodyError(c *call, body *idleReader, err error, tooLarge *apiError) error {
	var disk *spool.Error
	switch {
	case errors.As(err, &disk):
		full := fromSpool(disk)
		full.unread = true
		return full
	case errors.Is(err, errTooLarge):
		return tooLarge
	case errors.Is(body.err, os.ErrDeadlineExceeded):
		// 408 would make clients send it again: close instead.
		a.log.InfoContext(c.r.Context(), "body stalled", "idle", a.o.BodyIdle)
		return errGone
	case body.err != nil && body.err != io.EOF:
		return errGone
	}
	return fail(codeInvalidJSON, "", "the body is not valid gzip; check the Content-Encoding header")
}

// refuse answers with e although the body was not read to its end, and then
// reads some of it.
func (a *API) refuse(c *call, e *apiError) {
	c.w.rc.EnableFullDuplex()
	c.w.Header().Set("Connection", "close")
	a.writeError(c, e)
	c.w.flush()
	c.w.rc.SetReadDeadline(time.Now().Add(drainTime))
	io.CopyN(io.Discard, c.r.Body, drainBytes)
}

// An idleReader gives every read a deadline and keeps the error that ended it.
type idleReader struct {
	r    io.Reader
	w    *response
	idle time.Duration
	err  error
}

func (r *idleReader) Read(p []byte) (int, error) {
	if r.idle > 0 {
		r.w.rc.SetReadDeadline(time.Now().Add(r.idle))
	}
	n, err := r.r.Read(p)
	r.err = err
	return n, err
}

// A countReader fails with errTooLarge after left bytes.
type countReader struct {
	r    io.Reader
	left int64
}

func (r *countReader) Read(p []byte) (int, error) {
	// One byte more than allowed tells a full body from one too large.
	if int64(len(p)) > r.left+1 {
		p = p[:r.left+1]
	}
	n, err := r.r.Read(p)
	if int64(n) > r.left {
		return 0, errTooLarge
	}
	r.left -= int64(n)
	return n, err
}

// Parsed, a body of many small values takes about ten times its size. Bodies
// larger than largeBody therefore share a budget of a few of the largest, from
// when they are there to when the answer begins, or ends if it is as large. Until
// then they are kept as uploads are, out of memory.
const (
	largeBody   = 1 << 20
	bodyBudgets = 4 // bodies of the largest size
)

// readObject reads a body that is one JSON object.
func (a *API) readObject(c *call) (*object, error) {
	b, err := a.readBody(c, a.o.JSONBody)
	if err != nil {
		return nil, err
	}
	return parseObject(b)
}
