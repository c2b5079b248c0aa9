package lang

import "strings"

// frenchWords is how numbers, signs and abbreviations are said in French.
func frenchWords() *vocabulary {
	euro, cent := unit{"euro", "euros", false}, unit{"centime", "centimes", false}
	dollar, pound := unit{"dollar", "dollars", false}, unit{"livre", "livres", true}
	real, franc, rupee := unit{"réal", "réaux", false}, unit{"franc", "francs", false}, unit{"roupie", "roupies", true}
	return &vocabulary{
		cardinal: frenchCardinal,
		ordinal:  frenchOrdinal,
		endings:  frenchEndings,
		rank: func(n int64, ending string) []string {
			if n == 2 && strings.HasPrefix(ending, "nd") {
				return []string{one(frenchEndings[ending], "seconde", "second")}
			}
			return frenchOrdinal(n, frenchEndings[ending])
		},
		point: "virgule", fraction: 3, to: "à", over: "sur", and: "et", of: "de", ofVowel: "d'",
		halves:   map[string]string{"1/2": "un demi", "1/3": "un tiers", "2/3": "deux tiers", "1/4": "un quart", "3/4": "trois quarts", "1/5": "un cinquième", "1/10": "un dixième"},
		dayWords: set("le du au"),
		months:   strings.Fields("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
		date:     dated("premier"),
		clock: func(v *vocabulary, h, m int64) []string {
			out := append(v.cardinal(h, true), one(h <= 1, "heure", "heures"))
			if m > 0 {
				out = append(out, v.cardinal(m, false)...)
			}
			return out
		},
		feminine: func(w string) bool {
			if w == "rue" || w == "place" {
				return false // 21 rue de la Paix: the number of a house
			}
			return frenchFeminine[w] || frenchFeminine[strings.TrimSuffix(w, "s")] || strings.HasSuffix(w, "tions") || strings.HasSuffix(w, "ées")
		},
		scales: "millions|million|mille|milliards|milliard",
		money: map[string]currency{"€": {euro, cent}, "EUR": {euro, cent}, "$": {dollar, unit{"cent", "cents", false}}, "US$": {dollar, unit{"cent", "cents", false}}, "USD": {dollar, unit{"cent", "cents", false}}, "£": {pound, unit{"penny", "pence", false}}, "GBP": {pound, unit{"penny", "pence", false}},
			"¥": {unit{"yen", "yens", false}, unit{}}, "R$": {real, cent}, "BRL": {real, cent}, "CHF": {unit{"franc suisse", "francs suisses", false}, cent}, "₹": {rupee, unit{}}, "INR": {rupee, unit{}}, "F": {franc, cent}},
		units: map[string]unit{
			"km/h": {"kilomètre heure", "kilomètres heure", false}, "m/s": {"mètre par seconde", "mètres par seconde", false}, "km²": {"kilomètre carré", "kilomètres carrés", false}, "m²": {"mètre carré", "mètres carrés", false}, "m³": {"mètre cube", "mètres cubes", false},
			"km": {"kilomètre", "kilomètres", false}, "cm": {"centimètre", "centimètres", false}, "mm": {"millimètre", "millimètres", false}, "m": {"mètre", "mètres", false}, "kg": {"kilogramme", "kilogrammes", false}, "mg": {"milligramme", "milligrammes", false}, "g": {"gramme", "grammes", false},
			"l": {"litre", "litres", false}, "L": {"litre", "litres", false}, "ml": {"millilitre", "millilitres", false}, "h": {"heure", "heures", true}, "min": {"minute", "minutes", true}, "s": {"seconde", "secondes", true}, "ms": {"milliseconde", "millisecondes", true},
			"°C": {"degré Celsius", "degrés Celsius", false}, "°": {"degré", "degrés", false}, "kW": {"kilowatt", "kilowatts", false}, "W": {"watt", "watts", false}, "V": {"volt", "volts", false}, "Hz": {"hertz", "hertz", false}, "MHz": {"mégahertz", "mégahertz", false}, "GHz": {"gigahertz", "gigahertz", false},
			"Ko": {"kilooctet", "kilooctets", false}, "Mo": {"mégaoctet", "mégaoctets", false}, "Go": {"gigaoctet", "gigaoctets", false}, "To": {"téraoctet", "téraoctets", false},
		},
		signs: map[rune]string{'%': "pour cent", '‰': "pour mille", '&': "et", '+': "plus", '−': "moins", '@': "arobase", '=': "égale", '×': "fois", '÷': "divisé par", '±': "plus ou moins", '<': "inférieur à", '>': "supérieur à", '≤': "inférieur ou égal à", '≥': "supérieur ou égal à", '≠': "différent de",
			'#': "dièse", '°': "degrés", '€': "euros", '$': "dollars", '£': "livres", '¥': "yens", '.': "point", '→': "vers", '∞': "infini", '©': "copyright", '§': "paragraphe", '½': "un demi", '¼': "un quart", '¾': "trois quarts", '²': "au carré", '³': "au cube", 'π': "pi", 'μ': "mu", 'α': "alpha", 'β': "bêta", 'γ': "gamma", 'δ': "delta", 'ω': "oméga", 'λ': "lambda", 'σ': "sigma"},
		abbreviations: map[string]string{"av. J.-C.": "avant Jésus Christ", "apr. J.-C.": "après Jésus Christ", "ap. J.-C.": "après Jésus Christ", "j.-C.": "Jésus Christ", "suiv.": "suivantes", "m.": "monsieur", "mm.": "messieurs", "mme": "madame", "mme.": "madame", "mmes": "mesdames", "mlle": "mademoiselle", "mlle.": "mademoiselle", "mlles": "mesdemoiselles", "dr": "docteur", "dr.": "docteur", "pr": "professeur", "me": "", "st": "saint", "ste": "sainte", "etc.": "et cétéra", "ier": "premier", "ière": "première", "p.": "page", "pp.": "pages", "nº": "numéro", "n°": "numéro", "art.": "article", "av.": "avenue", "bd": "boulevard", "bd.": "boulevard", "tél.": "téléphone", "ex.": "exemple", "env.": "environ",
			"chap.": "chapitre", "fig.": "figure", "vol.": "volume", "éd.": "édition", "janv.": "janvier", "févr.": "février", "avr.": "avril", "juill.": "juillet", "sept.": "septembre", "oct.": "octobre", "nov.": "novembre", "déc.": "décembre", "min.": "minutes", "max.": "maximum"},
		kings: map[string]bool{"chapitre": false, "tome": false, "volume": false, "acte": false, "partie": true, "phase": true, "guerre": true, "mondiale": true, "louis": false, "charles": false, "henri": false, "philippe": false, "françois": false, "napoléon": false, "jean": false, "paul": false, "pie": false, "léon": false, "benoît": false, "grégoire": false, "innocent": false, "clément": false, "george": false, "georges": false, "édouard": false,
			"élisabeth": true, "catherine": true, "guillaume": false, "alexandre": false, "nicolas": false, "ramsès": false, "richard": false},
		ranked: func(word string, n int64) bool { return n == 1 },
	}
}

var (
	frenchSmall = strings.Fields("zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf")
	frenchTens  = strings.Fields("- - vingt trente quarante cinquante soixante soixante quatre-vingt quatre-vingt")
	// Nouns that are often counted.
	frenchFeminine = set("heure minute seconde fois page personne femme fille maison voiture année semaine livre ligne ville rue tonne pièce chose étoile école voix place carte")
)

// frenchCardinal says a whole number.
func frenchCardinal(n int64, feminine bool) []string {
	for _, s := range []struct {
		value int64
		name  string
	}{{1e12, "billion"}, {1e9, "milliard"}, {1e6, "million"}, {1000, "mille"}} {
		if n < s.value {
			continue
		}
		k := n / s.value
		var out []string
		switch {
		case s.value == 1000 && k == 1:
			out = []string{"mille"}
		case s.value == 1000:
			out = append(frenchCardinal(k, false), "mille")
		default:
			out = append(frenchCardinal(k, false), one(k == 1, s.name, s.name+"s"))
		}
		if n%s.value > 0 {
			out = append(out, frenchCardinal(n%s.value, feminine)...)
		}
		return out
	}
	switch {
	case n >= 200:
		out := []string{frenchSmall[n/100], "cent"}
		if n%100 > 0 {
			out = append(out, frenchCardinal(n%100, feminine)...)
		}
		return out
	case n >= 100:
		out := []string{"cent"}
		if n > 100 {
			out = append(out, frenchCardinal(n-100, feminine)...)
		}
		return out
	case feminine && n == 1:
		return []string{"une"}
	case n < 20:
		return strings.Split(frenchSmall[n], "-")
	}
	out := strings.Split(frenchTens[n/10], "-")
	rest := n % 10
	if t := n / 10; t == 7 || t == 9 {
		rest += 10
	}
	switch {
	case rest == 0:
		return out
	case (rest == 1 || rest == 11) && n < 80:
		out = append(out, "et")
	}
	return append(out, frenchCardinal(rest, feminine)...)
}

var frenchEndings = map[string]bool{"er": false, "ère": true, "re": true, "e": false, "è": false, "ème": false, "eme": false, "nd": false, "nde": true, "º": false, "°": false}

func frenchOrdinal(n int64, feminine bool) []string {
	switch {
	case n < 1 || n > 9999:
		return nil
	case n == 1:
		return []string{one(feminine, "première", "premier")}
	}
	out := frenchCardinal(n, false)
	last := len(out) - 1
	switch w := out[last]; {
	case w == "un":
		out[last] = "unième"
	case w == "cinq":
		out[last] = "cinquième"
	case w == "neuf":
		out[last] = "neuvième"
	default:
		out[last] = strings.TrimSuffix(w, "e") + "ième"
	}
	return out
}
