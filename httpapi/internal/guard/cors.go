package guard

import (
	"net/http"
	"slices"
	"strings"
)

// WarningHeader names the parts of a request without effect, one value each: fields spelled
// nearly like those the endpoint has, keywords of a schema that are not enforced, and sound that is cut
// short or silent.
const WarningHeader = "x-quern-warning"

// InstanceHeader names the server that answered, of several behind one address.
const InstanceHeader = "x-quern-instance"

const exposedHeaders = "x-request-id, retry-after, x-should-retry, " + InstanceHeader + ", " + WarningHeader + ", " +
	"x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, " +
	"x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens"

// Share adds the headers that let a page of an allowed origin read the answer,
// and reports whether it did. Credentials are never allowed: keys travel in
// headers that a page needs.
func (g *Guard) Share(h http.Header, r *http.Request) bool {
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" || !g.originAllowed(origin) {
		return false
	}
	if slices.Contains(g.AllowedOrigins, "*") {
		origin = "*"
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", exposedHeaders)
	return true
}

// Preflight answers OPTIONS, which carries no key. An origin that is not
// allowed learns so from the missing headers.
func Preflight(w http.ResponseWriter, r *http.Request, allowed bool) {
	const methods = "GET, POST, DELETE, OPTIONS"
	h := w.Header()
	h.Set("Allow", methods)
	if allowed {
		h.Set("Access-Control-Allow-Methods", methods)
		h.Set("Access-Control-Max-Age", "600")
		h.Add("Vary", "Access-Control-Request-Headers")
		if v := r.Header.Get("Access-Control-Request-Headers"); v != "" {
			h.Set("Access-Control-Allow-Headers", v)
		}
		// Browsers ask so before a page of a public address reaches one of this network.
		if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
			h.Set("Access-Control-Allow-Private-Network", "true")
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

func (g *Guard) originAllowed(origin string) bool {
	return slices.ContainsFunc(g.AllowedOrigins, func(p string) bool { return originMatches(p, origin) })
}

// originMatches compares an origin with a pattern that may hold one "*". As a
// port it stands for any port and for none.
func originMatches(pattern, origin string) bool {
	pattern, origin = strings.ToLower(pattern), strings.ToLower(origin)
	if base, ok := strings.CutSuffix(pattern, ":*"); ok {
		rest, ok := strings.CutPrefix(origin, base)
		return ok && (rest == "" || rest[0] == ':' && strings.Trim(rest[1:], "0123456789") == "")
	}
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == origin
	}
	return len(origin) >= len(before)+len(after) && strings.HasPrefix(origin, before) && strings.HasSuffix(origin, after)
}
