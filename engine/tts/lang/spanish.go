package lang

import (
	"regexp"
	"strings"
	"sync"
)

// spanish is that of Castile: c and z are θ, ll is ʎ.
func spanish() *Language {
	return &Language{
		Code: "es", Name: "Spanish", own: "áéíóúüñ",
		letters: newTable(`
V = aeiouáéíóúü
W = aeoáéó
E = eiéí
[ch] = ʧ
[cc] E = kθ
[c] E = θ
[ck] = k
[c] = k
[ph] = f
[qu] E = k
[q] = k
[gu] E = ɡ
[gü] V = ɡu
[g] E = x
[g] = ɡ
[j] = x
[z] = θ
[ll] # = l
[ll] = ʎ
[ñ] = ɲ
[v] = b
# [w] = w
[w] = w
# [x] = s
[x] = ks
# [ps] = s
[ny] = ɲ
[hue] = we
[hua] = wa
[hui] = wi
[hué] = wˈe
# [hie] = je
# [hié] = jˈe
[sh] = ʃ
[h] =
[rr] = r
# [r] = r
{nls} [r] = r
[r] = ɾ
V [y] # = ɪ
[y] V = ʝ
[y] = i
[ai] = I
[au] = W
[ei] = A
[eu] = eʊ
[oi] = oɪ
[ou] = ow
[ay] # = I
[ey] # = A
[oy] # = oɪ
[ái] = ˈI
[áu] = ˈW
[éi] = ˈA
[éu] = ˈeʊ
[ói] = ˈoɪ
[áy] # = ˈI
[éy] # = ˈA
[óy] # = ˈoɪ
[i] W = j
[i] {uú} = j
[u] W = w
[u] {ií} = w
[ü] V = w
[ü] = u
[á] = ˈa
[é] = ˈe
[í] = ˈi
[ó] = ˈo
[ú] = ˈu
`),
		settle: newTable(`
; Behind two consonants of one syllable, r and l there is no glide.
O = pbtdkɡf
O ɾ [j] = i
O l [j] = i
r [j] = i
O ɾ [w] = u
l [w] = u
r [w] = u
`),
		sounds: newTable(`
V = aeiouɪʊIWAɛ
S = ˈˌ
O = pbtdkɡfβðɣ
# [b] = b
m [b] = b
mˈ [b] = b
{nm} {ˈˌ_}* [b] = b
[b] {#_} = b
[b] {tmdbp} = b
[b] = β
# [d] = d
{nm} {ˈˌ_}* [d] = d
[d] {#_} = d
[d] {mk} = d
[d] = ð
# [ɡ] = ɡ
{nm} {ˈˌ_}* [ɡ] = ɡ
[ɡ] {nmɲ} = ɡ
[ɡ] {#_} = ɡ
[ɡ] = ɣ
[n] {ˈˌ_}* {ɡx} = ŋ
[n] {ˈˌ_}* {bpf} = m
[p] t = pː
; An adverb in -mente keeps its e.
ˈ {^_#}* mˈ [e] nte = e
ˈ [e] n {tθs} = ɛ
ˈ [e] nɡw = ɛ
`),
		nuclei: "aeiouIWAɛ",
		stress: func(word, sounds string) int {
			// On the last syllable but one, if the word ends in a vowel, n or s.
			if strings.HasSuffix(word, "n") || strings.HasSuffix(word, "s") || strings.ContainsAny(word[len(word)-1:], "aeiou") {
				return 1
			}
			return 0
		},
		second:  (*Language).alternate,
		derived: spanishAdverb,

		words:      map[string]string{"muy": "mˈuj", "y": "i", "e": "e", "harem": "ˈaɾem", "veintiuno": "bˌAntiˈuno", "veintiuna": "bˌAntiˈuna", "veintiún": "bˌAntiˈun"},
		weak:       set("a al con de del el en la las le les lo los me mi mis ni nos o os por que se si sin su sus te tu tus u y e según hasta"),
		lesser:     set("aunque como cuando donde desde entre hasta nuestra nuestras nuestro nuestros para pero porque sino sobre vuestra vuestras vuestro vuestros tan mientras contra"),
		alone:      "aeouy",
		spelled:    map[rune]string{'a': "a", 'b': "be", 'c': "ce", 'd': "de", 'e': "e", 'f': "efe", 'g': "ge", 'h': "hache", 'i': "i", 'j': "jota", 'k': "ca", 'l': "ele", 'm': "eme", 'n': "ene", 'ñ': "eñe", 'o': "o", 'p': "pe", 'q': "cu", 'r': "erre", 's': "ese", 't': "te", 'u': "u", 'v': "uve", 'w': "uvedoble", 'x': "equis", 'y': "igriega", 'z': "ceta"},
		said:       map[string]bool{"AVE": true, "OTAN": true, "UNESCO": true, "UNICEF": true},
		alien:      func(w string) bool { return spanishAlien().MatchString(w) },
		vocabulary: ready(spanishWords()),
	}
}

// spanishAdverb reads an adverb in -mente, which keeps the stress of its adjective.
func spanishAdverb(l *Language, word string) string {
	stem, ok := strings.CutSuffix(word, "mente")
	if !ok || len(stem) < 4 {
		return ""
	}
	return l.word(stem) + "mˈente"
}

// spanishAlien knows words that cannot be Spanish by their spelling.
var spanishAlien = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`w|ck|k$|sh|th|oo|ee[^rnms]|ea[tkm]s?$|[^aeiouáéíóúlnrsdzxyj]$|[^aeiouáéíóú]y$|ff|pp|tt|ss|dd|bb|gg|mm|ck|[^aeiouáéíóú]s$|^s[^aeiouáéíóúh]`)
})
