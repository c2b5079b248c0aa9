package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// costAlone is what a character costs that is no word of the dictionary.
const costAlone = 12_000

// alone gives characters that are no words of their own what they are in others: of words whose other
// characters are read as they are alone, what is left; the commonest. like is a word whose class they have.
// Of words of which no character is known each has an equal part.
func (d *dictionary) alone(like string) {
	class := d.words[like][0].class
	for range 3 {
		votes := map[rune]map[string]int{}
		for word, forms := range d.words {
			chars := []rune(word)
			if len(chars) < 2 || len(chars) > 4 {
				continue
			}
			var missing []rune
			for _, r := range chars {
				if unicode.Is(unicode.Han, r) && d.words[string(r)] == nil {
					missing = append(missing, r)
				}
			}
			if len(missing) != 1 {
				continue
			}
			for _, f := range forms {
				if kana := d.left(chars, f.kana, missing[0]); kana != "" {
					if votes[missing[0]] == nil {
						votes[missing[0]] = map[string]int{}
					}
					votes[missing[0]][kana]++
				}
			}
		}
		for r, v := range votes {
			d.words[string(r)] = []form{{class, costAlone, commonest(v)[0]}}
		}
	}
	words := slices.SortedFunc(maps.Keys(d.words), func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
	for _, w := range words {
		chars, kana := []rune(w), []rune(d.words[w][0].kana)
		for i, r := range chars {
			if from, to := i*len(kana)/len(chars), (i+1)*len(kana)/len(chars); unicode.Is(unicode.Han, r) && d.words[string(r)] == nil && from < to {
				d.words[string(r)] = []form{{class, costAlone, string(kana[from:to])}}
			}
		}
	}
}

// left returns what of kana is left for the missing one of characters when the others are read as alone.
func (d *dictionary) left(chars []rune, kana string, missing rune) string {
	if kana == "" || len(chars) == 0 {
		return ""
	}
	if chars[0] != missing {
		for _, said := range d.readings(chars[0]) {
			if rest, ok := strings.CutPrefix(kana, said); ok {
				if out := d.left(chars[1:], rest, missing); out != "" {
					return out
				}
			}
		}
		return ""
	}
	rest := chars[1:]
	for end := range kana {
		if end > 0 && d.fits(rest, kana[end:]) && utf8.RuneCountInString(kana[:end]) < 5 {
			return kana[:end]
		}
	}
	if len(rest) == 0 && utf8.RuneCountInString(kana) < 5 {
		return kana
	}
	return ""
}

// fits reports whether characters are read as kana when each is as it is alone.
func (d *dictionary) fits(chars []rune, kana string) bool {
	if len(chars) == 0 {
		return kana == ""
	}
	for _, said := range d.readings(chars[0]) {
		if rest, ok := strings.CutPrefix(kana, said); ok && d.fits(chars[1:], rest) {
			return true
		}
	}
	return false
}

// readings are those of a character alone.
func (d *dictionary) readings(r rune) []string {
	if isKana(r) {
		if r >= 'ぁ' && r <= 'ゖ' {
			r += 'ァ' - 'ぁ'
		}
		return []string{string(r)}
	}
	var out []string
	for _, f := range d.words[string(r)] {
		if f.kana != "" {
			out = append(out, f.kana)
		}
	}
	return out
}
