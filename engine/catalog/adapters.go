package catalog

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"quern/engine"
)

// A Ref is a model, or a model with one of its adapters.
type Ref struct {
	*Entry
	Adapter int // of Options.Adapters, from 1; 0 is none
}

// Called is its id in requests.
func (r Ref) Called() string {
	if r.Adapter == 0 {
		return r.ID
	}
	return r.ID + ":" + r.Options.Adapters[r.Adapter-1].Name
}

// Info is Entry's, under the name with the adapter where there is one.
func (r Ref) Info() engine.ModelInfo {
	i := r.Entry.Info()
	if r.Adapter > 0 {
		i.ID, i.Base, i.Adapter = r.Called(), r.ID, filepath.Base(r.Options.Adapters[r.Adapter-1].Path)
	}
	return i
}

// Adapted are the names of a model with each of its adapters.
func (n *Entry) Adapted() []Ref {
	var list []Ref
	for i := range n.Options.Adapters {
		list = append(list, Ref{n, i + 1})
	}
	return list
}

// maxAdapters bounds the adapters of a model, and maxAdapterName the bytes of a name.
const (
	maxAdapters    = 256
	maxAdapterName = 100
)

// checkAdapters refuses names that requests could not use.
func checkAdapters(list []engine.Adapter) error {
	if len(list) > maxAdapters {
		return fmt.Errorf("%d adapters, at most %d are supported", len(list), maxAdapters)
	}
	for i, a := range list {
		bad := func(r rune) bool { return r == ':' || unicode.IsSpace(r) || unicode.IsControl(r) }
		switch {
		case a.Name == "" || len(a.Name) > maxAdapterName || strings.ContainsFunc(a.Name, bad):
			return fmt.Errorf("an adapter called %.100q: want a name of 1 to %d bytes without colons and spaces", a.Name, maxAdapterName)
		case slices.ContainsFunc(list[:i], func(b engine.Adapter) bool { return a.Name == b.Name }):
			return fmt.Errorf("two adapters are called %q", a.Name)
		}
	}
	return nil
}

// with is r with the adapter of a name.
func (r Ref) with(adapter string) (Ref, error) {
	var names []string
	for _, x := range r.Adapted() {
		a := r.Options.Adapters[x.Adapter-1].Name
		if strings.EqualFold(a, adapter) {
			return x, nil
		}
		names = append(names, a)
	}
	return Ref{}, engine.Errorf(engine.CodeModelNotFound, "model", "model %q has no adapter %.100q; it has %s", r.ID, adapter, strings.Join(names, ", "))
}
