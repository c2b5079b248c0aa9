package catalog

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"quern/engine"
)

// Find returns the entry with exactly this id.
func (c *Catalog) Find(id string) *Entry {
	for _, n := range c.List() {
		if n.ID == id {
			return n
		}
	}
	return nil
}

// Exactly returns the model, or the model with an adapter, that has this id.
func (c *Catalog) Exactly(id string) (Ref, bool) {
	if n := c.Find(id); n != nil {
		return Ref{Entry: n}, true
	}
	for _, n := range c.List() {
		for _, r := range n.Adapted() {
			if r.Called() == id {
				return r, true
			}
		}
	}
	return Ref{}, false
}

// usualNames are what clients call the default models of a kind when their users configured no
// other name.
var usualNames = map[string]engine.Kind{
	"whisper-1": engine.KindTranscription, "asr-1": engine.KindTranscription, "gpt-4o-transcribe": engine.KindTranscription, "gpt-4o-mini-transcribe": engine.KindTranscription,
	"tts-1": engine.KindSpeech, "tts-1-hd": engine.KindSpeech, "gpt-4o-mini-tts": engine.KindSpeech,
}

// Lookup finds the model a request means: exact id, alias, id without its ":quant"
// part when unambiguous, then without regard to case, then the model that a pull of that
// name has stored; any of these with ":" and the name of one of the model's adapters. An empty
// name is the default model of the first of kinds that has one, and configured ones come
// first. Where there is no such model,
// folders whose last scan is rescanEvery ago are read again first.
func (c *Catalog) Lookup(name string, kinds ...engine.Kind) (Ref, error) {
	c.lookups.Add(1)
	n, err := c.listed(name, kinds)
	var missing *engine.Error
	if !errors.As(err, &missing) || !slices.Contains(rescannable, missing.Code) || !c.stale() {
		return n, err
	}
	c.Refresh()
	return c.listed(name, kinds)
}

// rescannable are errors that a model added since the last scan may resolve: of requests that
// name one, and of those that name none.
var rescannable = []engine.Code{engine.CodeModelNotFound, engine.CodeMissingParam}

// Lookups is how many there have been.
func (c *Catalog) Lookups() int64 { return c.lookups.Load() }

// listed is Lookup among the models known.
func (c *Catalog) listed(name string, kinds []engine.Kind) (Ref, error) {
	if name != "" {
		n, err := c.named(name)
		if err != nil {
			return Ref{}, err
		}
		return n, n.Answers(kinds...)
	}
	if len(kinds) == 0 {
		kinds = []engine.Kind{""}
	}
	var first error
	for _, k := range c.configuredFirst(kinds) {
		n, err := c.defaultFor(k)
		if err == nil {
			return n, nil
		}
		if first == nil {
			first = err
		}
	}
	return Ref{}, first
}

// configuredFirst are kinds, with those before the others for which a default is configured.
func (c *Catalog) configuredFirst(kinds []engine.Kind) []engine.Kind {
	without := func(k engine.Kind) int {
		if c.o.Defaults[k] == "" {
			return 1
		}
		return 0
	}
	return slices.SortedStableFunc(slices.Values(kinds), func(a, b engine.Kind) int { return without(a) - without(b) })
}

// named finds a model by its name, which may have that of an adapter behind it.
func (c *Catalog) named(name string) (Ref, error) {
	if r, ok := c.loosely(name); ok {
		return r, nil
	}
	if i := strings.LastIndexByte(name, ':'); i > 0 {
		if base, ok := c.loosely(name[:i]); ok && base.Adapter == 0 && len(base.Options.Adapters) > 0 {
			return base.with(name[i+1:])
		}
	}
	return Ref{}, c.notFound(name, c.List())
}

// loosely finds the model of a name that has no adapter's behind it.
func (c *Catalog) loosely(name string) (Ref, bool) {
	if r, ok := c.Exactly(name); ok {
		return r, true
	}
	if to, ok := c.Aliases()[name]; ok {
		if r, ok := c.Exactly(to); ok {
			return r, true
		}
	}
	list := c.List()
	only := func(match func(*Entry) bool) (n Ref, ok bool) {
		for _, x := range list {
			if match(x) {
				if ok {
					return Ref{}, false
				}
				n, ok = Ref{Entry: x}, true
			}
		}
		return n, ok
	}
	base := func(id string) string { // id without its ":quant" part
		if i := strings.LastIndexByte(id, ':'); i > 0 {
			return id[:i]
		}
		return id
	}
	if n, ok := only(func(x *Entry) bool { return base(x.ID) == name }); ok {
		return n, true
	}
	if n, ok := only(func(x *Entry) bool { return strings.EqualFold(x.ID, name) }); ok {
		return n, true
	}
	if n, ok := c.foldedAlias(name); ok {
		return n, true
	}
	if c.o.Stored != nil {
		if path := c.o.Stored(name); path != "" {
			if n := c.At(path); n != nil {
				return Ref{Entry: n}, true
			}
		}
	}
	if usual, ok := c.usual(name); ok {
		if d, err := c.defaultFor(usual); err == nil {
			return d, true
		}
	}
	return Ref{}, false
}

// foldedAlias finds the one model that an alias of this name but for case stands for.
func (c *Catalog) foldedAlias(name string) (n Ref, found bool) {
	for alias, to := range c.Aliases() {
		if !strings.EqualFold(alias, name) {
			continue
		}
		r, ok := c.Exactly(to)
		if ok && found && r != n {
			return Ref{}, false
		}
		if ok {
			n, found = r, true
		}
	}
	return n, found
}

// usual is the kind whose default model clients call by a name. A default that is itself such
// a name means nothing more.
func (c *Catalog) usual(name string) (engine.Kind, bool) {
	kind, ok := usualNames[strings.ToLower(name)]
	return kind, ok && usualNames[strings.ToLower(c.o.Defaults[kind])] == ""
}

// defaultFor returns the model a request means that names none: the configured one,
// or the only one that serves. Configured models and those of folders come before pulled
// ones, and these before built-in ones.
func (c *Catalog) defaultFor(kind engine.Kind) (Ref, error) {
	if id := c.o.Defaults[kind]; id != "" {
		n, err := c.named(id)
		if err != nil {
			return Ref{}, err
		}
		return n, n.Answers(kind)
	}
	var one *Entry
	for _, n := range c.List() {
		if !n.About().serves(kind) || kind == "" && n.About().Sound() {
			continue // without a kind a text model is meant
		}
		if one != nil && n.place.rank() > one.place.rank() {
			continue
		}
		if one != nil && n.place.rank() == one.place.rank() {
			return Ref{}, engine.Errorf(engine.CodeMissingParam, "model", "several models are served; name one in \"model\", or configure defaults.%s", cmp.Or(kind, engine.KindChat))
		}
		one = n
	}
	if one == nil {
		return Ref{}, engine.Errorf(engine.CodeMissingParam, "model", "no %s model is served; add one to the models of the server", kind)
	}
	return Ref{Entry: one}, nil
}

// notFound names the models closest to what was asked for.
func (c *Catalog) notFound(name string, list []*Entry) error {
	if usual, ok := c.usual(name); ok {
		if _, err := c.defaultFor(usual); err != nil {
			return engine.Errorf(engine.CodeModelNotFound, "model", "%q means the default %s model: %v", name, usual, err)
		}
	}
	var close []string
	low := strings.ToLower(name)
	for _, n := range list {
		if id := strings.ToLower(n.ID); strings.Contains(id, low) || strings.Contains(low, id) {
			close = append(close, n.ID)
		}
	}
	if len(close) == 0 {
		for _, n := range list {
			close = append(close, n.ID)
		}
	}
	const most = 5
	more := ""
	if len(close) > most {
		close, more = close[:most], ", …"
	}
	if len(name) > 100 {
		name = name[:100] + "…"
	}
	return engine.Errorf(engine.CodeModelNotFound, "model", "model %q does not exist; there is %s%s", name, strings.Join(close, ", "), more)
}
