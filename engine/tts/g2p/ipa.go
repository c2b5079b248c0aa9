package g2p

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A PhonemeError names a symbol that is no sound as the voices here speak it, and where in the phonemes it stands, counted in characters from 1.
type PhonemeError struct {
	Phonemes string
	Symbol   rune
	At       int
}

func (e *PhonemeError) Error() string {
	if e.Symbol == 0 {
		return fmt.Sprintf("the phonemes %q have no vowel", e.Phonemes)
	}
	return fmt.Sprintf("%q, character %d of the phonemes %q, is no sound in IPA that can be spoken here", e.Symbol, e.At, e.Phonemes)
}

// ipa are spellings of the International Phonetic Alphabet and what they are in
// Kokoro's symbols, the longest first where one begins another.
var ipa = []struct{ from, us, gb string }{
	{"tʃ", "ʧ", "ʧ"}, {"dʒ", "ʤ", "ʤ"}, {"t\u0361ʃ", "ʧ", "ʧ"}, {"d\u0361ʒ", "ʤ", "ʤ"}, {"eɪ", "A", "A"}, {"aɪ", "I", "I"}, {"ɔɪ", "Y", "Y"}, {"aʊ", "W", "W"}, {"oʊ", "O", "Q"}, {"əʊ", "O", "Q"},
	{"l\u0329", "ᵊl", "ᵊl"}, {"n\u0329", "ᵊn", "ᵊn"}, {"m\u0329", "ᵊm", "ᵊm"},
	{"ɜː", "ɜɹ", "ɜː"}, {"ɚ", "əɹ", "ə"}, {"ɝ", "ɜɹ", "ɜː"}, {"ɒ", "ɑ", "ɒ"}, {"ɾ", "T", "t"}, {"g", "ɡ", "ɡ"}, {"r", "ɹ", "ɹ"}, {"ɫ", "l", "l"}, {"ʍ", "w", "w"}, {"e", "ɛ", "ɛ"}, {"ʉ", "u", "u"},
	{"a", "æ", "a"}, {"æ", "æ", "a"}, {"O", "O", "Q"}, {"Q", "O", "Q"}, {"ː", "", "ː"}, {":", "", "ː"}, {"'", "ˈ", "ˈ"}, {",", "ˌ", "ˌ"},
	{".", "", ""}, {"\u0361", "", ""}, {"\u035c", "", ""}, {"‿", "", ""}, {" ", "", ""}, {"/", "", ""}, {"[", "", ""}, {"]", "", ""},
}

// sounds are the symbols of English.
const sounds = "AIOQTWYᵊbdfhijklmnpstuvwzæaɐɑɒɔəɛɜɡɪɹʃʊʌʒʤʧðŋθᵻʔː"

// FromIPA writes phonemes in the International Phonetic Alphabet, or in Kokoro's
// symbols, as Kokoro reads them: one symbol a sound, stress before the vowel; without any, on the first. The
// error is a *PhonemeError.
func FromIPA(s string, accent Accent) (string, error) {
	s = norm.NFD.String(s)
	var b strings.Builder
	stress := ""
	vowel := false
next:
	for i, at := 0, 1; i < len(s); {
		for _, p := range ipa {
			if strings.HasPrefix(s[i:], p.from) {
				to := p.us
				if accent == British {
					to = p.gb
				}
				switch {
				case to == "ˈ" || to == "ˌ":
					stress = to
				case to != "" && isVowel(firstRune(to)):
					b.WriteString(stress + to)
					stress, vowel = "", true
				default:
					b.WriteString(to)
				}
				i += len(p.from)
				at += utf8.RuneCountInString(p.from)
				continue next
			}
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == 'ˈ' || r == 'ˌ':
			stress = string(r)
		case !strings.ContainsRune(sounds, r):
			return "", &PhonemeError{s, r, at}
		case isVowel(r):
			b.WriteString(stress + string(r))
			stress, vowel = "", true
		default:
			b.WriteRune(r)
		}
		i += n
		at++
	}
	if !vowel && b.Len() == 0 {
		return "", &PhonemeError{Phonemes: s}
	}
	said := b.String()
	if !strings.ContainsAny(said, "ˈˌ") {
		said = onePrimary(said)
	}
	return said, nil
}

// tied are pairs that Kokoro's table has one symbol for, and other spellings of its
// symbols.
var tied = strings.NewReplacer("t\u0361ʃ", "ʧ", "tʃ", "ʧ", "d\u0361ʒ", "ʤ", "dʒ", "ʤ", "t\u0361s", "ʦ", "d\u0361z", "ʣ", "aɪ", "I", "aʊ", "W", "eɪ", "A", "oʊ", "O", "ɔɪ", "Y", "əʊ", "Q",
	"g", "ɡ", "ɫ", "l", "ʍ", "w", "'", "ˈ", ":", "ː", "\u0361", "", "\u035c", "", "\u032f", "", "‿", "", ".", "", " ", "", "/", "", "[", "", "]", "")

// Symbols writes phonemes of any language in the International Phonetic Alphabet as
// Kokoro reads them: in its symbols, stress before the vowel. The error is a
// *PhonemeError.
func Symbols(s string) (string, error) {
	s = norm.NFD.String(s)
	said := tied.Replace(s)
	var b strings.Builder
	stress := ""
	at := 0
	for _, r := range said {
		at++
		switch {
		case r == 'ˈ' || r == 'ˌ':
			stress = string(r)
		case !strings.ContainsRune(alphabet, r) || strings.ContainsRune(`;:,.!?—…"()“” `, r):
			return "", &PhonemeError{s, r, at}
		case strings.ContainsRune(vowels, r):
			b.WriteString(stress + string(r))
			stress = ""
		default:
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "", &PhonemeError{Phonemes: s}
	}
	return b.String(), nil
}

// vowels are those of all languages in Kokoro's table.
const vowels = "AIOQWYᵊaeiouyɑɐɒæɔəɚɛɜɨɪɯøœʊʌɤᵻ"
