package httpapi

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/budget"
	"quern/httpapi/spool"
)

// A body too large is read on for at most this much, so that a client that is
// still writing gets to see the answer instead of a reset.
const (
	drainBytes = 128 << 20
	drainTime  = 3 * time.Second
)

// readBody reads the whole body, at most limit bytes also when inflated.
// Reading to the end is what makes net/http notice a client that leaves. What the body
// takes when it is decoded is known then, and its share of what all bodies may take is
// waited for: who sends slowly holds no share, and of who waits little is in memory.
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
	var decoded weight
	src = io.TeeReader(src, &decoded)
	var small bytes.Buffer
	// A length the client claims is believed only as far as it costs little.
	small.Grow(int(min(max(c.r.ContentLength, 0), smallBody)) + bytes.MinRead)
	if _, err := small.ReadFrom(io.LimitReader(src, smallBody+1)); err != nil {
		return nil, a.bodyError(c, body, err, tooLarge)
	}
	if small.Len() <= smallBody {
		return small.Bytes(), a.admitBody(c, &decoded)
	}
	file := a.temp.New()
	defer file.Close()
	if _, err := io.Copy(file, io.MultiReader(&small, src)); err != nil {
		return nil, a.bodyError(c, body, err, tooLarge)
	}
	small = bytes.Buffer{}
	if err := a.admitBody(c, &decoded); err != nil {
		return nil, err
	}
	b := make([]byte, file.Size())
	if n, err := file.ReadAt(b, 0); n < len(b) {
		return nil, err
	}
	return b, nil
}

// admitBody waits until there is a share for a body that was read.
func (a *API) admitBody(c *call, w *weight) error {
	c.w.rc.SetReadDeadline(time.Time{})
	if w.bytes > a.bodies.Total-a.bodies.Reserve {
		return fail(codeTooLarge, "", "the body has too many values, for which this server would need %s; send several requests", engine.MiB(w.bytes))
	}
	ctx, cancel := a.withRequestTimeout(c.r.Context(), c)
	defer cancel()
	share, err := a.bodies.Take(ctx, int(w.bytes))
	if err != nil {
		return classify(ctx, err)
	}
	c.w.share = share
	return nil
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
	c.w.Flush()
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

// Bodies share a budget from when they are there to when the answer begins, or ends if
// it is large. There is always room for some small ones beside the large.
const (
	smallBody   = 64 << 10 // is not kept out of memory
	bodyBudgets = 4        // texts of the largest size
	leastBudget = 8 << 20
	smallShare  = 64 << 10
	forSmall    = 16 << 20
)

// bodyBudget is the budget of bodies of at most limit bytes.
func bodyBudget(limit int64) budget.Budget {
	return budget.Budget{Total: max(bodyBudgets*(weightByte*limit+smallShare), leastBudget) + forSmall, Least: smallShare, Reserve: forSmall}
}

// readObject reads a body that is one JSON object.
func (a *API) readObject(c *call) (*object, error) {
	b, err := a.readBody(c, a.o.JSONBody)
	if err != nil {
		return nil, err
	}
	return parseObject(b)
}
