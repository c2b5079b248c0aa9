package lang

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// portuguese is that of Brazil.
func portuguese() *Language {
	return &Language{
		Code: "pt-br", Name: "Portuguese", own: "áàâãéêíóôõúüç",
		letters: newTable(`
V = aeiouáàâãéêíóôõúü
E = eiéêí
[ch] = ʃ
[ck] = k
[cc] E = ks
[cç] = ks
[c] E = s
[c] = k
[ç] = s
[qu] E = k
[qü] = kw
[qu] V = kw
[q] = k
[gu] E = ɡ
[gü] = ɡw
[gu] {aáoã} = ɡw
[g] E = ʒ
[g] = ɡ
[j] = ʒ
[lh] = lj
[nh] = ɲ
[h] =
[ph] = f
[ss] = s
[sc] E = s
[sç] = s
[sh] = ʃ
V [s] V = z
V [s] h V = z
[s] {bdglmnvrj} = z
[s] = s
[z] # = s
[z] = z
# {eê} [x] V = z
# e [x] h = z
e [xc] E = s
e [x] {ptc} = s
[x] = ʃ
# [r] = x
[rr] = x
{nls} [r] = x
[r] # = r
V [r] V = ɾ
V [r] hV = ɾ
V [r] = ɾə
[r] = r
[t] {ií} = ʧ
[te] # = ʧe
[tes] # = ʧes
[tt] = t
[d] {ií} = ʤ
[de] # = ʤe
[des] # = ʤes
[y] = i
[w] = w
[ll] = l
[ãos] # = ɐ̃ʊ̃s
[ão] = ɐ̃ʊ̃
[ões] = õjs
[õe] = õj
[ães] = ɐ̃ys
[ãe] = ɐ̃y
[ã] = ɐ̃
[õ] = õ
[amos] # = amos
[am] # = αʊ̃
[an] {^aeiouáàâãéêíóôõúüh} = ɐ̃ŋ
[am] {pb} = ɐ̃m
[ân] {^aeiouáàâãéêíóôõúüh} = ˈɐ̃ŋ
[âm] {pb} = ˈɐ̃m
[ân] = ˈɐ̃n
[âm] = ˈɐ̃m
[ens] # = Aŋs
[em] # = Aŋ
[éns] # = ˈAŋs
[ém] # = ˈAŋ
[êm] # = ˈAŋ
[en] {^aeiouáàâãéêíóôõúüh} = Aŋ
[em] {pb} = Am
[ên] {^aeiouáàâãéêíóôõúüh} = ˈAŋ
[êm] {pb} = ˈAm
[in] {^aeiouáàâãéêíóôõúüh} = iŋ
[im] # = iŋ
[ins] # = iŋs
[ím] {pb} = ˈim
[ín] {^aeiouáàâãéêíóôõúüh} = ˈiŋ
[on] {^aeiouáàâãéêíóôõúüh} = oŋ
[om] # = oŋ
[ôn] {^aeiouáàâãéêíóôõúüh} = ˈoŋ
[un] {^aeiouáàâãéêíóôõúüh} = ũŋ
[um] # = ũŋ
[um] {pb} = ũm
[ún] {^aeiouáàâãéêíóôõúüh} = ˈũŋ
[ai] {nm} {^aeiouáàâãéêíóôõúü} = aˈi
[ai] nh = aˈi
[ai] r # = aˈi
[ui] r # = uˈi
[aiu] # = aˈiʊ
[uiu] # = uˈiʊ
[uiz] # = uˈis
[u] in {^aeiouh} = u
[u] im # = u
[ai] rmos = aˈi
[eu] ni = eu
[ain] d = aˈiŋ
[ai] = I
[ái] = ˈI
[au] = W
[áu] = ˈW
[ao] # = W
[aos] # = Ws
[ei] = A
[êi] = ˈA
[éi] = ˈɛɪ
[eu] = eʊ
[éu] = ˈɛʊ
[oi] = oɪ
[ói] = ˈY
[ou] = ow
[iu] # = iʊ
[ui] = uɪ
[al] # = W
[al] {^aeiouáàâãéêíóôõúüh} = W
[ál] {^aeiouáàâãéêíóôõúüh} = ˈW
[el] # = eλ
[el] {^aeiouáàâãéêíóôõúüh} = eλ
[il] # = iʊ
[il] {^aeiouáàâãéêíóôõúüh} = iʊ
[ol] # = oλ
[ol] {^aeiouáàâãéêíóôõúüh} = oλ
[ul] # = uw
[ul] {^aeiouáàâãéêíóôõúüh} = uw
[á] = ˈa
[à] = ˈa
[â] = ˈa
[é] = ˈɛ
[ê] = ˈé
[í] = ˈi
[ó] = ˈɔ
[ô] = ˈó
[ú] = ˈu
[ü] = u
`),
		settle: newTable(`
V = aeiouɛɔɐIWA
[é] = e
[ó] = o
; Which stressed e is open.
ˈ [eλ] # = ɛʊ
ˈ [e] l{aoy} s? # = ɛ
ˈ [e] ɾə{tndvɡs}  = ɛ
ˈ [e] {szk}{ey} s? # = ɛ
ˈ [e] sAŋ # = ɛ
ˈ [e] st{aoe} s? # = ɛ
ˈ [e] s{ao} s? # = ɛ
ˈ [e] ʃ{ao} s? # = ɛ
ˈ [e] ɡ{ae} s? # = ɛ
ˈ [e] v{e} s? # = ɛ
ˈ [e] b{e} s? # = ɛ
ˈ [e] t{oaʊ} s? # = ɛ
ˈ [e] ɾ{oea} s? # = ɛ
ˈ [e] x{oa} s? # = ɛ
ˈ [e] {ʧʤ}e s? # = ɛ
ˈ [e] k{ao} s? # = ɛ
ˈ [e] p{eao} s? # = ɛ
ˈ [e] z{i} = ɛ
; Which stressed o is closed.
ˈ [o] ̃ = o
ˈ [u] {mɲ} = ũ
ˈ [oλ] = ɔl
ˈ [o] r # = o
ˈ [o] ɾes # = o
ˈ [o] zo # = o
ˈ [o] {nm} = o
ˈ [o] ŋ = o
ˈ [o] {ɲɪwʊ} = o
ˈ [o] sto # = o
ˈ [o] {ae} s? # = o
ˈ [o] {ɡvsbk}o # = o
ˈ [o] ɾən = o
ˈ [o] mp = o
ˈ [o] x = o
ˈ [o] ʃ = o
ˈ [o] ɾəs = ɔ
ˈ [o] s{e} s? # = o
ˈ [o] = ɔ
[oλ] = ow
[eλ] = eʊ
; Nasal a, and what unstressed vowels become at the end.
ˈ [a] {nmɲ} = ɐ̃
[a] {nm} = æ
[a] ɲ = ɐ̃
[αʊ̃] # = ɐ̃ʊ̃
{kɡ} w ˈ [a] = a
ˈ {^ˈ} {^ˈ}* [i] {ao} s? # = j
ˈ {^ˈ} {^ˈ}* [ie] s? # = jy
{^ˈ} [a] # = æ
{^ˈ} [as] # = æs
{^ˈ} [o] # = ʊ
{^ˈ} [os] # = ʊs
{^ˈ} [e] # = y
ˈ {^ˈ} {^ˈ}* [a] = æ
{^ˈ} [es] # = ys
`),
		sounds: newTable(`
V = aeiouɛɔɐIWAYyʊæɪ
[s] _ {ˈˌ}* V = z
[s] _ {ˈˌ}* {bdɡvzʒmnlʎrɾ} = z
`),
		nuclei: "aeiouéóɛɔɐAIWYæα",
		stress: func(word, sounds string) int {
			for _, end := range []string{"im", "ins", "um", "uns", "om", "ão", "ã", "ãs", "ões", "ães", "õe", "ãe", "ãos"} {
				if strings.HasSuffix(word, end) {
					return 0
				}
			}
			w := strings.TrimSuffix(word, "s")
			for _, end := range []string{"ai", "ei", "oi", "ui", "au", "eu", "iu", "ou", "ao"} {
				if strings.HasSuffix(w, end) {
					return 0
				}
			}
			for _, end := range []string{"a", "e", "o", "em", "en", "am"} {
				if strings.HasSuffix(w, end) {
					return 1
				}
			}
			return 0
		},
		second:  portugueseSecond,
		derived: portugueseSpelling,

		words: map[string]string{"do": "dˈʊ", "os": "ˈʊs", "no": "nˈʊ", "nos": "nˈʊs", "dos": "dˈʊs", "o": "ˈʊ", "pro": "prˈʊ", "que": "kˈy", "de": "ʤˈy", "se": "sˈy", "me": "mˈy", "te": "ʧˈy", "lhe": "ʎˈy", "lhes": "ʎˈys", "e": "ˈi", "muito": "mwˈiŋtʊ", "muita": "mwˈiŋtæ", "muitos": "mwˈiŋtʊs", "muitas": "mwˈiŋtæs",
			"esse": "ˈesi", "esses": "ˈesis", "neste": "nˈesʧi", "desse": "dˈesi", "às": "ˈaːs", "pizza": "pˈiʦæ", "sexo": "sˈɛksʊ", "táxi": "tˈaksi", "a": "ˈa", "as": "ˈas", "vídeo": "vˈiʤjʊ", "vídeos": "vˈiʤjʊs", "super": "sˈʊper", "uma": "ˈumæ", "umas": "ˈumæs", "numa": "nˈumæ", "alguma": "ˌWɡˈumæ", "algumas": "ˌWɡˈumæs", "nenhuma": "nˌeɲˈumæ", "oh": "ˈo", "com": "kˈoŋ"},
		weak:    set("o a os as de do da dos das e em no na nos nas com por que se me te lhe lhes um ao aos à às ou mas é são foi meu eu"),
		lesser:  set("para uma minha minhas como não ele ela eles elas está estão posso num numa"),
		alone:   "aeo",
		spelled: map[rune]string{'a': "a", 'b': "bê", 'c': "cê", 'd': "dê", 'e': "é", 'f': "éfi", 'g': "gê", 'h': "agá", 'i': "i", 'j': "jóta", 'k': "cá", 'l': "éli", 'm': "êmi", 'n': "êni", 'o': "ó", 'p': "pê", 'q': "quê", 'r': "érri", 's': "éssi", 't': "tê", 'u': "u", 'v': "vê", 'w': "dáblio", 'x': "xis", 'y': "ípsilon", 'z': "zê"},
		said:    map[string]bool{"ONU": true, "OTAN": true},
		alien:   func(w string) bool { return portugueseAlien().MatchString(w) },

		vocabulary: ready(portugueseWords()),
	}
}

// portugueseAlien knows words that cannot be Portuguese by their spelling.
var portugueseAlien = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[wy]|ck|k$|sh|th|oo[^s]|ee[^mn]|ea[tkm]s?$|ph|[^aeiouáéíóúâêôãõàlnrsmzx]$|[^aeiouáéíóúâêôãõàrn]s$|ff|pp|tt|ll|dd|bb|gg|mm`)
})

// portugueseSecond puts secondary stresses; the syllable before a stress that is not on
// the last one has one too.
func portugueseSecond(l *Language, sounds string) string {
	before, after, ok := strings.Cut(sounds, "ˈ")
	if !ok {
		return sounds
	}
	_, n := utf8.DecodeRuneInString(after)
	rest := strings.TrimLeft(after[n:], "ʊɪwj\u0303ŋ")
	if at := l.nucleiOf(before); len(at) == 1 && strings.ContainsAny(rest, "yʊæaeiouɐAIW") {
		return sounds[:at[0]] + "ˌ" + sounds[at[0]:]
	}
	return l.alternate(sounds)
}

// portugueseSpellings are words with the accents that would show how they are said.
var portugueseSpellings = accented(`
	pêlo pêla pêlos pêlas vêzes cabêça quér qualquér mulhér quisér quérem chéfe sôbre tôdos tôdo tôda tôdas hôje pósso melhór nósso lógo maiór piór menór pôrque êste êstes dêste dêsde mêsmo mêsma êle êles dêle dêles nêle aquêle aquêles
	tivér fizér houvér estivér pudér colhér sequér bélo béla nôvo nóva nóvos nóvas jôgo fôgo óvos pôvo fórte mórte sórte pórta espôsa têrça cêrca comêço éla élas déla délas éra éram séte mêdo cêdo sêde hóra hóras agóra embóra senhóra fóra
	melhóres maióres pióres vólta vólte vóltas pódem gósta adóro adóra móda róda
`)

// portugueseSpelling reads a word with the accents that show how it is said.
func portugueseSpelling(l *Language, word string) string {
	w := portugueseSpellings()[word]
	if w == "" {
		return ""
	}
	return portugueseSecond(l, l.settle.rewrite(l.letters.rewrite(w)))
}
