package body

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"quern/engine/spell"
)

// Limits of checking fields that the endpoint did not read. A body can hold millions.
const (
	maxStrays    = 256 // of an object or form
	maxStrayName = 64  // bytes
)

// A Stray is a field of a request that the endpoint did not read.
type Stray struct {
	Name  string // with the objects it is in, shortened
	Meant string // the field it is nearly, with its objects; "" when there is none
}

// Strays are the fields of an object that were not read, and of the objects in it that
// were read by name. Fields of array items are left alone: messages carry much that
// is not ours.
func (o *Object) Strays() []Stray {
	in := o.Path()
	if in != "" {
		in += "."
	}
	out := straysOf(in, func(yield func(string) bool) {
		for v := range o.Members() {
			if !yield(v.Name) {
				return
			}
		}
	}, o.read)
	for _, child := range o.inner {
		out = append(out, child.Strays()...)
	}
	return out
}

// Strays are the fields of a form that were not read.
func (f *Form) Strays() []Stray { return straysOf("", maps.Keys(f.Value), f.read) }

// straysOf looks at names, which are in an object and of which the endpoint has some.
func straysOf(in string, names iter.Seq[string], known map[string]bool) []Stray {
	var out []Stray
	for n := range names {
		if known[n] {
			continue
		}
		if len(out) == maxStrays {
			break
		}
		s := Stray{Name: in + n[:min(len(n), maxStrayName)]}
		if m := meant(n, known); m != "" {
			s.Meant = in + m
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Stray) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(out) // a name may come twice
}

// foreign are fields of other servers and of their clients that look like slips of ours
// and are none. Clients that send them mean them.
var foreign = map[string]bool{
	"do_stream":   true, // Z.ai
	"mode":        true, // text-generation-webui: chat or instruct
	"models":      true, // OpenRouter: what to fall back to
	"to_language": true, // vLLM: what to translate into
	"top_a":       true, // KoboldCpp, OpenRouter
	"top_k":       true, // beside top_n of /rerank
	"top_p":       true,
	"typ_p":       true, // llama.cpp, for typical_p
	"typical":     true, // KoboldCpp, for typical_p
}

// meant returns the known field that name is most likely a slip of: the same but for
// case and punctuation, or one letter away, or two if it is long. "" is none.
func meant(name string, known map[string]bool) string {
	if len(name) > maxStrayName || foreign[name] {
		return ""
	}
	word := letters(name)
	far := 1
	switch {
	case len(word) >= 8:
		far = 2
	case len(word) < 4:
		far = 0
	}
	best, most := "", far
	for k := range known {
		w := letters(k)
		if max(len(w)-len(word), len(word)-len(w)) > most {
			continue
		}
		if d := spell.Distance(word, w); d < most || d == most && (best == "" || k < best) {
			best, most = k, d
		}
	}
	return best
}

// letters is a name without case and punctuation: maxTokens and max-tokens are
// max_tokens.
func letters(name string) string { return strings.ToLower(unspelled.Replace(name)) }

var unspelled = strings.NewReplacer("_", "", "-", "", ".", "", " ", "", "[]", "")
