package g2p

import (
	"slices"
	"strings"
	"unicode"
)

// A currency has names of one and several of its units and of their hundredths.
type currency [4]string

var currencies = map[string]currency{
	"$": {"dollar", "dollars", "cent", "cents"},
	"£": {"pound", "pounds", "penny", "pence"},
	"€": {"euro", "euros", "cent", "cents"},
	"¥": {"yen", "yen", "sen", "sen"},
	"₹": {"rupee", "rupees", "paisa", "paise"},
	"₩": {"won", "won", "jeon", "jeon"},
	"₽": {"ruble", "rubles", "kopek", "kopeks"},
	"₺": {"lira", "lira", "kurus", "kurus"},
	"₿": {"bitcoin", "bitcoin", "", ""},
	"₫": {"dong", "dong", "hao", "hao"},
	"₦": {"naira", "naira", "kobo", "kobo"},
	"₱": {"peso", "pesos", "centavo", "centavos"},
	"฿": {"baht", "baht", "satang", "satang"},
	"₪": {"shekel", "shekels", "agora", "agorot"},
	"₴": {"hryvnia", "hryvnias", "kopek", "kopeks"},

	"US$": {"US dollar", "US dollars", "cent", "cents"}, "USD": {"US dollar", "US dollars", "cent", "cents"},
	"A$": {"Australian dollar", "Australian dollars", "cent", "cents"}, "AU$": {"Australian dollar", "Australian dollars", "cent", "cents"}, "AUD": {"Australian dollar", "Australian dollars", "cent", "cents"},
	"C$": {"Canadian dollar", "Canadian dollars", "cent", "cents"}, "CA$": {"Canadian dollar", "Canadian dollars", "cent", "cents"}, "CAD": {"Canadian dollar", "Canadian dollars", "cent", "cents"},
	"NZ$": {"New Zealand dollar", "New Zealand dollars", "cent", "cents"}, "NZD": {"New Zealand dollar", "New Zealand dollars", "cent", "cents"},
	"HK$": {"Hong Kong dollar", "Hong Kong dollars", "cent", "cents"}, "HKD": {"Hong Kong dollar", "Hong Kong dollars", "cent", "cents"},
	"S$": {"Singapore dollar", "Singapore dollars", "cent", "cents"}, "SGD": {"Singapore dollar", "Singapore dollars", "cent", "cents"},
	"SG$": {"Singapore dollar", "Singapore dollars", "cent", "cents"}, "MX$": {"Mexican peso", "Mexican pesos", "centavo", "centavos"}, "NT$": {"Taiwan dollar", "Taiwan dollars", "cent", "cents"},
	"R$": {"real", "reais", "centavo", "centavos"}, "BRL": {"Brazilian real", "Brazilian reais", "centavo", "centavos"},
	"EUR": {"euro", "euros", "cent", "cents"}, "GBP": {"pound", "pounds", "penny", "pence"}, "JPY": {"yen", "yen", "sen", "sen"}, "INR": {"rupee", "rupees", "paisa", "paise"},
	"Rs.": {"rupee", "rupees", "paisa", "paise"}, "CNY": {"yuan", "yuan", "fen", "fen"}, "RMB": {"yuan", "yuan", "fen", "fen"}, "KRW": {"won", "won", "jeon", "jeon"}, "MXN": {"Mexican peso", "Mexican pesos", "centavo", "centavos"},
	"CHF": {"Swiss franc", "Swiss francs", "centime", "centimes"}, "SEK": {"Swedish krona", "Swedish kronor", "öre", "öre"}, "NOK": {"Norwegian krone", "Norwegian kroner", "öre", "öre"},
	"DKK": {"Danish krone", "Danish kroner", "öre", "öre"}, "PLN": {"zloty", "zlotys", "grosz", "groszy"}, "RUB": {"ruble", "rubles", "kopek", "kopeks"}, "TRY": {"lira", "lira", "kurus", "kurus"},
	"₡": {"colon", "colones", "centimo", "centimos"}, "₲": {"guarani", "guaranis", "", ""}, "₵": {"cedi", "cedis", "pesewa", "pesewas"}, "₸": {"tenge", "tenge", "", ""}, "₼": {"manat", "manats", "", ""}, "₾": {"lari", "lari", "tetri", "tetri"},
	"THB": {"baht", "baht", "satang", "satang"}, "ILS": {"shekel", "shekels", "agora", "agorot"}, "AED": {"dirham", "dirhams", "fils", "fils"}, "SAR": {"riyal", "riyals", "halala", "halalas"},
	"IDR": {"rupiah", "rupiah", "sen", "sen"}, "VND": {"dong", "dong", "hao", "hao"}, "EGP": {"Egyptian pound", "Egyptian pounds", "piastre", "piastres"}, "CZK": {"Czech koruna", "Czech korunas", "haler", "halers"}, "HUF": {"forint", "forints", "", ""},
	"kr": {"krone", "kroner", "öre", "öre"}, "kr.": {"krone", "kroner", "öre", "öre"}, "zł": {"zloty", "zlotys", "grosz", "groszy"}, "Kč": {"Czech koruna", "Czech korunas", "haler", "halers"},
	"NGN": {"naira", "naira", "kobo", "kobo"}, "UAH": {"hryvnia", "hryvnias", "kopek", "kopeks"}, "TWD": {"Taiwan dollar", "Taiwan dollars", "cent", "cents"},
	"RM": {"ringgit", "ringgit", "sen", "sen"}, "MYR": {"ringgit", "ringgit", "sen", "sen"}, "Rp": {"rupiah", "rupiah", "sen", "sen"}, "PHP": {"Philippine peso", "Philippine pesos", "centavo", "centavos"}, "ARS": {"Argentine peso", "Argentine pesos", "centavo", "centavos"},
	"ZAR": {"rand", "rand", "cent", "cents"}, "BTC": {"bitcoin", "bitcoin", "", ""},
}

// currencySigns stand before or behind an amount, and currencyCodes too.
const (
	currencyMarks = "$£€¥₹₩₽₺₿₫₦₱฿₪₴₡₲₵₸₼₾"
	currencySigns = "[" + currencyMarks + "]"
)

var currencyCodes = func() string {
	var codes []string
	for c := range currencies {
		if len(c) == 3 && strings.Trim(c, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
			codes = append(codes, c)
		}
	}
	slices.Sort(codes)
	return strings.Join(codes, "|")
}()

const (
	dollars = `(?:US|AU?|CA?|NZ|HK|SG?|R|MX|NT)\$`
	amount  = `\d+\.\d{4,}|\d{1,3}(?:[ \x{a0}\x{202f}]\d{3})+,\d{1,2}|\d{1,2}(?:,\d{2})+,\d{3}|\d{1,3}(?:[.,]\d{3})+(?:[.,]\d{1,2})?|\d+(?:[.,]\d+)?|\.\d+`
	scale   = `(?:[ -]?(thousand|million|billion|trillion|lakh crore|lakhs?|crores?)\b|\s?(k|K|M|B|T|bn|m|mn|mm|MM|tn|trn|Mrd|Mio|cr)\b)?`
)

var money = []pattern{
	negative, enclosed,
	// $5-10 million
	{re(`(` + currencySigns + `)(` + amount + `)` + dash + currencySigns + `?(` + amount + `)` + scale), func(m []string, s *scanner) []string {
		if strings.HasPrefix(s.text[s.matchEnd:], "%") {
			return nil // $64.18 – 10% off
		}
		c := currencies[m[1]]
		low, high := plainAmount(m[1], m[2]), plainAmount(m[1], m[3])
		if strings.ContainsAny(low+high, ".") && m[4]+m[5] == "" {
			return join(moneyWords(c, low, "", s), []string{"to"}, moneyWords(c, high, "", s))
		}
		out := join(decimal(low, s.accent), []string{"to"}, decimal(high, s.accent))
		if mag := magnitude(m[4] + m[5]); mag != "" {
			out = append(out, mag)
		}
		return s.paidFor(append(out, strings.Fields(s.named1("", c[0], c[1]))...))
	}},
	// $1.2B, £5.99, €1.234,56
	{re(`([-−])?(` + currencySigns + `)\s?([-−])?(` + amount + `)` + scale), func(m []string, s *scanner) []string {
		return join(minus(m[1]+m[3]), moneyWords(currencies[m[2]], plainAmount(m[2], m[4]), m[5]+m[6], s))
	}},
	// 2/$10
	{re(`(\d{1,2})/([$£€])(` + amount + `)`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{"for"}, moneyWords(currencies[m[2]], plainAmount(m[2], m[3]), "", s))
	}},
	// bills: two $20s, $100s of
	{re(`([$£€])(\d{1,3})s`), func(m []string, s *scanner) []string {
		if s.nextWord() == "of" && (m[2] == "100" || m[2] == "10") {
			return join(plural(cardinal(m[2], s.accent)[len(m[2])-2:]), []string{"of", currencies[m[1]][1]})
		}
		return plural(cardinal(m[2], s.accent))
	}},
	// $1,200C, of an option, and $1.48e, which is estimated
	{re(`(` + currencySigns + `)(` + amount + `)([CPEe])`), func(m []string, s *scanner) []string {
		return append(moneyWords(currencies[m[1]], plainAmount(m[1], m[2]), "", s), "!"+strings.ToUpper(m[3]))
	}},
	// 20 €, 5 USD, 50p
	{re(`([-−])?(` + amount + `)` + scale + `\s?(` + currencySigns + `|zł|Kč|[A-Z]{3}\b)`), func(m []string, s *scanner) []string {
		if currencies[m[5]][0] == "" {
			return nil
		}
		return join(minus(m[1]), moneyWords(currencies[m[5]], plainAmount(m[5], m[2]), m[3]+m[4], s))
	}},
	{re(`(\d{1,3})p`), func(m []string, s *scanner) []string {
		return append(cardinal(m[1], s.accent), one(m[1], "penny", "pence"))
	}},
	{re(`(\d{1,3})\s?¢`), func(m []string, s *scanner) []string {
		return append(cardinal(m[1], s.accent), s.named1(m[1], "cent", "cents"))
	}},
}

// $(45) million, as accounts write what is owed
var negative = pattern{re(`(` + currencySigns + `)\s?\((` + amount + `)\)` + scale), func(m []string, s *scanner) []string {
	return join(minus("-"), moneyWords(currencies[m[1]], plainAmount(m[1], m[2]), m[3]+m[4], s))
}}

// ($12.3) million
var enclosed = pattern{re(`\((` + currencySigns + `)(` + amount + `)\) ?(thousand|million|billion|trillion)\b`), func(m []string, s *scanner) []string {
	return join(minus("-"), moneyWords(currencies[m[1]], plainAmount(m[1], m[2]), m[3], s))
}}

var namedMoney = []pattern{
	{re(`(` + dollars + `)(` + amount + `)` + dash + `(?:` + dollars + `|\$)?(` + amount + `)` + scale), func(m []string, s *scanner) []string {
		c := currencies[m[1]]
		out := join(decimal(plainAmount(m[1], m[2]), s.accent), []string{"to"}, decimal(plainAmount(m[1], m[3]), s.accent))
		if mag := magnitude(m[4] + m[5]); mag != "" {
			out = append(out, mag)
		}
		return s.paidFor(append(out, strings.Fields(c[1])...))
	}},
	{re(`((?:` + dollars + `|Rs\.?|Rp\.?|RM|kr\.?|` + currencyCodes + `)` + space + `?)(` + amount + `)` + scale), func(m []string, s *scanner) []string {
		sign := strings.TrimRight(m[1], " \u00a0\u202f")
		if s.before() == '/' {
			return nil // EUR/USD 1.08
		}
		switch sign {
		case "Rs":
			sign = "Rs."
		case "Rp.":
			sign = "Rp"
		}
		if sign == "INR" && len(m[2]) > 0 && atoi(m[2][:1]) < 10 && len(strings.SplitN(m[2], ".", 2)[0]) == 1 {
			return nil // of blood
		}
		return moneyWords(currencies[sign], plainAmount(sign, m[2]), m[3]+m[4], s)
	}},
}

// plainAmount writes an amount with a point and no other mark. The last mark is
// the decimal one if other marks stand before it or not three digits behind it.
func plainAmount(sign, s string) string {
	last := strings.LastIndexAny(s, ".,")
	if last < 0 {
		return s
	}
	whole, frac := s[:last], s[last+1:]
	first := strings.IndexAny(s, ".,")
	decimal := len(frac) != 3
	switch {
	case first != last:
		decimal = s[first] != s[last]
	case s[last] == '.':
		decimal = decimal || sign != "€" && sign != "EUR" && sign != "Rp" && sign != "IDR" || whole == "0"
	}
	whole = digitsOf(whole)
	if !decimal {
		return whole + frac
	}
	return whole + "." + frac
}

var magnitudes = map[string]string{"k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million", "mm": "million", "MM": "million", "Mio": "million", "Mrd": "billion",
	"B": "billion", "bn": "billion", "T": "trillion", "tn": "trillion", "trn": "trillion", "cr": "crore"}

func magnitude(s string) string {
	if full, ok := magnitudes[s]; ok {
		return full
	}
	return s
}

var perTime = lazy(`^ ?/ ?(hour|day|week|month|year|night|nt|person|hr|mo|yr|wk|lb|kg|gal|sq ft|mile|unit|user|min|oz|bbl|ton|tonne|seat|head|share|sh|bag|box|kWh|MWh|GB|TB|item|piece|student|child|adult|guest|room|ticket|[a-z]{4,9})\b`)

// moneyWords says an amount, 1.50 as one euro and fifty cents, and what it is paid for.
func moneyWords(c currency, amount, mag string, s *scanner) []string {
	return s.paidFor(sum(c, amount, mag, s))
}

// paidFor adds what an amount is paid for, where that follows.
func (s *scanner) paidFor(out []string) []string {
	if m := perTime().FindStringSubmatch(s.text[s.matchEnd:min(len(s.text), s.matchEnd+12)]); m != nil {
		name := m[1]
		if full := per[name]; full != "" {
			name = full
		} else if u, ok := units[name]; ok {
			name = u[0]
		} else if name == "sq ft" {
			name = "square foot"
		}
		out = append(append(out, "per"), strings.Fields(name)...)
		s.matchEnd += len(m[0])
	}
	return out
}

var (
	possessors = set("the this that his her my our your their its every each another whose")
	unpriced   = set("was is are were will would has had have can could should may might did does do he she it they we you i who which that not more less back owed due")
)

// pricedNoun reports whether an amount stands between an article and a noun: the $2 billion
// project, but the $5 he owes and the $9 million raised.
func (s *scanner) pricedNoun() bool {
	w := s.nextWord()
	return possessors[s.lastWord()] && strings.HasPrefix(s.text[s.matchEnd:], " ") && w != "" && unicode.IsLower(firstRune(w)) &&
		!preps[w] && !unpriced[w] && !adverbs[w] && !particles[w] && !strings.HasSuffix(w, "ed") && w != "per"
}

// sum is the amount itself.
func sum(c currency, amount, mag string, s *scanner) []string {
	whole, frac, _ := strings.Cut(amount, ".")
	if s.pricedNoun() {
		c[1] = c[0]
	}
	name := strings.Fields(s.named1(whole, c[0], c[1]))
	if mag != "" {
		return join(decimal(amount, s.accent), strings.Fields(magnitude(mag)), strings.Fields(s.named1("", c[0], c[1])))
	}
	if len(frac) > 2 || c[2] == "" && frac != "" {
		return join(decimal(amount, s.accent), strings.Fields(s.named1("", c[0], c[1])))
	}
	if len(frac) == 1 {
		frac += "0"
	}
	cents := atoi(frac)
	var out []string
	if atoi(whole) > 0 || len(whole) > 9 || cents == 0 {
		out = join(cardinal(whole, s.accent), name)
		if cents > 0 && s.describes() {
			return join(cardinal(whole, s.accent), []string{name[len(name)-1]}, below(cents, false))
		}
		if cents > 0 {
			out = append(out, "and")
		}
	}
	if cents > 0 {
		out = join(out, below(cents, false), []string{c[3]})
		if cents == 1 {
			out[len(out)-1] = c[2]
		}
	}
	return out
}
