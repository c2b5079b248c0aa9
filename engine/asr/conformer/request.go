package conformer

import (
	"fmt"
	"slices"
	"strings"

	"quern/engine/asr"
	"quern/engine/asr/heard"
	"quern/engine/asr/vad"
)

// A request is the options of a transcription, checked.
type request struct {
	asr.Options
	prompt []int64
	turn   int // of its last window
}

// refusef says which option is not for this model.
func refusef(name, format string, args ...any) error {
	return &asr.OptionError{Name: name, Message: fmt.Sprintf(format, args...)}
}

// resolved returns options with defaults in place, or an error of those that the model lacks.
// What only Whisper needs (guards against made-up text, a text before) is refused where
// it asks for something, and not where it leaves something out.
func (m *Model) resolved(o asr.Options) (*request, error) {
	for _, x := range []struct {
		asked bool
		name  string
		why   string
	}{
		{o.Prompt != "", "prompt", "the model takes no text before the audio; leave prompt out"},
		{len(o.Keywords) > 0, "keywords", "the model takes no words that may occur; leave keywords out"},
		{o.Prefix != "", "prefix", "the model cannot be made to begin with a text; leave prefix out"},
		{o.BestOf > 1, "best_of", "the model is not drawn from; leave best_of out"},
		{slices.ContainsFunc(o.Temperatures, func(t float64) bool { return t != 0 }), "temperature", "the model is not drawn from; temperature must be 0"},
		{o.Patience != 0 && o.Patience != 1, "patience", "the model's beam search has no patience; leave it out"},
		{o.LengthPenalty != 0, "length_penalty", "the model's beam search has no length penalty; leave it out"},
		{o.MaxRatio != 0, "compression_ratio_threshold", "the model is not run again where a text compresses well; leave compression_ratio_threshold out"},
		{o.MinLogprob != 0, "log_prob_threshold", "the model is not run again where tokens are unlikely; leave log_prob_threshold out"},
		{o.MaxNoSpeech != 0, "no_speech_threshold", "the model does not tell silence from speech; set the detector's threshold instead"},
		{o.SkipSilence > 0, "hallucination_silence_threshold", "the model writes nothing over silence that could be skipped; leave hallucination_silence_threshold out"},
		{o.MaxTokens > 0, "max_tokens", "the tokens of a window are bounded by its length; leave max_tokens out"},
		{o.NoPunctuation && m.Kind != AED, "punctuation", "the model writes punctuation as it was trained to; leave punctuation out"},
		{o.Beams > mostBeams, "beam_size", fmt.Sprintf("beam_size must be at most %d", mostBeams)},
	} {
		if x.asked {
			return nil, refusef(x.name, "%s", x.why)
		}
	}
	r := &request{Options: o}
	if err := m.speaks(r); err != nil {
		return nil, err
	}
	if r.Detector == nil {
		r.Detector = vad.EnergyDetector{}
	}
	if r.Without&asr.GuardVAD != 0 {
		r.Detector = vad.Everything{}
	}
	if r.Info == nil {
		r.Info = new(asr.Info)
	}
	var err error
	if r.Speech, err = r.Speech.Resolved(); err != nil {
		return nil, refusef("", "%v", err)
	}
	return r, m.decoder.check(r)
}

// speaks settles the languages of a request.
func (m *Model) speaks(r *request) error {
	know := func(s, name string) (string, error) {
		code := heard.LanguageCode(s)
		if code == "" || m.languages != nil && !slices.Contains(m.languages, code) {
			return "", refusef(name, "the model does not know language %q; it knows %s", s, strings.Join(m.languages, ", "))
		}
		return code, nil
	}
	var err error
	if r.Language != "" {
		if r.Language, err = know(r.Language, "language"); err != nil {
			return err
		}
	}
	if r.Translate && r.Target == "" {
		r.Target = "en"
	}
	if m.Kind != AED {
		if r.Target != "" {
			return refusef("target_language", "the model does not translate; it writes the language that is spoken")
		}
		if r.Language == "" && len(m.languages) == 1 {
			r.Language = m.languages[0]
		}
		return nil
	}
	if r.Language == "" && len(m.languages) == 1 {
		r.Language = m.languages[0]
	}
	if r.Language == "" {
		return refusef("language", "the model does not find out the language; say which is spoken: %s", strings.Join(m.languages, ", "))
	}
	if r.Target != "" {
		if r.Target, err = know(r.Target, "target_language"); err != nil {
			return err
		}
	}
	r.prompt, err = m.prompt(r.Language, r.Target, !r.NoPunctuation)
	return err
}

// TimesWords reports whether the model gives times of words.
func (m *Model) TimesWords() bool { return m.Kind != AED }

// Translates reports whether the model writes other languages than are spoken.
func (m *Model) Translates() bool { return m.Kind == AED && len(m.languages) > 1 }
