package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"quern/bench/fixtures"
	"quern/engine/grammar"
)

// TestDiffer draws schemas of few names and values, so that keywords meet, and compares
// with another validator: what the masks let through, and values near that, must be
// valid exactly if they pass in some order of their members.
func TestDiffer(t *testing.T) {
	trie := byteTrie(t)
	total := 120
	switch {
	case *full:
		total = 30_000
	case fixtures.Whole:
		total = 1000
	}
	accepted, valid, invalid, failed := 0, 0, 0, 0
	for i := range total {
		d := &drawer{Rand: rand.New(rand.NewPCG(uint64(i), 7))}
		src := d.document()
		check := oracle([]byte(src))
		if check == nil {
			continue // such as an enum with a value twice
		}
		g, err := difference(t, d, src, check, trie, &valid, &invalid)
		if g != nil {
			accepted++
		}
		if err == nil {
			continue
		}
		small := shrink(src, func(src string) bool {
			check := oracle([]byte(src))
			if check == nil {
				return false
			}
			d := &drawer{Rand: rand.New(rand.NewPCG(uint64(i), 8))}
			_, err := difference(t, d, src, check, trie, new(int), new(int))
			return err != nil
		})
		d = &drawer{Rand: rand.New(rand.NewPCG(uint64(i), 8))}
		_, less := difference(t, d, small, oracle([]byte(small)), trie, new(int), new(int))
		t.Errorf("%d: %v\n\tschema %s\n\tsmaller %v\n\tschema %s", i, err, src, less, small)
		if failed++; failed == 10 {
			break
		}
	}
	t.Logf("%d of %d schemas accepted, %d valid and %d invalid values", accepted, total, valid, invalid)
	if failed == 0 && (accepted < total/2 || valid < total || invalid < total) {
		t.Error("too few to tell anything")
	}
}

// difference returns what of the schema src the two do not agree about, and the grammar
// if there is one.
func difference(t *testing.T, d *drawer, src string, check *jsonschema.Schema, trie *grammar.Trie, valid, invalid *int) (*grammar.Grammar, error) {
	g, _, err := Compile([]byte(src), trie, grammar.Limits{}, Options{})
	var e *Error
	var limit *grammar.LimitError
	root, _ := decode([]byte(src))
	switch {
	case errors.As(err, &limit):
		return nil, nil
	case errors.As(err, &e):
		if e := misplaced(root, e); e != nil {
			return nil, e
		}
		if e.Reason != "no value is valid" {
			return nil, nil
		}
	case err != nil:
		return nil, err
	}
	var tries []*value
	for range 40 {
		tries = append(tries, parsed(d.value(2)))
	}
	if g != nil {
		for range 6 {
			text, _ := walk(t, g, d.Rand)
			if text == "" {
				continue
			}
			if ok, err := isValid(check, text); err == nil && !ok {
				return g, fmt.Errorf("passes, but is not valid: %s", text)
			}
			v := parsed(text)
			tries = append(tries, v)
			for range 4 {
				tries = append(tries, d.mutate(v))
			}
		}
	}
	for _, v := range tries {
		text := written(v)
		ok, err := isValid(check, text)
		if err != nil {
			continue // that validator has limits, too
		}
		passes, unknown := false, exponents(v)
		if g != nil {
			all, cut := orders(v)
			unknown = unknown || cut
			for _, p := range all {
				err := reach(g, plain(written(p)))
				if err == nil {
					passes = true
					break
				}
				unknown = unknown || errors.As(err, &limit)
			}
		}
		switch {
		case passes && !ok:
			return g, fmt.Errorf("passes, but is not valid: %s", text)
		case ok && !passes && unknown:
		case ok && !passes && g == nil:
			return g, fmt.Errorf("nothing is said to be valid, but this is: %s", text)
		case ok && !passes:
			return g, fmt.Errorf("valid, but does not pass: %s", text)
		case ok:
			*valid++
		default:
			*invalid++
		}
	}
	return g, nil
}

// misplaced says of a refusal that it names a place or a keyword that is not there.
func misplaced(root *value, e *Error) error {
	v := root
	for _, step := range strings.Split(e.Pointer, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next := v.member(step)
		if i, err := strconv.Atoi(step); err == nil && v.kind == array && i < len(v.list) {
			next = v.list[i]
		}
		if next == nil {
			return fmt.Errorf("refused at %q, which is not there: %v", e.Pointer, e)
		}
		v = next
	}
	if e.Keyword != last(e.Pointer) && e.Keyword != "" {
		return fmt.Errorf("refused at %q by %q: %v", e.Pointer, e.Keyword, e)
	}
	return nil
}

// isValid asks the other validator, which panics at numbers above its own limits.
func isValid(check *jsonschema.Schema, text string) (ok bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return false, err
	}
	err = check.Validate(v)
	var no *jsonschema.ValidationError
	if errors.As(err, &no) {
		return false, nil
	}
	return err == nil, err
}

func parsed(text string) *value {
	v, err := decode([]byte(text))
	if err != nil {
		panic(err)
	}
	return v
}

// written is v as a text.
func written(v *value) string {
	switch v.kind {
	case null:
		return "null"
	case boolean:
		return strconv.FormatBool(v.yes)
	case number:
		return v.text
	case str:
		return quoted(v.text)
	}
	var parts []string
	for i, e := range v.list {
		if v.kind == object {
			parts = append(parts, quoted(v.keys[i])+":"+written(e))
		} else {
			parts = append(parts, written(e))
		}
	}
	if v.kind == object {
		return "{" + strings.Join(parts, ",") + "}"
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

// exponents says that v has numbers whose spelling constraints may not know.
func exponents(v *value) bool {
	return v.kind == number && strings.ContainsAny(v.text, "eE") || slices.ContainsFunc(v.list, exponents)
}

// orders are v with the members of its objects in other orders. Of more than 1000 it
// leaves some out.
func orders(v *value) (out []*value, cut bool) {
	const limit = 1000
	lists := [][]*value{nil} // choices of the elements or members
	for _, e := range v.list {
		var more [][]*value
		below, less := orders(e)
		cut = cut || less || len(lists)*len(below) > limit
		for _, l := range lists {
			for _, o := range below {
				if len(more) < limit {
					more = append(more, append(slices.Clip(l), o))
				}
			}
		}
		lists = more
	}
	for _, l := range lists {
		add := func(order []int) {
			w := *v
			w.keys, w.list = nil, nil
			for _, i := range order {
				if w.list = append(w.list, l[i]); v.kind == object {
					w.keys = append(w.keys, v.keys[i])
				}
			}
			if cut = cut || len(out) == limit; len(out) < limit {
				out = append(out, &w)
			}
		}
		switch {
		case v.kind == object && len(l) < 6:
			permute(len(l), add)
		default:
			cut = cut || v.kind == object
			inOrder := make([]int, len(l))
			for i := range inOrder {
				inOrder[i] = i
			}
			add(inOrder)
		}
	}
	return out, cut
}

// permute calls f with the orders of n things.
func permute(n int, f func([]int)) {
	var rec func(done []int)
	rec = func(done []int) {
		if len(done) == n {
			f(done)
			return
		}
		for i := range n {
			if !slices.Contains(done, i) {
				rec(append(slices.Clip(done), i))
			}
		}
	}
	rec(nil)
}

// shrink takes parts away from src as long as bad stays true.
func shrink(src string, bad func(string) bool) string {
	for left := 400; left > 0; {
		smaller := ""
		for _, v := range reduced(parsed(src)) {
			if left--; left < 0 {
				break
			}
			if s := written(v); len(s) < len(src) && bad(s) {
				smaller = s
				break
			}
		}
		if smaller == "" {
			break
		}
		src = smaller
	}
	return src
}

// reduced are v with one part less.
func reduced(v *value) (out []*value) {
	for i, e := range v.list {
		w := *v
		w.list = slices.Delete(slices.Clone(v.list), i, i+1)
		if v.kind == object {
			w.keys = slices.Delete(slices.Clone(v.keys), i, i+1)
		}
		out = append(out, &w)
		if e.kind == object || e.kind == array {
			out = append(out, e)
		}
	}
	for i, e := range v.list {
		for _, r := range append(reduced(e), &value{kind: boolean, yes: true}) {
			w := *v
			w.list = slices.Clone(v.list)
			w.list[i] = r
			out = append(out, &w)
		}
	}
	return out
}
