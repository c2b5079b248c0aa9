package lang

import "strings"

// spanishWords is how numbers, signs and abbreviations are said in Spanish.
func spanishWords() *vocabulary {
	return &vocabulary{
		cardinal: spanishCardinal,
		ordinal:  spanishOrdinal,
		endings:  spanishEndings,
		rank:     spanishRank,
		point:    "coma", fraction: 2, to: "a", over: "sobre", and: "y", cents: "con", of: "de",
		halves: map[string]string{"1/2": "un medio", "1/3": "un tercio", "2/3": "dos tercios", "1/4": "un cuarto", "3/4": "tres cuartos", "1/5": "un quinto", "1/10": "un décimo"},
		half:   "medio", dayWords: set("el del al día"),
		months:   strings.Fields("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
		date:     dated("primero", "de"),
		clock:    horas("y"),
		before:   spanishBefore,
		plural:   spanishPlural,
		hours:    set("la las"),
		feminine: spanishFeminine,
		lone: func(noun string) string {
			return loneOne(noun, "una", "un", "ción", "sión", "dad", "tad", "tud", "umbre", "noche", "vez", "mujer")
		},
		century: set("guerra república"),
		marks:   `|MXN|COP|ARS|CLP`,
		begins:  "MCA",
		scales:  "mil millones|millones|millón|mil|billones|billón",
		money: map[string]currency{
			"€": {unit{"euro", "euros", false}, unit{"céntimo", "céntimos", false}}, "EUR": {unit{"euro", "euros", false}, unit{"céntimo", "céntimos", false}},
			"$": {unit{"dólar", "dólares", false}, unit{"centavo", "centavos", false}}, "US$": {unit{"dólar", "dólares", false}, unit{"centavo", "centavos", false}},
			"USD": {unit{"dólar", "dólares", false}, unit{"centavo", "centavos", false}}, "£": {unit{"libra", "libras", true}, unit{"penique", "peniques", false}},
			"GBP": {unit{"libra", "libras", true}, unit{"penique", "peniques", false}}, "¥": {unit{"yen", "yenes", false}, unit{}}, "R$": {unit{"real", "reales", false}, unit{"centavo", "centavos", false}},
			"BRL": {unit{"real", "reales", false}, unit{"centavo", "centavos", false}}, "MXN": {unit{"peso mexicano", "pesos mexicanos", false}, unit{"centavo", "centavos", false}}, "COP": {unit{"peso colombiano", "pesos colombianos", false}, unit{"centavo", "centavos", false}}, "ARS": {unit{"peso argentino", "pesos argentinos", false}, unit{"centavo", "centavos", false}}, "CLP": {unit{"peso chileno", "pesos chilenos", false}, unit{}},
			"CHF": {unit{"franco", "francos", false}, unit{"céntimo", "céntimos", false}}, "₹": {unit{"rupia", "rupias", true}, unit{}}, "INR": {unit{"rupia", "rupias", true}, unit{}},
		},
		units: map[string]unit{
			"km/h": {"kilómetro por hora", "kilómetros por hora", false}, "m/s": {"metro por segundo", "metros por segundo", false}, "km²": {"kilómetro cuadrado", "kilómetros cuadrados", false}, "m²": {"metro cuadrado", "metros cuadrados", false}, "m³": {"metro cúbico", "metros cúbicos", false},
			"km": {"kilómetro", "kilómetros", false}, "cm": {"centímetro", "centímetros", false}, "mm": {"milímetro", "milímetros", false}, "m": {"metro", "metros", false}, "kg": {"kilogramo", "kilogramos", false}, "mg": {"miligramo", "miligramos", false}, "g": {"gramo", "gramos", false},
			"l": {"litro", "litros", false}, "L": {"litro", "litros", false}, "ml": {"mililitro", "mililitros", false}, "h": {"hora", "horas", true}, "min": {"minuto", "minutos", false}, "s": {"segundo", "segundos", false}, "ms": {"milisegundo", "milisegundos", false},
			"°C": {"grado Celsius", "grados Celsius", false}, "ºC": {"grado Celsius", "grados Celsius", false}, "°": {"grado", "grados", false}, "kW": {"kilovatio", "kilovatios", false}, "W": {"vatio", "vatios", false}, "V": {"voltio", "voltios", false}, "Hz": {"hercio", "hercios", false}, "MHz": {"megahercio", "megahercios", false}, "GHz": {"gigahercio", "gigahercios", false},
			"KB": {"kilobyte", "kilobytes", false}, "MB": {"megabyte", "megabytes", false}, "GB": {"gigabyte", "gigabytes", false}, "TB": {"terabyte", "terabytes", false},
		},
		signs: map[rune]string{'%': "por ciento", '‰': "por mil", '&': "y", '+': "más", '−': "menos", '@': "arroba", '=': "igual a", '×': "por", '÷': "entre", '±': "más menos", '<': "menor que", '>': "mayor que", '≤': "menor o igual que", '≥': "mayor o igual que", '≠': "distinto de",
			'#': "almohadilla", '°': "grados", 'º': "grados", '€': "euros", '$': "dólares", '£': "libras", '¥': "yenes", '.': "punto", '→': "a", '∞': "infinito", '©': "copyright", '™': "marca", '§': "párrafo", '½': "medio", '¼': "un cuarto", '¾': "tres cuartos", '²': "al cuadrado", '³': "al cubo", 'π': "pi", 'μ': "mu", 'α': "alfa", 'β': "beta", 'γ': "gamma", 'δ': "delta", 'ω': "omega", 'λ': "lambda", 'σ': "sigma"},
		abbreviations: map[string]string{"sr.": "señor", "ee.": "estados", "uu.": "unidos", "jj.": "juegos", "oo.": "olímpicos", "a.m.": "a eme", "p.m.": "pe eme", "a. m.": "a eme", "p. m.": "pe eme", "p. ej.": "por ejemplo", "pp.": "páginas", "cts.": "céntimos", "c/": "calle", "dcha.": "derecha", "izq.": "izquierda", "ed.": "edición", "admón.": "administración", "sra.": "señora", "srta.": "señorita", "sres.": "señores", "dr.": "doctor", "dra.": "doctora", "d.": "don", "dª.": "doña", "dña.": "doña", "ud.": "usted", "uds.": "ustedes", "vd.": "usted", "vds.": "ustedes", "etc.": "etcétera", "pág.": "página", "págs.": "páginas", "p.": "página", "núm.": "número",
			"nº": "número", "n°": "número", "n.º": "número", "art.": "artículo", "av.": "avenida", "avda.": "avenida", "c.": "calle", "tel.": "teléfono", "prof.": "profesor", "profa.": "profesora", "ej.": "ejemplo", "vol.": "volumen", "cap.": "capítulo", "fig.": "figura", "gral.": "general", "sto.": "santo", "sta.": "santa", "aprox.": "aproximadamente", "máx.": "máximo", "mín.": "mínimo", "depto.": "departamento", "atte.": "atentamente",
			"ene.": "enero", "feb.": "febrero", "abr.": "abril", "ago.": "agosto", "sept.": "septiembre", "oct.": "octubre", "nov.": "noviembre", "dic.": "diciembre"},
		kings: map[string]bool{"siglo": false, "siglos": false, "capítulo": false, "tomo": false, "volumen": false, "título": false, "acto": false, "parte": true, "fase": true, "guerra": true, "mundial": true, "edición": true, "felipe": false, "carlos": false, "alfonso": false, "fernando": false, "isabel": true, "juan": false, "pablo": false, "pío": false, "luis": false, "enrique": false,
			"jorge": false, "eduardo": false, "benedicto": false, "clemente": false, "inocencio": false, "gregorio": false, "león": false, "francisco": false, "napoleón": false, "ramsés": false, "sancho": false, "jaime": false, "pedro": false, "urbano": false, "nicolás": false, "guillermo": false, "catalina": true, "corintios": false, "apolo": false},
		ranked: func(word string, n int64) bool { return n <= 10 },
	}
}

var spanishSmall = strings.Fields(`cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve
	veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve`)

var spanishTens = strings.Fields("- - - treinta cuarenta cincuenta sesenta setenta ochenta noventa")

var spanishHundreds = strings.Fields("- ciento doscientos trescientos cuatrocientos quinientos seiscientos setecientos ochocientos novecientos")

// spanishCardinal says a whole number; feminine is its gender before a noun.
func spanishCardinal(n int64, feminine bool) []string {
	switch {
	case n >= 1e12:
		return spanishScale(n, 1e12, "billón", "billones", feminine)
	case n >= 1e6:
		return spanishScale(n, 1e6, "millón", "millones", feminine)
	case n >= 2000:
		return spanishRest(append(spanishBefore(spanishCardinal(n/1000, feminine), feminine), "mil"), n%1000, feminine)
	case n >= 1000:
		return spanishRest([]string{"mil"}, n%1000, feminine)
	case n == 100:
		return []string{"cien"}
	case n > 100:
		h := spanishHundreds[n/100]
		if feminine && n >= 200 {
			h = strings.TrimSuffix(h, "os") + "as"
		}
		return spanishRest([]string{h}, n%100, feminine)
	case n >= 30:
		out := []string{spanishTens[n/10]}
		if n%10 > 0 {
			out = append(append(out, "y"), spanishCardinal(n%10, feminine)...)
		}
		return out
	case feminine && n%10 == 1 && n != 11:
		return []string{strings.TrimSuffix(spanishSmall[n], "o") + "a"}
	}
	return []string{spanishSmall[n]}
}

func spanishRest(out []string, n int64, feminine bool) []string {
	if n == 0 {
		return out
	}
	return append(out, spanishCardinal(n, feminine)...)
}

func spanishScale(n, scale int64, one, many string, feminine bool) []string {
	out := append(spanishBefore(spanishCardinal(n/scale, false), false), many)
	if n/scale == 1 {
		out = []string{"un", one}
	}
	return spanishRest(out, n%scale, feminine)
}

// spanishBefore shortens uno before a noun: veintiún días.
func spanishBefore(number []string, feminine bool) []string {
	last := len(number) - 1
	switch w := number[last]; {
	case feminine:
	case w == "uno":
		number[last] = "un"
	case w == "veintiuno":
		number[last] = "veintiún"
	}
	return number
}

var spanishRanks = [3][]string{
	strings.Fields("- primero segundo tercero cuarto quinto sexto séptimo octavo noveno"),
	strings.Fields("- décimo vigésimo trigésimo cuadragésimo quincuagésimo sexagésimo septuagésimo octogésimo nonagésimo"),
	strings.Fields("- centésimo"),
}

var spanishEndings = map[string]bool{"º": false, "°": false, "er": false, "ro": false, "do": false, "to": false, "mo": false, "vo": false, "no": false, "ª": true, "ra": true, "da": true, "ta": true, "ma": true, "va": true, "na": true}

// spanishRank says an ordinal with its ending: 3.er is tercer.
func spanishRank(n int64, ending string) []string {
	out := spanishOrdinal(n, spanishEndings[ending])
	if last := len(out) - 1; ending == "er" && last >= 0 {
		out[last] = strings.TrimSuffix(out[last], "o")
	}
	return out
}

func spanishOrdinal(n int64, feminine bool) []string {
	var out []string
	switch {
	case n < 1 || n > 199:
		return nil
	case n == 11 || n == 12:
		out = []string{[]string{"undécimo", "duodécimo"}[n-11]}
	default:
		for k, d := range []int64{n / 100, n / 10 % 10, n % 10} {
			if d > 0 {
				out = append(out, spanishRanks[2-k][d])
			}
		}
	}
	if feminine {
		for i, w := range out {
			out[i] = strings.TrimSuffix(w, "o") + "a"
		}
	}
	return out
}

// horas says a time with "and" before the minutes, in Spanish and Portuguese.
func horas(and string) func(v *vocabulary, h, m int64) []string {
	return func(v *vocabulary, h, m int64) []string {
		out := v.cardinal(h, true)
		if m == 0 {
			return append(out, one(h == 1, "hora", "horas"))
		}
		return append(append(out, and), v.cardinal(m, false)...)
	}
}

// one is what n things are called.
func one(is bool, singular, plural string) string {
	if is {
		return singular
	}
	return plural
}

// spanishFeminine reports whether a noun behind a number is feminine by its ending.
func spanishFeminine(w string) bool {
	stem, ok := strings.CutSuffix(w, "as")
	return (ok || strings.HasSuffix(w, "iones") && !spanishMen[w] || strings.HasSuffix(w, "dades") || spanishWomen[w]) && !spanishMen[stem]
}

var spanishWomen = set("mujeres veces noches clases calles partes tardes leyes flores luces voces paredes imágenes órdenes llaves nubes redes sangres fuentes mentes suertes claves series bases frases tesis crisis síntesis manos fotos motos radios")

// spanishPlural reports whether a word behind a number is a noun, or an adjective of one, by its
// ending.
func spanishPlural(w string) bool {
	return len(w) > 3 && strings.HasSuffix(w, "s") && !spanishSmallWords[w]
}

var spanishSmallWords = set("pues tras unos unas entonces después además antes menos ellos ellas nosotros vosotros estos estas esos esas somos eres estamos hemos vamos")

var spanishMen = set("dí map problem sistem tem program idiom poet planet clim especialist artist turist periodist policí diagram fantasm millones billones trillones camiones aviones gorriones guiones escorpiones campeones")
