// Package lang pronounces languages other than English in Kokoro's symbols: each is a
// table of rules from letters to sounds, a place for the stress, a table of what sounds
// become beside others, and the few words that no rule gets right.
//
// What is written is what Kokoro v1.0 was trained with: the output of misaki's EspeakG2P
// (0.7 to 0.9, version unset), which is the IPA of espeak-ng with ties, where tied pairs
// become one symbol (a^ɪ I, a^ʊ W, e^ɪ A, o^ʊ O, ə^ʊ Q, ɔ^ɪ Y, d^z ʣ, t^s ʦ, d^ʒ ʤ,
// t^ʃ ʧ, s^s S), other ties and hyphens are dropped and nasal vowels keep U+0303 behind
// them. Version 2.0 of misaki, which has letters of its own for nasal vowels, is for
// models that do not exist yet. A word's stress mark stands directly before its vowel.
//
// The rules and lists are written by hand from what is generally known of the spellings,
// and were then changed until they agreed with what espeak-ng says of lists of words:
// which exceptions are listed, and habits of espeak-ng that no orthography asks for, such
// as pː before t in Spanish, come from there. No file of espeak-ng was read or is carried;
// it is run by the bench only. bench/g2p -oracle measures how far they agree.
package lang

import (
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// A Language is how one is read. All of its parts are tables and small functions; the
// fields that are not set do nothing.
type Language struct {
	Code string // "es"
	Name string // "Spanish"

	own     string // letters beside a to z
	letters table  // from small letters to sounds; ˈ before a vowel where the spelling has the stress
	settle  table  // of one word's sounds, before secondary stresses are put
	sounds  table  // of a clause, words between spaces
	nuclei  string
	stress  func(word, sounds string) int                          // which nucleus, from the end, counted from 0; -1 is none
	second  func(l *Language, sounds string) string                // puts secondary stresses
	derived func(l *Language, word string) string                  // the sounds of a word made of another, or ""
	words   map[string]string                                      // that the rules get wrong, with their stresses
	weak    map[string]bool                                        // words without stress where others follow
	lesser  map[string]bool                                        // words with the secondary one there
	spelled map[rune]string                                        // names of letters
	alone   string                                                 // letters that are words
	said    map[string]bool                                        // words in capitals that are not spelled
	light   bool                                                   // words of both kinds are so at the end too, unless no other has a stress
	elides  bool                                                   // an apostrophe stands inside words
	link    func(previous, word, next, said, sounds string) string // the sounds of a word between the previous one and the next, which has sounds
	alien   func(word string) bool                                 // whether a word's spelling is English
	script  *characters                                            // without spaces between words; nil: they have them

	scriptOf   *unicode.RangeTable // beside Latin
	scriptName string
	ownLetters bool            // letters alone and initials have names of the language; else those of English
	visarga    map[string]bool // beginnings of words that a colon is part of
	*vocabulary
}

// An Entry is a language by its code, which Open makes when it is first asked for.
type Entry struct {
	Code string
	Open func() *Language
}

// Languages are those that can be read.
var Languages = append([]Entry{
	{"es", sync.OnceValue(spanish)},
	{"it", sync.OnceValue(italian)},
	{"pt-br", sync.OnceValue(portuguese)},
	{"fr", sync.OnceValue(french)},
	{"hi", sync.OnceValue(hindi)},
	{"zh", sync.OnceValue(chinese)},
}, further...)

// Find returns the language of a code, or nil.
func Find(code string) *Language {
	for _, l := range Languages {
		if l.Code == code {
			return l.Open()
		}
	}
	return nil
}

// known reports whether there is a language of a code.
func known(code string) bool {
	return slices.ContainsFunc(Languages, func(l Entry) bool { return l.Code == code })
}

// codes are the languages' names for programs: ISO 639 with a region, and the letters of
// Kokoro's servers. Regions that are not here are read as their language is.
var codes = map[string]string{"a": "en-us", "en": "en-us", "b": "en-gb", "en-uk": "en-gb", "e": "es", "f": "fr", "h": "hi", "i": "it", "p": "pt-br", "pt": "pt-br", "pt-pt": "pt-pt", "j": "ja", "z": "zh", "cmn": "zh",
	// Other languages that are written in Chinese characters; what is spoken in Hong Kong and Macau is Cantonese.
	"zh-yue": "yue", "zh-hk": "yue", "zh-mo": "yue", "zh-hant-hk": "yue", "zh-hant-mo": "yue", "zh-min-nan": "nan", "zh-nan": "nan", "zh-wuu": "wuu", "zh-hakka": "hak", "zh-hak": "hak", "zh-gan": "gan", "zh-hsn": "hsn"}

// Code returns the code of a language as voices have it, of a tag such as "es-MX", and
// whether it can be read. English is in package g2p.
func Code(tag string) (string, bool) {
	tag = strings.ReplaceAll(strings.ToLower(tag), "_", "-")
	// What is known of the longest part of the tag holds.
	for t := tag; t != ""; t = t[:max(0, strings.LastIndexByte(t, '-'))] {
		code, named := codes[t]
		if !named {
			code = t
		}
		if code == "en-us" || code == "en-gb" || known(code) {
			return code, true
		}
		if named {
			return code, false
		}
	}
	return tag, false
}

// Spoken lists the codes of what can be read, English first.
func Spoken() []string {
	out := []string{"en-us", "en-gb"}
	for _, l := range Languages {
		out = append(out, l.Code)
	}
	return out
}

// longestWord bounds what the rules look at at once, in bytes; longer words are read in
// parts.
const longestWord = 96

// Word returns the sounds of a word in small letters, spoken alone.
func (l *Language) Word(word string) string {
	if l.script != nil {
		return l.runWord(word)
	}
	return l.join([]string{l.word(word)})[0]
}

// word returns the sounds of a word before those around it change them.
func (l *Language) word(word string) string {
	if said, ok := l.words[word]; ok {
		return said
	}
	if len(word) > longestWord {
		return l.inParts(word)
	}
	if l.derived != nil {
		if said := l.derived(l, word); said != "" {
			return said
		}
	}
	said := l.letters.rewrite(l.fold(word))
	if !strings.ContainsRune(said, 'ˈ') && l.stress != nil {
		said = l.mark(said, l.stress(word, said), "ˈ")
	}
	said = l.settle.rewrite(said)
	if l.second != nil {
		said = l.second(l, said)
	}
	return said
}

// inParts returns the sounds of a word that is too long to look at at once.
func (l *Language) inParts(word string) string {
	var b strings.Builder
	for len(word) > longestWord {
		k := longestWord
		for !utf8.RuneStart(word[k]) {
			k--
		}
		b.WriteString(l.word(word[:k]))
		word = word[k:]
	}
	return b.String() + l.word(word)
}

// folds are letters that are no letter with a mark.
var folds = map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'þ': "t", 'ð': "d", 'ı': "i", 'ŋ': "ng", 'ª': "a", 'º': "o", '’': "'"}

// fold writes a word in the letters of the language.
func (l *Language) fold(word string) string {
	plain := true
	for _, r := range word {
		plain = plain && (r < 0x80 || strings.ContainsRune(l.own, r))
	}
	if plain {
		return word
	}
	var b strings.Builder
	for _, r := range word {
		switch s := folds[r]; {
		case r < 0x80 || strings.ContainsRune(l.own, r):
			b.WriteRune(r)
		case s != "":
			b.WriteString(s)
		default:
			if base, _ := decompose(r); base >= 'a' && base <= 'z' {
				b.WriteRune(base)
			}
		}
	}
	return b.String()
}

// nucleiOf returns where the nuclei of syllables begin in sounds.
func (l *Language) nucleiOf(sounds string) []int {
	var out []int
	for i, r := range sounds {
		if strings.ContainsRune(l.nuclei, r) {
			out = append(out, i)
		}
	}
	return out
}

// mark puts a stress before the n-th nucleus from the end, or the first if there are
// fewer.
func (l *Language) mark(sounds string, n int, stress string) string {
	at := l.nucleiOf(sounds)
	if len(at) == 0 || n < 0 {
		return sounds
	}
	i := at[max(0, len(at)-1-n)]
	return sounds[:i] + stress + sounds[i:]
}

// alternate puts secondary stresses on every other syllable from the first on that is
// not next to a primary one.
func (l *Language) alternate(sounds string) string {
	at := l.nucleiOf(sounds)
	primary := -1
	for k, i := range at {
		if strings.HasSuffix(sounds[:i], "ˈ") {
			primary = k
			break
		}
	}
	var b strings.Builder
	from := 0
	for k := 0; k+1 < primary; k += 2 {
		b.WriteString(sounds[from:at[k]])
		b.WriteString("ˌ")
		from = at[k]
	}
	return b.String() + sounds[from:]
}

// join lets the words of a clause change each other's sounds.
func (l *Language) join(words []string) []string {
	return strings.Split(l.sounds.rewrite(strings.Join(words, " ")), " ")
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
