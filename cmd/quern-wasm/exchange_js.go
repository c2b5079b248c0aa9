package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"syscall/js"
	"time"

	"quern/engine/promise"
)

// An exchange is a request of a page and its answer, as worker.js crosses them: an object
// with method, path, headers and these functions, whose promises hold bytes or nothing.
//
//	read()                 the next bytes of the body, null after the last
//	head(status, headers)  begins the answer
//	write(bytes)           null, or a promise where the reader is behind
//	end()                  ends the answer
//	fail(text)             breaks it off
//
// It is the answer's http.ResponseWriter.
type exchange struct {
	js     js.Value
	ctx    context.Context // ends when the client leaves
	header http.Header
	buf    *bufio.Writer
	begun  bool
	head   bool // the request's method is HEAD
	by     time.Time
}

// serve answers one exchange. It returns what ends it when the client leaves.
func serve(h http.Handler, o js.Value) js.Func {
	ctx, cancel := context.WithCancel(context.Background())
	gone := js.FuncOf(func(js.Value, []js.Value) any {
		cancel()
		return nil
	})
	go func() {
		defer func() {
			cancel()
			o.Call("done") // and gone is not called any more
			gone.Release()
		}()
		x := &exchange{js: o, ctx: ctx, header: http.Header{}, head: o.Get("method").String() == http.MethodHead}
		x.buf = bufio.NewWriterSize(answer{x}, 32<<10)
		r, err := x.request()
		if err != nil {
			http.Error(x, err.Error(), http.StatusBadRequest)
		} else if !x.run(h, r) {
			o.Call("fail", "the answer was broken off")
			return
		}
		if x.flush() == nil {
			o.Call("end")
		}
	}()
	return gone
}

// run calls the handler; false where it breaks the answer off.
func (x *exchange) run(h http.Handler, r *http.Request) (whole bool) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			panic(p) // not the handler's, which recovers from all others
		} else if p != nil {
			whole = false
		}
	}()
	h.ServeHTTP(x, r)
	return true
}

// request makes the http.Request.
func (x *exchange) request() (*http.Request, error) {
	u, err := url.ParseRequestURI(x.js.Get("path").String())
	if err != nil {
		return nil, err
	}
	r := &http.Request{
		Method: x.js.Get("method").String(), URL: u, RequestURI: u.RequestURI(), Host: "localhost", RemoteAddr: "127.0.0.1:0",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody,
	}
	headers := x.js.Get("headers")
	for i := range headers.Length() {
		r.Header.Add(headers.Index(i).Index(0).String(), headers.Index(i).Index(1).String())
	}
	if x.js.Get("body").Truthy() {
		r.Body, r.ContentLength = &promise.Body{Next: x.received, Stop: func() { x.js.Call("stop") }}, -1
	}
	return r.WithContext(x.ctx), nil
}

// Header implements http.ResponseWriter.
func (x *exchange) Header() http.Header { return x.header }

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) {
	if x.begun || status < 200 { // informational ones do not cross
		return
	}
	x.begun = true
	list := []any{}
	for k, vs := range x.header {
		for _, v := range vs {
			list = append(list, []any{k, v})
		}
	}
	x.js.Call("head", status, list)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(p []byte) (int, error) {
	if !x.begun {
		if x.header.Get("Content-Type") == "" {
			x.header.Set("Content-Type", http.DetectContentType(p))
		}
		x.WriteHeader(http.StatusOK)
	}
	if x.head {
		return len(p), nil
	}
	return x.buf.Write(p)
}

// FlushError is for http.ResponseController.
func (x *exchange) FlushError() error { return x.flush() }

func (x *exchange) flush() error {
	x.WriteHeader(http.StatusOK)
	return x.buf.Flush()
}

// SetReadDeadline is for http.ResponseController.
func (x *exchange) SetReadDeadline(t time.Time) error {
	x.by = t
	return nil
}

// SetWriteDeadline is for http.ResponseController. A page that reads slowly is no danger to
// an engine of its own: it waits.
func (x *exchange) SetWriteDeadline(time.Time) error { return nil }

// EnableFullDuplex is for http.ResponseController.
func (x *exchange) EnableFullDuplex() error { return nil }

// answer sends what was written.
type answer struct{ x *exchange }

func (a answer) Write(p []byte) (int, error) {
	if err := a.x.ctx.Err(); err != nil {
		return 0, err
	}
	b := js.Global().Get("Uint8Array").New(len(p))
	js.CopyBytesToJS(b, p)
	if wait := a.x.js.Call("write", b); !wait.IsNull() {
		if _, err := promise.Await(a.x.ctx, wait); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// received is the next part of what the client sends.
func (x *exchange) received() (js.Value, error) {
	ctx, cancel := x.ctx, func() {}
	if !x.by.IsZero() {
		ctx, cancel = context.WithDeadlineCause(ctx, x.by, os.ErrDeadlineExceeded)
	}
	defer cancel()
	part, err := promise.Await(ctx, x.js.Call("read"))
	if err == nil && part.IsNull() {
		err = io.EOF
	}
	return part, err
}
