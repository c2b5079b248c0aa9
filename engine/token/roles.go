package token

import "slices"

// Model files rarely name every token that matters, so the well-known
// spellings are looked up, first one first. Only control and user-defined
// tokens count: a plain token may be spelled alike by chance.
var spellings = map[Role][]string{
	EOT: {
		"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<turn|>", "<|endoftext|>",
		"<|end_of_text|>", "<EOT>", "_<EOT>", "[EOT]", "<｜end▁of▁sentence｜>", "<end_of_utterance>",
	},
	EOM: {"<|eom_id|>"},
	FIMPrefix: {
		"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>",
		"<|code_prefix|>", "<|prefix|>",
	},
	FIMSuffix: {
		"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>",
		"<|code_suffix|>", "<|suffix|>",
	},
	FIMMiddle: {
		"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>",
		"<|code_middle|>", "<|middle|>",
	},
	FIMPad:  {"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"},
	FIMRepo: {"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"},
	FIMFile: {"<|file_sep|>"},
}

// endings are spellings of tokens that finish a text.
var endings = []string{
	"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>",
	"<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]",
	"<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>", "<|tool_response>",
	"<｜end▁of▁sentence｜>", "[e~[",
}

// assign settles roles, kinds and the tokens that finish a text.
func (v *Vocab) assign(s *Spec) {
	for r := range v.special {
		v.special[r] = None
	}
	for r, id := range s.Special {
		v.special[r] = id
		// Files without token types do not say what is a control token.
		if s.Kinds == nil {
			v.kinds[id] = Control
		}
	}
	for r, texts := range spellings {
		for _, text := range texts {
			if v.special[r] != None {
				break
			}
			if id, ok := v.marker(s, text); ok {
				v.special[r] = id
				if s.Kinds == nil {
					v.kinds[id] = Control
				}
			}
		}
	}

	ends := make(map[ID]bool)
	for _, r := range []Role{EOS, EOT, EOM, FIMPad, FIMRepo, FIMFile} {
		// [PAD] fills up BERT's sequences and ends nothing.
		if id := v.special[r]; id != None && (r != FIMPad || id != v.special[PAD]) {
			ends[id] = true
		}
	}
	for _, id := range s.Ending {
		ends[id] = true
	}
	for _, text := range endings {
		if id, ok := v.marker(s, text); ok {
			ends[id] = true
		}
	}
	// Where other tokens take over the job, these only divide parts of one
	// answer: <|end|> in gpt-oss and Solar, </s> in Gemma 4.
	unless := func(text string, others ...string) {
		for _, o := range others {
			if _, ok := v.marker(s, o); !ok {
				return
			}
		}
		if id, ok := v.ids[text]; ok && id != v.special[EOS] {
			delete(ends, id)
		}
	}
	unless("<|end|>", "<|return|>", "<|call|>")
	unless("<|end|>", "<|calls|>", "<|flush|>")
	unless("</s>", "<|tool_response>")

	for id := range ends {
		v.ending = append(v.ending, id)
		// A user must not be able to end a turn by spelling its mark.
		if v.kinds[id] == UserDefined || s.Kinds == nil {
			v.kinds[id] = Control
		}
	}
	slices.Sort(v.ending)
}

// marker finds a token that is special and spelled so.
func (v *Vocab) marker(s *Spec, text string) (ID, bool) {
	id, ok := v.ids[text]
	if !ok {
		return None, false
	}
	return id, s.Kinds == nil || v.kinds[id] == Control || v.kinds[id] == UserDefined
}
