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

//go:embed data/collocations.txt
var collocationData string

// A collocation is a way to say a word that stands near certain others.
type collocation struct {
	said  string
	where string // before, behind, after, near, named
	words map[string]bool
}

// collocations reads them, by the word they are about.
func collocations() map[string][]collocation {
	out := map[string][]collocation{}
	for line := range strings.Lines(collocationData) {
		f := strings.Fields(line)
		if len(f) < 4 || f[0] == "#" {
			continue
		}
		out[f[0]] = append(out[f[0]], collocation{f[1], f[2], set(strings.Join(f[3:], " "))})
	}
	return out
}

var (
	determiners = set(`a an the this that these those my your his her its our their some any no every each another which what whose new old first last other good great big best own
		one two three four five six seven eight nine ten many few several more most daily recent current general`)
	singular   = set(`a an this that each every another one`)
	modals     = set(`to will would can could shall should may might must do does did don't doesn't didn't won't can't couldn't wouldn't shouldn't cannot let's please i'll you'll we'll they'll he'll she'll i'd let help never`)
	articles   = set(`the a an my your his its our their this that these those`)
	causatives = set(`let lets make makes made help helps helped`)
	pronouns   = set(`i you we they who people men women children`)
	thirds     = set(`he she it`)
	beForms    = set(`is are was were be been being am isn't aren't wasn't weren't it's he's she's i'm you're we're they're get gets got very so too quite`)
	haves      = set(`have has had having haven't hasn't hadn't i've you've we've they've`)
	preps      = set(`of in on at by for from with about into over under without during after before between through against across behind near`)
	adverbs    = set(`not always never often also just still ever really already only usually sometimes then soon both`)
	objects    = set(`the a an my your his her its our their this that these those me him them us it you up down out off away`)
	particles  = set(`up down out off away aloud again with to when because if as until while and or into from`)
	adjectives = set(`fresh sad work bad rough sharp strange big small long short front full main hot cold new old real free high low public private police armed fast slow white black red foreign strong deep early late rich poor`)
	unplural   = set(`his its this was is has does yes us as thus always perhaps sometimes towards`)
)

// pluralNoun reports whether a word is a plural noun, by how it ends.
func pluralNoun(w string) bool {
	return len(w) > 3 && strings.HasSuffix(w, "s") && !unplural[w] && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "'s")
}

// adjectival reports whether a word is an adjective, by a list or how it ends.
func adjectival(w string) bool {
	if adjectives[w] {
		return true
	}
	for _, end := range []string{"al", "ic", "ous", "ive", "ful", "less", "ary", "able", "ible", "ish", "ent", "ant", "ed"} {
		if len(w) > len(end)+2 && strings.HasSuffix(w, end) {
			return true
		}
	}
	return false
}

// tag guesses the part of speech of item i from its neighbours: VB, VBP, VBD, VBN,
// NN, NP (before another noun), JJ, or "" where they do not tell.
func (p *speaker) tag(i int) string {
	before, before2 := p.previous(i, 1), p.previous(i, 2)
	if adverbs[before] && before2 != "" {
		before, before2 = before2, p.previous(i, 3)
	}
	ends := p.next == "" || preps[p.next] || particles[p.next]
	switch {
	case before == "to" && before2 != "due" && before2 != "close":
		return "VB"
	case modals[before], causatives[before2] && objects[before] && !articles[before]:
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
			return "NP"
		}
		return "NN"
	case haves[before2] && (pronouns[before] || thirds[before]): // have you read
		return "VBN"
	case pronouns[before]:
		if before2 == "some" || before2 == "the" || p.next != "" || before != "who" {
			return "VBP"
		}
		return "VBD"
	case thirds[before]:
		return "VBD"
	case preps[before]:
		return "NN"
	case before == "":
		if objects[p.next] {
			return "VB"
		}
		return ""
	case modals[before2] && objects[before]: // let me present
		return "VB"
	case pluralNoun(before) && !singular[before2] && (ends || objects[p.next] || determiners[p.next] || strings.HasSuffix(p.next, "ly")) && p.next != "of":
		return "VBP" // metals contract when cold
	case objects[p.next]:
		if determiners[before2] || p.proper(i) {
			return "VBD" // the nurse wound the bandage
		}
		return "VBP"
	case determiners[before2], adjectival(before):
		return "NN" // a work permit, fresh produce
	case pluralNoun(before) && before2 == "" && (pluralNoun(p.next) && (p.follow == "" || preps[p.follow]) || len(p.next) > 4 && strings.HasSuffix(p.next, "er") && p.follow != "" && !beForms[p.follow]):
		return "VBP" // trucks transport goods
	case p.proper(i) && ends && (firstNames[before] || given[before] || monarchs[before] || thirds[before]):
		return "VBD" // Mary read to them
	}
	return ""
}

// proper reports whether the word before item i is a name.
func (p *speaker) proper(i int) bool {
	if i == 0 || p.toks[i-1].Kind != Word || p.toks[i-1].Text == "" {
		return false
	}
	w := p.toks[i-1].Text
	return w[0] >= 'A' && w[0] <= 'Z' && len(w) > 1 && p.previous(i, 2) == "" && !determiners[strings.ToLower(w)]
}

// named reports whether item i, which has a capital, is one inside a sentence, or
// begins one whose next word is no object: Polish food, but polish the silver.
func (p *speaker) named(i int) bool {
	w := p.toks[i].Text
	if w == "" || w[0] < 'A' || w[0] > 'Z' || len(w) > 1 && w == strings.ToUpper(w) {
		return false
	}
	if p.previous(i, 1) != "" {
		return true
	}
	return strings.EqualFold(w, "polish") && p.next != "" && !objects[p.next]
}

// collocated chooses by the words around item i.
func (p *speaker) collocated(w, tag string, i int) string {
	for _, c := range p.g.near[w] {
		found := false
		switch c.where {
		case "before", "behind":
			found = c.words[p.previous(i, 1)]
		case "after":
			found = c.words[p.next]
		case "near":
			found = p.near(i, c.words)
		case "named":
			found = p.named(i) && p.near(i, c.words)
		}
		if found && !(tag == "VB" && c.where != "before") {
			return c.said
		}
	}
	return ""
}

// near reports whether one of words stands up to six words from item i, and no
// mark between.
func (p *speaker) near(i int, words map[string]bool) bool {
	for _, step := range []int{-1, 1} {
		for k := i + step; k >= 0 && k < len(p.toks) && (k-i)*step <= 6 && p.toks[k].Kind == Word; k += step {
			if words[strings.ToLower(p.toks[k].Text)] {
				return true
			}
		}
	}
	return false
}

// homograph chooses one pronunciation of a word that has several.
func (p *speaker) homograph(w, tag string, i int) (string, bool) {
	if p.g.misaki[p.accent] != nil && p.g.misaki[p.accent][w] != nil {
		return "", false
	}
	said := p.collocated(w, tag, i)
	if said == "" {
		if said = p.choose(w, tag, i); said == "" {
			return "", false
		}
	}
	if p.accent == British {
		if gb, ok := p.g.gb[w+"/"+tag]; ok {
			return gb, true
		}
		said = toBritish(w, said)
	}
	return said, true
}

// choose takes the column of a homograph, or of the word an s was added to.
func (p *speaker) choose(w, tag string, i int) string {
	h, ok := p.g.pairs[w]
	if !ok {
		stem, plural := strings.CutSuffix(w, "s")
		if h, ok = p.g.pairs[stem]; !ok || !plural {
			return ""
		}
		// Only he, she and it put an s on their verb.
		said := h.said["NN"]
		subject := determiners[p.previous(i, 2)] && p.next != "" && !preps[p.next] && !beForms[p.next] && !particles[p.next]
		if verb := h.said["VB"]; said == "" || verb != "" && (tag == "VBD" || tag == "" && objects[p.next] || tag == "NN" && subject) {
			said = verb
		}
		return plus(said, ending(said, US))
	}
	if said := h.said["NNP"]; said != "" && p.named(i) && (w == "polish" || locative[p.previous(i, 1)]) {
		return said
	}
	if tag == "VBN" && h.said["JJ"] != "" && haves[p.previous(i, 1)] && p.next != "" && !objects[p.next] && !preps[p.next] && !particles[p.next] {
		tag = "JJ" // they have separate rooms
	}
	for _, c := range choices[tag] {
		if said := h.said[c]; said != "" {
			return said
		}
	}
	return h.said[h.prior]
}

// locative are words before names of places.
var locative = set("in to from near of at around through leave left visit visited")

// choices are the columns of a homograph a tag may mean, best first.
var choices = map[string][]string{
	"VB": {"VB"}, "VBP": {"VBP", "VB"}, "VBD": {"VBD", "VB"}, "VBN": {"VBN", "VBD", "VB"}, "NN": {"NN", "JJ"}, "NP": {"NP", "JJ", "NN"}, "JJ": {"JJ", "VBN", "NN"},
}
