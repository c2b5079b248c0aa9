package speech

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quern/engine"
	"quern/engine/tts"
)

// Aliases are names for voices and mixtures.
type Aliases map[string]string

// of resolves an alias; any other name is returned unchanged.
func (a Aliases) of(name string) string {
	if to, ok := a[name]; ok {
		return to
	}
	return name
}

// Voices lists the speakers of models, each with its voices in order, then the aliases
// and the names of other services that stand for one. A name is listed once.
func (a Aliases) Voices(models [][]engine.Voice) []engine.Voice {
	var list []engine.Voice
	seen := make(map[string]bool)
	add := func(v engine.Voice) {
		if !seen[v.ID] {
			seen[v.ID] = true
			list = append(list, v)
		}
	}
	var stands, aliases []engine.Voice
	for _, own := range models {
		if len(own) == 0 {
			continue
		}
		model := own[0].Model
		var voices []tts.Voice
		for _, v := range own {
			voices = append(voices, v.Voice)
			add(v)
		}
		for _, s := range tts.Stands(voices) {
			i := slices.IndexFunc(voices, func(v tts.Voice) bool { return v.ID == s.Voice })
			v := engine.Voice{Voice: voices[i], Model: model, AliasOf: s.Voice, Opaque: s.Opaque}
			v.ID, v.Name = s.Name, s.Label
			stands = append(stands, v)
		}
		for _, name := range slices.Sorted(maps.Keys(a)) {
			if v, err := tts.First(voices, a[name]); err == nil {
				v.ID, v.Name = name, name
				aliases = append(aliases, engine.Voice{Voice: v, Model: model, AliasOf: a[name]})
			}
		}
	}
	for _, v := range append(aliases, stands...) {
		add(v)
	}
	return list
}

// CheckVoice returns an error if a voice, or a name or mixture, cannot be made of voices.
func (a Aliases) CheckVoice(voices []tts.Voice, voice string) error {
	if err := tts.Check(voices, a.of(voice)); err != nil {
		return voiceError(err, voices)
	}
	return nil
}

// CheckVoice returns an error if the model lacks a voice, or that voice the sounds of a
// language; "" is its own.
func (m *Model) CheckVoice(voice, language string) error {
	if err := m.aliases.CheckVoice(m.synth.Voices(), voice); err != nil {
		return err
	}
	if err := tts.CheckLanguage(m.synth, language); err != nil {
		return engine.Errorf(engine.CodeInvalidValue, "lang_code", "%v", err)
	}
	return nil
}

// voiceError is the error that clients get of an unknown voice.
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

// Check refuses aliases that none of models can speak, and those that would hide a
// voice. The voices of models that are not fetched yet are unknown: if there are some (fetches),
// unusable is called with an alias that cannot be used yet, in place of an error.
func (a Aliases) Check(models [][]engine.Voice, fetches bool, unusable func(alias, voice string, err error)) error {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if name == "" {
			return errors.New("voice_aliases: an alias has no name")
		}
		err := errors.New("there is no speech model")
		for _, own := range models {
			var voices []tts.Voice
			for _, v := range own {
				if v.ID == name {
					return fmt.Errorf("voice_aliases: %q is a voice itself; choose another name", name)
				}
				voices = append(voices, v.Voice)
			}
			if err = voiceError(tts.Check(voices, a[name]), voices); err == nil {
				break
			}
		}
		switch {
		case err == nil:
		case fetches:
			unusable(name, a[name], err)
		default:
			return fmt.Errorf("voice_aliases: alias %q: %w", name, err)
		}
	}
	return nil
}
