package local

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quern/engine"
	"quern/engine/tts"
)

// Voices lists the speakers of every model, then the configured aliases and the names
// of other services that stand for one. A name is listed once.
func (e *Engine) Voices() []engine.Voice {
	var list []engine.Voice
	seen := make(map[string]bool)
	add := func(v engine.Voice) {
		if !seen[v.ID] {
			seen[v.ID] = true
			list = append(list, v)
		}
	}
	var stands, aliases []engine.Voice
	for _, n := range e.speakers() {
		voices, err := n.head.voices, n.head.mute
		if err != nil {
			e.log.Warn("voices cannot be listed", "model", n.id, "err", err)
			continue
		}
		for _, v := range voices {
			add(engine.Voice{Voice: v, Model: n.id})
		}
		for _, s := range tts.Stands(voices) {
			i := slices.IndexFunc(voices, func(v tts.Voice) bool { return v.ID == s.Voice })
			v := engine.Voice{Voice: voices[i], Model: n.id, AliasOf: s.Voice, Opaque: s.Opaque}
			v.ID, v.Name = s.Name, s.Label
			stands = append(stands, v)
		}
		for _, name := range slices.Sorted(maps.Keys(e.o.VoiceAliases)) {
			if v, err := tts.First(voices, e.o.VoiceAliases[name]); err == nil {
				v.ID, v.Name = name, name
				aliases = append(aliases, engine.Voice{Voice: v, Model: n.id, AliasOf: e.o.VoiceAliases[name]})
			}
		}
	}
	for _, v := range append(aliases, stands...) {
		add(v)
	}
	return list
}

// speakers returns the speech models of this machine.
func (e *Engine) speakers() []*entry {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*entry
	for _, n := range e.models.list() {
		if n.head.kind == engine.KindSpeech && !n.remote {
			out = append(out, n)
		}
	}
	return out
}

// CheckVoice implements engine.Lease.
func (l *lease) CheckVoice(voice string) error {
	m, done, err := use[*speechModel](l, engine.KindSpeech, nil)
	if err != nil {
		return err
	}
	defer done()
	voices := m.synth.Voices()
	return voiceError(tts.Check(voices, l.e.voiceOf(voice)), voices)
}

// voiceError is what clients hear of a voice that is not there.
func voiceError(err error, voices []tts.Voice) error {
	var unknown *tts.VoiceError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	for _, v := range voices[:min(len(voices), 10)] {
		names = append(names, v.ID)
	}
	more := ""
	if len(voices) > len(names) {
		more = ", …"
	}
	return engine.Errorf(engine.CodeVoiceNotFound, "voice", "%.300s; there is %s%s", unknown.Error(), strings.Join(names, ", "), more)
}

// voiceOf returns what a configured alias stands for, and any other name as it is.
func (e *Engine) voiceOf(name string) string {
	if to, ok := e.o.VoiceAliases[name]; ok {
		return to
	}
	return name
}

// checkVoiceAliases refuses aliases that no speech model of this machine can speak,
// and those that would hide a voice. What a model has that is not fetched yet is not
// known, so with such models there is only a warning.
func (e *Engine) checkVoiceAliases() error {
	if len(e.o.VoiceAliases) == 0 {
		return nil
	}
	var voices [][]tts.Voice
	for _, n := range e.speakers() {
		if v, err := n.head.voices, n.head.mute; err == nil { // Voices tells of those that fail
			voices = append(voices, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(e.o.VoiceAliases)) {
		if name == "" {
			return errors.New("voice_aliases: an alias has no name")
		}
		to := e.o.VoiceAliases[name]
		err := errors.New("there is no speech model")
		for _, list := range voices {
			if slices.ContainsFunc(list, func(v tts.Voice) bool { return v.ID == name }) {
				return fmt.Errorf("voice_aliases: %q is a voice itself; choose another name", name)
			}
			if err = voiceError(tts.Check(list, to), list); err == nil {
				break
			}
		}
		switch {
		case err == nil:
		case e.fetches():
			e.log.Warn("voice alias that cannot be used yet", "alias", name, "voice", to, "err", err)
		default:
			return fmt.Errorf("voice_aliases: alias %q: %w", name, err)
		}
	}
	return nil
}

// fetches reports whether there are models that are not on this machine yet.
func (e *Engine) fetches() bool {
	return slices.ContainsFunc(e.models.list(), func(n *entry) bool { return n.remote })
}
