// Package guard authenticates clients, checks hosts and origins, and bounds how long a client may not read.
package guard

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/limits"
)

// A Key admits its holder. Only its hash is kept.
type Key struct {
	Name   string // for logs
	SHA256 [sha256.Size]byte
	Manage bool // its holder may pull and remove models
	Limit  limits.Limit
}

// A Guard authenticates clients, and checks hosts and origins.
type Guard struct {
	keys           atomic.Pointer[[]Key]
	AllowedHosts   []string
	AllowedOrigins []string
	// Loopback says that only this machine can connect: without keys, names of other
	// machines are refused then.
	Loopback atomic.Bool
}

// SetKeys replaces the keys; requests that were admitted go on.
func (g *Guard) SetKeys(keys []Key) { g.keys.Store(&keys) }

// Keys are the current ones.
func (g *Guard) Keys() []Key {
	if p := g.keys.Load(); p != nil {
		return *p
	}
	return nil
}

// LimitOf is the limit of the key of a name.
func (g *Guard) LimitOf(name string) limits.Limit {
	for _, k := range g.Keys() {
		if k.Name == name {
			return k.Limit
		}
	}
	return limits.Limit{}
}

// Authenticate returns the caller's key. Without configured keys every caller is admitted,
// and may manage models when only this machine can connect.
func (g *Guard) Authenticate(r *http.Request) (key Key, ok bool) {
	keys := g.Keys()
	if len(keys) == 0 {
		return Key{Manage: g.Loopback.Load()}, true
	}
	given, ok := Credential(r.Header)
	if !ok {
		return Key{}, false
	}
	sum := sha256.Sum256([]byte(given))
	// Every key is compared, so the time does not depend on which one matched.
	found := 0
	at := 0
	for i := range keys {
		eq := subtle.ConstantTimeCompare(sum[:], keys[i].SHA256[:])
		at = subtle.ConstantTimeSelect(eq, i, at)
		found |= eq
	}
	if found == 0 {
		return Key{}, false
	}
	return keys[at], true
}

// keyProtocol begins the WebSocket subprotocol that is a key: a page cannot set other
// headers of the request that opens a WebSocket.
const keyProtocol = "openai-insecure-api-key."

// Credential returns the key a request carries: the first header that is
// present counts, even when its content is no key.
func Credential(h http.Header) (string, bool) {
	if v := h.Get("Authorization"); v != "" {
		scheme, key, ok := strings.Cut(v, " ")
		return strings.TrimSpace(key), ok && strings.EqualFold(scheme, "bearer")
	}
	for _, name := range []string{"xi-api-key", "x-api-key"} {
		if v := h.Get(name); v != "" {
			return v, true
		}
	}
	for _, list := range h.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(list, ",") {
			if key, ok := strings.CutPrefix(strings.TrimSpace(name), keyProtocol); ok {
				return key, true
			}
		}
	}
	return "", false
}

// CheckBrowser guards a server without keys against web pages: a page may
// neither reach it from a foreign origin nor by a name of its own that it
// points at this machine.
func (g *Guard) CheckBrowser(r *http.Request) error {
	if len(g.Keys()) > 0 {
		return nil
	}
	hostOK := g.hostAllowed(r.Host)
	if g.Loopback.Load() && !hostOK {
		return fault.New(fault.CodeHost, "", "requests for host %.100q are refused because the server has no keys; add the name to allowed_hosts or configure a key", r.Host)
	}
	origin := r.Header.Get("Origin")
	if origin == "" || g.originAllowed(origin) {
		return nil
	}
	// The server's own pages.
	if _, host, ok := strings.Cut(origin, "://"); ok && hostOK && strings.EqualFold(host, r.Host) {
		return nil
	}
	return fault.New(fault.CodeOrigin, "", "requests from origin %.100q are refused because the server has no keys; add it to cors.allowed_origins or configure a key", origin)
}

// hostAllowed reports whether host, which may have a port, is a name that an
// attacker cannot point at this machine.
func (g *Guard) hostAllowed(host string) bool {
	if host == "" {
		return true // HTTP/1.0; no browser does this
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	for _, h := range g.AllowedHosts {
		if strings.EqualFold(h, name) || strings.EqualFold(h, host) {
			return true
		}
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		ip = ip.Unmap()
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()
	}
	if name == "localhost" {
		return true
	}
	// Names that the public DNS does not delegate.
	return slices.ContainsFunc([]string{".localhost", ".local", ".internal"}, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}
