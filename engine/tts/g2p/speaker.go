package g2p

import (
	"context"
	"strings"
	"unicode"
)

// A speaker pronounces the items of a text, last first.
type speaker struct {
	g      *G2P
	accent Accent
	toks   []item

	next   string // the word behind, in small letters; "" at a pause or the end
	sound  rune   // its first phoneme, 0 if none
	follow string // the word behind that
}

func (p *speaker) run(ctx context.Context) ([]Token, error) {
	for i := len(p.toks) - 1; i >= 0; i-- {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		t := &p.toks[i]
		if t.Kind != Word {
			// A quotation mark or a bracket is no pause.
			if t.Kind == Pause || !strings.Contains("“”()", t.Phonemes) {
				p.next, p.sound, p.follow = "", 0, ""
			}
			continue
		}
		said, from := p.word(i)
		if t.shift != 0 {
			said = restress(said, t.shift)
		}
		t.Phonemes = said
		if t.Source == None {
			t.Source = from
		}
		p.follow, p.next = p.next, strings.ToLower(t.Text)
		p.sound = firstSound(said)
	}
	out := make([]Token, len(p.toks))
	for i := range p.toks {
		out[i] = p.toks[i].Token
	}
	if n := len(out); n > 0 {
		out[n-1].Space = false
	}
	return out, nil
}

// previous returns the k-th word before item i in small letters, "" if
// punctuation stands between.
func (p *speaker) previous(i, k int) string {
	for i--; i >= 0; i-- {
		if p.toks[i].Kind != Word {
			return ""
		}
		if k--; k == 0 {
			return strings.ToLower(p.toks[i].Text)
		}
	}
	return ""
}

// word pronounces item i.
func (p *speaker) word(i int) (string, Source) {
	t := &p.toks[i]
	w := t.Text
	switch {
	case t.given != "":
		return t.given, Given
	case t.spell || len(w) == 1 && unicode.IsUpper(rune(w[0])) && w != "I" && w != "A":
		return p.g.letters(w, p.accent), Spelled
	}
	if said, ok := p.g.names[t.written]; ok {
		if p.accent == British {
			said = toBritish(strings.ToLower(w), said)
		}
		return said, Lexicon
	}
	if said, ok := p.special(i); ok {
		return said, Rule
	}
	low := strings.ToLower(w)
	capital := len(w) > 1 && w == strings.ToUpper(w) && strings.ToUpper(w) != low
	shout := capital && p.shouting(i)
	if capital && !shout && (initialisms[w] || len(w) == 2 && !pairs[w] || !strings.Contains(w, "'") && len(w) <= 5 && !p.has(w) || vowelless(w)) {
		return p.g.letters(w, p.accent), Spelled
	}
	if shout && (initialisms[w] && !wordsToo[w] || len(w) == 2 && !pairs[w] && !wordsToo[w] || vowelless(w) || len(w) <= 4 && !strings.Contains(w, "'") && !p.has(w)) {
		return p.g.letters(w, p.accent), Spelled // HIV/AIDS
	}
	if stem, ok := strings.CutSuffix(strings.TrimSuffix(w, "'s"), "s"); ok && len(stem) > 1 && strings.Trim(stem, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && (initialisms[stem] || !p.has(stem) || p.lettered(stem)) && p.g.names[low] == "" {
		return p.g.letters(w, p.accent), Spelled // CPUs
	}
	if stem, ok := strings.CutSuffix(w, "'s"); ok && !shout && len(stem) > 1 && strings.Trim(stem, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && p.g.names[low] == "" && (initialisms[stem] || len(stem) == 2 && !pairs[stem] || len(stem) <= 5 && !p.has(stem) || p.lettered(stem)) {
		return p.g.letters(w, p.accent), Spelled // the ISP's
	}
	tag := p.tag(i)
	if said, ok := p.homograph(low, tag, i); ok {
		return said, Lexicon
	}
	said, from := p.say(w, tag)
	if capital && !shout {
		// The dictionary spells some initialisms too, with other stresses.
		if l := p.g.letters(w, p.accent); bare.Replace(l) == bare.Replace(said) {
			return l, Spelled
		}
	}
	if from == Lexicon {
		said = p.weaken(low, said)
	}
	if capital && !shout && len(w) > 2 {
		said = restress(said, 0.5)
	}
	return said, from
}

func (p *speaker) has(w string) bool {
	_, from := p.g.known(w, "", p.accent)
	return from == Lexicon
}

// lettered reports whether the dictionary spells a word.
func (p *speaker) lettered(w string) bool {
	said, _ := p.g.known(w, "", p.accent)
	return bare.Replace(said) == bare.Replace(p.g.letters(w, p.accent))
}

// shouting reports whether the words around item i are in capitals too, so that
// capitals are emphasis.
func (p *speaker) shouting(i int) bool {
	caps := func(k int) (bool, bool) {
		if k < 0 || k >= len(p.toks) || p.toks[k].Kind != Word {
			return false, false
		}
		w := p.toks[k].Text
		return w == strings.ToUpper(w) && len(w) > 1, true
	}
	a, hasA := caps(i - 1)
	b, hasB := caps(i + 1)
	return (a || !hasA) && (b || !hasB) && (a || b)
}

// initialisms are spelled though the dictionary has a word of these letters.
var initialisms = set(`US IT AI TV PC UK EU UN ID AM PM CD PR HR LA ER VR AR API URL CEO USA DNA RNA PHD SQL XML GPU CPU PDF USB LED NYC ATM IRS AC DC OS EST ABC PST CST EDT
	PDT GMT CO AD MD PO WHO POW ET HIV GE ETA ROI FYI IPO CFO COO COB CTO NGO PE IP IQ EQ CV SUV VIP MIT UPS SOS LAX INS SEC SAT RIP IMO IMHO IBM EPA ABS
	ACA AKC AST ALS BAE CAC CEP CGI CRO DAU DEA DIA DOB DOE DOI EDI EEG EIN EIS ENT FAO FOB FYE GAO GED GYN IDE ILO IRA ISM JEE MIA MOD ONS OSS POE PSI BID BUN PLA RAF ROA
	ROC ROE SAP SEO SOB TIA URI URN`)

// wordsToo are initialisms that are words where all around is in capitals.
var wordsToo = map[string]bool{"US": true, "IT": true, "AM": true, "WHO": true, "LED": true, "AD": true, "CO": true, "LA": true, "POW": true, "ER": true, "ET": true, "OS": true, "EST": true, "SEC": true, "SAT": true, "RIP": true, "UPS": true, "PE": true, "ETA": true}

// pairs are words of two letters, which may stand in capitals for emphasis.
var pairs = map[string]bool{"AH": true, "AN": true, "AS": true, "AT": true, "BE": true, "BY": true, "DO": true, "DR": true, "EH": true, "GO": true, "HA": true, "HE": true, "HI": true, "HM": true, "IF": true, "IN": true, "IS": true, "ME": true, "MM": true, "MR": true, "MY": true,
	"NO": true, "OF": true, "OH": true, "ON": true, "OR": true, "OW": true, "OX": true, "SH": true, "SO": true, "ST": true, "TO": true, "UH": true, "UM": true, "UP": true, "VS": true, "WE": true, "YA": true, "YE": true, "YO": true, "MS": true, "PA": true, "MA": true}

// vowelless reports whether a word in capitals can only be spelled.
func vowelless(w string) bool {
	return len(w) <= 5 && !strings.ContainsAny(w, "AEIOUY'-") && !hums[w]
}

// hums have no vowel and are no initialisms.
var hums = map[string]bool{"HM": true, "HMM": true, "HMMM": true, "MM": true, "MMM": true, "SH": true, "SHH": true, "SHHH": true, "PSST": true, "PFFT": true, "TSK": true, "BRR": true, "BRRR": true, "GRR": true, "GRRR": true, "ZZZ": true, "MR": true, "MRS": true, "DR": true, "ST": true, "VS": true}

// say pronounces a word by the dictionary, in parts, or by the model.
func (p *speaker) say(w, tag string) (string, Source) {
	if said, from := p.g.known(w, tag, p.accent); from != None {
		return said, from
	}
	if parts := split(w); len(parts) > 1 && len(w) <= 8*longestWord {
		var b strings.Builder
		worst, spelled := Lexicon, 0
		for k, part := range parts {
			var said string
			var from Source
			if camel := strings.ToUpper(part); k > 0 && part != camel && len(part) == 2 && initialisms[camel] && !strings.Contains(w, "-") {
				part = camel // userId
			}
			if part == strings.ToUpper(part) && len(part) <= 4 && (initialisms[part] || !p.has(part)) || len(part) == 1 && part != "a" {
				said, from = p.g.letters(part, p.accent), Spelled
			} else {
				said, from = p.say(part, tag)
			}
			if k > 0 && len(parts[0]) == 1 && strings.Contains(w, "-") {
				said = strings.ReplaceAll(said, "ˈ", "ˌ") // the letter has the stress: X-ray
			}
			b.WriteString(said)
			if from == Spelled {
				spelled++
				continue
			}
			worst = max(worst, from)
		}
		if spelled == len(parts) {
			return b.String(), Spelled
		}
		return b.String(), max(worst, Rule)
	}
	return p.g.guess(w, p.accent)
}

func upper(c byte) bool { return c >= 'A' && c <= 'Z' }

// split cuts a word at hyphens and where a capital follows a small letter, or begins a word behind other capitals.
// Bound: only its first maxParts cuts are made.
func split(w string) []string {
	const maxParts = 32
	var out []string
	from := 0
	for i := 1; i < len(w) && len(out) < maxParts; i++ {
		small := w[i-1] >= 'a' && w[i-1] <= 'z'
		switch {
		case w[i] == '-':
			if i > from {
				out = append(out, w[from:i])
			}
			from = i + 1
		case (small || upper(w[i-1]) && i+1 < len(w) && w[i+1] >= 'a' && w[i+1] <= 'z' && i-from > 1) && upper(w[i]) && i > from:
			out = append(out, w[from:i])
			from = i
		}
	}
	if from < len(w) {
		out = append(out, w[from:])
	}
	return out
}

// unstressed are function words without stress inside a sentence; lesser have
// the secondary one.
var (
	unstressed = set(`and of for at from as with that this these is it was were are be been have has had he she we you they his her their its my your
		than or if am an can could would will it's i'm you're he's she's we're they're i've you've we've i'll there`)
	lesser = set(`not but on up so me him them us what which when where who how some shall might our`)
)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// bare takes all stress.
var bare = strings.NewReplacer("ˈ", "", "ˌ", "")

// weaken takes the stress of a function word that something follows.
func (p *speaker) weaken(low, said string) string {
	if p.next == "" && low != "and" && low != "the" && low != "of" {
		return said
	}
	switch {
	case unstressed[low]:
		return bare.Replace(said)
	case lesser[low]:
		return strings.ReplaceAll(said, "ˈ", "ˌ")
	}
	return said
}

// special pronounces words whose sound depends on the next one.
func (p *speaker) special(i int) (string, bool) {
	t := &p.toks[i]
	vowel := isVowel(p.sound) || p.sound == 'ᵻ'
	us := p.accent == US
	choose := func(a, b string) string {
		if us {
			return a
		}
		return b
	}
	switch t.Text {
	case "a", "A":
		if p.next == "" || t.Text == "A" && i > 0 && p.previous(i, 1) != "" || unaccountable(p.next) {
			return "ˈA", true
		}
		return "ɐ", true
	case "an", "An":
		return "ɐn", true
	case "am", "Am":
		if p.next == "" {
			return choose("ˈæm", "ˈam"), true
		}
		return choose("ɐm", "ɐm"), true
	case "I":
		return "ˌI", true
	case "the", "The":
		if vowel {
			return "ði", true
		}
		return "ðə", true
	case "to", "To":
		switch {
		case p.next == "":
			return choose("tˈu", "tˈuː"), true
		case vowel:
			return "tʊ", true
		}
		return "tə", true
	case "in", "In":
		if p.next == "" {
			return "ˈɪn", true
		}
		return "ɪn", true
	case "used", "Used":
		if p.next == "to" && !beForms[p.previous(i, 1)] {
			return choose("jˈust", "jˈuːst"), true
		}
		return choose("jˈuzd", "jˈuːzd"), true
	case "et":
		return "ɛt", true
	}
	return "", false
}

// unaccountable reports whether "a" before this word is the letter: a b c.
func unaccountable(next string) bool {
	return next == "is" || next == "and" || next == "or" || next == "m"
}

// restress moves the stress of a word by whole or half steps: from none over
// secondary to primary.
func restress(said string, by float64) string {
	plain := bare.Replace(said)
	first := strings.IndexFunc(plain, isVowel)
	primary, secondary := strings.Contains(said, "ˈ"), strings.Contains(said, "ˌ")
	switch {
	case by <= -1 && primary && by > -2:
		return strings.ReplaceAll(strings.ReplaceAll(said, "ˌ", ""), "ˈ", "ˌ")
	case by < -0.5:
		return plain
	case by < 0 && primary:
		return strings.ReplaceAll(strings.ReplaceAll(said, "ˌ", ""), "ˈ", "ˌ")
	case by < 0:
		return plain
	case first < 0 || primary:
		return said
	case secondary && by >= 0.5:
		return strings.Replace(said, "ˌ", "ˈ", 1)
	case by >= 1:
		return plain[:first] + "ˈ" + plain[first:]
	}
	return plain[:first] + "ˌ" + plain[first:]
}
