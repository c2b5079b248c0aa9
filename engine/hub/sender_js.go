package hub

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"syscall/js"

	"quern/engine/promise"
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
	got, err := promise.Await(r.Context(), js.Global().Call("fetch", r.URL.String(), map[string]any{
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
		reader := body.Call("getReader")
		a.Body = &promise.Body{
			Next: func() (js.Value, error) {
				part, err := promise.Await(r.Context(), reader.Call("read"))
				if err == nil && part.Get("done").Bool() {
					err = io.EOF
				}
				if err != nil {
					return js.Value{}, err
				}
				return part.Get("value"), nil
			},
			Stop: func() { stop.Call("abort") },
		}
	}
	return a, nil
}

// CloseIdleConnections does nothing: the browser keeps them.
func (sender) CloseIdleConnections() {}

// refused knows no proxy: it is the browser's.
func (sender) refused(_ *url.URL, err error) error { return err }

// final says that trying again will not help. A browser does not tell why it reaches no one.
func final(error) bool { return false }
