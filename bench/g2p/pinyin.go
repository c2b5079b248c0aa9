package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"quern/bench/internal/must"
	"quern/engine/tts/lang/mandarin"
)

// A wanted is a text with its readings in pinyin, any of which is right.
type wanted struct {
	text     string
	readings []string
}

// pinyin measures how far the readings of characters agree with those of a file: lines of a text, a
// tab and its pinyin with tones as figures, "_" for any, and readings that are as good behind "|". Tones are those
// of dictionaries, without what neighbours change.
func pinyin(file string, show int) (err error) {
	defer must.Catch(&err)
	var list []wanted
	for line := range strings.Lines(string(must.Get(os.ReadFile(file)))) {
		text, readings, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			return fmt.Errorf("%q has no tab between a text and its pinyin", line)
		}
		list = append(list, wanted{text, strings.Split(readings, "|")})
	}
	return agreePinyin(list, show)
}

// agreePinyin prints how far readings agree with those that are wanted.
func agreePinyin(list []wanted, show int) error {
	var syllables, wrong, neutral, wrongLines int
	differences := map[string][]string{}
	for _, w := range list {
		got, chars, err := readings(w.text)
		if err != nil {
			return err
		}
		var best []string // differences from the reading that is nearest
		bestNeutral := 0
		for i, want := range w.readings {
			diff, n := compare(strings.Fields(want), got, chars)
			if i == 0 || len(diff) < len(best) {
				best, bestNeutral = diff, n
			}
		}
		syllables, wrong, neutral = syllables+len(got), wrong+len(best), neutral+bestNeutral
		if len(best) > 0 {
			wrongLines++
		}
		for _, d := range best {
			differences[d] = append(differences[d], w.text)
		}
	}
	fmt.Printf("%d texts, %d syllables, %d wrong, %.2f %%; %d of those by a neutral tone alone, %.2f %% without; %.1f %% of the texts wrong\n", len(list), syllables, wrong, percent(wrong, syllables),
		neutral, percent(wrong-neutral, syllables), percent(wrongLines, len(list)))
	keys := commonest(differences)
	for _, k := range keys[:min(len(keys), show)] {
		texts := differences[k]
		fmt.Printf("  %4d  %s: %s\n", len(texts), k, strings.Join(texts[:min(len(texts), 8)], " "))
	}
	return nil
}

// espeakPinyin asks espeak-ng how words are read. It tells its own names of sounds, so that those of
// every syllable are asked for first; words with one that is none of those are left out.
func espeakPinyin(program string, words []string) (list []wanted, err error) {
	defer must.Catch(&err)
	ask := func(lines []string) []string {
		return must.Get(espeak(program, lines, "-x", "-v", "cmn-latn-pinyin"))
	}
	contour := strings.NewReplacer("1", "", "2", "", "3", "", "4", "", "5", "")
	part := func(s string) (sounds, tone string) {
		s = strings.NewReplacer("'", "", ",", "", "_", "", " ", "").Replace(s)
		sounds = contour.Replace(s)
		level := strings.Map(func(r rune) rune {
			if r >= '1' && r <= '5' {
				return r
			}
			return -1
		}, s)
		return sounds, cmp.Or(map[string]string{"55": "1", "35": "2", "214": "3", "21": "3", "51": "4"}[level], "5")
	}
	syllables := mandarin.Syllables()
	var toned []string
	for _, s := range syllables {
		toned = append(toned, s+"1")
	}
	names := map[string]string{}
	for i, said := range ask(toned) {
		sounds, _ := part(strings.ReplaceAll(said, "|", ""))
		if names[sounds] == "" {
			names[sounds] = syllables[i]
		}
	}
	left := 0
words:
	for i, said := range ask(words) {
		var out []string
		for _, p := range strings.Split(strings.Trim(said, "_| "), "|") {
			sounds, tone := part(p)
			if names[sounds] == "" {
				left++
				continue words
			}
			out = append(out, names[sounds]+tone)
		}
		spoken := strings.Join(out, " ")
		for k := len(out) - 2; k >= 0; k-- { // what is a second tone before a third may be one
			if strings.HasSuffix(out[k], "2") && strings.HasSuffix(out[k+1], "3") {
				out[k] = out[k][:len(out[k])-1] + "3"
			}
		}
		list = append(list, wanted{words[i], []string{spoken, strings.Join(out, " ")}})
	}
	fmt.Printf("%d of %d words left out, which espeak-ng reads otherwise than by syllables of pinyin\n", left, len(words))
	return list, nil
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
		if w == g || w == "_" {
			continue
		}
		differences = append(differences, fmt.Sprintf("%c %s>%s", chars[i], w, g))
		if w[:len(w)-1] == g[:len(g)-1] && (strings.HasSuffix(w, "5") || strings.HasSuffix(g, "5")) {
			neutral++
		}
	}
	return differences, neutral
}
