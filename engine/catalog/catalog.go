// Package catalog lists the models there are: those configured, those found in
// folders, and those built in. It reads no model itself: Options.Kinds does.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"quern/engine"
	"quern/engine/rescue"
	"quern/formats/gguf"
	"quern/formats/weights"
)

// Kinds recognises and describes model files.
type Kinds interface {
	// Describe reads the description of a file, or of a folder that is one model.
	Describe(id, path string, o engine.ModelOptions) (*About, error)
	// IsFile reports whether a file found in a folder is a model by itself.
	IsFile(path string) bool
	// IsFolder reports whether a folder with one of the markers, which holds entries, is one
	// model.
	IsFolder(path string, entries []fs.DirEntry) bool
}

// Options are engine.Options' models, folders and names, and the models that are part
// of the program.
type Options struct {
	engine.Options
	BuiltIn []BuiltIn // listed beside other models where Builtin says so
	Kinds   Kinds
}

// BuiltIn is a model that is part of the program.
type BuiltIn struct {
	engine.ModelOptions
	Needed func(others []*Entry) bool // whether to list it beside these other models where Builtin does not say so
}

// A Catalog is every model there is. Its list is replaced as a whole, so no reader waits
// for a disk, and nothing is read while a lock is held.
type Catalog struct {
	o       Options
	fixed   []*Entry // configured and added, in order; guarded by mu
	builtIn []*Entry
	folders []*folder // a scan's; there is one at a time

	current atomic.Pointer[[]*Entry]
	last    atomic.Int64 // when the last scan ended, Unix nanoseconds
	changed atomic.Bool  // Changed was called since the last scan began
	lookups atomic.Int64
	aliases atomic.Pointer[map[string]string]

	mu       sync.Mutex    // guards fixed and scanning
	scanning chan struct{} // closed when the scan under way has ended; nil without one
}

// An Entry is a model the engine can serve.
type Entry struct {
	ID      string
	Options engine.ModelOptions

	place place
	about atomic.Pointer[About] // replaced when the model is fetched
}

// A place is where an entry comes from. Requests that name no model mean one of the first
// place that has any.
type place uint8

const (
	configured place = iota // named by Options
	found                   // in a folder of Options
	pulled                  // in the store
	builtIn
)

// rank orders places: configured models and those of folders rank equally.
func (p place) rank() place { return max(p, found) }

// About is what the files of a model say without loading it. It does not change.
type About struct {
	engine.ModelInfo // but for fields that depend on its being loaded, and on its name
	Path             string
	Remote           bool           // not fetched yet: the rest is a guess
	Voices           []engine.Voice // of a model that speaks
	Mute             error          // why it has none
	Lacks            string         // a capability of the kind that this model lacks, or ""
}

// Aliases are other names of models.
func (c *Catalog) Aliases() map[string]string { return *c.aliases.Load() }

// SetAliases replaces them. The map must not change afterwards.
func (c *Catalog) SetAliases(names map[string]string) { c.aliases.Store(&names) }

// New describes the configured and built-in models, and reads the folders once.
func New(o Options) (*Catalog, error) {
	c := &Catalog{o: o}
	c.SetAliases(o.Aliases)
	for _, m := range o.Models {
		if _, err := c.configure(m); err != nil {
			return nil, err
		}
	}
	for _, dir := range o.Dirs {
		if _, err := os.ReadDir(dir); err != nil {
			if st, other := os.Stat(dir); other == nil && !st.IsDir() {
				err = fmt.Errorf("%s is a file; name it as a model, or its folder here", dir)
			}
			return nil, fmt.Errorf("model folder: %w", err)
		}
		c.folders = append(c.folders, &folder{path: dir, place: found})
	}
	if o.Store != "" && !slices.ContainsFunc(o.Dirs, func(dir string) bool { return samePath(dir, o.Store) }) {
		c.folders = append(c.folders, &folder{path: o.Store, place: pulled})
	}
	for _, b := range o.BuiltIn {
		n, err := c.describe(b.Name, b.Path, o.Defaulted.Or(b.ModelOptions))
		if err != nil {
			return nil, fmt.Errorf("the built-in model %s: %w", b.Name, err)
		}
		n.place = builtIn
		c.builtIn = append(c.builtIn, n)
	}
	c.Refresh()
	return c, nil
}

// Add lists one more model as if Options had named it.
func (c *Catalog) Add(o engine.ModelOptions) (*Entry, error) {
	n, err := c.configure(o)
	if err != nil {
		return nil, err
	}
	for !slices.Contains(c.List(), n) { // a scan of another goroutine may not have ended
		c.Refresh()
	}
	return n, nil
}

// configure makes the entry of a model that Options names.
func (c *Catalog) configure(o engine.ModelOptions) (*Entry, error) {
	if err := checkAdapters(o.Adapters); err != nil {
		return nil, fmt.Errorf("model %q: %w", cmp.Or(o.Name, o.Path), err)
	}
	explicit := o.Quantize
	o = o.Or(c.o.Defaulted)
	if o.Path == "" && o.Fetch != nil {
		n := &Entry{ID: o.Name, Options: o}
		n.about.Store(&About{Remote: true, ModelInfo: engine.ModelInfo{Kind: engine.KindChat}})
		return c.add(n)
	}
	id := o.Name
	if id == "" {
		id = filepath.Base(filepath.Clean(o.Path))
		if st, err := os.Stat(o.Path); err != nil || !st.IsDir() {
			id = fileID(id)
		}
	}
	n, err := c.describe(id, o.Path, o)
	if err == nil && explicit != "" && !strings.EqualFold(n.About().Quantization, explicit) {
		err = fmt.Errorf("its weights are %s already; quantize wants those of the original model", n.About().Quantization)
	}
	if err != nil {
		st, bad := os.Stat(o.Path)
		if errors.Is(err, fs.ErrNotExist) && bad != nil { // not one that the model's files name
			return nil, fmt.Errorf("model %q: there is no file %s", id, o.Path)
		}
		if _, none := os.Stat(filepath.Join(o.Path, "config.json")); bad == nil && st.IsDir() && none != nil && errors.Is(err, weights.ErrFormat) {
			err = fmt.Errorf("%w; a folder of several models belongs in --models or model_dirs", err)
		}
		return nil, fmt.Errorf("model %q: %w", id, err)
	}
	return c.add(n)
}

func (c *Catalog) add(n *Entry) (*Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.fixed {
		if other.ID == n.ID {
			return nil, fmt.Errorf("two models are called %q; give one of them another name (--model NAME=FILE, or name: in the configuration)", n.ID)
		}
	}
	c.fixed = append(c.fixed, n)
	c.changed.Store(true)
	return n, nil
}

func (c *Catalog) describe(id, path string, o engine.ModelOptions) (*Entry, error) {
	if !utf8.ValidString(id) {
		return nil, fmt.Errorf("the name %q is not valid UTF-8, as requests are; rename the file", id)
	}
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		return nil, fmt.Errorf("%s is neither a file nor a folder", path) // opening a pipe would block
	}
	about, err := c.about(id, path, o)
	if err != nil {
		return nil, err
	}
	n := &Entry{ID: id, Options: o}
	n.about.Store(about)
	return n, nil
}

// Files are those that a model is made of, or a folder of it holds. Where they cannot be
// listed there are none.
func (n *Entry) Files() []string {
	path := n.About().Path
	if path == "" {
		return nil
	}
	var out []string
	if entries, err := os.ReadDir(path); err == nil {
		for _, d := range entries {
			out = append(out, filepath.Join(path, d.Name()))
		}
		return out
	}
	return gguf.Shards(path)
}

// Fetched describes a model anew that has come to path.
func (c *Catalog) Fetched(n *Entry, path string) error {
	about, err := c.about(n.ID, path, n.Options)
	if err == nil {
		n.about.Store(about)
	}
	return err
}

// about describes a model, whose files another process may be writing.
func (c *Catalog) about(id, path string, o engine.ModelOptions) (a *About, err error) {
	err = rescue.Do(func() (err error) {
		a, err = c.o.Kinds.Describe(id, path, o)
		return err
	})
	return a, err
}

// rescanEvery bounds how often folders are read: clients list models often.
const rescanEvery = 2 * time.Second

// List returns every entry: configured ones first, then folders, then what is
// built in. Of two with one id the first counts. The list is not to be changed.
func (c *Catalog) List() []*Entry {
	if l := c.current.Load(); l != nil {
		return *l
	}
	return nil
}

// Changed has folders read again by the next Refresh, and by the next Lookup that finds
// nothing, however short a time ago that was.
func (c *Catalog) Changed() { c.changed.Store(true) }

// stale reports whether folders may hold models that are not in List.
func (c *Catalog) stale() bool {
	return c.changed.Load() || c.current.Load() == nil || len(c.folders) > 0 && time.Now().UnixNano()-c.last.Load() >= int64(rescanEvery)
}

// Refresh reads folders again where that is due. Requests that come meanwhile wait
// for the scan in progress and begin none of their own.
func (c *Catalog) Refresh() {
	c.mu.Lock()
	under := c.scanning
	mine := under == nil && c.stale()
	if mine {
		c.scanning = make(chan struct{})
	}
	c.mu.Unlock()
	switch {
	case mine:
		defer c.scanned()
		c.scan()
	case under != nil:
		<-under
	}
}

// scanned wakes the goroutines that wait for a scan.
func (c *Catalog) scanned() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.scanning)
	c.scanning = nil
}

// scan makes a new list.
func (c *Catalog) scan() {
	c.changed.Store(false)
	var list []*Entry
	seen := map[string]bool{}
	add := func(n *Entry) {
		if !seen[n.ID] {
			seen[n.ID] = true
			list = append(list, n)
		}
	}
	c.mu.Lock()
	fixed := slices.Clone(c.fixed)
	c.mu.Unlock()
	for _, n := range fixed {
		add(n)
	}
	for _, f := range c.folders {
		for _, n := range f.scan(c) {
			if f.place != pulled || !slices.ContainsFunc(fixed, n.samePath) { // it has a name of its own
				add(n)
			}
		}
	}
	for i, n := range c.builtIn {
		if c.o.Builtin || c.o.BuiltIn[i].Needed(list) {
			add(n)
		}
	}
	c.current.Store(&list)
	c.last.Store(time.Now().UnixNano())
}

// Removable reports whether a model's files may be removed: it was found in a folder, and
// neither Options name it nor is it part of the program. At are all entries of its files.
func (c *Catalog) Removable(n *Entry) (at []*Entry, err error) {
	why := map[place]string{configured: "is named by the configuration of this server", builtIn: "is part of quern"}
	for _, other := range c.List() {
		if other != n && !n.samePath(other) {
			continue
		}
		if w := why[other.place]; w != "" {
			return nil, engine.Errorf(engine.CodeModelNotAllowed, "model", "model %q %s, and cannot be removed over the API", n.ID, w)
		}
		at = append(at, other)
	}
	return at, nil
}

// samePath reports whether two entries are of the same file.
func (n *Entry) samePath(other *Entry) bool {
	a, b := n.About().Path, other.About().Path
	return a != "" && samePath(a, b)
}

// samePath reports whether two paths name the same place, without following links.
func samePath(a, b string) bool {
	if a == b {
		return true
	}
	a, err1 := filepath.Abs(a)
	b, err2 := filepath.Abs(b)
	return err1 == nil && err2 == nil && a == b
}

// At returns the entry of the model at a path, nil when there is none.
func (c *Catalog) At(path string) *Entry {
	for _, n := range c.List() {
		if p := n.About().Path; p != "" && samePath(p, path) {
			return n
		}
	}
	return nil
}

// About is the description of the model.
func (n *Entry) About() *About { return n.about.Load() }

// capabilities lists the kinds of requests that a kind of model serves.
var capabilities = map[engine.Kind][]string{
	engine.KindChat:           {"chat", "completion", "embedding"},
	engine.KindCompletion:     {"completion", "embedding"},
	engine.KindEmbedding:      {"embedding"},
	engine.KindRerank:         {"rerank"},
	engine.KindClassification: {"classification"},
	engine.KindSpeech:         {"speech"},
	engine.KindTranscription:  {"transcription"},
}

// Sound reports whether a model is of speech or transcription, which serve one request at a time.
func (a *About) Sound() bool {
	return a.Kind == engine.KindSpeech || a.Kind == engine.KindTranscription
}

// serves reports whether a model answers requests for want.
func (a *About) serves(want engine.Kind) bool {
	return want == "" || slices.Contains(capabilities[a.Kind], string(want)) && string(want) != a.Lacks
}

// Answers refuses a model that serves none of kinds. A model that is not fetched yet may be
// of any kind.
func (n *Entry) Answers(kinds ...engine.Kind) error {
	if a := n.About(); a.Remote || len(kinds) == 0 || slices.ContainsFunc(kinds, a.serves) {
		return nil
	}
	return n.Refusal(kinds...)
}

// Refusal is the error that a model serves none of kinds.
func (n *Entry) Refusal(kinds ...engine.Kind) error {
	kind := n.About().Kind
	kinds = slices.DeleteFunc(slices.Clone(kinds), func(k engine.Kind) bool { return k == "" })
	if len(kinds) == 0 {
		return engine.Errorf(engine.CodeModelNotSupported, "model", "model %q is of type %s and cannot be used for this", n.ID, kind)
	}
	hint := ""
	if kind == engine.KindCompletion && kinds[0] == engine.KindChat {
		hint = "; it has no chat template, so use /v1/completions"
	}
	return engine.Errorf(engine.CodeModelNotSupported, "model", "model %q is of type %s, and this endpoint needs %s%s", n.ID, kind, kinds[0], hint)
}

// Info describes the model as clients see it, without fields that depend on its being loaded.
func (n *Entry) Info() engine.ModelInfo {
	a := n.About()
	i := a.ModelInfo
	i.ID, i.Capabilities = n.ID, slices.DeleteFunc(slices.Clone(capabilities[a.Kind]), func(c string) bool { return c == a.Lacks })
	if a.Kind == engine.KindTranscription && n.Options.Diarize != (engine.Diarizer{}) {
		i.Capabilities = append(i.Capabilities, engine.CapabilityDiarize)
	}
	return i
}
