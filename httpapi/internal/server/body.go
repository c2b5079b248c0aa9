package server

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/budget"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/fault"
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
func (a *API) readBody(c *Call, limit int64) ([]byte, error) {
	sent, src, err := a.incoming(c, limit, "the body is larger than limits.json_body (%d bytes); send less or raise the limit")
	if err != nil {
		return nil, err
	}
	badZip := notGzip()
	plain, err := a.inflated(c, sent, src, limit)
	if err != nil {
		return nil, err
	}
	var decoded body.Weight
	all := io.TeeReader(plain, &decoded)
	var small bytes.Buffer
	// A length the client claims is believed only as far as it costs little.
	small.Grow(int(min(max(c.R.ContentLength, 0), smallBody)) + bytes.MinRead)
	if _, err := small.ReadFrom(io.LimitReader(all, smallBody+1)); err != nil {
		return nil, a.bodyError(c, sent, err, badZip)
	}
	if small.Len() <= smallBody {
		return small.Bytes(), a.admitBody(c, &decoded)
	}
	file := a.Temp.New()
	defer file.Close()
	if _, err := io.Copy(file, io.MultiReader(&small, all)); err != nil {
		return nil, a.bodyError(c, sent, err, badZip)
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

// inflated is src as it was before a Content-Encoding, cut at limit bytes too.
func (a *API) inflated(c *Call, sent *sentReader, src *countReader, limit int64) (io.Reader, error) {
	switch enc := strings.ToLower(strings.TrimSpace(c.R.Header.Get("Content-Encoding"))); enc {
	case "", "identity":
		return src, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(src)
		if err != nil {
			return nil, a.bodyError(c, sent, err, notGzip())
		}
		return &countReader{z, limit, src.over}, nil
	default:
		e := fault.New(engine.CodeInvalidValue, "", "Content-Encoding %.40q is not supported; send the body plain or as gzip", enc)
		e.Unread = true
		return nil, e
	}
}

func notGzip() *fault.Error {
	return fault.New(fault.CodeInvalidJSON, "", "the body is not valid gzip; check the Content-Encoding header")
}

// admitBody waits until there is a share for a body that was read.
func (a *API) admitBody(c *Call, w *body.Weight) error {
	c.W.rc.SetReadDeadline(time.Time{})
	if w.Bytes > a.bodies.Total-a.bodies.Reserve {
		return fault.New(fault.CodeTooLarge, "", "the body has too many values, for which this server would need %s; send several requests", engine.MiB(w.Bytes))
	}
	ctx, cancel := a.WithRequestTimeout(c.R.Context(), c)
	defer cancel()
	share, err := a.bodies.Take(ctx, int(w.Bytes))
	if err != nil {
		return fault.Classify(ctx, err)
	}
	c.W.share, c.W.weight = share, w.Bytes
	return nil
}

// Widen takes a share for JSON as well that a request refers to and does not have in its
// body.
func (a *API) Widen(c *Call, more []byte) error {
	w := body.Weight{Bytes: c.W.weight}
	w.Write(more)
	c.W.release() // who holds one must not wait for another
	return a.admitBody(c, &w)
}

// incoming is the body of a request: as it is sent, and cut at limit bytes, with a
// failure in these words.
func (a *API) incoming(c *Call, limit int64, over string) (*sentReader, *countReader, error) {
	tooLarge := fault.New(fault.CodeTooLarge, "", over, limit)
	tooLarge.Unread = true
	if c.R.ContentLength > limit {
		return nil, nil, tooLarge
	}
	sent := &sentReader{r: c.R.Body, w: c.W, idle: a.Options.BodyIdle, grace: a.Options.BodyIdle}
	return sent, &countReader{sent, limit, tooLarge}, nil
}

// bodyError says why a body could not be read, which is malformed if the client, the
// network and the disk did what they should.
func (a *API) bodyError(c *Call, sent *sentReader, err error, malformed *fault.Error) error {
	var known *fault.Error
	var disk *spool.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &disk):
		full := fault.FromSpool(disk)
		full.Unread = true
		return full
	case errors.Is(sent.err, os.ErrDeadlineExceeded) && sent.slow && c.sent == nil:
		return fault.SlowBody(sent.bytes, sent.waited, LeastBodyRate)
	case errors.Is(sent.err, os.ErrDeadlineExceeded):
		// 408 would make clients send it again: close instead. An answer that has begun ends with
		// its context, which net/http cancels.
		a.log.InfoContext(c.R.Context(), "body stalled", "idle", a.Options.BodyIdle, "bytes", sent.bytes, "waited", sent.waited)
		return fault.ErrGone
	case chunksBroken(c.R, sent.err):
		return fault.New(engine.CodeInvalidValue, "", "the body's chunks are malformed (Transfer-Encoding: chunked): %v", sent.err)
	case sent.err != nil && sent.err != io.EOF:
		return fault.ErrGone
	}
	malformed.Unread = sent.err == nil
	return malformed
}

// chunksBroken reports whether err, which ended a body, is of how the client wrote its chunks and
// not of the connection.
func chunksBroken(r *http.Request, err error) bool {
	var network net.Error
	return err != nil && r.ProtoMajor == 1 && len(r.TransferEncoding) > 0 && r.Context().Err() == nil &&
		err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &network)
}

// refuse answers with e although the body was not read to its end, and then
// reads some of it. HTTP/2 needs no more reading: its answer ends when this returns, and the
// client is told to send no more without losing it (RFC 9113, section 8.1).
func (a *API) refuse(c *Call, e *fault.Error) {
	if c.R.ProtoMajor != 1 {
		a.writeError(c, e)
		return
	}
	c.W.rc.EnableFullDuplex()
	c.W.Header().Set("Connection", "close")
	a.writeError(c, e)
	c.W.Flush()
	if c.sent != nil && c.sent.done != nil {
		return // who reads it goes on
	}
	c.W.rc.SetReadDeadline(time.Now().Add(drainTime))
	io.CopyN(io.Discard, c.R.Body, drainBytes)
}

// A countReader fails with over after left bytes.
type countReader struct {
	r    io.Reader
	left int64
	over error
}

func (r *countReader) Read(p []byte) (int, error) {
	// One byte more than allowed tells a full body from one too large.
	if int64(len(p)) > r.left+1 {
		p = p[:r.left+1]
	}
	n, err := r.r.Read(p)
	if int64(n) > r.left {
		return 0, r.over
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
	return budget.Budget{Total: max(bodyBudgets*(body.WeightByte*limit+smallShare), leastBudget) + forSmall, Least: smallShare, Reserve: forSmall}
}

// Object is the handler of an endpoint whose bodies are JSON objects.
func (a *API) Object(handle func(*Call, *body.Object) error) func(*Call) error {
	return func(c *Call) error {
		b, err := a.readBody(c, a.Options.JSONBody)
		if err != nil {
			return err
		}
		o, err := body.Parse(b)
		if err != nil {
			return err
		}
		logCaller(c, o)
		return handle(c, o)
	}
}
