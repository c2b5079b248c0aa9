package lang

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// hindiWords is how numbers, signs and abbreviations are said in Hindi.
func hindiWords() *vocabulary {
	rupee := currency{unit{"रुपया", "रुपये", false}, unit{"पैसा", "पैसे", false}}
	dollar := currency{unit{"डॉलर", "डॉलर", false}, unit{"सेंट", "सेंट", false}}
	euro := currency{unit{"यूरो", "यूरो", false}, unit{"सेंट", "सेंट", false}}
	pound := currency{unit{"पाउंड", "पाउंड", false}, unit{"पेनी", "पेंस", false}}
	same := func(name string) unit { return unit{one: name, many: name} }
	return &vocabulary{
		cardinal: hindiCardinal,
		ordinal: func(n int64, feminine bool) []string {
			return hindiRank(n, one(feminine, "वीं", "वाँ"))
		},
		rank:    hindiRank,
		year:    hindiYear,
		endings: map[string]bool{"वाँ": false, "वां": false, "वा": false, "वें": false, "वे": false, "वीं": true, "वी": true, "ले": false, "रे": false, "थे": false, "ठे": false, "ला": false, "ली": true, "रा": false, "री": true, "था": false, "थी": true, "ठा": false, "ठी": true, "st": false, "nd": false, "rd": false, "th": false},
		english: true, point: "दशमलव", to: "से", over: "बटा", and: "सही",
		halves: map[string]string{"1/2": "आधा", "1/3": "एक तिहाई", "2/3": "दो तिहाई", "1/4": "एक चौथाई", "3/4": "तीन चौथाई"},
		mixed:  hindiMixed,
		months: strings.Fields("जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर"),
		date: func(v *vocabulary, d, m, y int64) []string {
			out := append(v.cardinal(d, false), v.months[m-1])
			if y > 0 {
				out = append(out, v.number(strconv.FormatInt(y, 10), false)...)
			}
			return out
		},
		clock:  hindiClock,
		oclock: "बजे",
		scales: `ह(?:ज\x{93c}?|\x{95b})ार|लाख|करो(?:ड\x{93c}?|\x{95c})|अरब|खरब|मिलियन|बिलियन|ट्रिलियन|thousand|lakhs?|crores?|million|billion|trillion`,
		begins: "र",
		marks:  `|Rs\.?|रु\.|रु|रू\.|रू`,
		phones: `[6-9]\d{9}|0\d{2,4}[ -]\d{6,8}|1800[ -]\d{3}[ -]\d{3,4}|`,
		dotted: hindiDotted,
		money: map[string]currency{
			"₹": rupee, "INR": rupee, "Rs": rupee, "Rs.": rupee, "रु": rupee, "रु.": rupee, "रू": rupee, "रू.": rupee,
			"$": dollar, "US$": dollar, "USD": dollar, "€": euro, "EUR": euro, "£": pound, "GBP": pound,
			"¥": {same("येन"), unit{}}, "R$": {same("रियाल"), same("सेंटावो")}, "BRL": {same("रियाल"), same("सेंटावो")}, "CHF": {same("फ़्रैंक"), same("सेंटीम")},
		},
		units: map[string]unit{
			"km/h": same("किलोमीटर प्रति घंटा"), "किमी/घंटा": same("किलोमीटर प्रति घंटा"), "m/s": same("मीटर प्रति सेकंड"), "km²": same("वर्ग किलोमीटर"), "m²": same("वर्ग मीटर"), "m³": same("घन मीटर"),
			"km": same("किलोमीटर"), "cm": same("सेंटीमीटर"), "mm": same("मिलीमीटर"), "m": same("मीटर"), "kg": same("किलोग्राम"), "mg": same("मिलीग्राम"), "g": same("ग्राम"),
			"किमी": same("किलोमीटर"), "कि.मी.": same("किलोमीटर"), "सेमी": same("सेंटीमीटर"), "से.मी.": same("सेंटीमीटर"), "मिमी": same("मिलीमीटर"), "मि.मी.": same("मिलीमीटर"), "मी": same("मीटर"), "मी.": same("मीटर"),
			"किग्रा": same("किलोग्राम"), "कि.ग्रा.": same("किलोग्राम"), "मिग्रा": same("मिलीग्राम"), "ग्रा.": same("ग्राम"), "मिली": same("मिलीलीटर"), "मि.": same("मिनट"),
			"l": same("लीटर"), "L": same("लीटर"), "ml": same("मिलीलीटर"), "h": {"घंटा", "घंटे", false}, "min": same("मिनट"), "s": same("सेकंड"), "ms": same("मिलीसेकंड"),
			"°C": same("डिग्री सेल्सियस"), "ºC": same("डिग्री सेल्सियस"), "°F": same("डिग्री फ़ारेनहाइट"), "°": same("डिग्री"), "kW": same("किलोवाट"), "MW": same("मेगावाट"), "W": same("वाट"), "V": same("वोल्ट"), "Hz": same("हर्ट्ज़"), "MHz": same("मेगाहर्ट्ज़"), "GHz": same("गीगाहर्ट्ज़"),
			"KB": same("किलोबाइट"), "MB": same("मेगाबाइट"), "GB": same("गीगाबाइट"), "TB": same("टेराबाइट"),
		},
		signs: map[rune]string{'%': "प्रतिशत", '‰': "प्रति हज़ार", '&': "और", '+': "प्लस", '−': "माइनस", '@': "ऐट", '=': "बराबर", '×': "गुणा", '÷': "भाग", '±': "प्लस माइनस", '<': "छोटा है", '>': "बड़ा है", '≤': "छोटा या बराबर है", '≥': "बड़ा या बराबर है", '≠': "बराबर नहीं",
			'#': "हैश", '°': "डिग्री", 'º': "डिग्री", '₹': "रुपये", '€': "यूरो", '$': "डॉलर", '£': "पाउंड", '¥': "येन", '.': "पॉइंट", '→': "से", '∞': "अनंत", '©': "कॉपीराइट", '™': "ट्रेडमार्क", '§': "धारा", '½': "आधा", '¼': "एक चौथाई", '¾': "तीन चौथाई", '²': "का वर्ग", '³': "का घन", '√': "वर्गमूल",
			'π': "पाई", 'μ': "म्यू", 'α': "अल्फ़ा", 'β': "बीटा", 'γ': "गामा", 'δ': "डेल्टा", 'ω': "ओमेगा", 'λ': "लैम्डा", 'σ': "सिग्मा", 'ॐ': "ओम"},
		abbreviations: map[string]string{"डॉ.": "डॉक्टर", "डा.": "डॉक्टर", "प्रो.": "प्रोफ़ेसर", "पं.": "पंडित", "कु.": "कुमारी", "स्व.": "स्वर्गीय", "मो.": "मोहम्मद", "श्री.": "श्री", "रु.": "रुपये", "रू.": "रुपये", "नं.": "नंबर", "सं.": "संख्या", "पृ.": "पृष्ठ", "क्र.": "क्रमांक", "जि.": "ज़िला", "उदा.": "उदाहरण", "अनु.": "अनुच्छेद",
			"कं.": "कंपनी", "लि.": "लिमिटेड", "प्रा.": "प्राइवेट", "ई.": "ईस्वी", "किमी": "किलोमीटर", "किग्रा": "किलोग्राम", "सेमी": "सेंटीमीटर", "dr.": "डॉक्टर", "mr.": "मिस्टर", "mrs.": "मिसेज़", "ms.": "मिस", "prof.": "प्रोफ़ेसर", "no.": "नंबर", "etc.": "इत्यादि", "rs.": "रुपये", "ltd.": "लिमिटेड", "pvt.": "प्राइवेट", "vs.": "बनाम"},
	}
}

// hindiSmall are the numbers below a hundred, of which none follows from its digits.
var hindiSmall = strings.Fields(`शून्य एक दो तीन चार पाँच छह सात आठ नौ
	दस ग्यारह बारह तेरह चौदह पंद्रह सोलह सत्रह अठारह उन्नीस
	बीस इक्कीस बाईस तेईस चौबीस पच्चीस छब्बीस सत्ताईस अट्ठाईस उनतीस
	तीस इकतीस बत्तीस तैंतीस चौंतीस पैंतीस छत्तीस सैंतीस अड़तीस उनतालीस
	चालीस इकतालीस बयालीस तैंतालीस चौवालीस पैंतालीस छियालीस सैंतालीस अड़तालीस उनचास
	पचास इक्यावन बावन तिरपन चौवन पचपन छप्पन सत्तावन अट्ठावन उनसठ
	साठ इकसठ बासठ तिरसठ चौंसठ पैंसठ छियासठ सड़सठ अड़सठ उनहत्तर
	सत्तर इकहत्तर बहत्तर तिहत्तर चौहत्तर पचहत्तर छिहत्तर सतहत्तर अठहत्तर उन्यासी
	अस्सी इक्यासी बयासी तिरासी चौरासी पचासी छियासी सत्तासी अट्ठासी नवासी
	नब्बे इक्यानवे बानवे तिरानवे चौरानवे पचानवे छियानवे सत्तानवे अट्ठानवे निन्यानवे`)

var hindiScales = []struct {
	value int64
	name  string
}{{1e13, "नील"}, {1e11, "खरब"}, {1e9, "अरब"}, {1e7, "करोड़"}, {1e5, "लाख"}, {1e3, "हज़ार"}, {100, "सौ"}}

// hindiCardinal says a whole number; it has no gender.
func hindiCardinal(n int64, _ bool) []string {
	if n == 100 {
		return []string{"सौ"}
	}
	var out []string
	for _, s := range hindiScales {
		if n >= s.value {
			out = append(append(out, hindiCardinal(n/s.value, false)...), s.name)
			n %= s.value
		}
	}
	if n > 0 || out == nil {
		out = append(out, hindiSmall[n])
	}
	return out
}

// hindiYear says a year of four digits before 2000 in hundreds, and others as numbers.
func hindiYear(n int64) []string {
	if n < 1500 || n > 1999 {
		return nil
	}
	out := []string{hindiSmall[n/100], "सौ"}
	if n%100 > 0 {
		out = append(out, hindiSmall[n%100])
	}
	return out
}

// hindiRanks are the ordinals that are no number with an ending, without their last vowel.
var hindiRanks = map[int64]string{1: "पहल", 2: "दूसर", 3: "तीसर", 4: "चौथ", 6: "छठ"}

// hindiRank says an ordinal with the gender and case of its ending.
func hindiRank(n int64, ending string) []string {
	vowel := "ा"
	switch {
	case strings.ContainsRune(ending, 'े'):
		vowel = "े"
	case strings.ContainsRune(ending, 'ी'):
		vowel = "ी"
	}
	if stem := hindiRanks[n]; stem != "" {
		return []string{stem + vowel}
	}
	out := slices.Clone(hindiCardinal(n, false))
	nasal := "ं"
	if vowel == "ा" {
		nasal = "ँ"
	}
	out[len(out)-1] += "व" + vowel + nasal
	return out
}

// hindiMixed says a number and quarters of one: "साढ़े तीन". One and two with a half have
// words of their own.
func hindiMixed(n int64, part string) []string {
	switch {
	case part == "1/2" && n == 1:
		return []string{"डेढ़"}
	case part == "1/2" && n == 2:
		return []string{"ढाई"}
	case part == "1/2":
		return append([]string{"साढ़े"}, hindiCardinal(n, false)...)
	case part == "1/4":
		return append([]string{"सवा"}, hindiCardinal(n, false)...)
	case part == "3/4":
		return append([]string{"पौने"}, hindiCardinal(n+1, false)...)
	}
	return nil
}

// hindiClock says a time: by quarters to twelve, after that by the minute.
func hindiClock(v *vocabulary, h, m int64) []string {
	part := map[int64]string{15: "1/4", 30: "1/2", 45: "3/4"}[m]
	switch {
	case m == 0:
		return append(v.cardinal(h, false), "बजे")
	case part != "" && h > 0 && h < 13:
		if h == 12 && m == 45 {
			h = 0
		}
		return append(hindiMixed(h, part), "बजे")
	}
	return append(append(v.cardinal(h, false), "बजकर"), append(v.cardinal(m, false), "मिनट")...)
}

// hindiLonger are abbreviations with several points.
var hindiLonger = map[string]string{"कि.मी.": "किलोमीटर", "कि.ग्रा.": "किलोग्राम", "से.मी.": "सेंटीमीटर", "मि.मी.": "मिलीमीटर", "ई.पू.": "ईसा पूर्व", "वि.सं.": "विक्रम संवत", "उ.प्र.": "उत्तर प्रदेश", "म.प्र.": "मध्य प्रदेश", "a.m.": "ए एम", "p.m.": "पी एम"}

var hindiInitials = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:` + alternatives(hindiLonger) + `)|(?:(?:[A-Z]|ए|बी|सी|डी|ई|एफ\x{93c}?|ए\x{95e}|जी|एच|आई|जे|के|एल|एम|एन|ओ|पी|क्यू|आर|एस|टी|यू|वी|डब्ल्यू|एक्स|वाई|ज\x{93c}?ेड|\x{95b}ेड|[क-ह])\. ?){2,})`)
})

// hindiDotted reads initials and abbreviations with several points, and tells how many
// bytes they have.
func hindiDotted(text string) ([]string, int) {
	found := hindiInitials().FindString(text)
	if found == "" {
		return nil, 0
	}
	if words := hindiLonger[found]; words != "" {
		return strings.Fields(words), len(found)
	}
	found = strings.TrimRight(found, " ")
	var out []string
	for _, name := range strings.FieldsFunc(found, func(r rune) bool { return r == '.' || r == ' ' }) {
		if name[0] < 0x80 {
			name = "!" + name
		}
		out = append(out, name)
	}
	return out, len(found)
}
