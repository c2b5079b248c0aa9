//go:build !js

package hub

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
)

// redirectsHidden: open sees each answer itself.
const redirectsHidden = false

// A sender sends requests.
type sender struct{ *http.Client }

func newSender(o Options) sender {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DisableCompression = true // sizes and ranges speak of the bytes on the wire
	t.ResponseHeaderTimeout = o.Stall
	t.MaxIdleConnsPerHost = o.Parallel
	t.MaxResponseHeaderBytes = 256 << 10
	t.OnProxyConnectResponse = turnedAway
	return sender{&http.Client{
		Transport: t,
		// Redirects are followed by open, which knows where the token may go.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// refused tells a proxy that is of no use from other failures of a request to u.
func (s sender) refused(u *url.URL, err error) error {
	return refused(s.Transport.(*http.Transport), u, err)
}

// final says that trying again will not help: the name does not exist, the
// certificate is not good, or the proxy of no use.
func final(err error) bool {
	var name *net.DNSError
	var cert *tls.CertificateVerificationError
	var proxy *proxyError
	return errors.As(err, &name) && name.IsNotFound || errors.As(err, &cert) || errors.As(err, &proxy)
}
