// Package local is the engine of this machine: it puts together the catalog of models, their
// residency in memory, and the packages that do the work of requests.
package local

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"quern/engine"
	"quern/engine/budget"
	"quern/engine/builtin"
	"quern/engine/catalog"
	"quern/engine/device"
	"quern/engine/graph"
	"quern/engine/kv/disk"
	"quern/engine/lm"
	"quern/engine/residency"
	"quern/engine/speech"
	"quern/engine/tts"
)

// An Engine answers requests with models of this machine.
type Engine struct {
	o   engine.Options
	log *slog.Logger
	ctx context.Context // of all work; ends with Close

	backend graph.Backend
	disk    *disk.Store // of prompts' blocks; nil without
	device  string
	catalog *catalog.Catalog
	models  *residency.Keeper

	texts    *budget.Budget // of text in work
	planning chan struct{}  // held while a model's files are read to plan or describe it
	caches   plans
}

// pronouncer reads English. It is unpacked when first asked for, once for all engines.
var pronouncer speech.Reader = sync.OnceValues(func() (*tts.Pronouncer, error) { return tts.NewPronouncer(nil) })

// builtinSampling lets stories vary while what the built-in model knows comes
// out the same every time: a token needs 0.4 times the likeliest one's chance.
var builtinSampling = engine.Sampling{Temperature: new(float32(0.5)), MinP: new(float32(0.4))}

// builtIn are the models that are part of the program: one for text, listed where there is no
// other model, and a voice, listed where there is no other.
var builtIn = []catalog.BuiltIn{
	{ModelOptions: engine.ModelOptions{Name: builtin.Name, Path: lm.BuiltinPath, Sampling: builtinSampling},
		Needed: func(others []*catalog.Entry) bool { return len(others) == 0 }},
	{ModelOptions: engine.ModelOptions{Name: engine.VoiceName, Path: formantPath},
		Needed: func(others []*catalog.Entry) bool { return len(speakers(others)) == 0 }},
}

// New makes an Engine. It reads the headers of what Options lists and loads
// nothing; models marked Preload are loaded by Preload.
func New(o engine.Options) (_ *Engine, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.LoadTimeout = cmp.Or(o.LoadTimeout, engine.DefaultLoadTimeout)
	o.MemoryWait = cmp.Or(o.MemoryWait, engine.DefaultMemoryWait)
	o.KeepAlive = cmp.Or(o.KeepAlive, engine.DefaultKeepAlive)
	e := &Engine{o: o, log: o.Log, texts: lm.TextBudget(), planning: make(chan struct{}, 1)}
	if e.catalog, err = catalog.New(catalog.Options{Options: o, BuiltIn: builtIn, Kinds: files{}}); err != nil {
		return nil, err
	}
	err = speech.Aliases(o.VoiceAliases).Check(e.voices(), e.fetches(), func(alias, voice string, err error) {
		e.log.Warn("voice alias that cannot be used yet", "alias", alias, "voice", voice, "err", err)
	})
	if err != nil {
		return nil, err
	}
	if e.backend, e.device, err = device.Open(o.Device, device.Options{Threads: o.Threads, Layers: o.GPULayers, InFileOrder: o.InFileOrder, Log: o.Log}); err != nil {
		return nil, err
	}
	if c := o.PrefixCache; c.Dir != "" {
		e.disk = disk.Open(disk.Options{Dir: c.Dir, Size: cmp.Or(c.Size, engine.DefaultPrefixCache), Log: o.Log})
	}
	if e.o.MemoryLimit <= 0 {
		e.o.MemoryLimit = e.backend.Memory()
	}
	e.models = residency.New(residency.Options{Options: e.o, Catalog: e.catalog, Open: e.open,
		Fetched: func(n *catalog.Entry, done float64) { e.progress(n, loadStart*done) }})
	e.ctx = e.models.Context()
	e.SetAliases(o.Aliases)
	for kind, name := range o.Defaults {
		if _, err := e.catalog.Lookup(name, kind); err != nil {
			e.log.Warn("default that cannot be used", "kind", kind, "model", name, "err", err)
		}
	}
	return e, nil
}

// Add serves one more model as if Options had named it, and describes it.
func (e *Engine) Add(o engine.ModelOptions) (engine.ModelInfo, error) {
	n, err := e.catalog.Add(o)
	if err != nil {
		return engine.ModelInfo{}, err
	}
	return e.info(catalog.Ref{Entry: n}), nil
}

// SetAliases replaces the other names of models. The map must not change afterwards.
func (e *Engine) SetAliases(names map[string]string) {
	e.catalog.SetAliases(names)
	for alias, model := range names {
		if _, ok := e.catalog.Exactly(model); !ok {
			e.log.Warn("alias of a model that is not there", "alias", alias, "model", model)
		}
	}
}

// Device names the device of models: "cpu" or "cuda".
func (e *Engine) Device() string { return e.device }

// Preload loads the models marked so, one after another. Readiness waits for
// it.
func (e *Engine) Preload(ctx context.Context) error {
	e.catalog.Refresh()
	for _, n := range e.catalog.List() {
		if !n.Options.Preloads() {
			continue
		}
		l, err := e.models.Acquire(ctx, n)
		if err != nil {
			return err
		}
		l.Release()
	}
	return nil
}

// Close cancels all work, waits for it and releases every model.
func (e *Engine) Close() error {
	e.models.Close()
	if e.disk != nil {
		e.disk.Close()
	}
	return e.backend.Close()
}

func (e *Engine) progress(n *catalog.Entry, done float64) {
	if e.o.Progress != nil {
		e.o.Progress(n.ID, done)
	}
}

// info describes a model, with how it is in memory.
func (e *Engine) info(n catalog.Ref) engine.ModelInfo {
	i, s := n.Info(), e.models.State(n.Entry)
	i.Status, i.Waiting, i.Users, i.Fingerprint, i.Expires = s.Status, s.Waiting, s.Users, s.Fingerprint, s.Expires
	return i
}

// Models lists the models configured and found on disk, aliases too. It loads
// nothing and is cheap.
func (e *Engine) Models() []engine.ModelInfo {
	e.catalog.Refresh()
	var list []engine.ModelInfo
	for _, n := range e.catalog.List() {
		for _, r := range append([]catalog.Ref{{Entry: n}}, n.Adapted()...) {
			list = append(list, e.info(r))
		}
	}
	aliases := e.catalog.Aliases()
	for _, alias := range slices.Sorted(maps.Keys(aliases)) {
		if n, ok := e.catalog.Exactly(aliases[alias]); ok {
			i := e.info(n)
			i.ID, i.AliasOf = alias, n.Called()
			list = append(list, i)
		}
	}
	return list
}

// File returns where a model is on this machine, BuiltinPath for the built-in one.
func (e *Engine) File(name string) (string, error) {
	n, err := e.catalog.Lookup(name, "")
	switch {
	case err != nil:
		return "", err
	case n.About().Remote:
		return "", fmt.Errorf("model %q is not on this machine yet", n.ID)
	case isFormant(n.About().Path):
		return "", fmt.Errorf("model %q is part of quern and has no file", n.ID)
	}
	return n.About().Path, nil
}

// Removable returns where a model is whose files may be removed: one that lies in a folder
// and that the configuration does not name. Only its id names it.
func (e *Engine) Removable(id string) (path string, err error) {
	n, err := e.listed(id)
	if err == nil {
		_, err = e.catalog.Removable(n)
	}
	if err != nil {
		return "", err
	}
	return n.About().Path, nil
}

// listed finds a model by its id.
func (e *Engine) listed(id string) (*catalog.Entry, error) {
	if to, ok := e.catalog.Aliases()[id]; ok && e.catalog.Find(id) == nil {
		return nil, engine.Errorf(engine.CodeModelNotAllowed, "model", "%q is another name of model %q in the configuration; name that one", id, to)
	}
	n, err := e.catalog.Lookup(id)
	if err == nil && (n.ID != id || n.Adapter > 0) {
		err = engine.Errorf(engine.CodeModelNotFound, "model", "model %q does not exist; there is %s", id, n.ID)
	}
	return n.Entry, err
}

// Retire unloads a model that Removable names, and refuses requests for it while remove
// removes its files. A model in use is refused.
func (e *Engine) Retire(id string, remove func() error) error {
	n, err := e.listed(id)
	if err != nil {
		return err
	}
	all, err := e.catalog.Removable(n)
	if err != nil {
		return err
	}
	defer func() {
		e.catalog.Changed()
		e.catalog.Refresh()
	}()
	return e.models.Retire(all, remove)
}

// Serves reads the folders again and returns what the model of a file, or of a folder, is
// called; "" when it cannot be served.
func (e *Engine) Serves(path string) string {
	e.catalog.Changed()
	e.catalog.Refresh()
	if n := e.catalog.At(path); n != nil {
		return n.ID
	}
	return ""
}

// speakers returns the models among list that speak and are on this machine.
func speakers(list []*catalog.Entry) []*catalog.Entry {
	return slices.DeleteFunc(slices.Clone(list), func(n *catalog.Entry) bool {
		return n.About().Kind != engine.KindSpeech || n.About().Remote
	})
}

// voices returns those of every model that speaks.
func (e *Engine) voices() (all [][]engine.Voice) {
	for _, n := range speakers(e.catalog.List()) {
		a := n.About()
		if a.Mute != nil {
			e.log.Warn("voices cannot be listed", "model", n.ID, "err", a.Mute)
			continue
		}
		all = append(all, a.Voices)
	}
	return all
}

// fetches reports whether there are models that are not on this machine yet.
func (e *Engine) fetches() bool {
	return slices.ContainsFunc(e.catalog.List(), func(n *catalog.Entry) bool { return n.About().Remote })
}

// Voices lists the speakers of every model, then the configured aliases and the names
// of other services that stand for one. A name is listed once.
func (e *Engine) Voices() []engine.Voice {
	return speech.Aliases(e.o.VoiceAliases).Voices(e.voices())
}

// Phonemize returns how a text is pronounced.
func (e *Engine) Phonemize(ctx context.Context, r engine.PhonemizeRequest) ([]engine.Pronunciation, error) {
	s, err := e.texts.Take(ctx, len(r.Text))
	if err != nil {
		return nil, err
	}
	defer s.Release()
	reader, err := pronouncer()
	if err != nil {
		return nil, err
	}
	return speech.Phonemize(ctx, reader, r)
}
