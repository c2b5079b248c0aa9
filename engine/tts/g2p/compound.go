package g2p

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Products and quotients of units: m·s⁻¹, kg·m², J/(mol·K), W·m⁻²·K⁻⁴.

// A factor is a unit in a product, with its power; one that is divided by has a power below 0.
type factor struct {
	unit  [2]string
	power int
}

// productUnits are units that only a product shows to be some: 5 K may be anything.
var productUnits = map[string][2]string{
	"K": {"kelvin", "kelvin"}, "C": {"coulomb", "coulombs"}, "T": {"tesla", "tesla"}, "H": {"henry", "henries"}, "F": {"farad", "farads"}, "S": {"siemens", "siemens"},
	"rad": {"radian", "radians"}, "sr": {"steradian", "steradians"}, "cd": {"candela", "candela"}, "Bq": {"becquerel", "becquerels"}, "Gy": {"gray", "grays"}, "Wb": {"weber", "webers"},
}

// maxFactors is the most factors that are read as one unit.
const maxFactors = 6

var (
	compoundAhead = lazy(`^[A-Za-zµμΩ]{1,4}(?:[⁻⁰¹²³⁴-⁹]|\^-?\d)*(?:[·⋅∙]|/\(| )?[A-Za-zµμΩ⁻/]`) // the least of what factors reads
	negativeUnit  = lazy(`^ [A-Za-zµμΩ]{1,4}(?:⁻|\^-)[¹²³⁴1-4]`)
)

// compound reads the compound unit that rest begins with, and its length, 0 if there is none;
// single is set where there is one of it.
func compound(rest string, single bool) ([]string, int) {
	if !compoundAhead().MatchString(rest) {
		return nil, 0
	}
	list, n := factors(rest)
	if !strings.ContainsAny(rest[:n], "·⋅∙⁻^(") {
		return nil, 0 // km/h is a quantity
	}
	last := -1 // the factor whose name is a plural
	for k, f := range list {
		if f.power > 0 {
			last = k
		}
	}
	var out []string
	for k, f := range list {
		name := f.unit[0]
		if k == last && !single {
			name = f.unit[1]
		}
		if f.power < 0 {
			out = append(out, "per")
		}
		out = join(out, powered(name, max(f.power, -f.power)))
	}
	return out, n
}

// factors parses a compound unit. A product of single letters could as well be one of variables:
// it is none of units.
func factors(rest string) ([]factor, int) {
	var list []factor
	certain, sign, grouped := false, 1, false
	for i := 0; len(list) < maxFactors; {
		unit, k := productUnit(rest[i:])
		if k == 0 {
			return nil, 0
		}
		i += k
		power, n := exponent(rest[i:])
		i += n
		list = append(list, factor{unit, sign * power})
		certain = certain || power < 0 || grouped || k > 1
		if grouped && strings.HasPrefix(rest[i:], ")") {
			i, grouped, sign = i+1, false, 1
		}
		r, n := utf8.DecodeRuneInString(rest[i:])
		switch {
		case n > 0 && strings.ContainsRune("·⋅∙", r):
			i += n
		case strings.HasPrefix(rest[i:], "/(") && sign > 0:
			i, sign, grouped, certain = i+2, -1, true, true
		case r == '/' && sign > 0:
			i, sign = i+1, -1
		case negativeUnit().MatchString(rest[i:]):
			i++
		case grouped || n > 0 && joins(r) || !certain || len(list) < 2 && power > 0:
			return nil, 0
		default:
			return list, i
		}
	}
	return nil, 0
}

// productUnit is the unit rest begins with, and its length, 0 if there is none.
func productUnit(rest string) ([2]string, int) {
	k := strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) || raised[r] != 0 })
	if k < 0 {
		k = len(rest)
	}
	unit, ok := productUnits[rest[:k]]
	if !ok {
		unit, ok = unitOf(rest[:k])
	}
	if !ok {
		return unit, 0
	}
	return unit, k
}

// exponent reads the power of at most two digits rest begins with, and its length; 1 if there is none.
func exponent(rest string) (int, int) {
	digits, caret := strings.CutPrefix(rest, "^")
	n, sign, value := len(rest)-len(digits), 1, 0
	for _, r := range digits {
		d := raised[r]
		if caret {
			d = r
		}
		switch {
		case d == '-' && value == 0:
			sign = -1
		case d >= '0' && d <= '9' && value < 10:
			value = 10*value + int(d-'0')
		default:
			d = 0
		}
		if d == 0 {
			break
		}
		n += utf8.RuneLen(r)
	}
	if value == 0 {
		return 1, 0
	}
	return sign * value, n
}

// powered is a unit with its power: square meter, second squared.
func powered(name string, power int) []string {
	length := strings.Contains(name, "meter") || name == "foot" || name == "feet" || name == "inch" || name == "inches"
	before, behind := map[int]string{2: "square", 3: "cubic"}[power], map[int]string{2: "squared", 3: "cubed"}[power]
	out := strings.Fields(name)
	switch {
	case power < 2:
		return out
	case before == "":
		return join(out, []string{"to", "the"}, ordinal(cardinal(decimalOf(power), US)))
	case length:
		return append([]string{before}, out...)
	}
	return append(out, behind)
}
