package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wrapLine cuts one line into rows of at most width code points, as Python's
// textwrap does: between words, after hyphens if asked, and inside words too
// long for a row if asked. Blanks at a cut are dropped.
func wrapLine(line string, width int, long, hyphens bool) []string {
	chunks := wrapChunks(line, hyphens)
	var rows []string
	for len(chunks) > 0 {
		var row []string
		size := 0
		if isBlank(chunks[0]) && len(rows) > 0 {
			chunks = chunks[1:]
		}
		for len(chunks) > 0 {
			n := utf8.RuneCountInString(chunks[0])
			if size+n > width {
				break
			}
			row = append(row, chunks[0])
			size += n
			chunks = chunks[1:]
		}
		if len(chunks) > 0 && utf8.RuneCountInString(chunks[0]) > width {
			switch room := width - size; {
			case long:
				head, tail := splitChunk(chunks[0], max(room, 1), hyphens)
				row = append(row, head)
				chunks[0] = tail
			case len(row) == 0:
				row = append(row, chunks[0])
				chunks = chunks[1:]
			}
		}
		if n := len(row); n > 0 && isBlank(row[n-1]) {
			row = row[:n-1]
		}
		if len(row) > 0 {
			rows = append(rows, strings.Join(row, ""))
		}
	}
	return rows
}

// splitChunk cuts a word too long for a row to n code points, or after its
// last hyphen before that.
func splitChunk(s string, n int, hyphens bool) (head, tail string) {
	cut := Str{s: s}.offsets()[n]
	if hyphens {
		if i := strings.LastIndexByte(s[:cut], '-'); i > 0 && strings.Trim(s[:i], "-") != "" {
			cut = i + 1
		}
	}
	return s[:cut], s[cut:]
}

func isBlank(s string) bool { return strings.TrimFunc(s, isSpace) == "" }

// wrapChunks cuts a line into words and the blanks between them. A word is cut
// after a hyphen between letters.
func wrapChunks(line string, hyphens bool) []string {
	var chunks []string
	for line != "" {
		first, _ := utf8.DecodeRuneInString(line)
		blank := isSpace(first)
		end := strings.IndexFunc(line, func(r rune) bool { return isSpace(r) != blank })
		if end < 0 {
			end = len(line)
		}
		word := line[:end]
		line = line[end:]
		for from := 0; hyphens && !blank && from < len(word); {
			i := strings.IndexByte(word[from:], '-')
			if i < 0 {
				break
			}
			i += from
			before, w := utf8.DecodeLastRuneInString(word[:i])
			before2, _ := utf8.DecodeLastRuneInString(word[:i-w])
			after, _ := utf8.DecodeRuneInString(word[i+1:])
			if unicode.IsLetter(before) && unicode.IsLetter(before2) && unicode.IsLetter(after) {
				chunks = append(chunks, word[:i+1])
				word, from = word[i+1:], 0
			} else {
				from = i + 1
			}
		}
		if word != "" {
			chunks = append(chunks, word)
		}
	}
	return chunks
}
