package server

import (
	"cmp"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/julienschmidt/httprouter"

	"quern/engine"
	"quern/engine/budget"
	"quern/engine/trace"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/limits"
)

// A Call is one request on its way through the handlers.
type Call struct {
	W      *response
	R      *http.Request
	Route  *Route
	Params httprouter.Params

	pass    *limits.Pass // of the caller's limits, nil without
	owner   string       // the caller's key, hashed; "" without keys
	unknown bool         // the caller has named no key yet
	manages bool         // the caller may pull and remove models

	sent    *sentReader // a body that is answered while it is being sent; else nil
	op      string
	span    trace.Span    // of the work of a model, nil without
	Loading time.Duration // how long Prepare waited for the model
	Lease   engine.Lease  // of that model, until the answer is complete; nil before
	leave   func()        // has lines of batches know that the model is left, nil without
}

// release ends the call's lease.
func (c *Call) release() {
	if c.Lease != nil {
		c.Lease.Release()
	}
	if c.leave != nil {
		c.leave()
		c.leave = nil
	}
}

// LogTokens notes what the call's model read and made, which the caller's limits count.
func (c *Call) LogTokens(prompt, output int) {
	model := c.Lease.Info().ID
	c.W.Note(slog.String("model", model), slog.Int("prompt_tokens", prompt), slog.Int("output_tokens", output))
	c.Used(model, prompt, output)
	c.Spend(prompt + output)
}

// Used notes what a model read and made, for those who audit.
func (c *Call) Used(model string, prompt, output int) { c.W.used = used{model, prompt, output} }

// Spend has the caller's limits count tokens.
func (c *Call) Spend(tokens int) { c.pass.Spend(tokens) }

// A response remembers what was answered and gives every write a deadline.
type response struct {
	http.ResponseWriter
	rc     *http.ResponseController
	limit  time.Duration // of one write; not positive means none
	http2  bool
	status int           // 0 until the header is written
	weight int64         // of the body
	share  *budget.Share // of the body, until the answer begins or, if that is large, ends; else nil

	// For the log and the metrics.
	path    string // route pattern
	key     string
	gone    bool // the client left
	failure *fault.Error
	attrs   []slog.Attr
	span    trace.Span
	open    bool // the endpoint needs no key
	used    used
}

// used is what a model read and made.
type used struct {
	model          string
	prompt, output int
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) WriteHeader(status int) {
	w.deadline()
	defer w.written()
	w.status = cmp.Or(w.status, status)
	// A whole answer may be many times its body; the share of a stream is not
	// kept by who reads it.
	if n, _ := strconv.Atoi(w.Header().Get("Content-Length")); n <= largeAnswer {
		w.release()
	}
	w.ResponseWriter.WriteHeader(status)
}

// largeAnswer is the size from which an answer counts as part of its request.
const largeAnswer = 1 << 20

// release gives the share of the body back.
func (w *response) release() {
	if w.share != nil {
		w.share.Release()
		w.share = nil
	}
}

// Write sends p in pieces, each with a deadline of its own, so that a slow
// client is not taken for one that stopped reading.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	defer w.written()
	const piece = 64 << 10
	n := 0
	for {
		w.deadline()
		k, err := w.ResponseWriter.Write(p[n:min(n+piece, len(p))])
		n += k
		if err != nil || n == len(p) {
			return n, err
		}
	}
}

// Flush sends what was written.
func (w *response) Flush() error {
	w.deadline()
	defer w.written()
	return w.rc.Flush()
}

// deadline applies to what net/http writes later too, as the end of a chunked
// body. It is renewed before each write and so never runs out between two.
func (w *response) deadline() {
	if w.limit > 0 {
		w.rc.SetWriteDeadline(time.Now().Add(w.limit))
	}
}

// written ends the deadline of a write where it would not wait for the next: in HTTP/2 it ends
// the stream when it runs out, whether or not anything is being written.
func (w *response) written() {
	if w.limit > 0 && w.http2 {
		w.rc.SetWriteDeadline(time.Time{})
	}
}

// Note adds to the line of the log.
func (w *response) Note(attrs ...slog.Attr) { w.attrs = append(w.attrs, attrs...) }
