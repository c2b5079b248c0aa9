package hub

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// ErrRef marks text that is no model reference.
var ErrRef = errors.New("not a model reference")

// Prefix marks a reference where a file name could stand too.
const Prefix = "hub:"

// A Ref names a model of the hub: OWNER/NAME[:QUANT|/FILE][@REVISION].
type Ref struct {
	Owner, Name string
	Quant       string // "Q4_K_M", upper case; "" when not said
	File        string // path inside the repository; "" when not said
	Revision    string // branch, tag or commit; "" is the repository's main branch
}

// mainBranch is the revision that is meant where none is named.
const mainBranch = "main"

// Bounds of what a reference may hold.
const (
	maxName     = 96 // the hub's own bound
	maxQuant    = 32
	maxPath     = 1024
	maxSegment  = 200
	maxRevision = 256
)

// hosts are names of the hub that stand before a reference: other programs write
// hf.co/OWNER/NAME:QUANT, and browsers show whole addresses.
var hosts = []string{"huggingface.co", "hf.co"}

// views are the pages of a repository: OWNER/NAME/VIEW/REVISION/FILE.
var views = []string{"blob", "resolve", "tree", "raw"}

// ParseRef reads a reference, with or without Prefix, or the address of a page of the hub.
// Every error wraps ErrRef.
func ParseRef(s string) (Ref, error) {
	r, err := parseRef(bareRef(strings.TrimPrefix(s, Prefix)))
	if err != nil {
		return Ref{}, fmt.Errorf("%w: %s: write OWNER/NAME, OWNER/NAME:QUANT or OWNER/NAME/FILE, and @REVISION after it if wanted", ErrRef, err)
	}
	return r, nil
}

// bareRef takes the hub's name from before a reference. What has another host stays.
func bareRef(s string) string {
	scheme, address, web := strings.Cut(s, "://")
	if web && scheme != "https" && scheme != "http" || len(s) > maxPath+maxRevision+2*maxName {
		return s
	}
	if !web {
		address = s
	}
	host, ref, _ := strings.Cut(address, "/")
	if !isHost(strings.TrimPrefix(strings.ToLower(host), "www.")) {
		return s
	}
	if web {
		ref, _, _ = strings.Cut(ref, "#")
		ref, _, _ = strings.Cut(ref, "?")
		if plain, err := url.PathUnescape(ref); err == nil {
			ref = plain
		}
	}
	ref = strings.TrimSuffix(ref, "/")
	if seg := strings.SplitN(ref, "/", 5); len(seg) > 3 && slices.Contains(views, seg[2]) {
		ref = strings.Join(slices.Delete(slices.Clone(seg), 2, 4), "/")
		if seg[3] != mainBranch {
			ref += "@" + seg[3]
		}
	}
	return ref
}

func isHost(s string) bool { return slices.Contains(hosts, strings.ToLower(s)) }

func parseRef(s string) (r Ref, err error) {
	if len(s) > maxPath+maxRevision+2*maxName {
		return r, errors.New("it is too long")
	}
	if strings.Contains(s, "://") {
		return r, errors.New("it is a web address")
	}
	body, rev, hasRev := strings.Cut(s, "@")
	if hasRev {
		if !validRevision(rev) {
			return r, fmt.Errorf("%q is no revision", rev)
		}
		r.Revision = rev
	}
	owner, rest, ok := strings.Cut(body, "/")
	if !ok {
		return r, fmt.Errorf("%q has no owner", s)
	}
	end := strings.IndexAny(rest, ":/")
	name := rest
	if end >= 0 {
		name = rest[:end]
	}
	if !validName(owner) || isHost(owner) {
		return r, fmt.Errorf("%q is no owner", owner)
	}
	if !validName(name) || strings.HasSuffix(strings.ToLower(name), ".git") {
		return r, fmt.Errorf("%q is no repository name", name)
	}
	r.Owner, r.Name = owner, name
	switch {
	case end < 0:
	case rest[end] == ':':
		q := rest[end+1:]
		if !validQuant(q) {
			return r, fmt.Errorf("%q is no quantisation", q)
		}
		r.Quant = strings.ToUpper(q)
	default:
		f := rest[end+1:]
		if !validPath(f) {
			return r, fmt.Errorf("%q is no file of a repository", f)
		}
		r.File = f
	}
	return r, nil
}

// Repo is OWNER/NAME.
func (r Ref) Repo() string { return r.Owner + "/" + r.Name }

// String is the reference as ParseRef reads it, without Prefix.
func (r Ref) String() string {
	s := r.Repo()
	switch {
	case r.File != "":
		s += "/" + r.File
	case r.Quant != "":
		s += ":" + r.Quant
	}
	if r.Revision != "" {
		s += "@" + r.Revision
	}
	return s
}

func (r Ref) revision() string {
	if r.Revision == "" {
		return mainBranch
	}
	return r.Revision
}

func alnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// only reports whether s has no bytes but letters, digits and those of more.
func only(s, more string) bool {
	for i := range len(s) {
		if !alnum(s[i]) && strings.IndexByte(more, s[i]) < 0 {
			return false
		}
	}
	return true
}

// validName holds the hub's rules for owners and repositories, and what keeps
// a name from being a device on Windows.
func validName(s string) bool {
	return s != "" && len(s) <= maxName && only(s, "-_.") &&
		strings.IndexByte("-.", s[0]) < 0 && strings.IndexByte("-.", s[len(s)-1]) < 0 &&
		!strings.Contains(s, "--") && !strings.Contains(s, "..") && filepath.IsLocal(s)
}

func validQuant(s string) bool {
	return s != "" && len(s) <= maxQuant && only(s, "-_")
}

func validRevision(s string) bool {
	if s == "" || len(s) > maxRevision || !only(s, "-_./") || !alnum(s[0]) || strings.Contains(s, "..") || strings.HasSuffix(s, "/") {
		return false
	}
	return !strings.Contains(s, "//")
}

// validPath reports whether p, from a user or from the hub, names a file below
// its repository on every system: no step up, no root, no drive, no stream, and
// none of the names the store keeps for itself.
func validPath(p string) bool {
	if p == "" || len(p) > maxPath || strings.ContainsAny(p, "\\:@?*\"<>|") || !filepath.IsLocal(filepath.FromSlash(p)) {
		return false
	}
	for i := range len(p) {
		if p[i] < ' ' || p[i] == 0x7f {
			return false
		}
	}
	for seg := range strings.SplitSeq(p, "/") {
		if seg == "" || seg == "." || seg == ".." || len(seg) > maxSegment ||
			strings.HasSuffix(seg, ".") || strings.HasSuffix(seg, " ") || reserved(seg) {
			return false
		}
	}
	return true
}

// reserved says whether the store uses a file name for its own records.
func reserved(base string) bool {
	low := strings.ToLower(base)
	return low == recordName || low == lockName || strings.HasSuffix(low, partSuffix) || strings.HasSuffix(low, sideSuffix)
}
