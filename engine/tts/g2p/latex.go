package g2p

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Formulas as LaTeX writes them, between \( and \), \[ and \], or dollar signs.

// longestFormula is the most bytes of one, deepestFormula how deep its groups are read.
const (
	longestFormula = 1000
	deepestFormula = 12
)

// formulaEdges are what formulas stand between.
var formulaEdges = [...][2]string{{`\(`, `\)`}, {`\[`, `\]`}, {"$$", "$$"}, {"$", "$"}}

// formula reads the formula rest begins with.
func (s *scanner) formula(rest string) bool {
	head := rest[:min(len(rest), longestFormula)]
	for _, edge := range formulaEdges {
		inner, ok := strings.CutPrefix(head, edge[0])
		if !ok {
			continue
		}
		inner, _, ok = strings.Cut(inner, edge[1])
		n := len(inner) + 2*len(edge[0])
		if !ok || edge[0] == "$" && !(formal(inner) && !joins(firstRune(rest[n:]))) {
			continue
		}
		words := texWords(inner, 0)
		if len(words) == 0 {
			continue
		}
		s.space()
		return s.put(words, n)
	}
	return false
}

// formal reports whether what stands between two dollar signs is a formula, and no text
// between two amounts.
func formal(t string) bool {
	if t == "" || strings.ContainsAny(t, "\n$") || strings.ContainsAny(t[:1]+t[len(t)-1:], " ,.;") {
		return false
	}
	if strings.ContainsAny(t, `\^_{}`) || len(t) == 1 && isLetter(t[0]) {
		return true
	}
	letters := longestRun(t)
	return letters < 3 && strings.ContainsAny(t, "=+<>()") && !isDigit(t[0]) || letters == 1 && strings.ContainsAny(t, "=+-*/<>")
}

// longestRun is how many letters the longest run of them in t has.
func longestRun(t string) int {
	longest, run := 0, 0
	for i := range len(t) {
		if run++; !isLetter(t[i]) {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// texSigns are the words of commands; those of others are their names, if those are words.
var texSigns = map[string]string{
	"times": "times", "cdot": "times", "ast": "times", "div": "divided by", "pm": "plus or minus", "mp": "minus or plus", "leq": "is less than or equal to", "le": "is less than or equal to", "geq": "is greater than or equal to", "ge": "is greater than or equal to",
	"neq": "is not equal to", "ne": "is not equal to", "approx": "is approximately", "equiv": "is equivalent to", "sim": "is similar to", "cong": "is congruent to", "propto": "is proportional to", "ll": "is much less than", "gg": "is much greater than", "lt": "is less than", "gt": "is greater than",
	"to": "to", "rightarrow": "to", "Rightarrow": "implies", "implies": "implies", "iff": "if and only if", "Leftrightarrow": "if and only if", "mapsto": "maps to", "infty": "infinity", "partial": "partial", "nabla": "del", "in": "in", "notin": "not in", "subset": "is a subset of", "subseteq": "is a subset of",
	"cup": "union", "cap": "intersection", "emptyset": "the empty set", "forall": "for all", "exists": "there exists", "neg": "not", "land": "and", "lor": "or", "sum": "sum", "prod": "product", "int": "integral", "lim": "limit", "log": "log", "ln": "natural log", "exp": "exp", "sin": "sine", "cos": "cosine", "tan": "tangent",
	"max": "max", "min": "min", "arg": "arg", "det": "determinant of", "ldots": "and so on", "dots": "and so on", "cdots": "and so on", "circ": "degrees", "prime": "prime", "angle": "angle", "perp": "is perpendicular to", "parallel": "is parallel to", "mid": "given", "hbar": "h bar", "ell": "L", "therefore": "therefore", "degree": "degrees", "%": "percent", "$": "dollars", "&": "and", "#": "number",
	"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "mod": "mod", "bmod": "mod", "pmod": "mod", "gcd": "G C D",
}

// texSilent are commands that only say how a formula looks.
var texSilent = set(`left right big Big bigg Bigg bigl bigr displaystyle textstyle limits quad qquad begin end hline cr nonumber boxed overline underline mathbf mathrm mathit mathsf mathcal mathbb mathfrak boldsymbol operatorname vec hat bar tilde dot ddot`)

// texWords says a formula.
func texWords(t string, depth int) []string {
	if depth > deepestFormula {
		return nil
	}
	var out []string
	last := "" // what was read before: a letter, a digit, or a command that has bounds
	for i := 0; i < len(t); {
		c := t[i]
		was := last
		last = ""
		switch {
		case c == '\\':
			name, n := command(t[i:])
			i += n
			switch name {
			case "frac", "dfrac", "tfrac", "cfrac":
				top, n := group(t[i:])
				bottom, k := group(t[i+n:])
				i += n + k
				if f := plainFraction(top, bottom); f != nil {
					out = append(out, f...)
				} else {
					out = join(out, texWords(top, depth+1), []string{"over"}, texWords(bottom, depth+1))
				}
			case "binom":
				top, n := group(t[i:])
				bottom, k := group(t[i+n:])
				i += n + k
				out = join(out, texWords(top, depth+1), []string{"choose"}, texWords(bottom, depth+1))
			case "sqrt":
				of := []string{"square"}
				if i < len(t) && t[i] == '[' {
					if root, _, ok := strings.Cut(t[i+1:], "]"); ok {
						i += len(root) + 2
						switch {
						case root == "3":
							of = []string{"cube"}
						case digitsOf(root) == root && root != "" && len(root) < 5:
							of = ordinal(cardinal(root, US))
						default:
							of = append(texWords(root, depth+1), "th")
						}
					}
				}
				inner, n := group(t[i:])
				i += n
				out = join(out, of, []string{"root", "of"}, texWords(inner, depth+1))
			case "text", "textbf", "textit", "mbox", "textrm":
				inner, n := group(t[i:])
				i += n
				out = append(out, strings.FieldsFunc(inner, func(r rune) bool { return !unicode.IsLetter(r) })...)
			case "begin", "end":
				_, n := group(t[i:])
				i += n
			case "log", "sum", "prod", "int", "lim", "max", "min":
				out, last = append(out, strings.Fields(texSigns[name])...), name
			case "":
			default:
				switch said, ok := texSigns[name]; {
				case ok:
					out = append(out, strings.Fields(said)...)
				case texSilent[name]:
				case len(name) > 1:
					out, last = append(out, strings.ToLower(name)), "x" // Greek letters
				}
			}
			continue
		case c == '^':
			inner, n := group(t[i+1:])
			i += 1 + n
			switch bounded := bounds[was]; {
			case bounded != "":
				out, last = join(out, []string{"to"}, texWords(inner, depth+1), []string{"of"}), "bounded"
			case inner == "2":
				out = append(out, "squared")
			case inner == "3":
				out = append(out, "cubed")
			case strings.Trim(inner, "'") == "" || strings.HasPrefix(inner, `\prime`):
				out = append(out, "prime")
			case strings.HasPrefix(inner, `\circ`):
				out = append(out, "degrees")
			default:
				out = join(out, strings.Fields("to the power of"), texWords(inner, depth+1))
			}
			continue
		case c == '_':
			inner, n := group(t[i+1:])
			i += 1 + n
			words := texWords(inner, depth+1)
			switch bounded := bounds[was]; {
			case was == "log":
				out = join(out, []string{"base"}, words, []string{"of"})
			case bounded != "":
				if bounded == "from" && len(inner) == 1 && (i >= len(t) || t[i] != '^') {
					bounded = "over" // all i
				}
				out = join(out, []string{bounded}, words)
				if i < len(t) && t[i] == '^' {
					last = was
				} else {
					out = append(out, "of")
				}
			default:
				out, last = join(out, []string{"sub"}, words), "x"
			}
			continue
		case c == '{' || c == '}' || c == ' ' || c == '~' || c == '&':
			last = was
		case isDigit(c):
			j := i
			for j < len(t) && (isDigit(t[j]) || (t[j] == '.' || t[j] == ',') && j+1 < len(t) && isDigit(t[j+1])) {
				j++
			}
			out, last = append(out, decimal(t[i:j], US)...), "1"
			i = j
			continue
		case isLetter(c):
			out, last = append(out, "!"+strings.ToUpper(t[i:i+1])), "x"
			if (c == 'f' || c == 'g' || c == 'h' || c == 'P' || c == 'O' || c == 'F' || c == 'E') && strings.HasPrefix(t[i+1:], "(") && !strings.HasSuffix(t[:i], `\`) {
				out = append(out, "of")
			}
		case c == '\'' && was == "x":
			out = append(out, "prime")
			if strings.HasPrefix(t[i+1:], "(") {
				out = append(out, "of")
			}
		case c == '!' && was != "":
			out = append(out, "factorial")
		case c == '|':
			if inner, _, ok := strings.Cut(t[i+1:], "|"); ok && strings.TrimSpace(inner) != "" {
				out = join(out, strings.Fields("absolute value of"), texWords(inner, depth+1))
				i += len(inner) + 2
				continue
			}
			out = append(out, "given")
		case c == ',' || c == ';':
			out = append(out, ",")
		case texOperators[c] != "":
			out = append(out, strings.Fields(texOperators[c])...)
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(t[i:])
			out = append(out, strings.Fields(signs[r])...)
			i += n
			continue
		}
		i++
	}
	return out
}

// operation says the sum, product, integral or root that rest, which r is the first of, begins
// with, where bounds or a degree stand at it, and its length.
func operation(rest string, r, before rune) (int, []string) {
	switch {
	case strings.ContainsRune("∫∑Σ∏Π", r):
		return bounded(rest)
	case raised[r] != 0 && !joins(before):
		return root(rest)
	}
	return 0, nil
}

// boundedAhead is a sum, a product or an integral with its bounds below and above the line.
var boundedAhead = lazy(`^([∫∑Σ∏Π])(_\{[^{}]{1,24}\}|_[A-Za-z0-9]|[₀-₎ₐ-ₜᵢⱼᵣᵤᵥ∞]{1,8})?(\^\{[^{}]{1,24}\}|\^[A-Za-z0-9∞]|[⁰¹²³⁴-ⁿ∞ᵃ-ᶻ]{1,8})?`)

// bounded says the sum, product or integral with bounds that rest begins with, and its length.
func bounded(rest string) (int, []string) {
	m := boundedAhead().FindStringSubmatch(rest[:min(len(rest), 80)])
	if m == nil || m[2] == "" && (m[3] == "" || m[3][0] == 0xe2 && strings.HasPrefix(m[3], "∞")) {
		return 0, nil
	}
	name := map[string]string{"∫": `\int`, "∑": `\sum`, "Σ": `\sum`, "∏": `\prod`, "Π": `\prod`}[m[1]]
	for k, sign := range []string{"_", "^"} {
		if b := strings.ReplaceAll(norm.NFKC.String(strings.Trim(m[2+k], "_^{}")), "−", "-"); b != "" {
			name += sign + "{" + b + "}"
		}
	}
	return len(m[0]), texWords(name, 0)
}

// rootAhead is a root with its degree in front: ³√.
var rootAhead = lazy(`^([³⁴⁵⁶⁷⁸⁹ⁿ])√`)

// root says the root that rest begins with, and its length.
func root(rest string) (int, []string) {
	m := rootAhead().FindStringSubmatch(rest[:min(len(rest), 8)])
	if m == nil {
		return 0, nil
	}
	return len(m[0]), texWords(`\sqrt[`+norm.NFKC.String(m[1])+`]{}`, 0)
}

// bounds are the words before the lower bound of a command.
var bounds = map[string]string{"sum": "from", "prod": "from", "int": "from", "lim": "as", "max": "over", "min": "over"}

var texOperators = map[byte]string{'+': "plus", '-': "minus", '=': "equals", '<': "is less than", '>': "is greater than", '/': "over", '*': "times", ':': "to", '%': "percent"}

// command is the name of the command t begins with, and its length; of \, it is none.
func command(t string) (string, int) {
	j := 1
	for j < len(t) && isLetter(t[j]) {
		j++
	}
	if j > 1 {
		return t[1:j], j
	}
	if len(t) < 2 {
		return "", 1
	}
	_, n := utf8.DecodeRuneInString(t[1:])
	if texSigns[t[1:1+n]] != "" {
		return t[1 : 1+n], 1 + n
	}
	return "", 1 + n
}

// group is what a command works on, and how long it is with its braces: {ab}, x or \alpha.
func group(t string) (string, int) {
	space := len(t) - len(strings.TrimLeft(t, " "))
	t = t[space:]
	if t == "" {
		return "", space
	}
	if t[0] == '\\' {
		_, n := command(t)
		return t[:n], space + n
	}
	if t[0] != '{' {
		_, n := utf8.DecodeRuneInString(t)
		return t[:n], space + n
	}
	depth := 0
	for i := range len(t) {
		switch t[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return t[1:i], space + i + 1
			}
		}
	}
	return t[1:], space + len(t)
}

// plainFraction says a fraction of two numbers that are few.
func plainFraction(top, bottom string) []string {
	if top == "" || bottom == "" || len(top) > 3 || len(bottom) > 3 || digitsOf(top) != top || digitsOf(bottom) != bottom {
		return nil
	}
	return fraction("", top, bottom, US)
}
