package token

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"quern/engine/token/internal/pretoken"
)

// MergeBoth merges the bytes of word with the tree and by scanning.
func MergeBoth(v *Vocab, word string) (tree, scan []ID) {
	m := v.model.(*bpe)
	return m.merge(new(scratch), nil, word), simpleMerge(m, word)
}

// simpleMerge joins the leftmost best pair until there is none.
func simpleMerge(m *bpe, word string) (ids []ID) {
	for i := range len(word) {
		ids = append(ids, m.bytes[word[i]])
	}
	for {
		best, at, make := uint32(never), 0, None
		for i := range len(ids) - 1 {
			if ids[i]|ids[i+1] < 0 {
				continue
			}
			if rank, into := m.pairs.find(m.pairs.key(ids[i], ids[i+1])); rank < best {
				best, at, make = rank, i, into
			}
		}
		if best == never {
			return ids
		}
		ids = slices.Replace(ids, at, at+2, make)
	}
}

// EncodeSteps counts what encoding a text reads: characters by patterns, groups
// of ranks by merging, places of tries by unigram and WordPiece.
func EncodeSteps(v *Vocab, text string) int {
	sc, asked := &scratch{start: true}, 0
	sc.check = func(int) error { asked++; return nil }
	v.model.encode(sc, nil, text, true)
	switch v.model.(type) {
	case *unigram, *wordPiece:
		return asked * watchEvery
	}
	return sc.cursor.Steps + sc.merger.steps
}

// SimpleEncode is Encode of pieces merged by scanning. The pieces are held against
// an oracle where they are made.
func SimpleEncode(v *Vocab, text string) (ids []ID) {
	m := v.model.(*bpe)
	var c pretoken.Cursor
	c.Begin(m.cut, text)
	for word := c.Next(); word != ""; word = c.Next() {
		if id, ok := m.whole(word); ok && len(word) > 1 {
			ids = append(ids, id)
			continue
		}
		ids = append(ids, slices.DeleteFunc(simpleMerge(m, word), func(id ID) bool { return id == None })...)
	}
	return ids
}

// SimpleEncodeSPM is Encode of SentencePiece's BPE by scanning the whole text.
func SimpleEncodeSPM(v *Vocab, text string) (ids []ID) {
	m := v.model.(*spm)
	if m.prefix && text != "" {
		text = " " + text
	}
	var parts []string
	for text = strings.ReplaceAll(text, " ", blankMark); text != ""; {
		_, w := utf8.DecodeRuneInString(text)
		parts, text = append(parts, text[:w]), text[w:]
	}
	for {
		best, at := uint32(never), 0
		for i := range len(parts) - 1 {
			if id, ok := v.ids[parts[i]+parts[i+1]]; ok && v.plain(id) && m.rank[id] < best {
				best, at = m.rank[id], i
			}
		}
		if best == never {
			break
		}
		parts = slices.Replace(parts, at, at+2, parts[at]+parts[at+1])
	}
	for _, s := range parts {
		if id, ok := v.ids[s]; ok && v.plain(id) {
			ids = append(ids, id)
			continue
		}
		for _, b := range []byte(s) {
			ids = append(ids, m.bytes[b])
		}
	}
	return ids
}

// HFPieces is what the Split of tokenizer.json makes of a text.
func HFPieces(t testing.TB, pattern, behavior, text string) (pieces []string) {
	t.Helper()
	f := &hfFile{PreTokenizer: &hfPart{Type: "Split", Behavior: behavior}}
	f.PreTokenizer.Pattern.Regex = &pattern
	s := &Spec{pipeline: &pipeline{}}
	if err := readPreTokenizers(f, s); err != nil {
		t.Fatal(err)
	}
	s.pipeline.words(0, text, true, func(piece string) { pieces = append(pieces, piece) })
	return pieces
}
