package token

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// A cut divides a piece of text into pieces, or rewrites it. first says that
// the piece is where the whole text begins.
type cut func(t *classTable, s string, first bool, emit func(s string, first bool))

// The patterns that GGUF files have names for.
const (
	gpt2Pattern     = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	llama3Pattern   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen2Pattern    = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	qwen35Pattern   = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	gpt4oPattern    = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	tekkenPattern   = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	deepseekPattern = "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"
	kanaHanPattern  = `[一-龥぀-ゟ゠-ヿ]+`
	threesPattern   = `\p{N}{1,3}`
	onePattern      = `\p{N}`
)

// hfPatterns are the regular expressions of well-known tokenizers and the
// hand-written passes that match the same.
var hfPatterns = map[string]pass{
	gpt2Pattern:                gpt2Words,
	llama3Pattern:              llama3[0],
	qwen2Pattern:               qwen2[0],
	qwen35Pattern:              qwen35[0],
	gpt4oPattern:               gpt4o[0],
	tekkenPattern:              pretokenizers["tekken"].passes[0],
	deepseekPattern:            deepseekWords,
	kanaHanPattern:             runs(false, isKanaHan),
	threesPattern:              groups(number, 3),
	onePattern:                 groups(number, 1),
	`\p{N}+`:                   groups(number, 0),
	`[0-9][0-9][0-9]`:          threes,
	` ?[^(\s|[.,!?…。，、।۔،])]+`: bloomWords,
	`\d{1,3}(?=(?:\d{3})*\b)`:  thousandsWord,
	`(?=(\d{3})+(?!\d))`:       thousands,
	`\s+$`:                     trailing,
	`[\r\n]`:                   each(isLineEnd),
}

func readPreTokenizers(f *hfFile, s *Spec) error {
	parts, err := f.PreTokenizer.flatten(0)
	if err != nil {
		return err
	}
	for i := range parts {
		cuts, err := newCut(&parts[i])
		if err != nil {
			return err
		}
		if parts[i].Type == "ByteLevel" {
			if s.pipeline.bytes {
				return fmt.Errorf("%w: two byte-level pre-tokenizers", ErrUnsupported)
			}
			s.pipeline.bytes = true
			if i+1 < len(parts) {
				// What follows sees bytes in their spelling.
				cuts = append(cuts, whole(spell))
				s.pipeline.spelled = true
			}
		}
		s.pipeline.cuts = append(s.pipeline.cuts, cuts...)
		s.pipeline.shrink = append(s.pipeline.shrink, parts[i].shrinks())
	}
	return nil
}

func newCut(p *hfPart) ([]cut, error) {
	switch p.Type {
	case "ByteLevel":
		var cuts []cut
		if or(p.AddPrefixSpace, true) {
			cuts = append(cuts, whole(func(s string) string {
				if strings.HasPrefix(s, " ") {
					return s
				}
				return " " + s
			}))
		}
		if or(p.UseRegex, true) {
			cuts = append(cuts, byPass(gpt2Words))
		}
		return cuts, nil
	case "Whitespace":
		return []cut{wordsAndSigns}, nil
	case "WhitespaceSplit":
		return []cut{notSpace}, nil
	case "BertPreTokenizer":
		return []cut{notSpace, byPass(each(isASCIISign))}, nil
	case "Digits":
		if p.Individual {
			return []cut{byPass(groups(number, 1))}, nil
		}
		return []cut{byPass(groups(number, 0))}, nil
	case "Punctuation":
		return splitting(func(s string, from int) (int, int) {
			t := classes()
			for i := from; i < len(s); {
				_, w := t.at(s, i)
				if isASCIISign(t, s, i) {
					return i, i + w
				}
				i += w
			}
			return len(s), len(s)
		}, p.Behavior, "Isolated", false)
	case "Metaspace":
		return metaspace(p)
	case "CharDelimiterSplit":
		if p.Delimiter == "" {
			return nil, fmt.Errorf("%w: a pre-tokenizer without its delimiter", ErrFormat)
		}
		return splitting(literal(p.Delimiter), "Removed", "", false)
	case "Split":
		return split(p)
	}
	return nil, fmt.Errorf("%w: pre-tokenizer %q", ErrUnsupported, p.Type)
}

// byPass is a pass as a cut.
func byPass(p pass) cut {
	return func(t *classTable, s string, first bool, emit func(string, bool)) {
		p(t, s, func(x string) {
			emit(x, first)
			first = false
		})
	}
}

// whole rewrites pieces without cutting them.
func whole(f func(string) string) cut {
	return func(_ *classTable, s string, first bool, emit func(string, bool)) { emit(f(s), first) }
}

// notSpace emits what stands between white space.
func notSpace(t *classTable, s string, first bool, emit func(string, bool)) {
	for i := 0; i < len(s); {
		c, w := t.at(s, i)
		if c&space != 0 {
			i, first = i+w, false
			continue
		}
		end := t.runOut(s, i, space)
		emit(s[i:end], first)
		i, first = end, false
	}
}

// wordsAndSigns emits the matches of \w+|[^\w\s]+.
func wordsAndSigns(t *classTable, s string, first bool, emit func(string, bool)) {
	const word = letter | mark | digit | joiner
	for i := 0; i < len(s); {
		c, w := t.at(s, i)
		end := i + w
		switch {
		case c&space != 0:
			i, first = end, false
			continue
		case c&word != 0:
			end = t.run(s, i, set{in: word})
		default:
			end = t.runOut(s, i, word|space)
		}
		emit(s[i:end], first)
		i, first = end, false
	}
}

// metaspace marks spaces, and the start of the text, and cuts before marks.
func metaspace(p *hfPart) ([]cut, error) {
	replacement := p.Replacement
	if replacement == "" {
		replacement = blankMark
	}
	if replacement != blankMark {
		return nil, fmt.Errorf("%w: a pre-tokenizer that writes spaces as %.10q", ErrUnsupported, replacement)
	}
	scheme := p.PrependScheme
	if scheme == "" {
		scheme = "always"
		if !or(p.AddPrefixSpace, true) {
			scheme = "never"
		}
	}
	cuts := []cut{func(_ *classTable, s string, first bool, emit func(string, bool)) {
		s = strings.ReplaceAll(s, " ", blankMark)
		if (scheme == "always" || scheme == "first" && first) && !strings.HasPrefix(s, blankMark) {
			s = blankMark + s
		}
		emit(s, first)
	}}
	if or(p.Split, true) {
		next, err := splitting(literal(blankMark), "MergedWithNext", "", false)
		if err != nil {
			return nil, err
		}
		cuts = append(cuts, next...)
	}
	return cuts, nil
}

func split(p *hfPart) ([]cut, error) {
	switch {
	case p.Pattern.String != nil:
		if *p.Pattern.String == "" {
			return nil, fmt.Errorf("%w: a pre-tokenizer that splits at nothing", ErrFormat)
		}
		return splitting(literal(*p.Pattern.String), p.Behavior, "", p.Invert)
	case p.Pattern.Regex == nil:
		return nil, fmt.Errorf("%w: a pre-tokenizer without a pattern", ErrFormat)
	}
	text := *p.Pattern.Regex
	if known, ok := hfPatterns[text]; ok {
		// Isolating matches is what passes do. The patterns of words match
		// everything, so that removing what lies between is the same.
		if p.Behavior == "Isolated" && !p.Invert || p.Behavior == "Removed" && p.Invert && strings.HasSuffix(text, `|\s+`) {
			return []cut{byPass(known)}, nil
		}
	}
	find, err := newRegex(text)
	if err != nil {
		return nil, err
	}
	return splitting(find, p.Behavior, "", p.Invert)
}

// A finder returns the first match in s at or after from; len(s), len(s) if
// there is none. A match is never empty.
type finder func(s string, from int) (start, end int)

func literal(x string) finder {
	return func(s string, from int) (int, int) {
		if i := strings.Index(s[from:], x); i >= 0 {
			return from + i, from + i + len(x)
		}
		return len(s), len(s)
	}
}

// splitting cuts text at the matches of find. behavior says where they go.
func splitting(find finder, behavior, def string, invert bool) ([]cut, error) {
	if behavior == "" {
		behavior = def
	}
	switch behavior {
	case "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous":
	default:
		return nil, fmt.Errorf("%w: a pre-tokenizer that splits as %q", ErrUnsupported, behavior)
	}
	type part struct {
		from, to int
		match    bool
	}
	return []cut{func(_ *classTable, s string, first bool, emit func(string, bool)) {
		var parts []part
		add := func(from, to int, match bool) {
			if from == to {
				return
			}
			match = match != invert
			n := len(parts)
			switch {
			case behavior == "Contiguous" && n > 0 && parts[n-1].match == match,
				behavior == "MergedWithPrevious" && n > 0 && match && !parts[n-1].match,
				behavior == "MergedWithNext" && n > 0 && !match && parts[n-1].match:
				// A part that grew counts as what it has become, so that
				// of several matches in a row one merges.
				parts[n-1].to, parts[n-1].match = to, match
				return
			}
			parts = append(parts, part{from, to, match})
		}
		for at := 0; at < len(s); {
			start, end := find(s, at)
			add(at, start, false)
			add(start, end, true)
			at = end
		}
		for _, p := range parts {
			if behavior != "Removed" || !p.match {
				emit(s[p.from:p.to], first && p.from == 0)
			}
		}
	}}, nil
}

// maxRegex bounds the patterns handed to the regular expression engine, whose
// time is linear in the text.
const maxRegex = 16 << 10

// newRegex is a finder for a pattern that no pass was written for.
func newRegex(text string) (finder, error) {
	translated, blank, err := translateRegex(text)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(translated)
	if err != nil {
		return nil, fmt.Errorf("%w: the pattern %.100q of a pre-tokenizer: %v", ErrUnsupported, text, err)
	}
	return func(s string, from int) (int, int) {
		for from < len(s) {
			at := re.FindStringSubmatchIndex(s[from:])
			if at == nil {
				break
			}
			start, end := from+at[0], from+at[1]
			if blank > 0 && at[2*blank] >= 0 {
				_, w := utf8.DecodeLastRuneInString(s[start:end])
				end = blankEnd(s, start, end-w, end)
			}
			if end > start {
				return start, end
			}
			_, w := utf8.DecodeRuneInString(s[start:])
			from = start + max(1, w)
		}
		return len(s), len(s)
	}, nil
}

// What \s, \d and \w are in the engine of tokenizers.
const (
	reSpace = `\t-\r \x{85}\p{Z}`
	reDigit = `\p{Nd}`
	reWord  = `\p{L}\p{M}\p{Nd}\p{Pc}`
)

// translateRegex writes a pattern in Go's language, where \s and its like know
// ASCII only. The one look-ahead that tokenizers use, \s+(?!\S) before a last
// \s+, becomes a group of its own, whose number is blank; who matches it gives
// back the last character. Others are refused.
func translateRegex(text string) (_ string, blank int, err error) {
	if len(text) > maxRegex {
		return "", 0, fmt.Errorf("%w: a pattern of %d bytes", ErrUnsupported, len(text))
	}
	refuse := func(what string) (string, int, error) {
		return "", 0, fmt.Errorf("%w: %s in the pattern %.100q of a tokenizer", ErrUnsupported, what, text)
	}
	body, found := strings.CutSuffix(text, `|\s+(?!\S)|\s+`)
	var b strings.Builder
	b.WriteString("(?s)")
	inClass := false
	for i := 0; i < len(body); i++ {
		c := body[i]
		switch {
		case c == '\\':
			i++
			if i == len(body) {
				return refuse("a backslash at the end")
			}
			class, negated := "", false
			switch body[i] {
			case 's', 'S':
				class, negated = reSpace, body[i] == 'S'
			case 'd', 'D':
				class, negated = reDigit, body[i] == 'D'
			case 'w', 'W':
				class, negated = reWord, body[i] == 'W'
			case 'b', 'B', 'h', 'H', 'R', 'X', 'K', 'G', 'Z', 'k', 'g', 'A', 'z':
				return refuse(`\` + body[i:i+1])
			}
			switch {
			case class == "":
				b.WriteString(body[i-1 : i+1])
			case inClass && negated:
				return refuse(`\` + body[i:i+1] + " in a class")
			case inClass:
				b.WriteString(class)
			case negated:
				b.WriteString("[^" + class + "]")
			default:
				b.WriteString("[" + class + "]")
			}
		case inClass:
			if c == '[' {
				return refuse("a class in a class")
			}
			if c == '&' && strings.HasPrefix(body[i:], "&&") {
				return refuse("an intersection of classes")
			}
			inClass = c != ']'
			b.WriteByte(c)
		case c == '[':
			inClass = true
			b.WriteByte(c)
			if strings.HasPrefix(body[i+1:], "^") {
				i++
				b.WriteByte('^')
			}
		case c == '(':
			switch rest := body[i+1:]; {
			case strings.HasPrefix(rest, "?:"), strings.HasPrefix(rest, "?i:"), strings.HasPrefix(rest, "?i)"):
				b.WriteByte(c)
			case strings.HasPrefix(rest, "?"):
				return refuse("(?" + rest[1:min(2, len(rest))])
			default:
				blank++
				b.WriteByte(c)
			}
		case c == '^' || c == '$':
			return refuse(string(c))
		default:
			b.WriteByte(c)
		}
	}
	if inClass {
		return refuse("an open class")
	}
	if !found {
		return b.String(), 0, nil
	}
	b.WriteString("|([" + reSpace + "]+)")
	return b.String(), blank + 1, nil
}
