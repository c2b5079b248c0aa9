//go:build !js

package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
)

// A proxyError says that the proxy of the environment is of no use. Trying again will
// not help.
type proxyError struct {
	host string // of the proxy: its address may hold a password
	name string // of the variable
	err  error
}

func (e *proxyError) Error() string {
	return fmt.Sprintf("the proxy %s cannot be used: %v; correct or unset %s", e.host, e.err, e.name)
}

func (e *proxyError) Unwrap() error { return e.err }

// refused makes a *proxyError of an error of the connection to the proxy of a request to
// u: nothing listens there, or nothing has its name. Others come back as they are.
func refused(t *http.Transport, u *url.URL, err error) error {
	var op *net.OpError
	if !errors.As(err, &op) || op.Op != "proxyconnect" {
		return err
	}
	proxy, bad := t.Proxy(&http.Request{URL: u})
	if bad != nil || proxy == nil || op.Timeout() {
		return err
	}
	cause := op.Err
	if inner := (*net.OpError)(nil); errors.As(cause, &inner) {
		cause = inner.Err // without the address, which the message has
	}
	if call, ok := errors.AsType[*os.SyscallError](cause); ok {
		cause = call.Err
	}
	return &proxyError{proxy.Host, proxyVariable(u), cause}
}

// turnedAway is asked when a proxy has answered CONNECT.
func turnedAway(_ context.Context, proxy *url.URL, _ *http.Request, r *http.Response) error {
	switch r.StatusCode {
	case http.StatusProxyAuthRequired, http.StatusForbidden, http.StatusUnauthorized, http.StatusMethodNotAllowed:
		return &proxyError{proxy.Host, proxyVariable(&url.URL{Scheme: "https"}), fmt.Errorf("it answers %s", status(r))}
	}
	return nil
}

// proxyVariable is the variable of the environment that names the proxy for u.
func proxyVariable(u *url.URL) string {
	names := []string{"HTTP_PROXY", "http_proxy"}
	if u.Scheme == "https" {
		names = []string{"HTTPS_PROXY", "https_proxy"}
	}
	for _, n := range names {
		if os.Getenv(n) != "" {
			return n
		}
	}
	return names[0]
}
