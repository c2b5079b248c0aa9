package openai

import (
	"math"
	"slices"
	"strings"

	"quern/engine"
	"quern/httpapi/internal/audio"
	"quern/httpapi/internal/body"
	"quern/httpapi/internal/server"
)

// read reads what is asked of the file.
func (r *transcription) read(c *server.Call, f *body.Form) {
	r.Prompt = f.Str("prompt")
	readLanguages(r, f)
	r.NoPunctuation = f.Off("punctuation")
	for _, name := range []string{"vad", "vad_filter"} {
		r.AllSound = f.Off(name) || r.AllSound
	}
	readGuards(r, f)
	readDecoding(r, f)
	readKeywords(r, f)
	readChunking(r, f)
	readOthers(c, f)
	if t, ok := f.Number("temperature", 0, 1); ok {
		r.Temperature = &t
	}
	r.streamed = f.Boolean("stream")
	readLive(r, f)
	readAnswer(r, f)
	readSpeakers(c, r, f)
	if r.live && r.Diarize != nil {
		f.Refuse(engine.CodeUnsupportedParam, r.speakers, "%s: who speaks is known when the sound ends; leave live out", r.speakers)
	}
}

// readLanguages reads the language that is spoken and the one to write.
func readLanguages(r *transcription, f *body.Form) {
	r.Language = f.Str("language")
	if strings.EqualFold(r.Language, "auto") {
		r.Language = ""
	}
	if r.Language != "" && engine.LanguageName(r.Language) == "" {
		f.Invalid("language", "must be an ISO 639-1 code, an English name or auto, got %.60q", r.Language)
	}
	for _, name := range []string{"to_language", "target_language"} { // the former is vLLM's; the latter counts
		to := f.Str(name)
		switch {
		case to == "":
		case engine.LanguageName(to) == "":
			f.Invalid(name, "must be an ISO 639-1 code or an English name, got %.60q", to)
		case !r.Translate:
			r.Target = to
		case engine.LanguageName(to) != "english":
			f.Refuse(engine.CodeUnsupportedParam, name, "%s: translations here are to English; ask /v1/audio/transcriptions, of models that write other languages", name)
		}
	}
	refuseTask(r, f)
}

// refuseTask refuses the fields of other servers that say what the other endpoint does.
func refuseTask(r *transcription, f *body.Form) {
	other, instead := "translate", "translations are to be asked of /v1/audio/translations, or with target_language of models that can"
	if r.Translate {
		other, instead = "transcribe", "transcriptions are to be asked of /v1/audio/transcriptions"
	}
	if f.OneOf("task", "transcribe", "translate") == other {
		f.Refuse(engine.CodeUnsupportedParam, "task", "task: %s", instead)
	}
	if f.Str("translate") != "" && f.Boolean("translate") != r.Translate {
		f.Refuse(engine.CodeUnsupportedParam, "translate", "translate: %s", instead)
	}
}

// readAnswer reads the form of the answer.
func readAnswer(r *transcription, f *body.Form) {
	if r.format = f.OneOf("response_format", responseFormats...); r.format == "" {
		r.format = "json"
	}
	granularities := f.Values("timestamp_granularities")
	for _, g := range granularities {
		if g != "word" && g != "segment" {
			f.Invalid("timestamp_granularities", "must be word or segment, got %.60q", g)
		}
	}
	if r.format == "verbose_json" {
		r.words = slices.Contains(granularities, "word")
		r.segments = !r.words || slices.Contains(granularities, "segment")
	}
	for _, include := range f.Values("include") {
		if include != "logprobs" {
			f.Invalid("include", "must be logprobs, got %.60q", include)
		} else if r.format != "json" {
			f.Refuse(engine.CodeUnsupportedParam, "include", "logprobs come with response_format json")
		}
		r.Logprobs = true
	}
}

// otherDraws are fields of vLLM's about how tokens are drawn, which have no effect here.
var otherDraws = []string{"top_p", "top_k", "min_p", "frequency_penalty", "presence_penalty", "repetition_penalty", "max_completion_tokens"}

// otherParts are fields of whisper.cpp's and faster-whisper's that choose a part of the sound, unless
// they are 0.
var otherParts = []string{"offset_t", "duration", "clip_timestamps"}

// readOthers warns of fields of other servers that have no effect, and refuses those that would
// change the text.
func readOthers(c *server.Call, f *body.Form) {
	for _, name := range otherDraws {
		if f.Str(name) != "" {
			c.Warn(name + " has no effect: of a recogniser's draws temperature, seed, beam_size and best_of are said")
		}
	}
	if f.Boolean("use_beam_search") {
		f.Refuse(engine.CodeUnsupportedParam, "use_beam_search", "use_beam_search is not supported; send beam_size")
	}
	for _, name := range otherParts {
		if f.Asks(name) {
			f.Refuse(engine.CodeUnsupportedParam, name, "%s is not supported: the whole file is heard; send the part that is wanted", name)
		}
	}
}

// readDecoding reads the fields of a recogniser's search and its thresholds.
// OpenAI has no such fields; these are named as in faster-whisper, whose servers
// take them too.
func readDecoding(r *transcription, f *body.Form) {
	for _, n := range []struct {
		name string
		dst  *int
	}{{"beam_size", &r.Beams}, {"best_of", &r.BestOf}} {
		if x, ok := f.Number(n.name, 1, engine.MaxBeams); ok {
			if x != math.Trunc(x) {
				f.Invalid(n.name, "must be a whole number, got %v", x)
			}
			*n.dst = int(x)
		}
	}
	for _, n := range []struct {
		name   string
		lo, hi float64
		dst    *float64
	}{
		{"patience", 0.1, 10, &r.Patience},
		{"length_penalty", 0, 10, &r.LengthPenalty},
		// 0 is the default inside, so the range ends beside it.
		{"compression_ratio_threshold", 0.1, 100, &r.MaxRatio},
		{"log_prob_threshold", -100, -0.01, &r.MinLogprob},
		{"no_speech_threshold", 0.01, 1, &r.MaxNoSpeech},
	} {
		if x, ok := f.Number(n.name, n.lo, n.hi); ok {
			*n.dst = x
		}
	}
	r.Seed = audio.Seed(f)
	r.NoContext = f.Off("condition_on_previous_text")
	r.NoTimestamps = f.Boolean("without_timestamps")
	r.Prefix = f.Str("prefix")
}

// maxKeywords and maxKeywordBytes bound the words that a request may give. The model's
// prompt has the first hundred tokens.
const (
	maxKeywords     = 256
	maxKeywordBytes = 16 << 10
)

// readKeywords reads the words that may occur: a list as in OpenAI's newer requests,
// or a string.
func readKeywords(r *transcription, f *body.Form) {
	for _, name := range []string{"keywords", "hotwords"} {
		n := 0
		words := f.Values(name)
		for _, w := range words {
			n += len(w)
		}
		if len(words) > maxKeywords || n > maxKeywordBytes {
			f.Invalid(name, "must have at most %d entries and %d bytes, got %d and %d", maxKeywords, maxKeywordBytes, len(words), n)
		}
		r.Keywords = append(r.Keywords, words...)
	}
}
