package lang

import "strings"

// italianWords is how numbers, signs and abbreviations are said in Italian.
func italianWords() *vocabulary {
	euro, cent := unit{"euro", "euro", false}, unit{"centesimo", "centesimi", false}
	dollar, pound := unit{"dollaro", "dollari", false}, unit{"sterlina", "sterline", true}
	real, franc, rupee := unit{"real", "real", false}, unit{"franco", "franchi", false}, unit{"rupia", "rupie", true}
	return &vocabulary{
		cardinal: italianCardinal,
		ordinal:  italianOrdinal,
		endings:  map[string]bool{"º": false, "°": false, "o": false, "ª": true, "a": true},
		point:    "virgola", fraction: 2, to: "a", over: "su", and: "e", cents: "e", of: "di",
		halves: map[string]string{"1/2": "un mezzo", "1/3": "un terzo", "2/3": "due terzi", "1/4": "un quarto", "3/4": "tre quarti", "1/5": "un quinto", "1/10": "un decimo"},
		half:   "mezzo", dayWords: set("il dal al del"),
		months: strings.Fields("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
		date:   dated("primo"),
		clock: func(v *vocabulary, h, m int64) []string {
			out := v.cardinal(h, true)
			if m == 0 {
				return append([]string{one(h == 1, "ora", "ore")}, out...)
			}
			return append(append(out, "e"), v.cardinal(m, false)...)
		},
		before: func(number []string, feminine bool) []string {
			if len(number) == 1 && number[0] == "uno" {
				number[0] = one(feminine, "una", "un")
			}
			return number
		},
		feminine: func(w string) bool { return w == "ora" || w == "volta" },
		hours:    set("ora ore alle dalle"),
		lone: func(noun string) string {
			if strings.HasPrefix(noun, "s") && len(noun) > 1 && !strings.ContainsAny(noun[1:2], "aeiou") || strings.HasPrefix(noun, "z") {
				return loneOne(noun, "una", "uno", "zione", "sione", "tà", "tù")
			}
			return loneOne(noun, "una", "un", "zione", "sione", "tà", "tù", "notte", "parte")
		},
		saint: func(name string) string {
			switch low := strings.ToLower(name); {
			case strings.ContainsRune("aeiou", rune(low[0])):
				return "sant'"
			case low == "luca" || low == "nicola" || !strings.HasSuffix(low, "a"):
				if strings.HasPrefix(low, "st") || strings.HasPrefix(low, "sp") {
					return "santo"
				}
				return "san"
			}
			return "santa"
		},
		century: set("secolo guerra repubblica"),
		scales:  "mila|milione|milioni|miliardo|miliardi",
		money: map[string]currency{"€": {euro, cent}, "EUR": {euro, cent}, "$": {dollar, cent}, "US$": {dollar, cent}, "USD": {dollar, cent}, "£": {pound, unit{"penny", "pence", false}}, "GBP": {pound, unit{"penny", "pence", false}},
			"¥": {unit{"yen", "yen", false}, unit{}}, "R$": {real, cent}, "BRL": {real, cent}, "CHF": {franc, cent}, "₹": {rupee, unit{}}, "INR": {rupee, unit{}}},
		units: map[string]unit{
			"km/h": {"chilometro all'ora", "chilometri all'ora", false}, "m/s": {"metro al secondo", "metri al secondo", false}, "km²": {"chilometro quadrato", "chilometri quadrati", false}, "m²": {"metro quadrato", "metri quadrati", false}, "m³": {"metro cubo", "metri cubi", false}, "mq": {"metro quadrato", "metri quadrati", false},
			"km": {"chilometro", "chilometri", false}, "cm": {"centimetro", "centimetri", false}, "mm": {"millimetro", "millimetri", false}, "m": {"metro", "metri", false}, "kg": {"chilogrammo", "chilogrammi", false}, "mg": {"milligrammo", "milligrammi", false}, "g": {"grammo", "grammi", false},
			"l": {"litro", "litri", false}, "L": {"litro", "litri", false}, "ml": {"millilitro", "millilitri", false}, "h": {"ora", "ore", true}, "min": {"minuto", "minuti", false}, "s": {"secondo", "secondi", false}, "ms": {"millisecondo", "millisecondi", false},
			"°C": {"grado Celsius", "gradi Celsius", false}, "°": {"grado", "gradi", false}, "kW": {"chilowatt", "chilowatt", false}, "W": {"watt", "watt", false}, "V": {"volt", "volt", false}, "Hz": {"hertz", "hertz", false}, "MHz": {"megahertz", "megahertz", false}, "GHz": {"gigahertz", "gigahertz", false},
			"KB": {"kilobyte", "kilobyte", false}, "MB": {"megabyte", "megabyte", false}, "GB": {"gigabyte", "gigabyte", false}, "TB": {"terabyte", "terabyte", false},
		},
		signs: map[rune]string{'%': "per cento", '‰': "per mille", '&': "e", '+': "più", '−': "meno", '@': "chiocciola", '=': "uguale", '×': "per", '÷': "diviso", '±': "più o meno", '<': "minore di", '>': "maggiore di", '≤': "minore o uguale a", '≥': "maggiore o uguale a", '≠': "diverso da",
			'#': "cancelletto", '°': "gradi", '€': "euro", '$': "dollari", '£': "sterline", '¥': "yen", '.': "punto", '→': "a", '∞': "infinito", '©': "copyright", '§': "paragrafo", '½': "un mezzo", '¼': "un quarto", '¾': "tre quarti", '²': "al quadrato", '³': "al cubo", 'π': "pi greco", 'μ': "mi", 'α': "alfa", 'β': "beta", 'γ': "gamma", 'δ': "delta", 'ω': "omega", 'λ': "lambda", 'σ': "sigma"},
		abbreviations: map[string]string{"a.c.": "avanti Cristo", "d.c.": "dopo Cristo", "sig.": "signor", "sig.ra": "signora", "sigg.": "signori", "dott.ssa": "dottoressa", "prof.ssa": "professoressa", "p.zza": "piazza", "v.le": "viale", "c.so": "corso", "p. es.": "per esempio", "pp.": "pagine", "n.ro": "numero", "s.p.a.": "esse pi a", "s.r.l.": "esse erre elle", "dott.": "dottor", "dr.": "dottor", "prof.": "professor", "ing.": "ingegner", "avv.": "avvocato", "on.": "onorevole", "ecc.": "eccetera", "etc.": "eccetera", "pag.": "pagina", "pagg.": "pagine", "p.": "pagina", "n.": "numero", "nº": "numero", "n°": "numero", "n.°": "numero", "n.º": "numero", "art.": "articolo", "cap.": "capitolo", "fig.": "figura", "vol.": "volume", "tel.": "telefono", "es.": "esempio",
			"gen.": "gennaio", "feb.": "febbraio", "mar.": "marzo", "apr.": "aprile", "ott.": "ottobre", "nov.": "novembre", "dic.": "dicembre", "min.": "minuti", "max.": "massimo", "ca.": "circa", "km": "chilometri", "kg": "chili"},
		kings: map[string]bool{"secolo": false, "capitolo": false, "volume": false, "atto": false, "parte": true, "fase": true, "guerra": true, "mondiale": true, "edizione": true, "luigi": false, "carlo": false, "enrico": false, "filippo": false, "vittorio": false, "emanuele": false, "umberto": false, "federico": false, "francesco": false, "paolo": false, "giovanni": false, "pio": false, "leone": false, "benedetto": false, "gregorio": false, "innocenzo": false, "clemente": false,
			"giorgio": false, "edoardo": false, "elisabetta": true, "caterina": true, "napoleone": false, "guglielmo": false, "alessandro": false, "sisto": false, "giulio": false},
		ranked: func(word string, n int64) bool { return true },
	}
}

var (
	italianSmall = strings.Fields("zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove")
	italianTens  = strings.Fields("- - venti trenta quaranta cinquanta sessanta settanta ottanta novanta")
	italianRanks = strings.Fields("- primo secondo terzo quarto quinto sesto settimo ottavo nono decimo")
)

// italianCardinal says a whole number: one word below a million.
func italianCardinal(n int64, feminine bool) []string {
	for _, s := range []struct {
		value     int64
		one, many string
	}{{1e12, "bilione", "bilioni"}, {1e9, "miliardo", "miliardi"}, {1e6, "milione", "milioni"}} {
		if n < s.value {
			continue
		}
		out := append(italianCardinal(n/s.value, false), s.many)
		if n/s.value == 1 {
			out = []string{"un", s.one}
		}
		if n%s.value > 0 {
			out = append(out, italianCardinal(n%s.value, feminine)...)
		}
		return out
	}
	if n >= 1000 { // parts that are heard apart
		w := italianBelow(n / 1000)
		if n < 2000 {
			w = "mille"
		} else {
			w += "mila"
		}
		out := []string{w}
		if n%1000 > 0 {
			out = append(out, italianBelow(n%1000))
		}
		return out
	}
	if feminine && n == 1 {
		return []string{"una"}
	}
	return []string{italianBelow(n)}
}

func italianBelow(n int64) string {
	switch {
	case n < 20:
		return italianSmall[n]
	case n < 100:
		w := italianTens[n/10]
		switch n % 10 {
		case 0:
			return w
		case 1, 8:
			w = w[:len(w)-1]
		case 3:
			return w + "tré"
		}
		return w + italianSmall[n%10]
	}
	w := "cento"
	if n >= 200 {
		w = italianSmall[n/100] + w
	}
	if n%100 == 0 {
		return w
	}
	if n%100/10 == 8 || n%100 == 8 {
		w = w[:len(w)-1]
	}
	if n%100 == 3 {
		return w + "tré"
	}
	return w + italianBelow(n%100)
}

func italianOrdinal(n int64, feminine bool) []string {
	if n < 1 || n > 999 {
		return nil
	}
	w := ""
	if n <= 10 {
		w = italianRanks[n]
	} else {
		w = strings.TrimSuffix(italianBelow(n), "tré")
		switch {
		case w != italianBelow(n):
			w += "treesimo"
		case n%10 == 6 && n%100 != 16:
			w += "esimo"
		default:
			w = w[:len(w)-1] + "esimo"
		}
	}
	if feminine {
		w = w[:len(w)-1] + "a"
	}
	return []string{w}
}
