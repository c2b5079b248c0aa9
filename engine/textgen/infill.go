package textgen

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"quern/engine"
	"quern/engine/lm"
	"quern/engine/token"
)

// A window is the part of the two texts that is kept where they are cut: so many tokens, three parts
// before the gap and one behind it.
//
// llama.cpp, tools/server, /infill, with its n_batch.
const window = 2048

// tailBytes is how much of a text is encoded for each token of its end: more than any token
// of code has but for long runs of spaces.
const tailBytes = 32

// Names in a repository's prompt of what has none in the request.
const (
	project  = "myproject\n"
	thisFile = "filename\n"
	anyFile  = "tmp"
	divider  = "\n\n--- snippet ---\n\n" // of files, where there is no token for that
)

// Infill makes the prompt that has the model fill in the text between two others: BOS, prefix
// token, prefix, suffix token, suffix, middle token; of a repository its files come before that. No
// text becomes a control token.
//
// Bavarian et al., "Efficient Training of Language Models to Fill in the Middle", 2022, §3;
// Hui et al., "Qwen2.5-Coder Technical Report", 2024, §3.2.
func (m *Model) Infill(ctx context.Context, r engine.InfillRequest) (engine.TokenizeResult, error) {
	f := &infill{Model: m, pre: m.Vocab.Special(token.FIMPrefix), suf: m.Vocab.Special(token.FIMSuffix), mid: m.Vocab.Special(token.FIMMiddle)}
	if f.pre == token.None || f.suf == token.None || f.mid == token.None {
		const why = "model %q has no tokens to fill in the middle with (prefix, suffix and middle)"
		if r.Param != "" {
			return engine.TokenizeResult{}, engine.Errorf(engine.CodeUnsupportedParam, r.Param, "%s is not supported: "+why+"; leave it out, or ask a model made for it", r.Param, m.ID)
		}
		return engine.TokenizeResult{}, engine.Errorf(engine.CodeModelNotSupported, "model", why+"; ask a model made for it", m.ID)
	}
	var ids []token.ID
	var err error
	if r.Cut {
		ids, err = f.nearest(ctx, &r)
	} else {
		ids, err = f.whole(ctx, &r)
	}
	if err != nil {
		return engine.TokenizeResult{}, err
	}
	return engine.TokenizeResult{
		Tokens: ids, Bytes: m.Vocab.Bytes, Context: m.Context, Text: m.Vocab.Decode(ids, token.DecodeOptions{Special: true}),
	}, nil
}

// An infill makes one prompt.
type infill struct {
	*Model
	pre, suf, mid token.ID
}

// whole is the prompt of the whole texts, which must fit.
func (f *infill) whole(ctx context.Context, r *engine.InfillRequest) ([]token.ID, error) {
	ids := append(f.bos(), f.pre)
	for i, text := range []string{r.Prefix + r.Prompt, r.Suffix} {
		part, n, err := f.Alone(ctx, text, f.room(), false, plain(text))
		if err != nil {
			return nil, err
		}
		if n.Tokens += len(ids) + 1; n.Tokens > f.room() {
			return nil, f.TooLong("", n)
		}
		ids = append(append(ids, part...), []token.ID{f.suf, f.mid}[i])
	}
	return ids, nil
}

// nearest is the prompt of the text nearest to the gap.
func (f *infill) nearest(ctx context.Context, r *engine.InfillRequest) ([]token.ID, error) {
	own := append(f.bos(), f.pre, f.suf, f.mid)
	reply := r.Reply
	if reply == 0 {
		reply = f.Context / 8
	}
	most := max(0, min(window, f.Context-len(own)-max(1, min(reply, f.Context/4))))
	prompt, err := f.end(ctx, r.Prompt, most/2)
	if err != nil {
		return nil, err
	}
	prefix, err := f.end(ctx, r.Prefix, min(3*(most/4), most-len(prompt)))
	if err != nil {
		return nil, err
	}
	room := max(0, most/4-(2+len(prompt)))
	suffix, _, err := f.Alone(ctx, r.Suffix, room, true, plain(r.Suffix))
	if err != nil {
		return nil, err
	}
	var files []token.ID
	if r.Files != nil {
		if files, err = f.repository(ctx, r.Files, max(0, f.Context-len(own)-most-2*reply)); err != nil {
			return nil, err
		}
	}
	return slices.Concat(files, f.bos(), []token.ID{f.pre}, prefix, prompt, []token.ID{f.suf}, suffix[:min(room, len(suffix))], []token.ID{f.mid}), nil
}

// repository is the last room tokens of files as one follows the other.
func (f *infill) repository(ctx context.Context, files []engine.File, room int) ([]token.ID, error) {
	rep, sep := f.Vocab.Special(token.FIMRepo), f.Vocab.Special(token.FIMFile)
	named := func(mark token.ID, name string) []token.ID {
		if mark == token.None {
			return nil
		}
		return f.Vocab.Encode([]token.ID{mark}, name, false)
	}
	parts := [][]token.ID{named(sep, thisFile)} // the last first
	left := room - len(parts[0])
	for _, file := range slices.Backward(files) {
		if left <= 0 {
			break
		}
		text, err := f.end(ctx, file.Text, left)
		if err != nil {
			return nil, err
		}
		head := named(sep, cutName(file.Name)+"\n")
		if sep == token.None {
			head = f.Vocab.Encode(nil, divider, false)
		}
		parts = append(parts, text, head)
		left -= len(text) + len(head)
	}
	parts = append(parts, named(rep, project))
	slices.Reverse(parts)
	all := slices.Concat(parts...)
	return all[max(0, len(all)-room):], nil
}

// maxName bounds the name of a file in a prompt.
const maxName = 1024

func cutName(name string) string {
	if name == "" {
		return anyFile
	}
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "")
}

// end encodes the end of a text, of no more than room tokens.
func (f *infill) end(ctx context.Context, text string, room int) ([]token.ID, error) {
	if most := tailBytes * room; len(text) > most {
		text = text[len(text)-most:]
		for len(text) > 0 && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
	}
	ids, _, err := f.Alone(ctx, text, lm.AnyLength, false, plain(text))
	return ids[max(0, len(ids)-room):], err
}

// plain encodes a text whose marks are text.
func plain(text string) lm.Encoding {
	return func(e token.Encoder) ([]token.ID, error) { return e.Encode(nil, text, false) }
}
