package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"

	"quern/engine"
	"quern/engine/budget"
)

// A call is one request on its way through the handlers.
type call struct {
	w      *response
	r      *http.Request
	route  *route
	params httprouter.Params

	loading time.Duration // how long prepare waited for the model
	lease   engine.Lease  // of that model, until the answer is complete; nil before
}

// release ends the call's lease.
func (c *call) release() {
	if c.lease != nil {
		c.lease.Release()
	}
}

// model is the id of the call's model.
func (c *call) model() string { return c.lease.Info().ID }

// A response remembers what was answered and gives every write a deadline.
type response struct {
	http.ResponseWriter
	rc     *http.ResponseController
	limit  time.Duration // of one write; not positive means none
	status int           // 0 until the header is written
	share  *budget.Share // of the body, until the answer begins or, if that is large, ends; else nil

	// For the log and the metrics.
	path    string // route pattern
	key     string
	gone    bool // the client left
	failure *apiError
	attrs   []slog.Attr
}

// Unwrap lets http.ResponseController reach the connection.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *response) WriteHeader(status int) {
	w.deadline()
	if w.status == 0 {
		w.status = status
	}
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

func (w *response) flush() error {
	w.deadline()
	return w.rc.Flush()
}

// deadline applies to what net/http writes later too, as the end of a chunked
// body. It is renewed before each write and so never runs out between two.
func (w *response) deadline() {
	if w.limit > 0 {
		w.rc.SetWriteDeadline(time.Now().Add(w.limit))
	}
}

func (w *response) note(attrs ...slog.Attr) { w.attrs = append(w.attrs, attrs...) }

// ServeHTTP answers one request.
func (a *API) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	begin := time.Now()
	w := &response{ResponseWriter: rw, rc: http.NewResponseController(rw), limit: a.o.StreamWrite, path: pathUnmatched}
	w.deadline()
	if r.ContentLength != 0 && a.o.BodyIdle > 0 {
		// Also for bodies nobody reads: net/http does so before it answers.
		w.rc.SetReadDeadline(begin.Add(a.o.BodyIdle))
	}
	id := requestID(r.Header.Get("x-request-id"))
	w.Header().Set("x-request-id", id)
	r = r.WithContext(withRequestID(r.Context(), id))

	defer func() {
		p := recover()
		if p != nil && p != http.ErrAbortHandler {
			a.log.ErrorContext(r.Context(), "panic in a request", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			if w.status == 0 {
				a.writeError(&call{w: w, r: r}, fail(codeInternal, "", "something went wrong inside the server; its log has the details"))
				p = nil
			} else {
				p = http.ErrAbortHandler // the body so far must not pass for a whole one
			}
		}
		a.logRequest(w, r, time.Since(begin))
		if p != nil {
			panic(p)
		}
	}()

	if len(r.URL.Path) > 1 && strings.HasSuffix(r.URL.Path, "/") {
		// No redirect: it would cost a POST its body.
		u := *r.URL
		u.Path = strings.TrimSuffix(u.Path, "/")
		r.URL = &u // r is a copy
	}
	allowed := a.cors(w, r)
	if r.Method == http.MethodOptions {
		w.path = pathPreflight
		a.preflight(w, r, allowed)
		return
	}
	a.router.ServeHTTP(w, r)
}

// dispatch runs a route's handler after the checks that do not need the body.
func (a *API) dispatch(c *call) {
	defer c.w.release()
	c.w.path = c.route.path
	defer c.release()
	err := a.admit(c)
	if err == nil {
		if c.route.work {
			defer a.work.leave()
		}
		err = c.route.handle(a, c)
	} else {
		c.w.Header().Del("Allow")
	}
	if err == nil {
		return
	}
	if err = classify(c.r.Context(), err); errors.Is(err, errGone) {
		c.w.gone = true
		// Whoever still reads must not take this for a whole answer.
		panic(http.ErrAbortHandler)
	}
	var e *apiError
	errors.As(err, &e)
	c.w.failure = e
	if c.w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	if e.unread {
		a.refuse(c, e)
		return
	}
	a.writeError(c, e)
}

func (a *API) admit(c *call) error {
	if len(a.o.Keys) == 0 {
		if err := a.checkBrowser(c.r); err != nil {
			return err
		}
	}
	if !c.route.open {
		name, ok := a.authenticate(c.r)
		if !ok {
			return fail(codeInvalidKey, "", "Incorrect or missing API key.")
		}
		c.w.key = name
	}
	if c.route.work && !a.work.enter() {
		return fail(codeShuttingDown, "", "the server is shutting down; try again later")
	}
	return nil
}

func (a *API) logRequest(w *response, r *http.Request, took time.Duration) {
	status := w.status
	if w.gone || status == 0 {
		status = statusGone
	}
	a.metrics.request(w.path, status)
	o := outcome{path: w.path, status: status}
	if e := w.failure; e != nil {
		o.code = e.code
		if status < 400 { // it came after the header of a stream
			o.status = e.status
		}
	}
	if !a.floods.pass(o) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("path", fmt.Sprintf("%.200s", r.URL.Path)),
		slog.Int("status", status), slog.Duration("took", took),
	}
	if w.key != "" {
		attrs = append(attrs, slog.String("key", w.key))
	}
	if o.code != "" {
		attrs = append(attrs, slog.String("code", string(o.code)))
	}
	attrs = append(attrs, w.attrs...)
	if w.failure != nil && w.failure.cause != nil {
		attrs = append(attrs, slog.String("error", w.failure.cause.Error()))
	}
	a.log.LogAttrs(context.WithoutCancel(r.Context()), logLevel(o.status), "request", attrs...)
}

// writeJSON answers with v, which must be encodable.
func (a *API) writeJSON(c *call, status int, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	return a.writeBytes(c, status, append(b, '\n'))
}

// writeAs answers with b, which is of a media type.
func (a *API) writeAs(c *call, mime string, b []byte) error {
	return a.write(c, http.StatusOK, mime, b)
}

func (a *API) writeBytes(c *call, status int, b []byte) error {
	return a.write(c, status, "application/json", b)
}

func (a *API) write(c *call, status int, mime string, b []byte) error {
	c.release()
	h := c.w.Header()
	h.Set("Content-Type", mime)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	c.w.WriteHeader(status)
	if _, err := c.w.Write(b); err != nil && c.r.Method != http.MethodHead {
		return errGone
	}
	return nil
}

// writeSized answers with the size bytes of a media type that fill writes.
func (a *API) writeSized(c *call, mime string, size int64, fill func(io.Writer) error) error {
	c.release() // a slow reader keeps no model
	h := c.w.Header()
	h.Set("Content-Type", mime)
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	c.w.WriteHeader(http.StatusOK)
	w := bufio.NewWriterSize(answer{c.w}, 64<<10)
	if err := fill(w); err != nil {
		return err
	}
	return w.Flush()
}

// writeMade answers with the JSON that write writes. That is called twice, for its size
// and for itself, so that none of it is kept. What it writes is whole unless ctx ended.
func (a *API) writeMade(ctx context.Context, c *call, write func(*bufio.Writer)) error {
	var size counter
	w := bufio.NewWriterSize(&size, 64<<10)
	write(w)
	w.Flush()
	if ctx.Err() != nil {
		return classify(ctx, ctx.Err())
	}
	return a.writeSized(c, "application/json", int64(size), func(w io.Writer) error {
		b := bufio.NewWriter(w)
		if write(b); ctx.Err() != nil {
			return errGone
		}
		return b.Flush()
	})
}

// A counter counts the bytes written to it.
type counter int64

func (n *counter) Write(p []byte) (int, error) {
	*n += counter(len(p))
	return len(p), nil
}

// An answer is a response whose failed writes say that the client left.
type answer struct{ w *response }

func (a answer) Write(p []byte) (int, error) {
	n, err := a.w.Write(p)
	if err != nil {
		err = errGone
	}
	return n, err
}

// marshal encodes v on one line and leaves <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// appendString appends a JSON string that says text, which is valid UTF-8.
func appendString[T string | []byte](b []byte, text T) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(text) {
		switch ch := text[i]; {
		case ch < ' ':
			b = append(b, `\u00`...)
			b = append(b, hex[ch>>4], hex[ch&15])
		case ch == '"', ch == '\\':
			b = append(b, '\\', ch)
		default:
			b = append(b, ch)
		}
	}
	return append(b, '"')
}
