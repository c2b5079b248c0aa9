package token

import (
	"cmp"
	"fmt"
	"strings"

	"quern/engine/token/internal/pretoken"
)

// A cut divides a piece of text into pieces, or rewrites it. first says that
// the piece is where the whole text begins.
type cut func(s string, first bool, emit func(s string, first bool))

func readPreTokenizers(f *hfFile, s *Spec) error {
	parts, err := f.PreTokenizer.flatten(0)
	if err != nil {
		return err
	}
	// Patterns in a row are one splitter.
	var patterns []string
	flush := func() error {
		for len(patterns) > 0 {
			n := min(len(patterns), pretoken.MaxPasses)
			by, err := pretoken.New(patterns[:n])
			if err != nil {
				return err
			}
			s.pipeline.cuts = append(s.pipeline.cuts, by.Cut)
			patterns = patterns[n:]
		}
		return nil
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
				cuts = append(cuts, hfCut{do: whole(spell)})
				s.pipeline.spelled = true
			}
		}
		for _, c := range cuts {
			if c.do == nil {
				patterns = append(patterns, c.pattern)
				continue
			}
			if err := flush(); err != nil {
				return err
			}
			s.pipeline.cuts = append(s.pipeline.cuts, c.do)
		}
		s.pipeline.shrink = append(s.pipeline.shrink, parts[i].shrinks())
	}
	return flush()
}

// An hfCut is a pattern whose matches become pieces, or what else is done.
type hfCut struct {
	pattern string
	do      cut
}

func newCut(p *hfPart) ([]hfCut, error) {
	switch p.Type {
	case "ByteLevel":
		var cuts []hfCut
		if or(p.AddPrefixSpace, true) {
			cuts = append(cuts, hfCut{do: whole(func(s string) string {
				if strings.HasPrefix(s, " ") {
					return s
				}
				return " " + s
			})})
		}
		if or(p.UseRegex, true) {
			cuts = append(cuts, hfCut{pattern: pretoken.GPT2})
		}
		return cuts, nil
	case "Whitespace":
		return []hfCut{{do: pretoken.WordsAndSigns}}, nil
	case "WhitespaceSplit":
		return []hfCut{{do: pretoken.NotSpace}}, nil
	case "BertPreTokenizer":
		return []hfCut{{do: pretoken.NotSpace}, {pattern: pretoken.OneSign}}, nil
	case "Digits":
		if p.Individual {
			return []hfCut{{pattern: `\p{N}`}}, nil
		}
		return []hfCut{{pattern: `\p{N}+`}}, nil
	case "Punctuation":
		return splitByPattern(pretoken.OneSign, cmp.Or(p.Behavior, "Isolated"), false)
	case "Metaspace":
		return metaspace(p)
	case "CharDelimiterSplit":
		if p.Delimiter == "" {
			return nil, fmt.Errorf("%w: a pre-tokenizer without its delimiter", ErrFormat)
		}
		return splitting(literal(p.Delimiter), "Removed", false)
	case "Split":
		return split(p)
	}
	return nil, fmt.Errorf("%w: pre-tokenizer %q", ErrUnsupported, p.Type)
}

// whole rewrites pieces without cutting them.
func whole(f func(string) string) cut {
	return func(s string, first bool, emit func(string, bool)) { emit(f(s), first) }
}

// metaspace marks spaces, and the start of the text, and cuts before marks.
func metaspace(p *hfPart) ([]hfCut, error) {
	replacement := cmp.Or(p.Replacement, blankMark)
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
	cuts := []hfCut{{do: func(s string, first bool, emit func(string, bool)) {
		s = strings.ReplaceAll(s, " ", blankMark)
		if (scheme == "always" || scheme == "first" && first) && !strings.HasPrefix(s, blankMark) {
			s = blankMark + s
		}
		emit(s, first)
	}}}
	if or(p.Split, true) {
		next, err := splitting(literal(blankMark), "MergedWithNext", false)
		if err != nil {
			return nil, err
		}
		cuts = append(cuts, next...)
	}
	return cuts, nil
}

func split(p *hfPart) ([]hfCut, error) {
	switch {
	case p.Pattern.String != nil:
		if *p.Pattern.String == "" {
			return nil, fmt.Errorf("%w: a pre-tokenizer that splits at nothing", ErrFormat)
		}
		return splitting(literal(*p.Pattern.String), p.Behavior, p.Invert)
	case p.Pattern.Regex == nil:
		return nil, fmt.Errorf("%w: a pre-tokenizer without a pattern", ErrFormat)
	}
	pattern := *p.Pattern.Regex
	if known, ok := pretoken.Rewritten[pattern]; ok {
		pattern = known
	}
	return splitByPattern(pattern, p.Behavior, p.Invert)
}

// splitByPattern is splitting at the matches of a pattern. Isolating them is
// what a splitter does.
func splitByPattern(pattern, behavior string, invert bool) ([]hfCut, error) {
	if behavior == "Isolated" {
		return []hfCut{{pattern: pattern}}, nil
	}
	by, err := pretoken.New([]string{pattern})
	if err != nil {
		return nil, err
	}
	return splitting(by.Finder, behavior, invert)
}

// A finder returns the first match in its text at or after from; two times the
// end if there is none. A match is never empty.
type finder = func(from int) (start, end int)

func literal(x string) func(s string) finder {
	return func(s string) finder {
		return func(from int) (int, int) {
			if i := strings.Index(s[from:], x); i >= 0 {
				return from + i, from + i + len(x)
			}
			return len(s), len(s)
		}
	}
}

// splitting cuts text at what a finder finds. behavior says where they go.
func splitting(newFinder func(s string) finder, behavior string, invert bool) ([]hfCut, error) {
	switch behavior {
	case "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous":
	default:
		return nil, fmt.Errorf("%w: a pre-tokenizer that splits as %q", ErrUnsupported, behavior)
	}
	type part struct {
		from, to int
		match    bool
	}
	return []hfCut{{do: func(s string, first bool, emit func(string, bool)) {
		find := newFinder(s)
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
			start, end := find(at)
			add(at, start, false)
			add(start, end, true)
			at = end
		}
		for _, p := range parts {
			if behavior != "Removed" || !p.match {
				emit(s[p.from:p.to], first && p.from == 0)
			}
		}
	}}}, nil
}
