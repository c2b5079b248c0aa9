package g2p

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// units are singular and plural names of what may follow a number.
var units = map[string][2]string{
	"mm": {"millimeter", "millimeters"}, "cm": {"centimeter", "centimeters"}, "m": {"meter", "meters"}, "km": {"kilometer", "kilometers"},
	"in": {"inch", "inches"}, "ft": {"foot", "feet"}, "yd": {"yard", "yards"}, "yds": {"yard", "yards"}, "mi": {"mile", "miles"}, "nm": {"nanometer", "nanometers"}, "µm": {"micrometer", "micrometers"},
	"mg": {"milligram", "milligrams"}, "µg": {"microgram", "micrograms"}, "mcg": {"microgram", "micrograms"}, "g": {"gram", "grams"}, "kg": {"kilogram", "kilograms"}, "lb": {"pound", "pounds"}, "lbs": {"pound", "pounds"}, "oz": {"ounce", "ounces"},
	"ml": {"milliliter", "milliliters"}, "mL": {"milliliter", "milliliters"}, "cl": {"centiliter", "centiliters"}, "dl": {"deciliter", "deciliters"}, "l": {"liter", "liters"}, "L": {"liter", "liters"}, "gal": {"gallon", "gallons"}, "qt": {"quart", "quarts"}, "qts": {"quart", "quarts"}, "pt": {"pint", "pints"},
	"tsp": {"teaspoon", "teaspoons"}, "tbsp": {"tablespoon", "tablespoons"}, "fl oz": {"fluid ounce", "fluid ounces"},
	"ns": {"nanosecond", "nanoseconds"}, "µs": {"microsecond", "microseconds"}, "ms": {"millisecond", "milliseconds"}, "s": {"second", "seconds"}, "sec": {"second", "seconds"}, "secs": {"second", "seconds"},
	"min": {"minute", "minutes"}, "mins": {"minute", "minutes"}, "h": {"hour", "hours"}, "hr": {"hour", "hours"}, "hrs": {"hour", "hours"}, "wk": {"week", "weeks"}, "wks": {"week", "weeks"}, "yr": {"year", "years"}, "yrs": {"year", "years"},
	"mph": {"mile per hour", "miles per hour"}, "kph": {"kilometer per hour", "kilometers per hour"}, "rpm": {"R P M", "R P M"}, "fps": {"frame per second", "frames per second"}, "mpg": {"mile per gallon", "miles per gallon"}, "bpm": {"beat per minute", "beats per minute"},
	"Hz": {"hertz", "hertz"}, "kHz": {"kilohertz", "kilohertz"}, "MHz": {"megahertz", "megahertz"}, "GHz": {"gigahertz", "gigahertz"},
	"kB": {"kilobyte", "kilobytes"}, "KB": {"kilobyte", "kilobytes"}, "MB": {"megabyte", "megabytes"}, "GB": {"gigabyte", "gigabytes"}, "TB": {"terabyte", "terabytes"}, "PB": {"petabyte", "petabytes"},
	"KiB": {"kibibyte", "kibibytes"}, "MiB": {"mebibyte", "mebibytes"}, "GiB": {"gibibyte", "gibibytes"}, "kbps": {"kilobit per second", "kilobits per second"}, "Mbps": {"megabit per second", "megabits per second"}, "Gbps": {"gigabit per second", "gigabits per second"},
	"W": {"watt", "watts"}, "kW": {"kilowatt", "kilowatts"}, "MW": {"megawatt", "megawatts"}, "GW": {"gigawatt", "gigawatts"}, "Wh": {"watt hour", "watt hours"}, "kWh": {"kilowatt hour", "kilowatt hours"},
	"V": {"volt", "volts"}, "mV": {"millivolt", "millivolts"}, "kV": {"kilovolt", "kilovolts"}, "A": {"amp", "amps"}, "mA": {"milliamp", "milliamps"}, "mAh": {"milliamp hour", "milliamp hours"}, "dB": {"decibel", "decibels"},
	"Ω": {"ohm", "ohms"}, "kΩ": {"kiloohm", "kiloohms"}, "MΩ": {"megaohm", "megaohms"}, "Pa": {"pascal", "pascals"}, "hPa": {"hectopascal", "hectopascals"}, "kPa": {"kilopascal", "kilopascals"}, "psi": {"P S I", "P S I"}, "N": {"newton", "newtons"}, "J": {"joule", "joules"}, "kJ": {"kilojoule", "kilojoules"},
	"mmHg": {"millimeter of mercury", "millimeters of mercury"}, "cal": {"calorie", "calories"}, "kcal": {"kilocalorie", "kilocalories"}, "px": {"pixel", "pixels"}, "dpi": {"dot per inch", "dots per inch"}, "ppm": {"part per million", "parts per million"}, "ha": {"hectare", "hectares"},
	"mo": {"month", "months"}, "mos": {"month", "months"}, "pkg": {"package", "packages"}, "pkgs": {"package", "packages"}, "pc": {"piece", "pieces"}, "pcs": {"piece", "pieces"}, "tbsps": {"tablespoon", "tablespoons"}, "tsps": {"teaspoon", "teaspoons"},
	"N·m": {"newton meter", "newton meters"}, "N⋅m": {"newton meter", "newton meters"}, "Nm": {"newton meter", "newton meters"}, "ft-lb": {"foot pound", "foot pounds"}, "ft-lbs": {"foot pound", "foot pounds"}, "lb-ft": {"pound foot", "pound feet"}, "kN": {"kilonewton", "kilonewtons"}, "kgs": {"kilogram", "kilograms"}, "kms": {"kilometer", "kilometers"},
	"mol": {"mole", "moles"}, "mmol": {"millimole", "millimoles"}, "µmol": {"micromole", "micromoles"}, "µL": {"microliter", "microliters"}, "µl": {"microliter", "microliters"}, "hl": {"hectoliter", "hectoliters"}, "ng": {"nanogram", "nanograms"}, "Tbsp": {"tablespoon", "tablespoons"}, "Tbsps": {"tablespoon", "tablespoons"}, "tbs": {"tablespoon", "tablespoons"}, "Tsp": {"teaspoon", "teaspoons"}, "TBSP": {"tablespoon", "tablespoons"}, "TSP": {"teaspoon", "teaspoons"},
	"kbit": {"kilobit", "kilobits"}, "Mbit": {"megabit", "megabits"}, "Gbit": {"gigabit", "gigabits"}, "Tbit": {"terabit", "terabits"}, "Gb": {"gigabit", "gigabits"}, "Mb": {"megabit", "megabits"}, "TiB": {"tebibyte", "tebibytes"}, "PiB": {"pebibyte", "pebibytes"}, "EB": {"exabyte", "exabytes"}, "MP": {"megapixel", "megapixels"},
	"kt": {"knot", "knots"}, "kts": {"knot", "knots"}, "kn": {"knot", "knots"}, "bps": {"basis point", "basis points"}, "kr": {"krone", "kroner"}, "cc": {"C C", "C C"}, "au": {"astronomical unit", "astronomical units"}, "bp": {"basis point", "basis points"}, "ly": {"light year", "light years"}, "AU": {"astronomical unit", "astronomical units"},
	"MPa": {"megapascal", "megapascals"}, "GPa": {"gigapascal", "gigapascals"}, "mbar": {"millibar", "millibars"}, "atm": {"atmosphere", "atmospheres"}, "MJ": {"megajoule", "megajoules"}, "eV": {"electron volt", "electron volts"}, "keV": {"kiloelectron volt", "kiloelectron volts"}, "MeV": {"megaelectron volt", "megaelectron volts"}, "GeV": {"gigaelectron volt", "gigaelectron volts"},
	"mW": {"milliwatt", "milliwatts"}, "TW": {"terawatt", "terawatts"}, "MWh": {"megawatt hour", "megawatt hours"}, "GWh": {"gigawatt hour", "gigawatt hours"}, "TWh": {"terawatt hour", "terawatt hours"}, "Ah": {"amp hour", "amp hours"}, "µV": {"microvolt", "microvolts"}, "µA": {"microamp", "microamps"}, "µF": {"microfarad", "microfarads"}, "nF": {"nanofarad", "nanofarads"}, "pF": {"picofarad", "picofarads"},
	"THz": {"terahertz", "terahertz"}, "Mhz": {"megahertz", "megahertz"}, "Ghz": {"gigahertz", "gigahertz"}, "Sv": {"sievert", "sieverts"}, "mSv": {"millisievert", "millisieverts"}, "lm": {"lumen", "lumens"}, "lx": {"lux", "lux"}, "hp": {"horsepower", "horsepower"}, "ppb": {"part per billion", "parts per billion"}, "BTU": {"B T U", "B T U s"}, "IU": {"I U", "I U"}, "inHg": {"inch of mercury", "inches of mercury"},
	"mm Hg": {"millimeter of mercury", "millimeters of mercury"}, "req": {"request", "requests"}, "reqs": {"request", "requests"}, "tok": {"token", "tokens"}, "ops": {"operation", "operations"}, "ac": {"acre", "acres"},
	"d": {"day", "days"}, "y": {"year", "years"}, "ov": {"overs", "overs"},
	"pts": {"point", "points"}, "pp": {"percentage point", "percentage points"}, "bbl": {"barrel", "barrels"}, "bbls": {"barrel", "barrels"}, "bu": {"bushel", "bushels"},
	"ct": {"count", "count"}, "pk": {"pack", "packs"}, "sh": {"share", "shares"}, "sf": {"square foot", "square feet"}, "gb": {"gigabyte", "gigabytes"}, "mb": {"megabyte", "megabytes"}, "tb": {"terabyte", "terabytes"}, "kb": {"kilobyte", "kilobytes"}, "trn": {"trillion", "trillion"}, "dBA": {"!DBA", "!DBA"}, "dBm": {"!DBM", "!DBM"}, "dBi": {"!DBI", "!DBI"},
	"k": {"thousand", "thousand"}, "pct": {"percent", "percent"}, "fl. oz": {"fluid ounce", "fluid ounces"}, "mIU": {"milli I U", "milli I U"}, "mEq": {"milliequivalent", "milliequivalents"}, "Mly": {"million light years", "million light years"}, "Mpc": {"megaparsec", "megaparsecs"}, "kpc": {"kiloparsec", "kiloparsecs"}, "ppt": {"percentage point", "percentage points"}, "µM": {"micromolar", "micromolar"}, "mM": {"millimolar", "millimolar"}, "nM": {"nanomolar", "nanomolar"}, "acre-ft": {"acre foot", "acre feet"}, "bn": {"billion", "billion"},
}

// per are units after a slash: km/h.
var per = map[string]string{"d": "day", "bbl": "barrel", "h": "hour", "hr": "hour", "s": "second", "sec": "second", "min": "minute", "m": "meter", "m²": "square meter", "m³": "cubic meter",
	"l": "liter", "L": "liter", "dL": "deciliter", "kg": "kilogram", "mL": "milliliter", "ml": "milliliter", "day": "day", "week": "week", "month": "month", "year": "year", "yr": "year", "lb": "pound", "gal": "gallon", "mo": "month", "mol": "mole", "µL": "microliter", "ft": "foot", "ft²": "square foot", "cm²": "square centimeter", "km²": "square kilometer", "in": "inch", "in²": "square inch", "mi": "mile", "km": "kilometer", "cm": "centimeter", "mm": "millimeter", "g": "gram", "mg": "milligram", "oz": "ounce", "sh": "share", "nt": "night", "ha": "hectare", "wk": "week", "K": "kelvin", "V": "volt", "m2": "square meter", "m3": "cubic meter", "s2": "second squared", "cm2": "square centimeter"}

// races are words next to which 10k is a distance, raced those before it where nothing is counted.
var (
	races = set("run race races walk runner runners jog trot course distance ran running")
	raced = set("a the his her my our their your this that another every first annual local charity virtual saturday sunday thanksgiving marathon half")
)

// raced reports whether n thousand is the length of a race in meters: ran a 10k.
func (s *scanner) raced(n string) bool {
	next := s.nextWord()
	return races[next] || (n == "5" || n == "10" || n == "15" || n == "8") && (races[s.lastWord()] || raced[s.lastWord()] && (next == "" || preps[next] || !unicode.IsLower(firstRune(next)) || undescribed[next] || next == "this" || next == "next" || next == "last" || next == "time" || next == "pace"))
}

// strand is what stands behind the 5′ of one of DNA.
var strand = lazy(`^(?:→|->|-[ACGTUacgtu]{3,}|[- ](?:end|UTR|cap|strand|to))`)

// heights are words before how high something is.
var heights = set("above below over at to elevation reach reaches near")

// longitude is what stands behind a latitude.
var longitude = lazy(`^,? \d{1,3}\.\d+ ?[EW]\b`)

// poleward reports whether a latitude was read last.
func (s *scanner) poleward() bool {
	for k := 1; k <= 2; k++ {
		if w := s.wordBack(k); w == "north" || w == "south" {
			return true
		}
	}
	return false
}

// oven is a temperature without its degrees: 425F.
var oven = pattern{re(`([-−])?(\d{1,3}(?:\.\d)?)\s?([CF])`), func(m []string, s *scanner) []string {
	sign := minus(m[1])
	m = m[1:]
	if sign != nil || weather[s.nextWord()] {
		return join(sign, decimal(m[1], s.accent), []string{one(m[1], "degree", "degrees")}, strings.Fields(degrees[m[2]]))
	}
	if len(m[1]) < 2 || atoi(m[1]) < 30 && !thermal[s.lastWord()] || s.labelled() || !heated[s.lastWord()] && !otherScale().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)]) && !strings.HasSuffix(s.sourceBack(1), "C") && !strings.HasSuffix(s.sourceBack(1), "F") && !strings.Contains(m[1], ".") {
		return nil
	}
	return join(decimal(m[1], s.accent), []string{"degrees"}, strings.Fields(degrees[m[2]]))
}}

// patient are words behind the age of a man in notes.
var patient = set("w with presents presented presenting here c who")

// heated are words before a temperature, otherScale what it is by another.
var (
	thermal    = set("it's highs lows high low feels like temperature temp is was to at around about above below near")
	weather    = set("outside outdoors today tonight tomorrow weather heat inside")
	heated     = set("it's highs lows high low feels like temperature temp is was at to oven near about around of below above reach reached reaches hit")
	otherScale = lazy(`^ ?/ ?\d{2,3}[CF]\b`)
)

// scored are words before which pt is a point.
var scored = set("margin lead gain drop rise swing increase decrease decline font type text size loss win deficit shot game night")

// poured are words before which pts. are pints.
var poured = set("cream milk buttermilk water stock broth cider beer ale wine juice oil vinegar yogurt ice whole skim heavy double sour boiling cold warm berries strawberries blueberries raspberries cherry tomatoes oysters blood")

// unitName matches what may be a unit; units has those that are.
const unitName = `mm Hg|fl\.? oz|N[·⋅]m|ft-lbs?|lb-ft|[A-Za-zµμΩ]{1,5}`

// unitOf returns the names of a unit: of one in units, of a multiple of one, or of one whose letters
// are of the wrong case.
func unitOf(name string) ([2]string, bool) {
	name = strings.ReplaceAll(name, "μ", "µ")
	if u, ok := units[name]; ok || len(name) < 2 {
		return u, ok
	}
	if name[0] == 'u' && name != "us" && name != "um" {
		name = "µ" + name[1:] // as it is typed
		if u, ok := units[name]; ok {
			return u, ok
		}
	}
	r, n := utf8.DecodeRuneInString(name)
	if base := name[n:]; metric[r] != "" && strings.ContainsRune(multiples[base], r) {
		u, ok := units[base]
		if !ok {
			u = productUnits[base]
		}
		return [2]string{metric[r] + u[0], metric[r] + u[1]}, true
	}
	if low := strings.ToLower(name); anyCase[low] != "" && (name == low || name[1:] == low[1:] || name == strings.ToUpper(name)) {
		return units[anyCase[low]], true
	}
	return [2]string{}, false
}

// metric are the prefixes of units; multiples are the ones that a unit has besides those in units.
var (
	metric    = map[rune]string{'p': "pico", 'n': "nano", 'µ': "micro", 'm': "milli", 'k': "kilo", 'M': "mega", 'G': "giga", 'T': "tera"}
	multiples = map[string]string{"H": "nµm", "T": "nµm", "C": "nµm", "S": "nµm", "Bq": "kMGT", "Gy": "mµ", "Wb": "m", "N": "m", "J": "mµ", "W": "µn", "V": "n", "A": "pn", "Ω": "mG", "Hz": "m", "L": "n", "l": "n", "mol": "pn", "M": "p", "Pa": "mµ", "eV": "mT", "Sv": "µ", "cd": "m", "lm": "k", "rad": "mµ", "VA": "kM", "Da": "kM"}
)

// anyCase are units that are written in capitals or small letters alike, by their small letters.
var anyCase = map[string]string{"kw": "kW", "kwh": "kWh", "mwh": "MWh", "km": "km", "kg": "kg", "kgs": "kg", "cm": "cm", "lb": "lb", "lbs": "lbs", "oz": "oz", "hz": "Hz", "khz": "kHz", "mhz": "MHz", "ghz": "GHz", "kph": "kph", "mph": "mph",
	"mbps": "Mbps", "gbps": "Gbps", "kbps": "kbps", "hp": "hp", "rpm": "rpm", "psi": "psi", "mg": "mg", "ml": "mL", "hrs": "hrs", "mins": "mins", "secs": "secs", "yrs": "yrs", "bpm": "bpm", "mpg": "mpg", "mah": "mAh", "fps": "fps", "dpi": "dpi"}

// quantity is a number with its unit.
var quantity = `([-−])?(` + numeral + `|\d+,\d{1,2})(` + space + `?|-)(sq\.?` + space + `?|sq\.?-|cu(?:\.` + space + `?|` + space + `))?(` + unitName + `)([²³]|\^[23]|[23])?(\.?/(?:(?:[ck]?m|ft|in)[²³]|(?:c?m|s)[23]|µL|[a-z]{4,9}|[A-Za-z]{1,3}))?([²³])?`

var measures = []pattern{
	// 2T. soy sauce
	{re(`(\d{1,2})([Tt])\.?`), func(m []string, s *scanner) []string {
		if !unicode.IsLower(firstRune(s.nextWord())) || s.accent == British {
			return nil
		}
		name := map[string]string{"T": "tablespoon", "t": "teaspoon"}[m[2]]
		return append(cardinal(m[1], s.accent), one(m[1], name, name+"s"))
	}},
	// 2s/10s of bonds
	{re(`(\d{1,2})s/?(\d{1,2})s`), func(m []string, s *scanner) []string {
		return join(plural(cardinal(m[1], s.accent)), plural(cardinal(m[2], s.accent)))
	}},
	// a 1-in-5 chance, which is no inch
	{re(`(\d+)-in-(\d+)`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{"in"}, cardinal(m[2], s.accent))
	}},
	// temperatures and angles: -5 °C, 90°, 40° N, 40°26′
	{re(`([-−+])?(\d{1,3})[°º]\s?(\d{1,2}(?:\.\d+)?)[′'’](?:\s?(\d{1,2}(?:\.\d+)?)[″"”])?\s?([NSEW]\b)?`), func(m []string, s *scanner) []string {
		out := join(strings.Fields(map[string]string{"-": "minus", "−": "minus", "+": "plus"}[m[1]]), cardinal(m[2], s.accent), []string{one(m[2], "degree", "degrees")}, sexagesimal(m[3], "minute", s.accent))
		if m[4] != "" {
			out = join(out, sexagesimal(m[4], "second", s.accent))
		}
		return join(out, strings.Fields(degrees[m[5]]))
	}},
	{re(`([-−])?(` + numeral + `)\s?[°º˚](?:\s?([CFKNSEW])\b)?`), func(m []string, s *scanner) []string {
		return join(minus(m[1]), decimal(m[2], s.accent), []string{s.named1(m[2], "degree", "degrees")}, strings.Fields(degrees[m[3]]))
	}},
	{re(`([-−])?(` + numeral + `)\s?([℃℉])`), func(m []string, s *scanner) []string {
		return join(minus(m[1]), decimal(m[2], s.accent), []string{one(m[2], "degree", "degrees")}, strings.Fields(degrees[m[3]]))
	}},
	// 40.7128 N, 74.006 W
	{re(`([-−])?(\d{1,3}(?:\.\d+)?)\s?([NSEW])`), func(m []string, s *scanner) []string {
		if w := s.lastWord(); w != "latitude" && w != "longitude" && !(strings.Contains(m[2], ".") && (strings.Contains("NS", m[3]) && longitude().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+16)]) || strings.Contains("EW", m[3]) && s.poleward())) {
			return nil
		}
		return join(minus(m[1]), decimal(m[2], s.accent), []string{"degrees"}, strings.Fields(degrees[m[3]]))
	}},
	// the 5′ end, 5′→3′
	{re(`([35])['’′]`), func(m []string, s *scanner) []string {
		if !strand().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+8)]) && !strings.HasSuffix(s.sourceBack(2), "′") {
			return nil
		}
		return append(cardinal(m[1], s.accent), "prime")
	}},
	// feet and inches: 5'10", 6' tall, a 12" ruler
	{re(`(\d{1,2})['’′]\s?-?(\d{1,2}(?:\.\d+)?)([½¼¾⅛⅜⅝⅞]?)(?:["”″]|'')`), func(m []string, s *scanner) []string {
		inches := decimal(m[2], s.accent)
		if atoi(m[2]) > 12 && m[3] == "" && !strings.Contains(m[2], ".") {
			return join(cardinal(m[1], s.accent), []string{one(m[1], "minute", "minutes")}, inches, []string{"seconds"}) // 2'30" of a song
		}
		if m[3] != "" {
			n, d, _ := strings.Cut(vulgar[firstRune(m[3])], "/")
			inches = fraction(m[2], n, d, s.accent)
		}
		return join(cardinal(m[1], s.accent), []string{s.named1(m[1], "foot", "feet")}, inches, []string{s.named1(m[2]+m[3], "inch", "inches")})
	}},
	// 2"×4"s
	{re(`(\d{1,2})["″]?\s?[x×]\s?(\d{1,2})["″]['’]?s`), func(m []string, s *scanner) []string {
		return plural(join(cardinal(m[1], s.accent), []string{"by"}, cardinal(m[2], s.accent)))
	}},
	// 45 deg C, 20 degrees F
	{re(`([-−])?(\d{1,4}(?:\.\d{1,2})?)\s?deg(?:rees?|s|\.)?(?: ?([CFK])\b)?`), func(m []string, s *scanner) []string {
		return join(minus(m[1]), decimal(m[2], s.accent), []string{s.named1(m[2], "degree", "degrees")}, strings.Fields(degrees[m[3]]))
	}},
	// a 5'x7' rug
	{re(`(` + numeral + `)(['’′"″])\s?[x×]\s?(` + numeral + `)['’′"″](?:\s?[x×]\s?(` + numeral + `)['’′"″])?`), func(m []string, s *scanner) []string {
		name := [2]string{"foot", "feet"}
		if m[2] == `"` || m[2] == "″" {
			name = units["in"]
		}
		said := s.named1("", name[0], name[1])
		if s.sizes() {
			said = name[0] // 4' x 8' sheets
		}
		out := join(decimal(m[1], s.accent), []string{"by"}, decimal(m[3], s.accent))
		if m[4] != "" {
			out = join(out, []string{"by"}, decimal(m[4], s.accent))
		}
		return append(out, said)
	}},
	{re(`([1-9])['’](1[01]|\d)`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{one(m[1], "foot", "feet")}, cardinal(m[2], s.accent))
	}},
	{re(`(` + numeral + `)(['’′])`), func(m []string, s *scanner) []string {
		if w := s.nextWord(); m[2] != "′" && !(s.before() == '(' && strings.HasPrefix(s.text[s.matchEnd:], ")")) && !(len(m[1]) > 3 && heights[s.lastWord()]) && !set("tall wide long high deep by x")[w] && !(s.lastWord() == "by" && s.wordBack(2) == "feet") {
			return nil
		}
		return append(decimal(m[1], s.accent), s.named1(m[1], "foot", "feet"))
	}},
	{re(`(` + numeral + `)(["″])`), func(m []string, s *scanner) []string {
		if s.quoted && m[2] != "″" {
			return nil
		}
		return append(decimal(m[1], s.accent), s.named1(m[1], "inch", "inches"))
	}},
	// 12st 4lb
	{re(`(\d{1,2})\s?st\.?\s(\d{1,2})\s?lbs?`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{"stone"}, cardinal(m[2], s.accent), []string{one(m[2], "pound", "pounds")})
	}},
	// 2×4s of timber
	{re(`(\d{1,2})\s?[x×]\s?(\d{1,2})s`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{"by"}, plural(cardinal(m[2], s.accent)))
	}},
	// 4x400m
	{re(`(\d{1,2})\s?[x×]\s?(\d{2,4})\s?m`), func(m []string, s *scanner) []string {
		unit := "meters"
		if s.nextWord() == "relay" || s.nextWord() == "medley" {
			unit = "meter"
		}
		return join(cardinal(m[1], s.accent), []string{"by"}, cardinal(m[2], s.accent), []string{unit})
	}},
	// 2 x 400g tins
	{re(`(\d{1,2})\s?[x×]\s(` + numeral + `)\s?(g|kg|ml|mL|l|L|oz|lb|cl)`), func(m []string, s *scanner) []string {
		if w := s.nextWord(); w == "" || !unicode.IsLower(firstRune(w)) || preps[w] || w == "and" || w == "or" {
			return nil
		}
		return join(cardinal(m[1], s.accent), decimal(m[2], s.accent), strings.Fields(units[m[3]][0]))
	}},
	// 1920x1080, 3×4, 5x
	{re(`(\d{3,4})\s?[x×]\s?(\d{3,4})(p?)`), func(m []string, s *scanner) []string {
		return join(inPairs(m[1], s.accent), []string{"by"}, inPairs(m[2], s.accent), s.unitAfter(s.unitDescribes()))
	}},
	// 7.62×51mm
	{re(`(` + numeral + `)\s?[x×]\s?(` + numeral + `)(?:\s?[x×]\s?(` + numeral + `))?(mm|cm|m|km|in|ft|yd|px|nm|µm)`), func(m []string, s *scanner) []string {
		out := join(decimal(m[1], s.accent), []string{"by"}, decimal(m[2], s.accent))
		if m[3] != "" {
			out = join(out, []string{"by"}, decimal(m[3], s.accent))
		}
		name := units[m[4]][1]
		if w := s.nextWord(); w != "" && unicode.IsLower(firstRune(w)) && !preps[w] && !undescribed[w] {
			name = units[m[4]][0]
		}
		return append(out, name)
	}},
	{re(`(` + numeral + `)\s?(?:[x×])\s?(` + numeral + `)(?:\s?[x×]\s?(` + numeral + `))?`), func(m []string, s *scanner) []string {
		if strings.Contains(m[0], "×") && !s.sized() {
			return nil
		}
		if k, _ := power(s.text[s.matchEnd:]); k > 0 && m[3] == "" {
			return join(decimal(m[1], s.accent), []string{"times"}, decimal(m[2], s.accent)) // 3 x 10^8
		}
		out := join(decimal(m[1], s.accent), []string{"by"}, decimal(m[2], s.accent))
		if m[3] != "" {
			out = join(out, []string{"by"}, decimal(m[3], s.accent))
		}
		if strings.HasPrefix(s.text[s.matchEnd:], `"`) && !s.quoted {
			if s.matchEnd++; s.sizes() {
				return append(out, "inch") // a 9x13" pan
			}
			return append(out, "inches")
		}
		return join(out, s.unitAfter(s.unitDescribes()))
	}},
	{re(`(` + numeral + `)[x×]`), func(m []string, s *scanner) []string {
		if s.equated() && !strings.HasPrefix(s.text[s.matchEnd:], " ") {
			return nil // f(x) = 2x
		}
		if rest := strings.TrimLeft(s.text[s.matchEnd:min(len(s.text), s.matchEnd+5)], " "); rest != "" && strings.Contains("+-−=^²³", string(firstRune(rest))) {
			return nil // 2x + 1
		}
		return s.paidFor(append(decimal(m[1], s.accent), "times")) // 2x/day
	}},
	{re(`([-−])?(` + numeral + `)\s?([%‰])`), func(m []string, s *scanner) []string {
		return join(minus(m[1]), decimal(m[2], s.accent), map[string][]string{"%": {"percent"}, "‰": {"per", "mille"}}[m[3]])
	}},
	// 3M users, 1.5M
	{re(`(` + numeral + `|\d+,\d{1,2})M`), func(m []string, s *scanner) []string {
		if next := s.nextWord(); m[1] == "3" && next != "" && !pluralNoun(next) && !preps[next] && next != "people" && next != "more" {
			return nil // 3M Company, 3M tape
		}
		if s.lastWord() == "a" && patient[s.nextWord()] && len(m[1]) == 2 {
			return nil // a 65M with chest pain
		}
		return join(decimal(plainAmount("", m[1]), s.accent), []string{"million"}, s.countedUnit())
	}},
	// 300K likes, 1.5K; but a 10K run, a 4K screen
	{re(`(` + numeral + `)K`), func(m []string, s *scanner) []string {
		if !s.thousandfold(m[1]) {
			return nil
		}
		return join(decimal(m[1], s.accent), []string{"thousand"}, s.countedUnit())
	}},
	{re(`(\d{2,3})/(\d{2,3})\s?mmHg`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{"over"}, cardinal(m[2], s.accent), strings.Fields(units["mmHg"][1]))
	}},
	{re(`(\d{1,3})h\s?(\d{1,2})m(?:in)?(?:\s?(\d{1,2})s)?`), func(m []string, s *scanner) []string {
		out := join(cardinal(m[1], s.accent), []string{one(m[1], "hour", "hours")}, cardinal(m[2], s.accent), []string{one(m[2], "minute", "minutes")})
		if m[3] != "" {
			out = join(out, cardinal(m[3], s.accent), []string{one(m[3], "second", "seconds")})
		}
		return out
	}},
	{re(`(\d{1,3})m\s?(\d{1,2})s`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{one(m[1], "minute", "minutes")}, cardinal(m[2], s.accent), []string{one(m[2], "second", "seconds")})
	}},
	{re(`(\d{1,3})d\s?(\d{1,2})h`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{one(m[1], "day", "days")}, cardinal(m[2], s.accent), []string{one(m[2], "hour", "hours")})
	}},
	// 18/min
	{re(`(` + numeral + `)/(min|hr|day|week|wk|mo|month|yr|year|night|sec)`), func(m []string, s *scanner) []string {
		name := m[2]
		if full := per[name]; full != "" {
			name = full
		}
		return append(decimal(m[1], s.accent), "per", name)
	}},
	// 38w4d
	{re(`(\d{1,2})w\s?(\d)d`), func(m []string, s *scanner) []string {
		return join(cardinal(m[1], s.accent), []string{one(m[1], "week", "weeks")}, cardinal(m[2], s.accent), []string{one(m[2], "day", "days")})
	}},
	{re(`([-−])?(` + numeral + `)` + space + `?([A-Za-zµμΩ]{1,4})`), func(m []string, s *scanner) []string {
		start := s.matchEnd - len(m[3])
		words, n := compound(s.text[start:min(len(s.text), start+longest)], m[2] == "1")
		if n == 0 {
			return nil
		}
		s.matchEnd = start + n
		return join(minus(m[1]), decimal(m[2], s.accent), words)
	}},
	{re(quantity + `(\.)`), measure},
	{re(quantity + `()`), measure},
}

// sexagesimal says the minutes or seconds of an angle.
func sexagesimal(n, name string, accent Accent) []string {
	if t := strings.TrimPrefix(n, "0"); t != "" && isDigit(t[0]) {
		n = t
	}
	return append(decimal(n, accent), one(n, name, name+"s"))
}

// thousandfold reports whether the K behind number is a thousand.
func (s *scanner) thousandfold(number string) bool {
	next := s.nextWord()
	return !races[next] && !races[s.lastWord()] && !joins(s.before()) && (strings.Contains(number, ".") || len(number) > 2 || len(number) == 2 && number[0] > '1' && next == "" && !raced[s.lastWord()] || areaBehind().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+16)]) || pluralNoun(next) && unicode.IsLower(firstRune(next)))
}

// sized reports whether a × stands between two lengths: a unit follows, or something is spoken
// of that has two.
func (s *scanner) sized() bool {
	rest := strings.TrimLeft(s.text[s.matchEnd:min(len(s.text), s.matchEnd+16)], " -")
	if w := rest[:wordLen(rest)]; areas[w] || lengths[w] {
		return true
	}
	for k := 1; k <= 4; k++ {
		if areas[s.wordBack(k)] {
			return true
		}
	}
	return false
}

var (
	lengths = set("in inch inches ft foot feet cm mm m px yd")
	areas   = set(`matrix matrices grid array kernel filter board image photo picture cube square rug tile room paper screen window resolution size sized dimensions measuring measures table sheet print poster plot lot bed garden pan dish frame canvas box pixel pixels block`)
)

// unitDescribes reports whether the unit behind a match is followed by what it measures: 8 × 11 in. paper.
func (s *scanner) unitDescribes() bool {
	m := describedUnit().FindStringSubmatch(s.text[s.matchEnd:min(len(s.text), s.matchEnd+32)])
	return m != nil && !preps[m[1]] && !undescribed[m[1]]
}

// sizes reports whether what a length describes stands behind it.
func (s *scanner) sizes() bool {
	w := s.nextWord()
	return s.describes() || w != "" && unicode.IsLower(firstRune(w)) && !preps[w] && !undescribed[w] || pluralNoun(w)
}

// undescribed are words behind a length that it does not describe.
var undescribed = set("and or is are was tall wide long high deep thick")

var describedUnit = lazy(`^ ?(?:in|ft|cm|mm)\.? ([a-z]{3,})`)

var unitBehind = lazy(`^[ -]?(` + unitName + `)(/(?:h|s|min|day|L|kg))?([²³])?`)

// unitAfter reads the unit behind a fraction or a power, to which the match then
// extends.
func (s *scanner) unitAfter(single bool) []string {
	rest := s.text[s.matchEnd:min(len(s.text), s.matchEnd+longest)]
	if words, n := compound(strings.TrimPrefix(rest, " "), single); n > 0 {
		s.matchEnd += n + len(rest) - len(strings.TrimPrefix(rest, " "))
		return words
	}
	rest = rest[:min(len(rest), 16)]
	m := unitBehind().FindStringSubmatch(rest)
	if m == nil || joins(firstRune(rest[len(m[0]):])) || len(m[1]) == 1 && m[2] == "" && !strings.Contains("mghsL", m[1]) ||
		m[1] == "in" && rest != m[0] && !strings.ContainsRune(".,;)", firstRune(rest[len(m[0]):])) {
		return nil
	}
	name, ok := unitOf(m[1])
	if !ok {
		return nil
	}
	out := name[1]
	if single || m[0][0] == '-' {
		out = name[0]
	}
	if m[2] != "" {
		out += " per " + per[m[2][1:]]
	}
	out += map[string]string{"²": " squared", "³": " cubed"}[m[3]]
	end := s.matchEnd + len(m[0])
	if strings.HasPrefix(s.text[end:], ".,") || strings.HasPrefix(s.text[end:], ". ") && end+2 < len(s.text) && unicode.IsLower(firstRune(s.text[end+2:])) {
		end++
	}
	s.matchEnd = end
	return strings.Fields(out)
}

var degrees = map[string]string{"C": "Celsius", "F": "Fahrenheit", "K": "Kelvin", "℃": "Celsius", "℉": "Fahrenheit", "N": "north", "S": "south", "E": "east", "W": "west"}

// cooking reports whether something is being cooked: bake 20-25m.
func (s *scanner) cooking() bool {
	for k := 1; k <= 16; k++ {
		if cooked[s.wordBack(k)] {
			return true
		}
	}
	return false
}

var cooked = set("bake roast simmer boil cook fry grill steam marinate chill soak braise saute knead")
