package lang

import (
	"strings"
	"unicode"
)

// hindi is that of Devanagari. While a word is being read, - is a vowel that was there in
// writing and is not said: it counts where stresses are put.
func hindi() *Language {
	return &Language{
		Code: "hi", Name: "Hindi", scriptOf: unicode.Devanagari, scriptName: "Devanagari",
		own: "अआइईउऊऋॠऌएऐओऔऑऍॲऎऒकखगघङचछजझञटठडढणतथदधनऩपफबभमयरऱलळऴवशषसह" + "ािीुूृॄॢेैोौॉॅॆॊ्ंँः़ॐऽ",
		letters: newTable(`
; A sign behind a consonant stands for its vowel; without one that is ə.
S = ािीुूृॄॢेैोौॉॅॆॊ्
C = कखगघङचछजझञटठडढणतथदधनऩपफबभमयरऱलळऴवशषसह
[क़] S = q
[क़] = qə
[ख़] S = x
[ख़] = xə
[ग़] S = ɣ
[ग़] = ɣə
[ज़] S = z
[ज़] = zə
[झ़] S = z
[झ़] = zə
[ड़] S = ɽ
[ड़] = ɽə
[ढ़] S = ɽh
[ढ़] = ɽhə
[फ़] S = f
[फ़] = fə
[ज्ञ] S = ɡj
[ज्ञ] # = ɡj-
[ज्ञ] = ɡjə
[क] S = k
[क] = kə
[ख] S = kʰ
[ख] = kʰə
[ग] S = ɡ
[ग] = ɡə
[घ] S = ɡʰ
[घ] = ɡʰə
[ङ] S = ŋ
[ङ] = ŋə
[च] S = c
[च] = cə
[छ] S = cʰ
[छ] = cʰə
[ज] S = ɟ
[ज] = ɟə
[झ] S = ɟʰ
[झ] = ɟʰə
[ञ] S = ɲ
[ञ] = ɲə
[ट] S = ʈ
[ट] = ʈə
[ठ] S = ʈʰ
[ठ] = ʈʰə
[ड] S = ɖ
[ड] = ɖə
[ढ] S = ɖʰ
[ढ] = ɖʰə
[ण] S = ɳ
[ण] = ɳə
[त] S = t
[त] = tə
[थ] S = tʰ
[थ] = tʰə
[द] S = d
[द] = də
[ध] S = dʰ
[ध] = dʰə
र ् [न] # = n
[न] S = n
[न] = nə
[ऩ] S = n
[ऩ] = nə
[प] S = p
[प] = pə
[फ] S = pʰ
[फ] = pʰə
[ब] S = b
[ब] = bə
[भ] S = bʰ
[भ] = bʰə
{नर} ् [म] # = m
[म] S = m
[म] = mə
[य] S = j
[य] = jə
[र] S = ɾ
[र] = ɾə
[ऱ] S = ɾ
[ऱ] = ɾə
[ल] S = l
[ल] = lə
[ळ] S = l
[ळ] = lə
[ऴ] S = l
[ऴ] = lə
[व] S = ʋ
[व] = ʋə
[श] S = ʃ
[श] = ʃə
क ् [ष] S = ʃ
क ् [ष] = ʃə
[ष] S = ʂ
[ष] = ʂə
[स] S = s
[स] = sə
[ह] S = h
[ह] = hə
; Vowels; before a nasal sign most are short.
[ा] {ंँ} = a
[ा] = aː
[ि] ं = i
[ि] = ɪ
[ी] {ंँ} = i
[ी] = iː
[ु] {ंँ} = u
[ु] = ʊ
[ू] {ंँ} = u
[ू] = uː
[ृ] = ɾɪ
[ॄ] = ɾiː
[ॢ] = lɾɪ
[े] {ंँ} = e
[े] = eː
[ै] {ंँ} = ɛ
[ै] = ɛː
[ो] {ंँ} = o
[ो] = oː
[ौ] {ंँ} = ɔ
[ौ] = ɔː
[ॉ] = ɔ
[ॅ] = ɛ
[ॆ] = e
[ॊ] = o
# [अ] ह = ɛ
# [अ] = ʌ
[अ] = ə
[आ] ं = a
[आ] = aː
[इ] ं = i
[इ] = ɪ
[ई] = iː
[उ] = ʊ
[ऊ] = u
[ऋ] = ɾɪ
[ए] {ंँ} = e
[ए] = eː
[ऐ] ं = ɛ
[ऐ] = ɛː
{ाआ} [ओं] = w
[ओ] {ंँ} = o
[ओ] = oː
[औ] ं = ɔ
[औ] = ɔː
[ऑ] = ɔ
[ऍ] = ɛ
[ॲ] = ɛ
[ऎ] = e
[ऒ] = o
[ॠ] = ɾiː
[ऌ] = lɾɪ
[ॐ] = õm
; What a nasal sign does; N is a nasal at the place of what follows.
{ेए} [ं] = ̃ː
{ािीुूैोौआइऊऐओऔ} [ं] = ̃
[ं] = N
{ेए} [ँ] # = ̃ː
ए [ँ] = ̃ː
{ािीुूेैोौ} [ँ] {^#} = ̃n
ऊ [ँ] {^#} = n
{ािीुूैोौओऊ} [ँ] = ̃
[ँ] = n
[ः] = h
[्] =
[़] =
[ऽ] =
; Latin letters, where there is no English.
[g] = ɡ
[c] = k
[q] = k
[w] = ʋ
[y] = j
[x] = ks
`),
		settle: newTable(`
K = kɡŋcɟɲʈɖɳtdnpbmjɾlʋʃʂshqxɣzfɽN
L = kɡŋcɟɲʈɖɳtdnpbmjɾlʋʃʂsqxɣzfɽN
Q = kɡŋcɟɲʈɖɳtdnpbmjɾlʋʃʂshqxɣzfɽNʰ
V = aeiouɪʊɛɔʌəː̃
E = aeiouɪʊɛɔʌ
; The vowel of a last consonant is said behind two of which the last is a liquid or a nasal.
K ʰ? {ɾjlnmɳ} [ə] # = ə
V Q* [ə] # = -
; -ya at the end.
{əN} [jə] # = ɛj-
; Between single consonants, long ones among them, it is not said before a vowel that is written.
V L ʰ? [ə] ˈ? E = -
V L ʰ? [ə] K ʰ? K? ʰ? K? ˈ? E = -
V L ʰ? [ə] jə # = -
V kk ʰ? [ə] K ʰ? ˈ? E = -
V ɡɡ ʰ? [ə] K ʰ? ˈ? E = -
V cc ʰ? [ə] K ʰ? ˈ? E = -
V ɟɟ ʰ? [ə] K ʰ? ˈ? E = -
V tt ʰ? [ə] K ʰ? ˈ? E = -
V dd ʰ? [ə] K ʰ? ˈ? E = -
V pp ʰ? [ə] K ʰ? ˈ? E = -
V ʈʈ ʰ? [ə] K ʰ? ˈ? E = -
V ɖɖ ʰ? [ə] K ʰ? ˈ? E = -
[N] {kɡ} = ŋ
[N] {cɟj} = ɲ
[N] {ʈɖ} = ɳ
[N] {pbm} = m
[N] = n
`),
		sounds: newTable(`
K = kɡŋcɟɲʈɖɳtdnpbmjɾlʋʃʂshqxɣzfɽ
[ˌ-] =
[-] =
ˈ [ə] = ʌ
; Where it stays ə, in the words below.
[ɘ] = ə
[iː] {#_} = i
{ˈˌ} [iː] = iː
[iː] = i
[kkj] = kkj
[kj] = kːj
[tj] = tːj
[pj] = pːj
[cj] = cːj
[ʈj] = ʈʈj
[kk] {^ʰ} = kː
[ɡɡ] {^ʰ} = ɡː
[cc] {^ʰ} = cː
[ɟɟ] {^ʰ} = ɟː
[pp] {^ʰ} = pː
[ttʰ] = tʰː
[ddʰ] = dʰː
[tt] = tː
[dd] = dː
[cc] ʰ = cʰc
[ʈʈ] ʰ = ʈʰʈ
[ɖɖ] ʰ = ɖʰɖ
- [ɾ] K = r
[ɾ] {nɳmjlʋʃʂshzfxɾ} = r
[ɽ] = r.
`),
		nuclei: hindiNuclei,
		stress: hindiStress,
		second: (*Language).echo,

		words: map[string]string{
			"यह": "jˈɘh", "वह": "ʋˈɘh", "हम": "hˈɘm", "हमे": "hˈɘmeː", "रहा": "ɾˈɘhaː", "रहे": "ɾˈɘheː", "रही": "ɾˈɘhiː", "तक": "tˈɘk", "यदि": "jˈɘdɪ",
			"आपका": "ˌaːpkˈaː", "आपके": "ˌaːpkˈeː", "आपकी": "ˌaːpkˈiː", "आपको": "ˌaːpkˈoː", "उसका": "ˌʊskˈaː", "उसके": "ˌʊskˈeː", "उसकी": "ˌʊskˈiː", "इसका": "ˌɪskˈaː", "उनका": "ˌʊnkˈaː", "उनके": "ˌʊnkˈeː", "उनकी": "ˌʊnkˈiː", "इनका": "ˌɪnkˈaː",
			"राष्ट्रपति": "ɾˌaːʃtɾapˈati", "महारानी": "mˌahaːɾˈaːniː", "मतदान": "matdˈaːn", "हलचल": "halcˈal", "हरदम": "haɾdˈam", "नौकरशाह": "nˌaukˈarʃˈaːh", "महादेव": "mˌahaːdˈeʋ", "लखनऊ": "lˈʌkʰnˈɘu", "क्रिकेट": "kɾˈɪkɪt",
			"तिरपन": "tˈɪɾpən", "पचपन": "pˈʌcpən", "उनसठ": "ˈʊnsəʈʰ", "इकसठ": "ˈɪksəʈʰ", "तिरसठ": "tˈɪɾsəʈʰ", "सड़सठ": "sˈʌɽsəʈʰ", "अड़सठ": "ˈʌɽsəʈʰ", "उनहत्तर": "ʊnhˈʌtːəɾ", "इकहत्तर": "ɪkhˈʌtːəɾ", "पचहत्तर": "pəchˈʌtːəɾ", "सतहत्तर": "səthˈʌtːəɾ", "अठहत्तर": "ʌʈʰhˈʌtːəɾ", "दशमलव": "dˈʌʃəmləʋ",
			"ऽ": "ˌʌʋəɡɾˈʌh", "lakh": "lˈaːkʰ", "lakhs": "lˈaːkʰ", "crore": "kəɾˈoːɽ", "crores": "kəɾˈoːɽ",
		},
		weak:    set("है हैं हूँ हूं हो के का की को से में मैं और क्या था थे थी थीं वे ये वो तू"),
		lesser:  set("आप यह वह तुम हम हमे मुझे तुझे तुम्हें इन्हें रहा रहे रही मेरा मेरे मेरी तेरा हमारा हमारे हमारी तुम्हारा तुम्हारे अगर यदि तक बिना आपका आपके आपकी आपको उसका उसके उसकी इसका उनका उनके उनकी इनका"),
		light:   true,
		spelled: map[rune]string{'a': "ए", 'b': "बी", 'c': "सी", 'd': "डी", 'e': "ई", 'f': "एफ", 'g': "जी", 'h': "एच", 'i': "आई", 'j': "जे", 'k': "के", 'l': "एल", 'm': "एम", 'n': "एन", 'o': "ओ", 'p': "पी", 'q': "क्यू", 'r': "आर", 's': "एस", 't': "टी", 'u': "यू", 'v': "वी", 'w': "डब्ल्यू", 'x': "एक्स", 'y': "वाई", 'z': "ज़ेड"},
		alien:   func(word string) bool { return unicode.Is(unicode.Latin, firstRune(word)) },

		visarga: set("दु नि अंत अन्त प्रात पुन स्वत"),

		vocabulary: ready(hindiWords()),
	}
}

// hindiStress puts it on the last of the heaviest syllables but the final one.
func hindiStress(word, sounds string) int {
	var weights []int
	s := []rune(sounds)
	for i, r := range s {
		if !strings.ContainsRune(hindiNuclei, r) {
			continue
		}
		weight, after := 0, i+1
		for ; after < len(s) && (s[after] == 'ː' || s[after] == '\u0303'); after++ {
			weight = 1
		}
		consonants := 0
		for ; after < len(s) && !strings.ContainsRune(hindiNuclei, s[after]); after++ {
			if s[after] != 'ʰ' {
				consonants++
			}
		}
		if consonants > 1 || consonants > 0 && after == len(s) {
			weight++
		}
		weights = append(weights, weight)
	}
	last := len(weights) - 1
	best, at := 0, 0
	for i, w := range weights[:max(0, last)] {
		if w > 0 && w >= best {
			best, at = w, i
		}
	}
	if last >= 0 && weights[last] == 2 && best < 2 {
		at = last
	}
	return last - at
}

const hindiNuclei = "aeiouɪʊɛɔʌə-"

// echo puts secondary stresses on every other syllable, before the primary one from the
// first on, and behind it.
func (l *Language) echo(sounds string) string {
	sounds = l.alternate(sounds)
	at := l.nucleiOf(sounds)
	var b strings.Builder
	from, primary := 0, len(at)
	for k, i := range at {
		if strings.HasSuffix(sounds[:i], "ˈ") {
			primary = k
		} else if k > primary && (k-primary)%2 == 0 {
			b.WriteString(sounds[from:i])
			b.WriteString("ˌ")
			from = i
		}
	}
	return b.String() + sounds[from:]
}
