package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine"
	"quern/engine/hub"
	"quern/engine/local"
	"quern/engine/spell"
)

// models is an engine for one user: the models there are, one of which is going
// to be loaded.
type models struct {
	*local.Engine
	file  string // the id of the file or reference that was named; "" without one
	given string // how it was named
	bars  *terminal.Progress

	adapter string // suffix of the model's name, with a colon; "" without adapter
}

// openModels starts an engine that has the model file or hub reference called
// name, or what the settings list when name is neither. It loads nothing. That model, which has
// to be named then, gets adapters, of which the first is the one to be used.
func (a *app) openModels(ctx context.Context, cmd *cobra.Command, name string, adapters ...engine.Adapter) (*models, error) {
	s, err := a.load(cmd)
	if err != nil {
		return nil, err
	}
	log := slog.New(belowError{a.logger(s).Handler()})
	given, reference := name, settings.IsHub(name)
	file := name != "" && !reference && settings.Exists(name)
	if !reference && !file {
		if _, ok := a.stored(s, name); ok {
			name, reference = hub.Prefix+name, true
		}
	}
	for i := range s.Models {
		s.Models[i].Preload = new(false) // this command uses one model, not all that a server loads
	}
	if file || reference {
		if err := idle(cmd, given+" is a model of its own", "models"); file && err != nil {
			return nil, err
		}
	}
	if reference {
		s.Models, s.Hub.Pull = []settings.Model{{Path: name, Preload: new(true)}}, true
	}
	if !file {
		if err := a.resolveHub(ctx, s, log); err != nil {
			return nil, err
		}
	}
	m := &models{bars: a.progress("loading")}
	o := s.EngineOptions(log)
	o.Progress = m.bars.Update
	o.KeepAlive = -1
	o.LoadTimeout = 1000 * time.Hour // the user can press Ctrl-C
	o.Defaulted.Slots = 1
	for i := range o.Models {
		o.Models[i].Slots, o.Models[i].KeepAlive = 1, 0
	}
	if file {
		o.Models = []engine.ModelOptions{{Path: name}}
		o.Dirs, o.Aliases, o.Defaults = nil, nil, nil
	}
	if err := adapt(o.Models, name, adapters); err != nil {
		return nil, err
	}
	if m.Engine, err = local.New(o); err != nil {
		return nil, err
	}
	if len(adapters) > 0 {
		m.adapter = ":" + adapters[0].Name
	}
	if file || reference {
		m.file, m.given = m.Models()[0].ID, given // before built-in models
	}
	return m, nil
}

// belowError drops errors from the log: a command that uses one model ends with the error that is
// returned to it, and prints it then.
type belowError struct{ slog.Handler }

func (h belowError) Enabled(ctx context.Context, l slog.Level) bool {
	return l < slog.LevelError && h.Handler.Enabled(ctx, l)
}

func (h belowError) WithAttrs(attrs []slog.Attr) slog.Handler {
	return belowError{h.Handler.WithAttrs(attrs)}
}

func (h belowError) WithGroup(name string) slog.Handler { return belowError{h.Handler.WithGroup(name)} }

// stored finds a model that was pulled by its reference, with hub: or as "quern list"
// writes it. Names of the configuration go first.
func (a *app) stored(s *settings.Loaded, name string) (hub.Model, bool) {
	r, err := hub.ParseRef(name)
	if _, configured := s.Model(name); err != nil || configured || s.Aliases[name] != "" {
		return hub.Model{}, false
	}
	c, err := a.hubClient(s, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		return hub.Model{}, false
	}
	defer c.Close()
	m, err := c.Find(r)
	return m, err == nil
}

// modelFile finds the file of a model: a path, a reference to the hub or a name.
// Nothing is fetched.
func (a *app) modelFile(ctx context.Context, cmd *cobra.Command, name string) (string, error) {
	if name != "" && !settings.IsHub(name) && settings.Exists(name) {
		return name, nil
	}
	s, err := a.load(cmd)
	if err != nil {
		return "", err
	}
	if m, ok := a.stored(s, name); ok {
		return m.Path, nil
	}
	if settings.IsHub(name) {
		r, err := hub.ParseRef(name)
		if err != nil {
			return "", usageError{err}
		}
		return "", fmt.Errorf("%w: %s; fetch it: quern pull %s", hub.ErrNotHere, name, r)
	}
	m, err := a.openModels(ctx, cmd, name)
	if err != nil {
		return "", err
	}
	defer m.Close()
	if name == "" || !m.has(name) {
		return "", m.missing(name)
	}
	return m.File(name)
}

// openModel is openModels and load.
func (a *app) openModel(ctx context.Context, cmd *cobra.Command, name string, kind engine.Kind) (*local.Engine, engine.Lease, error) {
	m, err := a.openModels(ctx, cmd, name)
	if err != nil {
		return nil, nil, err
	}
	var lease engine.Lease
	info, err := m.find(name, kind)
	if err == nil {
		lease, err = m.load(ctx, info)
	}
	if err != nil {
		m.Close()
		return nil, nil, err
	}
	return m.Engine, lease, nil
}

// load loads a model.
func (m *models) load(ctx context.Context, info engine.ModelInfo) (engine.Lease, error) {
	defer m.bars.Wait()
	return m.Open(ctx, info.ID+m.adapter)
}

// find returns the model called name, or the default of kind when name is "". kind ""
// takes any text model, and completion chat models too.
func (m *models) find(name string, kind engine.Kind) (engine.ModelInfo, error) {
	if m.file != "" {
		name = m.file
	}
	info, err := resolve(m.Engine, name, kind)
	if isCode(err, engine.CodeModelNotFound) {
		return info, m.missing(name)
	}
	if isCode(err, engine.CodeModelNotSupported) || err == nil && !fits(info, kind) {
		return info, m.unfit(cmp.Or(name, info.ID), cmp.Or(kind, "text"))
	}
	return info, err
}

// fits reports whether a model is one of kind. The kind of one that is not fetched yet is
// unknown.
func fits(info engine.ModelInfo, kind engine.Kind) bool {
	switch kind {
	case "":
		return isText(info.Kind)
	case engine.KindCompletion:
		return slices.Contains(info.Capabilities, string(kind))
	}
	return true
}

func isText(k engine.Kind) bool { return k != engine.KindSpeech && k != engine.KindTranscription }

// commands are the commands for models of each kind.
var commands = map[engine.Kind]string{
	engine.KindChat:           "quern run %s",
	engine.KindCompletion:     "quern run %s",
	engine.KindEmbedding:      "quern serve --model %s",
	engine.KindRerank:         "quern serve --model %s",
	engine.KindClassification: "quern serve --model %s",
	engine.KindSpeech:         "quern say --model %s TEXT",
	engine.KindTranscription:  "quern transcribe --model %s FILE",
}

// unfit is the error that the model called name is not for use; it names the command that takes it.
func (m *models) unfit(name string, use engine.Kind) error {
	found, err := m.Find(name)
	if err != nil {
		return err
	}
	info := found.Info()
	return fmt.Errorf("model %q is for %s and cannot be used for %s; try: "+commands[info.Kind],
		info.ID, info.Kind, use, shellWord(cmp.Or(m.given, info.ID)))
}

// has reports whether a model is called name.
func (m *models) has(name string) bool {
	if m.file != "" {
		return name == m.given
	}
	_, err := m.Find(name)
	return err == nil
}

func (m *models) ids() []string {
	var ids []string
	for _, i := range m.Models() {
		ids = append(ids, i.ID)
	}
	return ids
}

// missing is the error that name is neither a file nor a model.
func (m *models) missing(name string) error {
	const most = 5
	ids := m.ids()
	if len(ids) > most {
		ids = append(ids[:most], "…")
	}
	err := fmt.Errorf("no file %q and no model of that name; there is %s", name, strings.Join(ids, ", "))
	if c := spell.Closest(name, m.ids()); c != "" {
		return fmt.Errorf("%w; did you mean %q?", err, c)
	}
	if r, bad := hub.ParseRef(name); bad == nil && !slices.Contains(settings.ModelEndings, filepath.Ext(name)) {
		return fmt.Errorf("%w; a model of the hub is called %s%s", err, hub.Prefix, r)
	}
	return err
}

// isCode reports whether err is the engine's, of that code.
func isCode(err error, code engine.Code) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Code == code
}

// resolve is Engine.Find, except that where any text model or any that completes
// texts will do, the only text model, or the default for chat, is meant.
func resolve(e *local.Engine, name string, kind engine.Kind) (engine.ModelInfo, error) {
	if name == "" && (kind == "" || kind == engine.KindCompletion) {
		texts := slices.DeleteFunc(e.Models(), func(m engine.ModelInfo) bool { return !isText(m.Kind) || m.Base != "" })
		if len(texts) == 1 {
			return texts[0], nil
		}
		kind = engine.KindChat
	}
	m, err := e.Find(name, kind)
	if err != nil {
		return engine.ModelInfo{}, err
	}
	return m.Info(), nil
}
