package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"quern/bench/internal/must"
	"quern/engine/tts/lang"
)

// espeakVoices are espeak-ng's names of languages where they differ from ours.
var espeakVoices = map[string]string{"fr": "fr-fr"}

// tied are misaki's symbols for pairs that espeak-ng ties (EspeakG2P, version unset).
var tied = strings.NewReplacer("a^ɪ", "I", "a^ʊ", "W", "d^z", "ʣ", "d^ʒ", "ʤ", "e^ɪ", "A", "o^ʊ", "O", "ə^ʊ", "Q", "s^s", "S", "t^s", "ʦ", "t^ʃ", "ʧ", "ɔ^ɪ", "Y",
	"(^e^n)", "", "^", "", "-", "")

// espeak returns what espeak-ng says of each line, asked with args.
func espeak(program string, lines []string, args ...string) (_ []string, err error) {
	defer must.Catch(&err)
	cmd := exec.Command(program, append([]string{"-q"}, args...)...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, ".\n") + ".\n")
	var out []string
	for line := range strings.Lines(string(must.Get(cmd.Output()))) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	if len(out) != len(lines) {
		return nil, fmt.Errorf("espeak-ng says %d lines of %d; give it words without punctuation", len(out), len(lines))
	}
	return out, nil
}

// commonest lists differences, those of most words first.
func commonest(differences map[string][]string) []string {
	return slices.SortedFunc(maps.Keys(differences), func(a, b string) int {
		return cmp.Or(len(differences[b])-len(differences[a]), strings.Compare(a, b))
	})
}

// agree measures how far the words of a file are pronounced as espeak-ng does. Words
// that espeak-ng takes for English are counted apart.
func agree(program, code, file string, show int) (err error) {
	defer must.Catch(&err)
	l := lang.Find(code)
	if l == nil {
		return fmt.Errorf("-lang %q is none of the languages built in", code)
	}
	words := strings.Fields(strings.ToLower(string(must.Get(os.ReadFile(file)))))
	if code == "zh" {
		return agreePinyin(must.Get(espeakPinyin(program, words)), show)
	}
	want := must.Get(espeak(program, words, "--ipa", "--tie=^", "-v", cmp.Or(espeakVoices[code], code)))
	var with, without score
	english := 0
	differences := map[string][]string{}
	start := time.Now()
	got := make([]string, len(words))
	for i, w := range words {
		got[i] = l.Word(w)
	}
	took := time.Since(start)
	for i, w := range words {
		if strings.Contains(want[i], "(^e^n)") {
			english++
			continue
		}
		said := tied.Replace(want[i])
		without.add(unmarked.Replace(said), unmarked.Replace(got[i]))
		if !with.add(said, got[i]) {
			for _, d := range edits([]rune(said), []rune(got[i])) {
				differences[d] = append(differences[d], fmt.Sprintf("%s %s %s", w, said, got[i]))
			}
		}
	}
	fmt.Printf("%-6s %v\n%-6s without stress %v\n", code, &with, "", &without)
	fmt.Printf("       %d words that espeak-ng reads as English left out; %d words, %d letters\n", english, len(words), utf8.RuneCountInString(strings.Join(words, "")))
	keys := commonest(differences)
	for _, k := range keys[:min(len(keys), show)] {
		list := differences[k]
		fmt.Printf("  %5d  %-8s %s\n", len(list), k, strings.Join(list[:min(len(list), 6)], "; "))
	}
	fmt.Fprintf(os.Stderr, "%.0f words/s\n", float64(len(words))/took.Seconds())
	return nil
}

// edits names the runs of symbols that make b of a: "ɛ>e", "ː>".
func edits(a, b []rune) []string {
	cost := make([][]int, len(a)+1) // of making b[j:] of a[i:]
	for i := range cost {
		cost[i] = make([]int, len(b)+1)
	}
	for i := len(a); i >= 0; i-- {
		for j := len(b); j >= 0; j-- {
			switch {
			case i == len(a):
				cost[i][j] = len(b) - j
			case j == len(b):
				cost[i][j] = len(a) - i
			case a[i] == b[j]:
				cost[i][j] = cost[i+1][j+1]
			default:
				cost[i][j] = 1 + min(cost[i+1][j], cost[i][j+1], cost[i+1][j+1])
			}
		}
	}
	var out []string
	var from, to []rune
	flush := func() {
		if len(from)+len(to) > 0 {
			out = append(out, string(from)+">"+string(to))
			from, to = nil, nil
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			flush()
			i, j = i+1, j+1
		case i < len(a) && j < len(b) && cost[i][j] == 1+cost[i+1][j+1]:
			from, to = append(from, a[i]), append(to, b[j])
			i, j = i+1, j+1
		case i < len(a) && cost[i][j] == 1+cost[i+1][j]:
			from = append(from, a[i])
			i++
		default:
			to = append(to, b[j])
			j++
		}
	}
	flush()
	return out
}
