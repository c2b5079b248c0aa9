package lang

import "strings"

// portugueseWords is how numbers, signs and abbreviations are said in Brazil.
func portugueseWords() *vocabulary {
	cent, centavo := unit{"centavo", "centavos", false}, unit{"centavo", "centavos", false}
	euro, dollar, pound := unit{"euro", "euros", false}, unit{"dólar", "dólares", false}, unit{"libra", "libras", true}
	real, franc, rupee := unit{"real", "reais", false}, unit{"franco", "francos", false}, unit{"rupia", "rupias", true}
	return &vocabulary{
		cardinal: portugueseCardinal,
		ordinal:  portugueseOrdinal,
		endings:  map[string]bool{"º": false, "°": false, "o": false, "ª": true, "a": true},
		point:    "vírgula", fraction: 2, to: "a", over: "sobre", and: "e", cents: "e", of: "de",
		halves: map[string]string{"1/2": "meio", "1/3": "um terço", "2/3": "dois terços", "1/4": "um quarto", "3/4": "três quartos", "1/5": "um quinto", "1/10": "um décimo"},
		half:   "meio", dayWords: set("em dia no de até"),
		months: strings.Fields("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
		date:   dated("primeiro", "de"),
		clock:  horas("e"),
		lone: func(noun string) string {
			return loneOne(noun, "uma", "um", "ção", "são", "dade", "gem", "vez", "noite", "mulher")
		},
		century: set("guerra república"),
		phones:  `\d{5}-\d{3}\b|`,
		feminine: func(w string) bool {
			stem, ok := strings.CutSuffix(w, "as")
			return (ok || strings.HasSuffix(w, "ções") || strings.HasSuffix(w, "dades")) && !portugueseMen[stem]
		},
		scales: "milhões|milhão|mil|bilhões|bilhão|trilhões|trilhão",
		money: map[string]currency{"€": {euro, cent}, "EUR": {euro, cent}, "$": {dollar, cent}, "US$": {dollar, cent}, "USD": {dollar, cent}, "£": {pound, unit{"penny", "pence", false}}, "GBP": {pound, unit{"penny", "pence", false}},
			"¥": {unit{"iene", "ienes", false}, unit{}}, "R$": {real, centavo}, "BRL": {real, centavo}, "CHF": {franc, cent}, "₹": {rupee, unit{}}, "INR": {rupee, unit{}}},
		units: map[string]unit{
			"km/h": {"quilômetro por hora", "quilômetros por hora", false}, "m/s": {"metro por segundo", "metros por segundo", false}, "km²": {"quilômetro quadrado", "quilômetros quadrados", false}, "m²": {"metro quadrado", "metros quadrados", false}, "m³": {"metro cúbico", "metros cúbicos", false},
			"km": {"quilômetro", "quilômetros", false}, "cm": {"centímetro", "centímetros", false}, "mm": {"milímetro", "milímetros", false}, "m": {"metro", "metros", false}, "kg": {"quilo", "quilos", false}, "mg": {"miligrama", "miligramas", false}, "g": {"grama", "gramas", false},
			"l": {"litro", "litros", false}, "L": {"litro", "litros", false}, "ml": {"mililitro", "mililitros", false}, "h": {"hora", "horas", true}, "min": {"minuto", "minutos", false}, "s": {"segundo", "segundos", false}, "ms": {"milissegundo", "milissegundos", false},
			"°C": {"grau Celsius", "graus Celsius", false}, "ºC": {"grau Celsius", "graus Celsius", false}, "°": {"grau", "graus", false}, "kW": {"quilowatt", "quilowatts", false}, "W": {"watt", "watts", false}, "V": {"volt", "volts", false}, "Hz": {"hertz", "hertz", false}, "MHz": {"mega-hertz", "mega-hertz", false}, "GHz": {"giga-hertz", "giga-hertz", false},
			"KB": {"quilobyte", "quilobytes", false}, "MB": {"megabyte", "megabytes", false}, "GB": {"gigabyte", "gigabytes", false}, "TB": {"terabyte", "terabytes", false},
		},
		signs: map[rune]string{'%': "por cento", '‰': "por mil", '&': "e", '+': "mais", '−': "menos", '@': "arroba", '=': "igual a", '×': "vezes", '÷': "dividido por", '±': "mais ou menos", '<': "menor que", '>': "maior que", '≤': "menor ou igual a", '≥': "maior ou igual a", '≠': "diferente de",
			'#': "cerquilha", '°': "graus", 'º': "graus", '€': "euros", '$': "dólares", '£': "libras", '¥': "ienes", '.': "ponto", '→': "a", '∞': "infinito", '©': "copyright", '§': "parágrafo", '½': "meio", '¼': "um quarto", '¾': "três quartos", '²': "ao quadrado", '³': "ao cubo", 'π': "pi", 'μ': "mi", 'α': "alfa", 'β': "beta", 'γ': "gama", 'δ': "delta", 'ω': "ômega", 'λ': "lambda", 'σ': "sigma"},
		abbreviations: map[string]string{"a.c.": "antes de Cristo", "d.c.": "depois de Cristo", "sr.": "senhor", "sra.": "senhora", "srta.": "senhorita", "srs.": "senhores", "p. ex.": "por exemplo", "pp.": "páginas", "dr.": "doutor", "dra.": "doutora", "d.": "dom", "prof.": "professor", "profa.": "professora", "eng.": "engenheiro", "etc.": "etcétera", "pág.": "página", "págs.": "páginas", "p.": "página", "núm.": "número", "nº": "número", "n°": "número", "n.º": "número", "art.": "artigo", "av.": "avenida", "r.": "rua", "tel.": "telefone", "ex.": "exemplo",
			"vol.": "volume", "cap.": "capítulo", "fig.": "figura", "sto.": "santo", "sta.": "santa", "aprox.": "aproximadamente", "máx.": "máximo", "mín.": "mínimo", "cia.": "companhia", "ltda.": "limitada", "vc": "você", "vcs": "vocês",
			"jan.": "janeiro", "fev.": "fevereiro", "abr.": "abril", "ago.": "agosto", "set.": "setembro", "out.": "outubro", "nov.": "novembro", "dez.": "dezembro"},
		kings: map[string]bool{"inciso": false, "século": false, "séculos": false, "capítulo": false, "tomo": false, "volume": false, "título": false, "ato": false, "parte": true, "fase": true, "guerra": true, "mundial": true, "edição": true, "pedro": false, "joão": false, "paulo": false, "manuel": false, "carlos": false, "afonso": false, "fernando": false, "isabel": true, "luís": false, "henrique": false,
			"filipe": false, "sebastião": false, "maria": true, "jorge": false, "eduardo": false, "bento": false, "pio": false, "leão": false, "francisco": false, "napoleão": false, "clemente": false, "gregório": false, "guilherme": false, "catarina": true},
		ranked: func(word string, n int64) bool { return n <= 10 },
	}
}

var (
	portugueseSmall    = strings.Fields("zero um dois três quatro cinco seis sete oito nove dez onze doze treze quatorze quinze dezesseis dezessete dezoito dezenove")
	portugueseTens     = strings.Fields("- - vinte trinta quarenta cinquenta sessenta setenta oitenta noventa")
	portugueseHundreds = strings.Fields("- cento duzentos trezentos quatrocentos quinhentos seiscentos setecentos oitocentos novecentos")
	portugueseMen      = set("di map problem sistem tem program idiom poet planet clim especialist artist turist periodist diagram fantasm gram quilogram miligram")
	portugueseRanks    = [3][]string{
		strings.Fields("- primeiro segundo terceiro quarto quinto sexto sétimo oitavo nono"),
		strings.Fields("- décimo vigésimo trigésimo quadragésimo quinquagésimo sexagésimo septuagésimo octogésimo nonagésimo"),
		strings.Fields("- centésimo"),
	}
)

// portugueseCardinal says a whole number; parts are joined with e.
func portugueseCardinal(n int64, feminine bool) []string {
	for _, s := range []struct {
		value     int64
		one, many string
	}{{1e12, "trilhão", "trilhões"}, {1e9, "bilhão", "bilhões"}, {1e6, "milhão", "milhões"}, {1000, "mil", "mil"}} {
		if n < s.value {
			continue
		}
		out := append(portugueseCardinal(n/s.value, feminine && s.value == 1000), s.many)
		if n/s.value == 1 {
			out = []string{"um", s.one}
			if s.value == 1000 {
				out = out[1:]
			}
		}
		rest := n % s.value
		if rest == 0 {
			return out
		}
		if rest < 100 || rest < 1000 && rest%100 == 0 {
			out = append(out, "e")
		}
		return append(out, portugueseCardinal(rest, feminine)...)
	}
	switch {
	case n == 100:
		return []string{"cem"}
	case n > 100:
		h := portugueseHundreds[n/100]
		if feminine && n >= 200 {
			h = strings.TrimSuffix(h, "os") + "as"
		}
		out := []string{h}
		if n%100 > 0 {
			out = append(append(out, "e"), portugueseCardinal(n%100, feminine)...)
		}
		return out
	case n >= 20:
		out := []string{portugueseTens[n/10]}
		if n%10 > 0 {
			out = append(append(out, "e"), portugueseCardinal(n%10, feminine)...)
		}
		return out
	case feminine && n == 1:
		return []string{"uma"}
	case feminine && n == 2:
		return []string{"duas"}
	}
	return []string{portugueseSmall[n]}
}

func portugueseOrdinal(n int64, feminine bool) []string {
	if n < 1 || n > 199 {
		return nil
	}
	var out []string
	for k, d := range []int64{n / 100, n / 10 % 10, n % 10} {
		if d == 0 {
			continue
		}
		w := portugueseRanks[2-k][d]
		if feminine {
			w = strings.TrimSuffix(w, "o") + "a"
		}
		out = append(out, w)
	}
	return out
}
