package g2p

import (
	_ "embed"
	"strings"
)

//go:embed data/homographs.txt
var homographData string

// A homograph is a word said in two ways. said is US, by part of speech; prior
// is the one where the neighbours do not tell.
type homograph struct {
	said  map[string]string
	prior string
}

// homographs reads lines of a word and pairs of a part of speech and phonemes;
// the first pair is the prior.
func homographs() map[string]homograph {
	out := map[string]homograph{}
	for line := range strings.Lines(homographData) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] == "#" {
			continue
		}
		h := homograph{said: map[string]string{}, prior: f[1]}
		for k := 1; k+1 < len(f); k += 2 {
			h.said[f[k]] = f[k+1]
		}
		out[f[0]] = h
	}
	return out
}

var (
	determiners = set(`a an the this that these those my your his her its our their some any no every each another which what whose new old first last other good great big best own
		one two three four many few several more most daily recent current general`)
	modals       = set(`to will would can could shall should may might must do does did don't doesn't didn't won't can't couldn't wouldn't shouldn't cannot let's please i'll you'll we'll they'll he'll she'll i'd`)
	pronouns     = set(`i you we they who`)
	thirds       = set(`he she it`)
	beForms      = set(`is are was were be been being am isn't aren't wasn't weren't it's he's she's i'm you're we're they're get gets got very so too quite`)
	haves        = set(`have has had having haven't hasn't hadn't i've you've we've they've`)
	preps        = set(`of in on at by for from with about into over under without during after before between through against`)
	adverbs      = set(`not always never often also just still ever really already only usually sometimes then soon`)
	objects      = set(`the a an my your his her its our their this that these those me him them us it you up down out off away`)
	performances = set(`music show shows concert concerts audience event events broadcast stream streaming performance performances tv video coverage wire album version band feed`)
	yester       = set(`yesterday ago last earlier`)
)

// tag guesses the part of speech of item i from its neighbours: VB, VBD, VBN,
// NN, JJ, or "" where they do not tell.
func (p *speaker) tag(i int) string {
	before, before2 := p.previous(i, 1), p.previous(i, 2)
	if adverbs[before] {
		before, before2 = before2, p.previous(i, 3)
	}
	switch {
	case before == "to" && (determiners[p.next] || p.next != "" || p.sound == 0) && before2 != "due":
		return "VB"
	case modals[before]:
		return "VB"
	case haves[before]:
		return "VBN"
	case beForms[before]:
		if p.next == "by" || p.next == "to" && before != "very" && before != "so" && before != "too" {
			return "VBN"
		}
		return "JJ"
	case determiners[before] || strings.HasSuffix(before, "'s"):
		if p.next != "" && !preps[p.next] && !beForms[p.next] && !haves[p.next] && !modals[p.next] && p.next != "and" && p.next != "or" && !adverbs[p.next] && !objects[p.next] {
			return "NP" // before another noun or an adjective: either
		}
		return "NN"
	case pronouns[before]:
		return "VBP"
	case thirds[before]:
		return "VBD"
	case preps[before]:
		return "NN"
	case before == "" && objects[p.next]:
		return "VB"
	case objects[p.next] && before != "":
		return "VBP"
	}
	return ""
}

// homograph chooses one pronunciation of a word that has several.
func (p *speaker) homograph(w, tag string, i int) (string, bool) {
	h, ok := p.g.pairs[w]
	if !ok || p.g.misaki[p.accent] != nil && p.g.misaki[p.accent][w] != nil {
		return "", false
	}
	var said string
	for _, c := range choices[tag] {
		if said = h.said[c]; said != "" {
			break
		}
	}
	if w == "read" && tag == "VBP" && (p.later(i, yester) || p.next == "about") {
		said = h.said["VBD"]
	}
	if w == "lead" && (p.next == "pipe" || p.next == "poisoning" || p.next == "paint" || p.next == "pipes") {
		said = h.said["JJ"]
	}
	if w == "live" && performances[p.next] {
		said = h.said["JJ"]
	}
	if w == "close" && p.next == "to" && tag != "VB" {
		said = h.said["JJ"]
	}
	if said == "" {
		said = h.said[h.prior]
	}
	if p.accent == British {
		if gb, ok := p.g.gb[w+"/"+tag]; ok {
			return gb, true
		}
		said = toBritish(w, said)
	}
	return said, true
}

// later reports whether one of words stands in the rest of the sentence, up to
// ten items behind i.
func (p *speaker) later(i int, words map[string]bool) bool {
	for k := i + 1; k < len(p.toks) && k <= i+10 && p.toks[k].Kind == Word; k++ {
		if words[strings.ToLower(p.toks[k].Text)] {
			return true
		}
	}
	return false
}

// choices are the columns of a homograph a tag may mean, best first.
var choices = map[string][]string{
	"VB": {"VB"}, "VBP": {"VBP", "VB"}, "VBD": {"VBD", "VB"}, "VBN": {"VBN", "VBD", "VB"}, "NN": {"NN", "JJ"}, "NP": {"JJ", "NN"}, "JJ": {"JJ", "VBN", "NN"},
}
