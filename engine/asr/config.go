package asr

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"quern/engine/token"
	"quern/formats/ggml"
	"quern/formats/weights"
)

var (
	// ErrFormat marks a model that contradicts itself.
	ErrFormat = weights.Malformed("speech model")
	// ErrUnsupported marks a valid model this package does not run.
	ErrUnsupported = weights.Unsupported("speech model")
)

// A stack is the shape of the encoder or of the decoder.
type stack struct{ layers, width, heads, ff, places int }

// A config is the shape of a Whisper model.
type config struct {
	mels, vocab      int
	encoder, decoder stack
}

// Limits far above any published model, far below overflow of a product.
const (
	maxWidth  = 1 << 16
	maxLayers = 256
	maxPlaces = 1 << 16
	maxVocab  = 1 << 20
	maxMels   = 512
)

// configOf reads the shape of a model from a set of either kind.
func configOf(set *weights.Set) (config, error) {
	var c config
	if set.Meta.String(ggml.KindKey) == ggml.Whisper {
		n := func(key string) int { v, _ := set.Meta.Int("whisper." + key); return int(v) }
		c = config{
			mels: n("mels"), vocab: n("vocab"),
			encoder: stack{n("audio_layer"), n("audio_state"), n("audio_head"), 4 * n("audio_state"), n("audio_ctx")},
			decoder: stack{n("text_layer"), n("text_state"), n("text_head"), 4 * n("text_state"), n("text_ctx")},
		}
		return c, c.check()
	}
	var h struct {
		Type          string `json:"model_type"`
		Width         int    `json:"d_model"`
		EncoderLayers int    `json:"encoder_layers"`
		EncoderHeads  int    `json:"encoder_attention_heads"`
		EncoderFF     int    `json:"encoder_ffn_dim"`
		DecoderLayers int    `json:"decoder_layers"`
		DecoderHeads  int    `json:"decoder_attention_heads"`
		DecoderFF     int    `json:"decoder_ffn_dim"`
		Mels          int    `json:"num_mel_bins"`
		Source        int    `json:"max_source_positions"`
		Target        int    `json:"max_target_positions"`
		Vocab         int    `json:"vocab_size"`
		Activation    string `json:"activation_function"`
		ScaleEmbed    bool   `json:"scale_embedding"`
	}
	if err := json.Unmarshal([]byte(set.Meta.String("hf.config")), &h); err != nil {
		return c, fmt.Errorf("%w: config.json: %v", ErrFormat, err)
	}
	switch {
	case h.Type != "whisper":
		return c, fmt.Errorf("%w: config.json describes a model of type %q, not whisper", ErrUnsupported, h.Type)
	case h.Activation != "" && h.Activation != "gelu":
		return c, fmt.Errorf("%w: activation %q", ErrUnsupported, h.Activation)
	case h.ScaleEmbed:
		return c, fmt.Errorf("%w: scaled embeddings", ErrUnsupported)
	}
	c = config{
		mels: h.Mels, vocab: h.Vocab,
		encoder: stack{h.EncoderLayers, h.Width, h.EncoderHeads, h.EncoderFF, h.Source},
		decoder: stack{h.DecoderLayers, h.Width, h.DecoderHeads, h.DecoderFF, h.Target},
	}
	return c, c.check()
}

func (c *config) check() error {
	for _, s := range []stack{c.encoder, c.decoder} {
		if s.layers < 1 || s.layers > maxLayers || s.width < 1 || s.width > maxWidth || s.heads < 1 || s.width%s.heads != 0 ||
			s.ff < 1 || s.ff > 8*maxWidth || s.places < 1 || s.places > maxPlaces {
			return fmt.Errorf("%w: %d layers of %d with %d heads, %d in between and %d places", ErrFormat, s.layers, s.width, s.heads, s.ff, s.places)
		}
	}
	switch {
	case c.encoder.width != c.decoder.width:
		return fmt.Errorf("%w: an encoder of width %d under a decoder of width %d", ErrUnsupported, c.encoder.width, c.decoder.width)
	case c.encoder.heads != c.decoder.heads:
		return fmt.Errorf("%w: an encoder of %d heads under a decoder of %d", ErrUnsupported, c.encoder.heads, c.decoder.heads)
	case c.vocab < 1 || c.vocab > maxVocab || c.mels < 1 || c.mels > maxMels:
		return fmt.Errorf("%w: %d tokens and %d bands", ErrFormat, c.vocab, c.mels)
	case c.encoder.places < 50 || c.decoder.places < 32:
		return fmt.Errorf("%w: windows of %d frames and transcripts of %d tokens", ErrUnsupported, 2*c.encoder.places, c.decoder.places)
	}
	return nil
}

// distilled reports whether a model has forgotten times: those of Distil-Whisper
// before large-v3 were trained without.
//
// Gandhi, von Platen & Rush, "Distil-Whisper", 2023.
func (c *config) distilled() bool {
	return c.decoder.layers == 2 && (c.vocab == englishVocab || c.vocab == 51865)
}

// turbo reports whether a model has forgotten how to translate.
func (c *config) turbo() bool { return c.decoder.layers == 4 && c.decoder.width == 1280 }

// headDim is the width of an attention head.
func (s stack) headDim() int { return s.width / s.heads }

// specials are the tokens that give a transcript its form.
type specials struct {
	eot, sot, translate, transcribe, sotLM, sotPrev, noSpeech, noTimestamps token.ID

	// stamp0 is time 0; later times follow in steps of stampSeconds. Every id
	// from it on is a time.
	stamp0 token.ID

	// languages are the tokens of languages by code, nil in models of English
	// alone, which have neither language nor task in their prompt.
	languages map[string]token.ID
}

// stampSeconds is the time between two time tokens.
const stampSeconds = 0.02

// multilingual reports whether the prompt names language and task.
func (s *specials) multilingual() bool { return len(s.languages) > 0 }

// generation is generation_config.json, and what config.json repeats of it.
type generation struct {
	Suppress      *[]token.ID         `json:"suppress_tokens"`
	BeginSuppress *[]token.ID         `json:"begin_suppress_tokens"`
	Heads         [][2]int            `json:"alignment_heads"`
	Languages     map[string]token.ID `json:"lang_to_id"`
	Tasks         map[string]token.ID `json:"task_to_id"`
	Start         *token.ID           `json:"decoder_start_token_id"`
	End           json.RawMessage     `json:"eos_token_id"`
	NoTimestamps  *token.ID           `json:"no_timestamps_token_id"`
	Previous      *token.ID           `json:"prev_sot_token_id"`
	Multilingual  *bool               `json:"is_multilingual"`
	FirstStamp    *int                `json:"max_initial_timestamp_index"`
}

func generationOf(set *weights.Set) (generation, error) {
	var g generation
	for _, key := range []string{"hf.config", "hf.generation_config"} {
		if text := set.Meta.String(key); text != "" {
			if err := json.Unmarshal([]byte(text), &g); err != nil {
				return g, fmt.Errorf("%w: %s: %v", ErrFormat, key, err)
			}
		}
	}
	return g, nil
}

// specialsOf finds the special tokens of a model: what the files name, by the
// ids of the vocabulary's own spelling, and for the rest in the order in which
// published vocabularies have them.
func specialsOf(c *config, g *generation, v vocabulary) (specials, error) {
	find := func(texts ...string) token.ID {
		for _, t := range texts {
			if id, ok := v.lookup(t); ok {
				return id
			}
		}
		return token.None
	}
	s := specials{
		eot: find("<|endoftext|>"), sot: find("<|startoftranscript|>"),
		translate: find("<|translate|>"), transcribe: find("<|transcribe|>"),
		sotLM: find("<|startoflm|>"), sotPrev: find("<|startofprev|>"),
		noSpeech: find("<|nospeech|>", "<|nocaptions|>"), noTimestamps: find("<|notimestamps|>"),
	}
	for _, x := range []struct {
		to   *token.ID
		from *token.ID
	}{{&s.sot, g.Start}, {&s.noTimestamps, g.NoTimestamps}, {&s.sotPrev, g.Previous}} {
		if x.from != nil {
			*x.to = *x.from
		}
	}
	if id, ok := g.Tasks["translate"]; ok {
		s.translate = id
	}
	if id, ok := g.Tasks["transcribe"]; ok {
		s.transcribe = id
	}
	s.stamp0 = s.noTimestamps + 1
	if g.Multilingual == nil || *g.Multilingual {
		s.languages = make(map[string]token.ID)
		for text, id := range g.Languages {
			if len(text) > 4 {
				s.languages[text[2:len(text)-2]] = id
			}
		}
		if len(g.Languages) == 0 && c.vocab != englishVocab {
			for _, code := range languages {
				if id, ok := v.lookup("<|" + code + "|>"); ok {
					s.languages[code] = id
				}
			}
		}
	}
	return s, s.check(c.vocab)
}

// englishVocab is how many tokens models of English alone have.
const englishVocab = 51864

func (s *specials) check(vocab int) error {
	ids := []token.ID{s.eot, s.sot, s.translate, s.transcribe, s.sotPrev, s.noSpeech, s.noTimestamps, s.stamp0}
	ids = slices.AppendSeq(ids, maps.Values(s.languages))
	for _, id := range ids {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("%w: a special token of Whisper is number %d of %d", ErrFormat, id, vocab)
		}
	}
	if s.eot >= s.stamp0 || s.noTimestamps >= s.stamp0 {
		return fmt.Errorf("%w: times begin at token %d, before other special tokens", ErrFormat, s.stamp0)
	}
	return nil
}

// ggmlSpecials are the spellings of the tokens above the stored ones of a ggml
// file, which has none for them: they follow from the size of the vocabulary.
func ggmlSpecials(stored, vocab int) ([]string, error) {
	const others = 1 + 1 + 6 + 1501 // end, start, the six after the languages, the times
	extra := vocab - stored
	count := extra - others
	if vocab == englishVocab && extra > others {
		count = len(languages) - 1 // reserved, though never used
	}
	if count < 1 || count > len(languages) || count != extra-others {
		return nil, fmt.Errorf("%w: a vocabulary of %d tokens, %d of them stored", ErrUnsupported, vocab, stored)
	}
	list := []string{"<|endoftext|>", "<|startoftranscript|>"}
	for _, code := range languages[:count] {
		list = append(list, "<|"+code+"|>")
	}
	list = append(list, "<|translate|>", "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>")
	for i := range 1501 {
		list = append(list, fmt.Sprintf("<|%.2f|>", float64(i)*stampSeconds))
	}
	return list, nil
}
