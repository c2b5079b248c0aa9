package lang

import (
	"context"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"quern/engine/tts/g2p"
	"quern/engine/tts/lang/mandarin"
)

// chinese is Mandarin in simplified and traditional characters, which package mandarin reads.
// Words in Latin script are English.
func chinese() *Language {
	return &Language{
		Code: "zh", Name: "Mandarin", scriptOf: unicode.Han, scriptName: "Han",
		script: &characters{load: mandarin.Load, has: mandarin.Has, cut: cutChinese}, spelled: letters(latinNames),
		vocabulary: chineseVocabulary(),
	}
}

// latinNames are the names of Latin letters where there is no English.
const latinNames = "ˈA bˈi sˈi dˈi ˈi ˈɛf ʤˈi ˈAʧ ˈI ʤˈA kˈA ˈɛl ˈɛm ˈɛn ˈO pˈi kjˈu ˈɑɹ ˈɛs tˈi jˈu vˈi dˈʌbᵊlju ˈɛks wˈI zˈi"

// letters are the names of the letters from a to z.
func letters(names string) map[rune]string {
	out := map[rune]string{}
	for i, name := range strings.Fields(names) {
		out['a'+rune(i)] = name
	}
	return out
}

// cutChinese appends the words of a run.
func cutChinese(_ context.Context, s *scanner, out, run []item, borders []int) ([]item, error) {
	var chars []rune
	var from, to []int // where each is in the text
	var border []bool  // whether no word lies across the place before each
	for k := range run {
		t := &run[k]
		written := s.text[t.Start:t.End] == t.Text
		at := t.Start
		var before rune
		for _, r := range t.Text {
			chars = append(chars, r)
			if written {
				from, to = append(from, at), append(to, at+utf8.RuneLen(r))
				at += utf8.RuneLen(r)
				j := sort.SearchInts(borders, from[len(from)-1])
				border = append(border, j < len(borders) && borders[j] == from[len(from)-1])
				continue
			}
			// Parts of a number begin with a digit, but for that behind tens.
			from, to = append(from, t.Start), append(to, t.End)
			border = append(border, before != 0 && before != '十' && before != '第' && strings.ContainsRune("零一二三四五六七八九两幺", r))
			before = r
		}
	}
	words, err := mandarin.Read(chars, func(i int) bool { return border[i] })
	for _, w := range words {
		var b strings.Builder
		for _, said := range w.Said {
			b.WriteString(said.Sounds())
		}
		out = append(out, item{Token: g2p.Token{Text: string(chars[w.Start:w.End]), Kind: g2p.Word, Source: g2p.Lexicon,
			Start: from[w.Start], End: to[w.End-1], Phonemes: b.String(), Space: true}})
	}
	return out, err
}
