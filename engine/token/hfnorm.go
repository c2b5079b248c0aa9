package token

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"quern/engine/token/internal/pretoken"
)

// A normalizer rewrites text before it is cut into words.
type normalizer func(string) string

func readNormalizers(f *hfFile, s *Spec) error {
	parts, err := f.Normalizer.flatten(0)
	if err != nil {
		return err
	}
	for i := range parts {
		n, err := newNormalizer(&parts[i])
		if err != nil {
			return err
		}
		s.pipeline.normalizers = append(s.pipeline.normalizers, n)
		s.pipeline.shrink = append(s.pipeline.shrink, parts[i].shrinks())
	}
	return nil
}

func newNormalizer(p *hfPart) (normalizer, error) {
	switch p.Type {
	case "NFC":
		return norm.NFC.String, nil
	case "NFD":
		return norm.NFD.String, nil
	case "NFKC":
		return norm.NFKC.String, nil
	case "NFKD":
		return norm.NFKD.String, nil
	case "Lowercase":
		return lowercase, nil
	case "StripAccents":
		return func(s string) string { return without(s, unicode.M) }, nil
	case "Strip":
		return func(s string) string {
			if p.Left {
				s = strings.TrimLeftFunc(s, unicode.IsSpace)
			}
			if p.Right {
				s = strings.TrimRightFunc(s, unicode.IsSpace)
			}
			return s
		}, nil
	case "Prepend":
		return func(s string) string {
			if s == "" {
				return s
			}
			return p.Prepend + s
		}, nil
	case "Replace":
		if p.Pattern.String != nil {
			if *p.Pattern.String == "" {
				return nil, fmt.Errorf("%w: a normalizer that replaces nothing", ErrFormat)
			}
			return strings.NewReplacer(*p.Pattern.String, p.Content).Replace, nil
		}
		if p.Pattern.Regex == nil {
			return nil, fmt.Errorf("%w: a normalizer without a pattern", ErrFormat)
		}
		text, ahead, err := pretoken.TranslateRegex(*p.Pattern.Regex)
		if err != nil {
			return nil, err
		}
		if ahead {
			return nil, fmt.Errorf("%w: (?! in the pattern %.100q of a normalizer", ErrUnsupported, *p.Pattern.Regex)
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("%w: the pattern %.100q of a normalizer", ErrUnsupported, *p.Pattern.Regex)
		}
		return func(s string) string { return re.ReplaceAllLiteralString(s, p.Content) }, nil
	case "BertNormalizer":
		return bertNormalizer(p), nil
	case "Precompiled":
		c, err := newCharsmap(p.Charsmap)
		if err != nil {
			return nil, err
		}
		return c.normalize, nil
	}
	return nil, fmt.Errorf("%w: normalizer %q", ErrUnsupported, p.Type)
}

// normalize replaces the longest entry at every place.
func (c *charsmap) normalize(s string) string {
	b := make([]byte, 0, len(s)+len(s)/8)
	for i := 0; i < len(s); {
		if out, n := c.replace(s[i:]); n > 0 {
			b, i = append(b, out...), i+n
			continue
		}
		// Keep a whole character: an entry must not start inside one.
		n := 1
		for i+n < len(s) && s[i+n]&0xC0 == 0x80 {
			n++
		}
		b, i = append(b, s[i:i+n]...), i+n
	}
	return string(b)
}

// lowercase maps every character by itself. Only one has a lower case of two.
func lowercase(s string) string {
	return strings.ReplaceAll(strings.Map(func(r rune) rune {
		if r == 'İ' {
			return r
		}
		return unicode.ToLower(r)
	}, s), "İ", "i\u0307")
}

// without drops the characters of a class.
func without(s string, class *unicode.RangeTable) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(class, r) {
			return -1
		}
		return r
	}, s)
}

// bertNormalizer is what BERT does to text: drop control characters, make all
// white space plain, set ideographs apart, drop accents, fold case.
//
// Devlin et al., "BERT", 2019, reference code.
func bertNormalizer(p *hfPart) normalizer {
	clean, chinese, lower := or(p.Clean, true), or(p.Chinese, true), or(p.Lowercase, true)
	accents := or(p.Accents, lower)
	return func(s string) string {
		if clean {
			s = strings.Map(func(r rune) rune {
				switch {
				case r == '\t' || r == '\n' || r == '\r':
					return ' '
				case r == 0 || r == '\uFFFD' || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
					return -1
				case unicode.IsSpace(r):
					return ' '
				}
				return r
			}, s)
		}
		if chinese {
			var b strings.Builder
			for _, r := range s {
				if isIdeograph(r) {
					b.WriteByte(' ')
					b.WriteRune(r)
					b.WriteByte(' ')
				} else {
					b.WriteRune(r)
				}
			}
			s = b.String()
		}
		if accents {
			s = without(norm.NFD.String(s), unicode.Mn)
		}
		if lower {
			s = lowercase(s)
		}
		return s
	}
}
