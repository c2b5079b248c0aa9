package embed

import (
	"encoding/json"
	"fmt"

	"quern/engine/model"
	"quern/engine/token"
	"quern/formats/weights"
)

// A pairing is the way a tokenizer joins two texts.
type pairing struct {
	pieces   []pairPiece
	template *template // instead of the pieces, or nil
	special  int       // tokens that are of neither text
}

// A pairPiece is special tokens, or one of the two texts.
type pairPiece struct {
	ids  []token.ID
	text int // 1 or 2; 0 where it is tokens
	kind int64
}

// join joins two texts.
func (p *pairing) join(first, second []token.ID) (ids []token.ID, types []int64) {
	for _, x := range p.pieces {
		part := [][]token.ID{x.ids, first, second}[x.text]
		ids = append(ids, part...)
		for range part {
			types = append(types, x.kind)
		}
	}
	return ids, types
}

// A pairFile is what tokenizer.json says of pairs.
type pairFile struct {
	Type       string      `json:"type"`
	Processors []*pairFile `json:"processors"`
	Pair       []struct {
		Special *pairName `json:"SpecialToken"`
		Text    *pairName `json:"Sequence"`
	} `json:"pair"`
	Tokens map[string]struct {
		IDs []token.ID `json:"ids"`
	} `json:"special_tokens"`
	CLS []json.RawMessage `json:"cls"` // its text and its number
	SEP []json.RawMessage `json:"sep"`
}

type pairName struct {
	ID   string `json:"id"`
	Kind int64  `json:"type_id"`
}

// pairingOf reads how pairs are joined: in a prompt, if there is one, else by the
// tokenizer's post-processor, whose tokens must be below tokens, else as tokenizers of v's
// kind do.
//
// Hugging Face, tokenizers, "Post-processors".
func pairingOf(meta *weights.Meta, v *token.Vocab, tokens int, prompt string) (pairing, error) {
	if prompt != "" {
		t, err := templateOf(prompt)
		if err != nil {
			return pairing{}, err
		}
		ids, err := t.encode(v.Watched(nil), "", "")
		return pairing{template: t, special: len(ids)}, err
	}
	if meta.String("hf.tokenizer") == "" && meta.String("tokenizer.ggml.model") != "" {
		return usualPairing(meta, v)
	}
	var file struct {
		Post *pairFile `json:"post_processor"`
	}
	if err := json.Unmarshal([]byte(meta.String("hf.tokenizer")), &file); err != nil {
		return pairing{}, fmt.Errorf("%w: tokenizer.json: %v", model.ErrFormat, err)
	}
	var p pairing
	parts := []*pairFile{file.Post}
	if file.Post != nil && file.Post.Type == "Sequence" {
		parts = file.Post.Processors
	}
	for _, f := range parts {
		if f != nil {
			if err := p.read(f); err != nil {
				return pairing{}, err
			}
		}
	}
	seen := [3]int{}
	for _, x := range p.pieces {
		seen[x.text]++
		p.special += len(x.ids)
		for _, id := range x.ids {
			if id < 0 || int(id) >= tokens {
				return pairing{}, fmt.Errorf("%w: tokenizer.json puts token %d of %d between two texts", model.ErrFormat, id, tokens)
			}
		}
	}
	if seen[1] != 1 || seen[2] != 1 {
		return pairing{}, fmt.Errorf("%w: tokenizer.json does not say how a query and a document are put together", model.ErrUnsupported)
	}
	return p, nil
}

// usualPairing is for GGUF files, which do not say: WordPiece divides texts by one token,
// RoBERTa and what came of it by two, ModernBERT by one.
//
// Devlin et al., "BERT", 2019, §3.2; Liu et al., "RoBERTa", 2019, §4.1.
func usualPairing(meta *weights.Meta, v *token.Vocab) (pairing, error) {
	start, end, sep := v.Special(token.BOS), v.Special(token.EOS), v.Special(token.SEP)
	if end < 0 {
		end = sep
	}
	if sep < 0 {
		sep = end
	}
	if start < 0 || end < 0 {
		return pairing{}, fmt.Errorf("%w: the tokenizer has no tokens to put a query and a document between", model.ErrUnsupported)
	}
	words := meta.String("tokenizer.ggml.model") == "bert"
	between, second := []token.ID{end, sep}, int64(0)
	if words || meta.String("general.architecture") == "modern-bert" {
		between = []token.ID{sep}
	}
	if words {
		second, end = 1, sep
	}
	return pairing{
		pieces:  []pairPiece{{ids: []token.ID{start}}, {text: 1}, {ids: between}, {text: 2, kind: second}, {ids: []token.ID{end}, kind: second}},
		special: 2 + len(between),
	}, nil
}

func (p *pairing) read(f *pairFile) error {
	switch f.Type {
	case "TemplateProcessing":
		p.pieces = nil
		for _, x := range f.Pair {
			switch {
			case x.Special != nil:
				p.pieces = append(p.pieces, pairPiece{ids: f.Tokens[x.Special.ID].IDs, kind: x.Special.Kind})
			case x.Text != nil && x.Text.ID == "A":
				p.pieces = append(p.pieces, pairPiece{text: 1, kind: x.Text.Kind})
			case x.Text != nil && x.Text.ID == "B":
				p.pieces = append(p.pieces, pairPiece{text: 2, kind: x.Text.Kind})
			}
		}
	case "BertProcessing", "RobertaProcessing":
		var cls, sep token.ID
		for _, x := range []struct {
			from []json.RawMessage
			to   *token.ID
		}{{f.CLS, &cls}, {f.SEP, &sep}} {
			if len(x.from) != 2 || json.Unmarshal(x.from[1], x.to) != nil {
				return fmt.Errorf("%w: tokenizer.json: %s without its tokens", model.ErrFormat, f.Type)
			}
		}
		p.pieces = []pairPiece{{ids: []token.ID{cls}}, {text: 1}, {ids: []token.ID{sep}}}
		if f.Type == "RobertaProcessing" {
			p.pieces = append(p.pieces, pairPiece{ids: []token.ID{sep}}, pairPiece{text: 2}, pairPiece{ids: []token.ID{sep}})
		} else {
			p.pieces = append(p.pieces, pairPiece{text: 2, kind: 1}, pairPiece{ids: []token.ID{sep}, kind: 1})
		}
	}
	return nil
}
