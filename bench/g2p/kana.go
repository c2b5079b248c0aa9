package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/engine/tts/g2p"
	"quern/engine/tts/lang"
	"quern/engine/tts/lang/japanese"
)

// kana measures how far Japanese is read as a file says: lines of a text, a tab and how it is said in
// katakana, with others that are as good behind "|". Spaces do not count, which what ン is depends on: it is
// compared as one sound.
func kana(file string, show int) (err error) {
	defer must.Catch(&err)
	var all score
	differences := map[string][]string{}
	g := must.Get(g2p.New(g2p.Options{}))
	for line := range strings.Lines(string(must.Get(os.ReadFile(file)))) {
		text, readings, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			return fmt.Errorf("%q has no tab between a text and its kana", line)
		}
		var b strings.Builder
		for _, t := range must.Get(lang.Find("ja").Read(context.Background(), text, lang.Reading{English: g})) {
			if t.Kind == g2p.Word {
				b.WriteString(t.Phonemes)
			}
		}
		got := oneNasal.Replace(b.String())
		want, least := "", math.MaxInt
		for _, r := range strings.Split(readings, "|") {
			said := oneNasal.Replace(japanese.Sounds(strings.ReplaceAll(r, " ", "")))
			if d := stat.Distance([]rune(said), []rune(got)); d < least {
				want, least = said, d
			}
		}
		if !all.add(want, got) {
			for _, d := range edits([]rune(want), []rune(got)) {
				differences[d] = append(differences[d], fmt.Sprintf("%s %s %s", text, want, got))
			}
		}
	}
	fmt.Printf("ja     %v\n", &all)
	keys := commonest(differences)
	for _, k := range keys[:min(len(keys), show)] {
		list := differences[k]
		fmt.Printf("  %5d  %-8s %s\n", len(list), k, strings.Join(list[:min(len(list), 6)], "; "))
	}
	return nil
}

// oneNasal writes what ン is before any sound as one. An m, n or ɲ that begins a syllable stands before a vowel or j, ʲ.
var oneNasal = strings.NewReplacer("mm", "ɴm", "mp", "ɴp", "mb", "ɴb", "ŋ", "ɴ", "nn", "ɴn", "nt", "ɴt", "nd", "ɴd", "nɾ", "ɴɾ", "nz", "ɴz", "ɲɲ", "ɴɲ", "ɲʨ", "ɴʨ", "ɲʥ", "ɴʥ")
