package hub

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"syscall/js"
)

// redirectsHidden: what looks like the hub's own answer may be a storage host's, since a
// browser follows redirects by itself and shows none of them.
const redirectsHidden = true

// A sender sends requests, without a body, with the browser's fetch. net/http's client
// would too, and would have a whole TLS in the program.
type sender struct{}

func newSender(Options) sender { return sender{} }

// Do sends a request.
func (sender) Do(r *http.Request) (*http.Response, error) {
	stop := js.Global().Get("AbortController").New()
	headers := js.Global().Get("Headers").New()
	for k, vs := range r.Header {
		for _, v := range vs {
			headers.Call("append", k, v)
		}
	}
	got, err := settle(r.Context(), js.Global().Call("fetch", r.URL.String(), map[string]any{
		"method": r.Method, "headers": headers, "signal": stop.Get("signal"), "credentials": "omit", "referrerPolicy": "no-referrer",
	}))
	if err != nil {
		stop.Call("abort")
		return nil, err
	}
	a := &http.Response{
		StatusCode: got.Get("status").Int(), Status: strconv.Itoa(got.Get("status").Int()), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, ContentLength: -1, Request: r,
	}
	each := js.FuncOf(func(_ js.Value, args []js.Value) any {
		a.Header.Add(args[1].String(), args[0].String())
		return nil
	})
	got.Get("headers").Call("forEach", each)
	each.Release()
	if n, err := strconv.ParseInt(a.Header.Get("Content-Length"), 10, 64); err == nil {
		a.ContentLength = n
	}
	if body := got.Get("body"); body.Truthy() {
		a.Body = &arriving{ctx: r.Context(), reader: body.Call("getReader"), stop: stop}
	}
	return a, nil
}

// CloseIdleConnections does nothing: the browser keeps them.
func (sender) CloseIdleConnections() {}

// refused knows no proxy: it is the browser's.
func (sender) refused(_ *url.URL, err error) error { return err }

// final says that trying again will not help. A browser does not tell why it reaches no one.
func final(error) bool { return false }

// An arriving body is what fetch gives.
type arriving struct {
	ctx    context.Context
	reader js.Value
	stop   js.Value
	rest   js.Value // a Uint8Array with bytes that were not read, from at on
	at     int
	err    error
}

func (b *arriving) Read(p []byte) (int, error) {
	for b.err == nil && (b.rest.IsUndefined() || b.at == b.rest.Length()) && len(p) > 0 {
		var part js.Value
		if part, b.err = settle(b.ctx, b.reader.Call("read")); b.err != nil {
			break
		}
		if part.Get("done").Bool() {
			b.err = io.EOF
			break
		}
		b.rest, b.at = part.Get("value"), 0
	}
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	n := js.CopyBytesToGo(p, b.rest.Call("subarray", b.at))
	b.at += n
	return n, nil
}

// Close ends the connection, if more would come.
func (b *arriving) Close() error {
	if b.err == nil {
		b.err = http.ErrBodyReadAfterClose
		b.stop.Call("abort")
	}
	return nil
}

// settle returns what a promise comes to, or the error of ctx.
func settle(ctx context.Context, promise js.Value) (js.Value, error) {
	type result struct {
		v   js.Value
		err error
	}
	came := make(chan result, 1)
	var kept, broken js.Func
	release := func() { kept.Release(); broken.Release() }
	kept = js.FuncOf(func(_ js.Value, args []js.Value) any {
		release()
		came <- result{v: args[0]}
		return nil
	})
	broken = js.FuncOf(func(_ js.Value, args []js.Value) any {
		release()
		came <- result{err: errors.New(args[0].Call("toString").String())}
		return nil
	})
	promise.Call("then", kept, broken)
	select {
	case r := <-came:
		return r.v, r.err
	case <-ctx.Done():
		return js.Value{}, context.Cause(ctx)
	}
}
