package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"quern/bench/internal/must"
	"quern/engine/tts/lang/mandarin"
)

// pinyin measures how far the readings of characters agree with those of a file: lines of a text, a
// tab and its pinyin with tones as figures, and readings that are as good behind "|". Tones are those
// of dictionaries, without what neighbours change.
func pinyin(file string, show int) (err error) {
	defer must.Catch(&err)
	var lines, syllables, wrong, neutral, wrongLines int
	differences := map[string][]string{}
	for line := range strings.Lines(string(must.Get(os.ReadFile(file)))) {
		text, list, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			return fmt.Errorf("%q has no tab between a text and its pinyin", line)
		}
		got, chars, err := readings(text)
		must.Do(err)
		var best []string // differences from the reading that is nearest
		bestNeutral := 0
		for i, want := range strings.Split(list, "|") {
			diff, n := compare(strings.Fields(want), got, chars)
			if i == 0 || len(diff) < len(best) {
				best, bestNeutral = diff, n
			}
		}
		lines, syllables, wrong, neutral = lines+1, syllables+len(got), wrong+len(best), neutral+bestNeutral
		if len(best) > 0 {
			wrongLines++
		}
		for _, d := range best {
			differences[d] = append(differences[d], text)
		}
	}
	fmt.Printf("%d texts, %d syllables, %d wrong, %.2f %%; %d of those by a neutral tone alone, %.2f %% without; %.1f %% of the texts wrong\n", lines, syllables, wrong, percent(wrong, syllables),
		neutral, percent(wrong-neutral, syllables), percent(wrongLines, lines))
	keys := slices.SortedFunc(maps.Keys(differences), func(a, b string) int {
		return cmp.Or(len(differences[b])-len(differences[a]), strings.Compare(a, b))
	})
	for _, k := range keys[:min(len(keys), show)] {
		list := differences[k]
		fmt.Printf("  %4d  %s: %s\n", len(list), k, strings.Join(list[:min(len(list), 8)], " "))
	}
	return nil
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }

// readings returns the syllables of the characters of a text that have one, and those.
func readings(text string) (syllables []string, chars []rune, err error) {
	var at []int
	for i, r := range []rune(text) {
		if mandarin.Has(r) {
			chars, at = append(chars, r), append(at, i)
		}
	}
	words, err := mandarin.Read(chars, func(i int) bool { return at[i] != at[i-1]+1 })
	for _, w := range words {
		for _, s := range w.Read {
			syllables = append(syllables, s.String())
		}
	}
	return syllables, chars, err
}

// compare names the syllables that differ, and counts those where one of both is neutral.
func compare(want, got []string, chars []rune) (differences []string, neutral int) {
	if len(want) != len(got) {
		return []string{fmt.Sprintf("%d syllables for %d", len(want), len(got))}, 0
	}
	for i, w := range want {
		g := got[i]
		if w == g {
			continue
		}
		differences = append(differences, fmt.Sprintf("%c %s>%s", chars[i], w, g))
		if w[:len(w)-1] == g[:len(g)-1] && (strings.HasSuffix(w, "5") || strings.HasSuffix(g, "5")) {
			neutral++
		}
	}
	return differences, neutral
}
