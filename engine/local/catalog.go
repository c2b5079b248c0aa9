package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quern/engine"
	"quern/engine/builtin"
	"quern/engine/lm"
	"quern/engine/tts"
	"quern/formats"
	"quern/formats/weights"
)

// An entry is a model the engine can serve: configured, found in a folder, or
// built in. What describes it changes only when it is fetched; that and resident
// are guarded by Engine.mu.
type entry struct {
	id      string
	o       engine.ModelOptions
	path    string // "" for the built-in model, and for one that is not fetched yet
	remote  bool   // not fetched yet: head is a guess
	created time.Time
	size    int64
	head    header

	resident
}

// A header is what a model's metadata tells without loading it.
type header struct {
	kind    engine.Kind
	arch    string
	format  string
	quant   string
	context int
	embed   embedding
	voices  []tts.Voice // of a model that speaks
	mute    error       // why it has none
	lacks   string      // what others of the kind can do and this model cannot, or ""
}

// can lists what a model can be asked for.
func (h *header) can() []string {
	return slices.DeleteFunc(slices.Clone(capabilities[h.kind]), func(c string) bool { return c == h.lacks })
}

// serves says whether a model answers requests for want.
func (h *header) serves(want engine.Kind) bool {
	return want == "" || slices.Contains(capabilities[h.kind], string(want)) && string(want) != h.lacks
}

// open opens the weights of a model.
func (n *entry) open() (*weights.Set, error) {
	return lm.Open(cmp.Or(n.path, lm.BuiltinPath))
}

// newEntry reads a model's header. path "" is the built-in model.
func newEntry(id, path string, o engine.ModelOptions) (*entry, error) {
	n := &entry{id: id, path: path, o: o}
	if path == "" {
		n.size = int64(len(builtin.GGUF()))
	} else {
		st, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		n.created = st.ModTime()
		if known, err := familyEntry(n); known {
			return n, err
		}
	}
	file, err := n.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	m := &lm.File{ID: id, Raw: file}
	if err := m.Open(context.Background(), o, 0); err != nil {
		return nil, err
	}
	if n.size == 0 {
		n.size = m.Set.Bytes()
	}
	c := m.Config
	n.head = header{kind: engine.KindCompletion, arch: c.Arch, format: strings.ToLower(file.Source.String()), quant: lm.Quantization(m.Set), context: lm.ContextLength(&n.o, c)}
	n.head.embed = embeddingOf(&file.Meta, id, path, &o)
	switch {
	case m.Head != nil:
		n.head.kind = engine.KindRerank
	case lm.Embeds(c):
		n.head.kind = engine.KindEmbedding
	case file.Meta.String("tokenizer.chat_template") != "" || o.ChatTemplate != "":
		n.head.kind = engine.KindChat
	}
	return n, nil
}

// capabilities lists what a kind of model can be asked for.
var capabilities = map[engine.Kind][]string{
	engine.KindChat:          {"chat", "completion", "embedding"},
	engine.KindCompletion:    {"completion", "embedding"},
	engine.KindEmbedding:     {"embedding"},
	engine.KindRerank:        {"rerank"},
	engine.KindSpeech:        {"speech"},
	engine.KindTranscription: {"transcription"},
}

// builtinSampling lets stories vary while what the built-in model knows comes
// out the same every time: a token needs 0.4 times the likeliest one's chance.
var builtinSampling = engine.Sampling{Temperature: new(float32(0.5)), MinP: new(float32(0.4))}

// configure makes the entries Options names.
func (e *Engine) configure() error {
	for _, o := range e.o.Models {
		explicit := o.Quantize
		o = o.Or(e.o.Defaulted)
		if o.Path == "" && o.Fetch != nil {
			if err := e.addFixed(&entry{id: o.Name, o: o, remote: true, head: header{kind: engine.KindChat}}); err != nil {
				return err
			}
			continue
		}
		id := o.Name
		if id == "" {
			id = filepath.Base(filepath.Clean(o.Path))
			if st, err := os.Stat(o.Path); err != nil || !st.IsDir() {
				id = fileID(id)
			}
		}
		n, err := newEntry(id, o.Path, o)
		if err == nil && explicit != "" && !strings.EqualFold(n.head.quant, explicit) {
			err = fmt.Errorf("its weights are %s already; quantize wants those of the original model", n.head.quant)
		}
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("model %q: there is no file %s", id, o.Path)
			}
			if st, bad := os.Stat(o.Path); bad == nil && st.IsDir() && errors.Is(err, formats.ErrFormat) {
				err = fmt.Errorf("%w; a folder of several models belongs in --models or model_dirs", err)
			}
			return fmt.Errorf("model %q: %w", id, err)
		}
		if err := e.addFixed(n); err != nil {
			return err
		}
	}
	for _, dir := range e.o.Dirs {
		if _, err := os.ReadDir(dir); err != nil {
			if st, other := os.Stat(dir); other == nil && !st.IsDir() {
				err = fmt.Errorf("%s is a file; name it as a model, or its folder here", dir)
			}
			return fmt.Errorf("model folder: %w", err)
		}
		e.models.folders = append(e.models.folders, &folder{path: dir})
	}
	n, err := newEntry(builtin.Name, "", e.o.Defaulted.Or(engine.ModelOptions{Sampling: builtinSampling}))
	if err != nil {
		return fmt.Errorf("the built-in model: %w", err)
	}
	e.models.builtin = n
	e.models.voice = &entry{id: engine.VoiceName, o: e.o.Defaulted, head: header{kind: engine.KindSpeech, arch: "formant", format: "built in", voices: tts.Formant().Voices()}}
	return nil
}

func (e *Engine) addFixed(n *entry) error {
	for _, other := range e.models.fixed {
		if other.id == n.id {
			return fmt.Errorf("two models are called %q; give one of them another name (--model NAME=FILE, or name: in the configuration)", n.id)
		}
	}
	e.models.fixed = append(e.models.fixed, n)
	return nil
}

// info describes an entry. Engine.mu is held.
func (n *entry) info() engine.ModelInfo {
	return engine.ModelInfo{
		ID: n.id, Kind: n.head.kind, Capabilities: n.head.can(),
		Created: n.created, ContextLength: n.head.context, Status: n.status(), Waiting: n.waiting(),
		Format: n.head.format, Quantization: n.head.quant, Architecture: n.head.arch,
		SizeBytes: n.size, Fingerprint: n.fingerprint, InputTypes: n.head.embed.known,
	}
}

// Models lists what is configured and found on disk, aliases too. It loads
// nothing and is cheap.
func (e *Engine) Models() []engine.ModelInfo {
	e.models.refresh()
	e.mu.Lock()
	defer e.mu.Unlock()
	var list []engine.ModelInfo
	for _, n := range e.models.list() {
		list = append(list, n.info())
	}
	for _, alias := range slices.Sorted(maps.Keys(e.o.Aliases)) {
		if n := e.find(e.o.Aliases[alias]); n != nil {
			i := n.info()
			i.ID, i.AliasOf = alias, n.id
			list = append(list, i)
		}
	}
	return list
}

// find returns the entry with exactly this id.
func (e *Engine) find(id string) *entry {
	for _, n := range e.models.list() {
		if n.id == id {
			return n
		}
	}
	return nil
}

// usualNames are what clients call the default models of a kind when nobody told
// them another name.
var usualNames = map[string]engine.Kind{
	"whisper-1": engine.KindTranscription, "asr-1": engine.KindTranscription, "gpt-4o-transcribe": engine.KindTranscription, "gpt-4o-mini-transcribe": engine.KindTranscription,
	"tts-1": engine.KindSpeech, "tts-1-hd": engine.KindSpeech, "gpt-4o-mini-tts": engine.KindSpeech,
}

// lookup finds the model a request means: exact id, alias, id without its ":quant"
// part when unambiguous, then without regard to case; an empty name is the default
// model of the first of kinds that has one. Where there is no such model, folders
// that were not looked at just now are read again first. Engine.mu is held, but not
// while that happens.
func (e *Engine) lookup(name string, kinds ...engine.Kind) (*entry, error) {
	e.lookups++
	n, err := e.listed(name, kinds)
	var missing *engine.Error
	if !errors.As(err, &missing) || missing.Code != engine.CodeModelNotFound || !e.models.stale() {
		return n, err
	}
	e.mu.Unlock()
	e.models.refresh()
	e.mu.Lock()
	return e.listed(name, kinds)
}

// listed is lookup among the models known. Engine.mu is held.
func (e *Engine) listed(name string, kinds []engine.Kind) (*entry, error) {
	if name != "" {
		n, err := e.named(name)
		if err != nil {
			return nil, err
		}
		return n, n.answers(kinds)
	}
	if len(kinds) == 0 {
		kinds = []engine.Kind{""}
	}
	var first error
	for _, k := range kinds {
		n, err := e.defaultFor(k)
		if err == nil {
			return n, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// answers refuses a model that serves none of kinds. What is not fetched yet may be
// anything. Engine.mu is held.
func (n *entry) answers(kinds []engine.Kind) error {
	if n.remote || len(kinds) == 0 || slices.ContainsFunc(kinds, n.head.serves) {
		return nil
	}
	return errKind(&n.head, n.id, kinds...)
}

// named finds a model by its name. Engine.mu is held.
func (e *Engine) named(name string) (*entry, error) {
	n := e.find(name)
	if n == nil {
		if to, ok := e.o.Aliases[name]; ok {
			n = e.find(to)
		}
	}
	list := e.models.list()
	only := func(match func(*entry) bool) {
		if n != nil {
			return
		}
		count := 0
		for _, c := range list {
			if match(c) {
				n, count = c, count+1
			}
		}
		if count != 1 {
			n = nil
		}
	}
	base := func(id string) string { // id without its ":quant" part
		if i := strings.LastIndexByte(id, ':'); i > 0 {
			return id[:i]
		}
		return id
	}
	only(func(c *entry) bool { return base(c.id) == name })
	only(func(c *entry) bool { return strings.EqualFold(c.id, name) })
	if n == nil {
		if usual, ok := usualNames[strings.ToLower(name)]; ok {
			if d, err := e.defaultFor(usual); err == nil {
				n = d
			}
		}
	}
	if n == nil {
		return nil, e.notFound(name, list)
	}
	return n, nil
}

// defaultFor returns the model a request means that names none: the configured one,
// or the only one that serves. What is built in stands back for anybody's own model.
func (e *Engine) defaultFor(kind engine.Kind) (*entry, error) {
	if id := e.o.Defaults[kind]; id != "" {
		n, err := e.named(id)
		if err != nil {
			return nil, err
		}
		return n, n.answers([]engine.Kind{kind})
	}
	var one *entry
	builtin := func(n *entry) bool { return n == e.models.builtin || n == e.models.voice }
	for _, n := range e.models.list() {
		if !n.head.serves(kind) || kind == "" && openers[n.head.kind] != nil {
			continue // without a kind a text model is meant
		}
		if one != nil && builtin(n) {
			continue
		}
		if one != nil && !builtin(one) {
			return nil, engine.Errorf(engine.CodeMissingParam, "model", "several models are served; name one in \"model\", or configure defaults.%s", cmp.Or(kind, engine.KindChat))
		}
		one = n
	}
	if one == nil {
		return nil, engine.Errorf(engine.CodeMissingParam, "model", "no %s model is served", kind)
	}
	return one, nil
}

// notFound names the models closest to what was asked for.
func (e *Engine) notFound(name string, list []*entry) error {
	var close []string
	low := strings.ToLower(name)
	for _, n := range list {
		if id := strings.ToLower(n.id); strings.Contains(id, low) || strings.Contains(low, id) {
			close = append(close, n.id)
		}
	}
	if len(close) == 0 {
		for _, n := range list {
			close = append(close, n.id)
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

// Find describes the model of a name, as lookup finds it. An alias is described
// under the name of what it stands for.
func (e *Engine) Find(name string, kinds ...engine.Kind) (engine.ModelInfo, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.lookup(name, kinds...)
	if err != nil {
		return engine.ModelInfo{}, err
	}
	return n.info(), nil
}

// File returns where a model is on this machine, BuiltinPath for the built-in one.
func (e *Engine) File(name string) (string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.lookup(name, "")
	switch {
	case err != nil:
		return "", err
	case n.remote:
		return "", fmt.Errorf("model %q is not on this machine yet", n.id)
	case n == e.models.voice:
		return "", fmt.Errorf("model %q is part of quern and has no file", n.id)
	}
	return cmp.Or(n.path, lm.BuiltinPath), nil
}
