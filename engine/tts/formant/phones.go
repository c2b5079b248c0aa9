package formant

import "sync"

// A manner is a way of making a sound.
type manner uint8

const (
	silence manner = iota
	vowel
	glide
	liquid
	nasal
	closure
	burst
	fricative
	aspirate
)

// A part is one target of the vocal tract: most sounds have one, diphthongs and
// plosives two or three.
//
// At the border of two parts the one of higher rank decides: the formants there
// are a mixture of both targets with blend of the other's, reached during into
// milliseconds of the ruling part and out milliseconds of the other.
//
// Holmes, Mattingly & Shearme, "Speech synthesis by rule", Language and Speech 7,
// 1964, is the method; the targets start from Klatt 1980, tables II and III.
type part struct {
	manner    manner
	voiced    bool
	dur, min  float64 // ms: inherent duration and what shortening leaves
	rank      int
	into, out float64
	blend     float64
	edge      float64 // ms the amplitudes take to get here
	follow    float64 // share of the neighbouring vowel's formants taken over
	target    frame
}

type tri [3]float64

// vow is a vowel or half of a diphthong.
func vow(f, b tri, dur, min float64) part {
	return part{manner: vowel, voiced: true, dur: dur, min: min, rank: 2, into: 45, out: 45, blend: 0.5, edge: 15,
		target: frame{av: 60, f: f, b: b, nasal: nasalPole}}
}

// approximant is a glide or a liquid.
func approximant(m manner, f, b tri, dur, min, out float64) part {
	return part{manner: m, voiced: true, dur: dur, min: min, rank: 10, into: 25, out: out, blend: 0.35, edge: 20,
		target: frame{av: 59, f: f, b: b, nasal: nasalPole}}
}

func nas(f tri, b tri, out float64) part {
	return part{manner: nasal, voiced: true, dur: 70, min: 50, rank: 15, into: 15, out: out, blend: 0.45, edge: 8,
		target: frame{av: 59, f: f, b: b, nasal: 450}}
}

// fric is a fricative; a are the amplitudes at formants 2 to 6, ab past them.
func fric(voiced bool, f, b tri, a [5]float64, ab, dur, min float64) part {
	p := part{manner: fricative, voiced: voiced, dur: dur, min: min, rank: 20, into: 20, out: 45, blend: 0.45, edge: 20,
		target: frame{af: 60, f: f, b: b, nasal: nasalPole, a: a, ab: ab}}
	if voiced {
		p.target.av, p.target.af = 47, 52
	}
	return p
}

// plosive is a closure and its burst.
func plosive(voiced bool, f, b tri, a [5]float64, ab, dur, min float64) []part {
	shut := part{manner: closure, voiced: voiced, dur: dur, min: min, rank: 26, into: 10, out: 40, blend: 0.45, edge: 8,
		target: frame{f: f, b: b, nasal: nasalPole}}
	shut.target.av, shut.target.ah = 22, 22
	if voiced {
		shut.target.ah = 0
		shut.target.av = 46 // the voice bar
		shut.target.f[0], shut.target.b[0] = 180, 60
	}
	// The burst keeps the place of the closure but opens towards what follows.
	pop := part{manner: burst, voiced: voiced, dur: 12, min: 10, rank: 24, into: 8, out: 35, blend: 0.45, edge: 1,
		target: frame{af: 60, f: f, b: b, nasal: nasalPole, a: a, ab: ab}}
	if voiced {
		pop.target.av, pop.target.af = 45, 56
	}
	return []part{shut, pop}
}

// breath is the puff after a voiceless plosive at the start of a stressed
// syllable; it takes its formants from the vowel it precedes.
var breath = part{manner: aspirate, dur: 38, min: 20, rank: 1, into: 20, out: 20, blend: 0.9, edge: 4, follow: 1,
	target: frame{ah: 55, f: tri{500, 1500, 2500}, b: tri{250, 120, 180}, nasal: nasalPole}}

// rest is silence around an utterance and at its commas.
var rest = part{manner: silence, rank: 0, into: 30, out: 30, blend: 1, edge: 25,
	target: frame{f: tri{500, 1500, 2500}, b: tri{100, 120, 160}, nasal: nasalPole}}

var (
	bandA = tri{60, 100, 160} // bandwidths of an open vowel
	bandI = tri{50, 150, 250} // of a close front one
	bandU = tri{65, 100, 140} // of a close back one
)

// phones gives the parts of every sound symbol of the alphabet that Kokoro
// reads; other symbols are stress marks, length marks and punctuation.
var phones = sync.OnceValue(func() map[rune][]part { return refine(targets(), fitted()) })

// targets are the parts by rule. Those of English start where fitting did.
func targets() map[rune][]part {
	return map[rune][]part{
		'i': {vow(tri{300, 2150, 2950}, bandI, 155, 55)},
		'ɪ': {vow(tri{420, 1850, 2570}, bandI, 135, 45)},
		'ɨ': {vow(tri{400, 1700, 2500}, bandI, 110, 40)},
		'ᵻ': {vow(tri{410, 1750, 2520}, bandI, 100, 40)},
		'e': {vow(tri{450, 1950, 2600}, bandI, 150, 60)},
		'ɛ': {vow(tri{560, 1720, 2500}, bandA, 150, 70)},
		'æ': {vow(tri{670, 1640, 2430}, tri{70, 130, 300}, 210, 80)},
		'a': {vow(tri{740, 1400, 2500}, bandA, 190, 80)},
		'ɑ': {vow(tri{720, 1150, 2550}, tri{110, 70, 160}, 220, 90)},
		'ɐ': {vow(tri{600, 1300, 2500}, bandA, 110, 50)},
		'ɒ': {vow(tri{620, 960, 2550}, bandA, 180, 80)},
		'ɔ': {vow(tri{560, 860, 2550}, tri{90, 100, 90}, 210, 90)},
		'o': {vow(tri{480, 850, 2400}, bandU, 180, 70)},
		'ʌ': {vow(tri{640, 1230, 2550}, tri{80, 60, 140}, 140, 60)},
		'ə': {vow(tri{500, 1450, 2500}, bandA, 100, 45)},
		'ᵊ': {vow(tri{480, 1400, 2500}, bandA, 55, 30)},
		'ɜ': {vow(tri{480, 1350, 2350}, bandA, 170, 75)},
		'ɚ': {vow(tri{470, 1300, 1650}, tri{80, 80, 110}, 100, 45)},
		'ɝ': {vow(tri{470, 1320, 1650}, tri{80, 80, 110}, 150, 70)},
		'ʊ': {vow(tri{440, 1080, 2350}, bandU, 150, 55)},
		'u': {vow(tri{320, 1050, 2250}, bandU, 170, 65)},
		'y': {vow(tri{300, 1800, 2200}, bandI, 150, 60)},
		'ø': {vow(tri{400, 1600, 2300}, bandI, 150, 60)},
		'œ': {vow(tri{540, 1500, 2350}, bandA, 150, 60)},
		'ɤ': {vow(tri{450, 1150, 2450}, bandU, 150, 60)},
		'ɯ': {vow(tri{320, 1300, 2350}, bandU, 140, 55)},

		// Diphthongs: the second half is reached slowly and hardly held.
		'A': {vow(tri{490, 1850, 2550}, bandI, 110, 45), glideTo(tri{340, 2150, 2800}, bandI, 80)},
		'I': {vow(tri{700, 1250, 2500}, bandA, 130, 60), glideTo(tri{400, 1950, 2600}, bandI, 110)},
		'O': {vow(tri{540, 1050, 2350}, bandU, 120, 50), glideTo(tri{400, 850, 2300}, bandU, 90)},
		'Q': {vow(tri{510, 1400, 2400}, bandA, 115, 50), glideTo(tri{400, 1000, 2300}, bandU, 95)},
		'W': {vow(tri{690, 1300, 2500}, bandA, 135, 60), glideTo(tri{420, 920, 2350}, bandU, 110)},
		'Y': {vow(tri{540, 880, 2450}, bandA, 135, 60), glideTo(tri{390, 1900, 2500}, bandI, 120)},

		'w': {approximant(glide, tri{300, 640, 2200}, tri{50, 80, 60}, 75, 50, 60)},
		'j': {approximant(glide, tri{280, 2150, 2950}, tri{50, 200, 350}, 70, 40, 60)},
		'ɥ': {approximant(glide, tri{290, 1850, 2300}, tri{50, 150, 250}, 70, 40, 60)},
		'ɹ': {approximant(liquid, tri{330, 1080, 1500}, tri{70, 100, 120}, 75, 35, 55)},
		'ɻ': {approximant(liquid, tri{330, 1080, 1450}, tri{70, 100, 120}, 75, 35, 55)},
		'r': {approximant(liquid, tri{400, 1300, 2000}, tri{80, 120, 160}, 60, 30, 35)},
		'l': {approximant(liquid, tri{350, 1050, 2800}, tri{50, 100, 250}, 75, 40, 40)},
		'ʎ': {approximant(liquid, tri{300, 1900, 2700}, tri{50, 150, 250}, 75, 40, 45)},
		'ʋ': {approximant(glide, tri{320, 1000, 2250}, tri{60, 90, 120}, 65, 40, 45)},
		'ɰ': {approximant(glide, tri{330, 1300, 2350}, tri{60, 90, 120}, 60, 40, 45)},
		// Flaps are too short to be anything but a dip.
		'T': {flap}, 'ɾ': {flap}, 'ɽ': {flap},

		'm': {nas(tri{400, 1150, 2130}, tri{60, 200, 200}, 45)},
		'n': {nas(tri{400, 1550, 2470}, tri{60, 250, 300}, 45)},
		'ɲ': {nas(tri{380, 2050, 2700}, tri{60, 250, 300}, 50)},
		'ŋ': {nas(tri{400, 1950, 2700}, tri{80, 200, 300}, 50)},
		'ɳ': {nas(tri{400, 1500, 2200}, tri{60, 250, 300}, 45)},
		'ɴ': {nas(tri{420, 1100, 2400}, tri{80, 200, 300}, 45)},

		'f': {fric(false, tri{340, 1100, 2080}, tri{200, 120, 150}, [5]float64{}, 46, 95, 70)},
		'v': {fric(true, tri{260, 1100, 2080}, tri{60, 90, 120}, [5]float64{}, 46, 60, 40)},
		'θ': {fric(false, tri{340, 1350, 2540}, tri{200, 120, 200}, [5]float64{0, 0, 0, 30, 36}, 42, 90, 60)},
		'ð': {fric(true, tri{280, 1350, 2540}, tri{60, 90, 170}, [5]float64{0, 0, 0, 28, 34}, 38, 50, 30)},
		's': {fric(false, tri{330, 1550, 2530}, tri{200, 120, 200}, [5]float64{0, 0, 36, 54, 64}, 46, 105, 60)},
		'z': {fric(true, tri{260, 1550, 2530}, tri{70, 90, 180}, [5]float64{0, 0, 36, 54, 64}, 46, 75, 40)},
		'ʃ': {fric(false, tri{320, 1850, 2700}, tri{200, 120, 250}, [5]float64{45, 62, 63, 57, 51}, 30, 105, 80)},
		'ʒ': {fric(true, tri{270, 1850, 2700}, tri{70, 100, 250}, [5]float64{45, 62, 63, 57, 51}, 30, 70, 40)},
		'ç': {fric(false, tri{300, 2050, 2900}, tri{200, 150, 250}, [5]float64{44, 56, 54, 46, 40}, 0, 90, 60)},
		'x': {fric(false, tri{400, 1500, 2400}, tri{200, 150, 250}, [5]float64{55, 50, 44, 40, 36}, 0, 90, 60)},
		'ɣ': {fric(true, tri{350, 1500, 2400}, tri{80, 120, 250}, [5]float64{50, 45, 40, 34, 30}, 0, 60, 40)},
		'β': {fric(true, tri{260, 1000, 2080}, tri{60, 90, 120}, [5]float64{}, 40, 60, 40)},
		'ɸ': {fric(false, tri{340, 1000, 2080}, tri{200, 120, 150}, [5]float64{}, 42, 80, 50)},
		'χ': {fric(false, tri{450, 1200, 2400}, tri{200, 150, 250}, [5]float64{56, 50, 42, 38, 34}, 0, 90, 60)},
		'ʁ': {fric(true, tri{400, 1150, 2300}, tri{80, 120, 250}, [5]float64{48, 42, 36, 30, 30}, 0, 60, 40)},
		'ɕ': {fric(false, tri{300, 2000, 2900}, tri{200, 150, 250}, [5]float64{43, 61, 63, 59, 53}, 30, 100, 70)},
		'ʂ': {fric(false, tri{330, 1700, 2300}, tri{200, 120, 250}, [5]float64{51, 63, 59, 53, 47}, 30, 100, 70)},
		'ʝ': {fric(true, tri{280, 2050, 2900}, tri{60, 150, 250}, [5]float64{40, 46, 44, 38, 34}, 0, 60, 40)},
		'h': {voiceless(60)},

		'p': plosive(false, tri{350, 950, 2150}, tri{250, 150, 220}, [5]float64{46, 40, 36, 34, 32}, 50, 80, 50),
		'b': plosive(true, tri{250, 950, 2150}, tri{60, 110, 130}, [5]float64{44, 38, 34, 32, 30}, 48, 70, 45),
		't': plosive(false, tri{350, 1750, 2650}, tri{250, 120, 250}, [5]float64{0, 34, 50, 58, 60}, 44, 70, 40),
		'd': plosive(true, tri{250, 1750, 2650}, tri{60, 100, 170}, [5]float64{0, 34, 48, 56, 58}, 40, 55, 40),
		'ʈ': plosive(false, tri{350, 1600, 2200}, tri{250, 120, 250}, [5]float64{30, 50, 52, 52, 48}, 40, 70, 40),
		'ɖ': plosive(true, tri{250, 1600, 2200}, tri{60, 100, 170}, [5]float64{30, 48, 50, 50, 46}, 36, 55, 40),
		// Velars close where the vowel's own second formant already is.
		'k': following(0.65, plosive(false, tri{320, 1900, 2550}, tri{250, 140, 280}, [5]float64{57, 54, 46, 44, 42}, 30, 70, 45)),
		'ɡ': following(0.65, plosive(true, tri{250, 1900, 2550}, tri{60, 130, 250}, [5]float64{55, 52, 44, 42, 40}, 30, 60, 45)),
		'c': plosive(false, tri{300, 2100, 2900}, tri{250, 140, 280}, [5]float64{54, 58, 54, 48, 44}, 30, 70, 45),
		'ɟ': plosive(true, tri{250, 2100, 2900}, tri{60, 130, 250}, [5]float64{52, 56, 52, 46, 42}, 30, 60, 45),
		'q': following(0.4, plosive(false, tri{400, 1200, 2400}, tri{250, 140, 280}, [5]float64{58, 50, 42, 40, 38}, 30, 70, 45)),
		'ʔ': {{manner: closure, dur: 45, min: 30, rank: 1, into: 5, out: 5, blend: 0.9, edge: 12, follow: 1, target: rest.target}},

		'ʧ': affricate(false, tri{330, 1850, 2750}, [5]float64{43, 62, 63, 58, 55}, 30),
		'ʤ': affricate(true, tri{270, 1850, 2750}, [5]float64{43, 60, 61, 56, 53}, 30),
		'ʨ': affricate(false, tri{300, 2000, 2900}, [5]float64{41, 61, 63, 59, 53}, 30),
		'ʥ': affricate(true, tri{270, 2000, 2900}, [5]float64{41, 59, 61, 57, 51}, 30),
		'ʦ': affricate(false, tri{330, 1600, 2550}, [5]float64{0, 0, 38, 56, 64}, 44),
		'ʣ': affricate(true, tri{270, 1600, 2550}, [5]float64{0, 0, 38, 56, 64}, 44),
		'ꭧ': affricate(false, tri{330, 1700, 2300}, [5]float64{51, 63, 59, 53, 47}, 30),
	}
}

// rcoloured are the vowels that [ə] and [ɜ] become in front of [ɹ].
var rcoloured = map[rune]rune{'ə': 'ɚ', 'ɜ': 'ɝ'}

// following makes parts take over a share of the neighbouring vowel's formants.
func following(share float64, parts []part) []part {
	for i := range parts {
		parts[i].follow = share
	}
	return parts
}

var flap = part{manner: liquid, voiced: true, dur: 26, min: 22, rank: 24, into: 8, out: 25, blend: 0.5, edge: 6,
	target: frame{av: 50, f: tri{300, 1700, 2600}, b: tri{80, 120, 200}, nasal: nasalPole}}

// glideTo is the second half of a diphthong.
func glideTo(f, b tri, dur float64) part {
	p := vow(f, b, dur, dur/3)
	p.rank, p.into, p.out = 3, dur*0.6, 70
	p.target.av = 57
	return p
}

// voiceless is [h]: breath shaped by its neighbours.
func voiceless(dur float64) part {
	p := breath
	p.dur, p.min, p.edge = dur, 30, 18
	return p
}

// affricate is a closure that opens into a short fricative.
func affricate(voiced bool, f tri, a [5]float64, ab float64) []part {
	b := tri{200, 110, 250}
	if voiced {
		b[0] = 70
	}
	rub := fric(voiced, f, b, a, ab, 70, 45)
	rub.edge = 3
	shut := plosive(voiced, f, b, a, ab, 60, 40)[0]
	return []part{shut, rub}
}
