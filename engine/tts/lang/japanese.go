//go:build !js

package lang

import (
	"context"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"quern/engine/tts/g2p"
	"quern/engine/tts/lang/japanese"
)

// japaneseLang is Japanese, which package japanese reads. Words in Latin script are English, letters
// and initials have their Japanese names.
func japaneseLang() *Language {
	names := letters(letterKana)
	for r, kana := range names {
		names[r] = japanese.Sounds(kana)
	}
	return &Language{
		Code: "ja", Name: "Japanese", scriptOf: japaneseScript, scriptName: "kana, Han",
		script: &characters{load: japanese.Load, has: japanese.Has, joins: japanese.Draws, cut: cutJapanese}, spelled: names, ownLetters: true,
		vocabulary: japaneseVocabulary(),
	}
}

// japaneseScript are kana and Chinese characters.
var japaneseScript = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x3005, Hi: 0x3007, Stride: 1}, {Lo: 0x3041, Hi: 0x30ff, Stride: 1}, {Lo: 0x31f0, Hi: 0x31ff, Stride: 1}, {Lo: 0x3400, Hi: 0x9fff, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xff66, Hi: 0xff9f, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x20000, Hi: 0x3ffff, Stride: 1}},
}

// letterKana are the names of Latin letters.
const letterKana = "エー ビー シー ディー イー エフ ジー エイチ アイ ジェー ケー エル エム エヌ オー ピー キュー アール エス ティー ユー ブイ ダブリュー エックス ワイ ゼット"

// cutJapanese appends the words of a run. What a pattern or an alias says in katakana is one word.
func cutJapanese(ctx context.Context, s *scanner, out, run []item, borders []int) ([]item, error) {
	var text []rune
	var from, to []int // where each is in the text
	var written []bool // whether it stands there itself
	var spoken []*item // the words that stand for Given, in order
	for k := range run {
		t := &run[k]
		itself := s.text[t.Start:t.End] == t.Text
		if !itself && spokenKana(t.Text) {
			text, from, to, written = append(text, japanese.Given), append(from, t.Start), append(to, t.End), append(written, true)
			spoken = append(spoken, t)
			continue
		}
		at := t.Start
		for _, r := range t.Text {
			text, written = append(text, r), append(written, itself)
			if itself {
				from, to = append(from, at), append(to, at+utf8.RuneLen(r))
				at += utf8.RuneLen(r)
			} else {
				from, to = append(from, t.Start), append(to, t.End)
			}
		}
	}
	chars, at := japanese.Fold(text)
	border := func(i int) bool {
		p := from[at[i]]
		j := sort.SearchInts(borders, p)
		return written[at[i]] && j < len(borders) && borders[j] == p
	}
	words, err := japanese.Read(ctx, chars, border)
	if err != nil {
		return out, err
	}
	words = numerals(chars, words)
	for k := 0; k < len(words); {
		t := item{Token: g2p.Token{Kind: g2p.Word, Source: g2p.Lexicon, Space: true}}
		first, last := words[k].Start, words[k].End
		kana := ""
		for j := k; k < len(words) && (k == j || words[k].Joined); k++ {
			w := &words[k]
			last = w.End
			if w.Kana == "" && chars[w.Start] == japanese.Given {
				kana, t.Text, spoken = kana+spoken[0].Text, t.Text+spoken[0].Text, spoken[1:]
				continue
			}
			kana, t.Text = kana+w.Kana, t.Text+string(chars[w.Start:w.End])
		}
		end := len(text) - 1
		if last < len(chars) {
			end = max(at[first], at[last]-1)
		}
		t.Start, t.End, t.Phonemes = from[at[first]], to[end], japanese.Sounds(kana)
		out = append(out, t)
	}
	return out, nil
}

// spokenKana reports whether a word is katakana.
func spokenKana(w string) bool {
	return strings.IndexFunc(w, func(r rune) bool { return (r < 'ァ' || r > 'ヺ') && r != 'ー' }) < 0
}

// numerals puts one word in place of the figures of a number in kanji and what is counted behind them:
// 三百六十五日 is one, and said as 365日 is.
func numerals(chars []rune, words []japanese.Word) []japanese.Word {
	out := words[:0]
	for k := 0; k < len(words); {
		if w, j := share(chars, words[k:]); j > 0 {
			out = append(out, w)
			k += j
			continue
		}
		j := k
		for j < len(words) && words[j].Kind == japanese.Number && (j == k || words[j].Joined) && isNumeral(chars[words[j].Start:words[j].End]) {
			j++
		}
		if j == k {
			out = append(out, words[k])
			k++
			continue
		}
		w := words[k]
		w.End = words[j-1].End
		figures := string(chars[w.Start:w.End])
		bare := w.End-w.Start == 2 && !strings.ContainsAny(figures, "〇十百千万億兆") // 二三人
		n, ok := kanjiValue(figures)
		if !ok || bare {
			out = append(out, words[k:j]...)
			k = j
			continue
		}
		w.Kana = strings.ReplaceAll(japaneseNumber(n), " ", "")
		// What is counted ends where a word does.
		for i := j; i < len(words) && words[i].End-w.End <= longestCounter; i++ {
			what := string(chars[w.End:words[i].End])
			if counted, tail, ok := countedIn(what); ok {
				w.Kana, w.End, w.Kind = strings.ReplaceAll(countJapanese(n, counted), " ", "")+tail, words[i].End, japanese.Counter
				if what == "日" && n == 1 && len(out) > 0 && strings.HasSuffix(out[len(out)-1].Kana, "ガツ") {
					w.Kana = japaneseDay(n)
				}
				j = i + 1
			}
		}
		if last := len(out) - 1; last >= 0 && w.Joined && strings.HasSuffix(out[last].Kana, "ナン") { // 何百
			w.Kana = behindMany.Replace(w.Kana)
		}
		out = append(out, w)
		k = j
	}
	return out
}

// behindMany is how a number begins behind 何.
var behindMany = strings.NewReplacer("ヒャ", "ビャ", "セン", "ゼン")

// share returns the word of a number and 分の before another number, 三分の of 三分の二, that words begin with, and of
// how many of them it is made.
func share(chars []rune, words []japanese.Word) (japanese.Word, int) {
	w := words[0]
	k := w.Start
	for k < len(chars) && isNumeral(chars[k:k+1]) {
		k++
	}
	n, ok := kanjiValue(string(chars[w.Start:k]))
	if k == w.Start || !ok || k+2 >= len(chars) || string(chars[k:k+2]) != "分の" || !isNumeral(chars[k+2:k+3]) {
		return w, 0
	}
	for j := range words {
		if words[j].End == k+2 {
			w.End, w.Kana, w.Kind = k+2, strings.ReplaceAll(japaneseNumber(n), " ", "")+"ブンノ", japanese.Counter
			return w, j + 1
		}
	}
	return w, 0
}

// longestCounter is how many characters a counter has at most.
const longestCounter = 6

// countedIn returns what of the table counters a text is, and the kana of what may stand behind it.
func countedIn(text string) (counted, tail string, ok bool) {
	if _, ok := counterTable()[text]; ok {
		return text, "", true
	}
	for name, kana := range behindCounters {
		if head, ok := strings.CutSuffix(text, name); ok {
			if _, ok := counterTable()[head]; ok {
				return head, kana, true
			}
		}
	}
	return "", "", false
}

func isNumeral(chars []rune) bool {
	return !slices.ContainsFunc(chars, func(r rune) bool { return !strings.ContainsRune("〇一二三四五六七八九十百千万億兆", r) })
}
