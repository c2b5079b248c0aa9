package lang

import (
	"regexp"
	"strings"
	"sync"
)

// french is that of France, with liaison behind articles, pronouns, numbers and the like.
func french() *Language {
	return &Language{
		Code: "fr", Name: "French", own: "àâäæçéèêëîïôöœùûüÿ", elides: true,
		letters: newTable(`
V = aeiouyàâäéèêëîïôöœùûü
C = bcçdfghjklmnpqrstvwxz
E = eiyéèêëîï
['] =
; Endings.
[aient] # = ɛ
[amment] # = amɑ̃
[emment] # = amɑ̃
{cdfl} [ient] # = jɑ̃
[ient] # = jɛ̃
V C? C [ement] # = əmɑ̃
V C? C [ements] # = əmɑ̃
[iement] # = imɑ̃
[ements] # = əmɑ̃
[ement] # = əmɑ̃
[ments] # = mɑ̃
[ment] # = mɑ̃
{rsvc} id [ent] # = ɑ̃
# C? C [ent] s? # = ɑ̃
id [ents] # = ɑ̃
éc [ent] # = ɑ̃
oc [ent] # = ɑ̃
qu [ent] # = ɑ̃
rg [ent] # = ɑ̃
ag [ent] # = ɑ̃
lig [ent] # = ɑ̃
al [ent] # = ɑ̃
ell [ent] # = ɑ̃
ar [ent] # = ɑ̃
fér [ent] # = ɑ̃
pét [ent] # = ɑ̃
an [ent] # = ɑ̃
in [ent] # = ɑ̃
[ent] # =
[ents] # = ɑ̃
v [ers] # = ɛʁ
[ers] # = e
[er] # = e
[ez] # = e
[ées] # = e
[ée] # = e
[és] # = e
[ies] # = i
[ie] # = i
q [ues] # =
g [ues] # =
q [ue] # =
g [ue] # =
o [ues] # = y
[ues] # = y
[ue] # = y
[aies] # = ɛ
[aie] # = ɛ
# C? C [ai] # = ɛ
[ai] # = e
[oue] s? # = u
[auxqu] = ok
[esqu] el = ek
[et] # = ɛ
[ets] # = ɛ
[êts] # = ɛ
[ects] # = ɛkt
[ect] # = ɛkt
[es] # =
[e] # =
[ie] r {aoei} = i
[oue] r {aoei} = u
{^gq} [ue] r {aoei} = y
[gn] e # = ɲ
[gn] em = ɲ
; Nasal vowels.
[ain]{^aeiouyàâäéèêëîïôöœùûühnm} = ɛ̃
[aim] # = ɛ̃
[ein]{^aeiouyàâäéèêëîïôöœùûühnm} = ɛ̃
[oin]{^aeiouyàâäéèêëîïôöœùûühnm} = wɛ̃
sci [en] = ɑ̃
i [en] {c} = ɑ̃
i [en]{^aeiouyàâäéèêëîïôöœùûühnm} = ɛ̃
é [en]{^aeiouyàâäéèêëîïôöœùûühnm} = ɛ̃
y [en] s? # = ɛ̃
[an]{^aeiouyàâäéèêëîïôöœùûühnm} = ɑ̃
[am] {pb} = ɑ̃
[aon] # = ɑ̃
# [enn] {uo} = ɑ̃n
# [emm] = ɑ̃m
[en]{^aeiouyàâäéèêëîïôöœùûühnm} = ɑ̃
[em] {pbm} = ɑ̃
[in]{^aeiouyàâäéèêëîïôöœùûühnm} = ɛ̃
[im] {pb} = ɛ̃
[yn]{^aeiouyàâäéèêëîïôöœùûühnm} = ɛ̃
[ym] {pb} = ɛ̃
[ompt] {eé} = ɔ̃t
[on]{^aeiouyàâäéèêëîïôöœùûühnm} = ɔ̃
[om] {pb} = ɔ̃
[om] s? # = ɔ̃
[un]{^aeiouyàâäéèêëîïôöœùûühnm} = œ̃
[um] {pb} = œ̃
[um] # = ɔm
[nn] = n
[mn] = n
[mm] = m
; Groups of vowels.
[eau] = o
[au] = o
[aill] = aj
[ail] s? # = aj
[eill] = ɛj
[eil] s? # = ɛj
[euill] = œj
[euil] s? # = œj
c [ueill] = œj
c [ueil] = œj
[œil] = œj
[ouill] = uj
[quill] = kij
[guill] = ɡij
[gueu] = ɡœ
[queu] = kœ
[oeu] = œ
[oei] = œ
[uill] = yij
v [ill] = il
# m [ill] {ei} = il
qu [ill] {e} = il
V [ill] = j
[ill] # = il
C [ill] V = ij
[ill] = il
# [fai] s {aio} = fə
[aî] = ɛ
[aï] = ai
[ays] = ɛi
[ay] V = ɛj
[ay] = ɛ
[ai] = ɛ
[ei] = ɛ
[ey] = ɛ
[oy] V = waj
[oy] = wa
[oi] = wa
[oî] = wa
[oï] = ɔi
[œu] {xdft}? s? # = ø
[œu] = œ
[œ] = e
# [eu] = ø
[eu] {xst}? # = ø
[eu] s V = ø
[eu] {tdbmn} = ø
[eu] lem = ø
[eu] reu = ø
[eu] = œ
[eû] = ø
[ou] {ieéè} = w
[oua] = wa
[où] = u
[oû] = u
[ou] = u
[uy] V = yij
[ueu] = yø
g [u] {eiéèêyaoâ} = 
q [u] =
; e
[é] = e
[è] = ɛ
[ê] = ɛ
[ë] = ɛ
# [e] ff = e
# [e] ss = e
# r [e] ss = ə
[e] ff = e
[e] {x} = ɛ
[e] {bcdfgpt} {rl} = ə
[e] v r = ə
[e] chn = ɛ
[e] ch = ə
[e] gn = e
[e] th = e
[e] ph = e
[e] qu = ə
[e] g {eui} = ə
[e] C C = ɛ
[e] C # = ɛ
[e] C s # = ɛ
g [e] {aoâ} =
[e] {aouâ} =
[e] = ə
[â] {mt} es # = aː
[â] t? # = aː
[â] = a
[à] = a
[î] = i
[ï] = i
[ô] = o
[û] = y
[ù] = y
[ü] = y
[ÿ] = i
[ä] = ɛ
[ö] = ø
; i, u, y, o
{bcdfgptv} {lr} [i] {aeoéèê} = i
# C [y] C = i
[i] {aeoéèêuœ} = j
[y] V = j
[y] = i
[o] C e s? # = ɔ
[o] ch e s? # = ɔ
[o] {s} {^sctpqh} = o
[o] C s? # = ɔ
[o] {bcdfgptv} {lr} {^e} = ɔ
[o] tr e = o
[o] gn = ɔ
[o] {tpc} h V = o
[o] qu {^e} = o
[o] qu e = ɔ
[o] C C = ɔ
[o] # = o
[o] C V = o
[o] = ɔ
[u] = y
; Consonants.
[bb] = b
[b] s # = b
[cch] = k
[ch] {rlnœ} = k
sy [ch] o = k
[ch] = ʃ
[cc] {eiéèêy} = ks
[cc] = k
[cqu] = k
[sc] {eiéèêy} = s
[c] {eiéèêyî} = s
[ct] # = kt
n [c] s? # =
[c] s? # = k
[c] = k
[ç] = s
[dd] = d
[dg] = ʤ
[d] s? # =
[d] = d
[ff] = f
[f] s? # = f
[gg] {eéi} = ɡʒ
[gg] = ɡ
[gn] # = ɲ
[gn] i = ɲ
[gn] = nj
[g] {eiéèêyî} = ʒ
[gt] s? # =
[g] s? # =
[g] = ɡ
[h] =
[j] = ʒ
[ck] = k
[kk] = k
[ll] = l
[pp] = p
[ph] = f
e [pt] s? # = pt
[pt] s? # =
[ps] # =
m [p] t V = 
m [p] t # =
[p] s? # =
[q] = k
[rr] = ʁ
[r] s? # = ʁ
[r] = ʁ
[ss] = s
[sch] = ʃ
[sh] = ʃ
V [s] V = z
V [s] h? V = z
[s] # =
[st] s? # = st
[s] = s
s [ti] on = tj
[ti] on = sj
[ti] el = sj
[ti] eux = sj
[ti] aux = sj
[ti] al = sj
[ti] a{tir} = sj
[ti] enc = sj
[tie] # = ti
[th] = t
[tt] = t
[t] s? # =
[t] = t
[v] = v
[w] = w
# e [xh] = ɡz
# e [x] {aeiouéèêâ} = ɡz
# ine [x] V = ɡz
# coe [x] V = ɡz
# [x] = ɡz
e [xc] {eiéè} = ks
[x] # =
[x] = ks
[z] # =
[z] = z
`),
		settle: newTable(`
V = aeiouyɑɔɛœø
C = bdfɡjklmnpʁstvwzʃʒɲ
; e between two consonants is silent, unless three would meet.
V ̃? {bdfɡklmnpʁstvzʃʒ} [ə] {bdfɡklmnpʁstvzʃʒ} {ˈaeiouyɑɔɛœøwə} = 
V ̃? {bdfɡklmnpʁstvzʃʒ} [ə] {bdfɡkptv} {ʁl} = ə
[ə] # =
[ijj] = ij
[əɛ] = ɛ
`),
		sounds: newTable(`
[rr] = ʁ
`),
		nuclei: "aeiouyɑɔɛœø",
		stress: func(word, sounds string) int { return 0 },

		words: map[string]string{"le": "lˈə", "je": "ʒˈə", "me": "mˈə", "te": "tˈə", "se": "sˈə", "ce": "sˈə", "de": "dˈə", "ne": "nˈə", "que": "kˈə", "les": "lˈe", "des": "dˈe", "mes": "mˈe", "tes": "tˈe", "ses": "sˈe", "ces": "sˈe", "es": "ˈɛ", "est": "ˈɛ", "et": "ˈe", "un": "ˈœ̃", "y": "ˈi", "eu": "ˈy", "eut": "ˈy", "femme": "fˈam", "femmes": "fˈam", "monsieur": "məsjˈø", "messieurs": "mesjˈø",
			"pays": "pɛˈi", "fils": "fˈil", "tous": "tˈus", "six": "sˈis", "dix": "dˈis", "huit": "yˈit", "neuf": "nˈœf", "sept": "sˈɛt", "cinq": "sˈɛ̃k", "mer": "mˈɛʁ", "cher": "ʃˈɛʁ", "chers": "ʃˈɛʁ", "fer": "fˈɛʁ", "hier": "jˈɛʁ", "hiver": "ivˈɛʁ", "enfer": "ɑ̃fˈɛʁ", "vers": "vˈɛʁ", "hors": "ˈɔʁ", "avec": "avˈɛk", "second": "səɡˈɔ̃", "seconde": "səɡˈɔ̃d", "secondaire": "səɡɔ̃dˈɛʁ", "secondes": "səɡˈɔ̃d", "donc": "dˈɔ̃k", "sens": "sˈɑ̃s", "moins": "mwˈɛ̃", "plus": "plˈy", "club": "klˈœb", "clubs": "klˈœb", "chez": "ʃˈe", "nez": "nˈe", "euro": "øʁˈo", "euros": "øʁˈo", "oui": "wˈi", "pied": "pjˈe", "pieds": "pjˈe", "clef": "klˈe", "net": "nˈɛt", "ouest": "wˈɛst", "août": "ˈut", "os": "ˈɔs", "mars": "mˈaʁs", "gens": "ʒˈɑ̃", "temps": "tˈɑ̃", "long": "lˈɔ̃", "sang": "sˈɑ̃", "banc": "bˈɑ̃", "blanc": "blˈɑ̃", "tabac": "tabˈa", "ville": "vˈil", "villes": "vˈil", "mille": "mˈil", "tranquille": "tʁɑ̃kˈil", "notre": "nˈotʁ", "votre": "vˈotʁ", "autre": "ˈotʁ", "examen": "ɛɡzamˈɛ̃", "donnent": "dˈɔn",
			"direct": "diʁˈɛkt", "directs": "diʁˈɛkt", "correct": "kɔʁˈɛkt", "souvent": "suvˈɑ̃", "présent": "pʁezˈɑ̃", "présents": "pʁezˈɑ̃", "cet": "sˈɛt", "outil": "utˈi", "outils": "utˈi", "longtemps": "lɔ̃tˈɑ̃", "essai": "esˈɛ", "décident": "desˈid", "trop": "tʁˈo", "mot": "mˈo", "mots": "mˈo", "zone": "zˈon", "but": "bˈyt", "gaz": "ɡˈaz", "cent": "sˈɑ̃", "cents": "sˈɑ̃", "vent": "vˈɑ̃", "dent": "dˈɑ̃", "sont": "sˈɔ̃", "client": "kliˈɑ̃", "clients": "kliˈɑ̃", "patient": "pasjˈɑ̃", "vient": "vjˈɛ̃", "bien": "bjˈɛ̃", "rien": "ʁjˈɛ̃", "combien": "kɔ̃bjˈɛ̃", "ancien": "ɑ̃sjˈɛ̃", "sud": "sˈyd", "bus": "bˈys", "virus": "viʁˈys", "jus": "ʒˈy", "parce": "pˈaʁs", "presque": "pʁˈɛskə", "lorsque": "lˈɔʁskə", "puisque": "pyˈiskə", "jusque": "ʒˈyskə", "quelque": "kˈɛlkə", "quelques": "kˈɛlkə", "qu'": "k", "jusqu'": "ʒysk", "lorsqu'": "lɔʁsk", "puisqu'": "pyisk", "c'": "s", "d'": "d", "l'": "l", "j'": "ʒ", "m'": "m", "t'": "t", "s'": "s", "n'": "n",
			"aujourd'hui": "oʒuʁdyˈi", "radio": "ʁadjˈo", "peu": "pˈø", "feu": "fˈø", "yeux": "jˈø", "poêle": "pwˈal", "ai": "ˈe"},
		weak:    set("le la les l un une des du de d à au aux et ou où que qu qui je tu il elle on nous vous ils elles me te se ce ne y en mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs dans par pour sur sous sans chez avec est es a as ont plus si comme mais ni dont pas c'est n'est s'est qu'est quand entre très c j m t s n ces cet cette"),
		alone:   "aày",
		spelled: map[rune]string{'a': "a", 'b': "bé", 'c': "cé", 'd': "dé", 'e': "eu", 'f': "effe", 'g': "gé", 'h': "ache", 'i': "i", 'j': "ji", 'k': "ka", 'l': "elle", 'm': "emme", 'n': "enne", 'o': "o", 'p': "pé", 'q': "qu", 'r': "erre", 's': "esse", 't': "té", 'u': "u", 'v': "vé", 'w': "doublevé", 'x': "ixe", 'y': "igrec", 'z': "zède"},
		said:    map[string]bool{"ONU": true, "OTAN": true, "UNESCO": true},
		alien:   func(w string) bool { return frenchAlien().MatchString(w) },
		link:    frenchLiaison,

		vocabulary: ready(frenchWords()),
	}
}

// frenchAlien knows words that cannot be French by their spelling.
var frenchAlien = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`ing$|ings$|[^aeiou]ck|sh|ee|oo|ware|^w|ea[tdm]|th$|ight|y$`)
})

// frenchLinks are words whose last consonant is heard before a vowel, and what it is then.
var frenchLinks = links("z les des ces mes tes ses nos vos aux nous vous ils elles dans très sans chez deux trois plusieurs quelques autres leurs pas sous êtes mais",
	"n un mon ton son en on aucun bien rien", "t c'est n'est s'est est sont ont quand tout petit grand cent vingt avaient était étaient fait", "z six dix", "t huit")

func links(lists ...string) map[string]string {
	out := map[string]string{}
	for _, l := range lists {
		f := strings.Fields(l)
		for _, w := range f[1:] {
			out[w] = f[0]
		}
	}
	return out
}

// frenchShort are numbers that lose their last consonant before one.
var frenchShort = map[string]bool{"six": true, "dix": true, "huit": true}

// frenchAspirated are words with an h, or like one, before which nothing is tied.
var frenchAspirated = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:h(?:a(?:ch|ie|in|lt|mac|nch|nd|ngar|nt|r[dip]|sard|ut|ïr)|é(?:ros|ris)|ors|ollan|ongr|ont|uit|urle|ibou|eurt)|onze|oui|ouistiti|yacht|yaourt)`)
})

// frenchHundreds stand before a hundred that ends in s where nothing more is counted.
var frenchHundreds = set("deux trois quatre cinq six sept huit neuf")

// frenchUnits are numbers behind a hundred or quatre-vingt, which nothing ties to them.
var frenchUnits = set("un une onze unième onzième")

// frenchTie is what ties a word to the next one, which begins with a vowel, or "".
func frenchTie(previous, word, next string) string {
	scores := strings.HasPrefix(word, "vingt") && previous == "quatre"
	switch hundred := word == "cent" || word == "cents"; {
	case frenchUnits[next] && (hundred || scores):
		return "" // cent un, quatre-vingt-un
	case scores, hundred && frenchHundreds[previous]:
		return "z" // quatre-vingts ans
	}
	return frenchLinks[word]
}

// frenchLiaison returns the sounds of a word before the next one.
func frenchLiaison(previous, word, next, said, sounds string) string {
	c := frenchTie(previous, word, next)
	first := firstRune(strings.TrimLeft(sounds, "ˈˌ"))
	if c == "" || !strings.ContainsRune("aeiouyɑɔɛœøjw", first) || frenchAspirated().MatchString(next) || strings.ContainsRune("jw", first) && !strings.HasPrefix(next, "h") && !strings.HasPrefix(next, "oi") && next != "yeux" {
		if frenchShort[word] && !strings.ContainsRune("aeiouyɑɔɛœøjw", first) {
			return said[:len(said)-1] // six cents
		}
		return said
	}
	if frenchShort[word] {
		return said[:len(said)-1] + c
	}
	return said + c
}
