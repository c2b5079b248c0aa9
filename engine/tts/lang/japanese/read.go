// Package japanese reads Japanese: it finds the words of a text, how each is said there, and gives
// kana in the symbols Kokoro v1.0 was trained with.
//
// Its lexicon is made by _gen, which names where the facts come from.
package japanese

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Given stands in a text for a word whose kana the caller knows: a number with what it counts.
const Given = '\ue000'

// A Word is one of a text, of its characters from Start to, but without, End.
type Word struct {
	Start, End int
	Kana       string // katakana as it is said; "" of Given
	Kind       Kind
	Joined     bool // no space is written before it
}

// Load reads the lexicon, which Has and Read do too where it was not. Without it Has knows kana only.
func Load() error {
	_, err := unpacked()
	return err
}

// Has reports whether a character has a reading.
func Has(r rune) bool {
	if unicode.Is(kanaLetters, r) {
		return true
	}
	if !unicode.Is(unicode.Han, r) {
		return false
	}
	l, err := unpacked()
	if err != nil {
		return false
	}
	folded, _ := Fold([]rune{r})
	return l.words.Alone(folded[0])
}

// Read returns the words of a text that Fold returned, of characters that Has knows and Given. border
// reports whether there can be no word across the place before the i-th character. It stops with ctx.
func Read(ctx context.Context, text []rune, border func(i int) bool) ([]Word, error) {
	l, err := unpacked()
	if err != nil || len(text) == 0 {
		return nil, err
	}
	nodes, err := l.cut(ctx, text, border)
	if err != nil {
		return nil, err
	}
	words := make([]Word, len(nodes))
	for k := range nodes {
		w := &words[k]
		*w = Word{Start: int(nodes[k].start), End: len(text), Kind: l.kinds[nodes[k].class]}
		if k+1 < len(nodes) {
			w.End = int(nodes[k+1].start)
		}
		written := text[w.Start:w.End]
		switch {
		case nodes[k].form == given:
		case len(written) == 1 && written[0] == '々': // of no word
			if w.Kana = "ノマ"; k > 0 {
				w.Kana = words[k-1].Kana
			}
		case nodes[k].form >= 0:
			w.Kana = l.said(nodes[k].form)
		}
		if w.Kana == "" && nodes[k].form != given {
			w.Kana = Katakana(written)
		}
		if k > 0 && w.Kana != "" && string(text[words[k-1].Start:words[k-1].End]) == "何" && words[k-1].Kana == "ナニ" && strings.ContainsRune("ダデドトノナ", []rune(w.Kana)[0]) && w.Kind != Noun {
			words[k-1].Kana = "ナン" // 何だ, 何と
		}
		if k > 0 && !border(w.Start) {
			w.Joined = joined(words[k-1], *w, string(text[words[k-1].Start:words[k-1].End]), string(written))
		}
		if w.Joined {
			w.Kana = drawn(words[k-1].Kana, w.Kana, w.Kind)
		}
	}
	return words, nil
}

// endings are what a verb has behind it without a space, as in the words Kokoro was trained with.
var endings = map[string]bool{
	"た": true, "だ": true, "て": true, "で": true, "ば": true, "ます": true, "ない": true, "ず": true, "ぬ": true, "ん": true, "う": true, "よう": true, "よ": true, "ろ": true,
	"れる": true, "られる": true, "せる": true, "させる": true, "たら": true, "だら": true, "たり": true, "だり": true, "ちゃ": true, "じゃ": true, "なく": true,
}

// voices are what stands between a verb and its ending.
var voices = map[string]bool{"れ": true, "られ": true, "せ": true, "させ": true}

// joined reports whether a word is written without a space behind the one before it.
func joined(before, w Word, writtenBefore, written string) bool {
	first, _ := utf8.DecodeRuneInString(w.Kana)
	switch {
	case strings.HasSuffix(before.Kana, "ッ") || strings.ContainsRune("ッーァィゥェォャュョ", first) && first != utf8.RuneError:
		return true
	case before.Kind == Prefix:
		return true
	case w.Kind == Suffix:
		return before.Kind != Particle && before.Kind != Auxiliary && written != "さん" && written != "様" && written != "氏"
	case w.Kind == Counter:
		return before.Kind == Number
	case w.Kind == Number:
		return before.Kind == Number
	case w.Kind == Auxiliary || w.Kind == Joining || w.Kind == Verb:
		verbal := before.Kind == Verb || before.Kind == Auxiliary && !endings[writtenBefore] && writtenBefore != "です" && writtenBefore != "な"
		return verbal && (endings[written] || w.Kind == Auxiliary && voices[written])
	}
	return false
}

// drawn is what a word that is joined to another is said as: う behind a vowel that it makes long.
func drawn(before, kana string, kind Kind) string {
	if kana != "ウ" || kind != Auxiliary {
		return kana
	}
	last, _ := utf8.DecodeLastRuneInString(before)
	if strings.ContainsRune("オコゴソゾトドノホボポモヨロォョ", last) {
		return "ー"
	}
	return kana
}
