package conformer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// marker stands for a space in pieces.
const marker = "\u2581"

// A vocabulary is the pieces that tokens stand for.
type vocabulary struct {
	pieces []string
	bytes  []string // what they are of a text; "" of those that are of none
	blank  int      // −1 where there is none
	spaced bool     // words begin with a marker
	ids    map[string]int
}

// areTokens reports whether a file begins as one of tokens does: a piece and 0 on the first
// line.
func areTokens(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadBytes('\n')
	if err != nil {
		return false
	}
	_, id, err := splitToken(string(line))
	return err == nil && id == 0
}

// splitToken splits a line at its last space: a piece may be one.
func splitToken(line string) (piece string, id int, err error) {
	line = strings.TrimRight(line, "\r\n")
	at := strings.LastIndexByte(line, ' ')
	if at < 0 {
		return "", 0, fmt.Errorf("%w: a line of the tokens is %.60q; want a piece, a space and a number", ErrFormat, line)
	}
	id, err = strconv.Atoi(line[at+1:])
	if err != nil || id < 0 {
		return "", 0, fmt.Errorf("%w: a line of the tokens is %.60q; want a piece, a space and a number", ErrFormat, line)
	}
	return line[:at], id, nil
}

// readVocabulary reads a file of tokens.
func readVocabulary(path string) (*vocabulary, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Size() > mostTokens {
		return nil, fmt.Errorf("%w: %s has %d bytes, want at most %d", ErrFormat, filepath.Base(path), st.Size(), mostTokens)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	v, err := parseVocabulary(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return v, nil
}

// parseVocabulary reads pieces, one a line with its number. Every number from 0 on has one.
func parseVocabulary(data []byte) (*vocabulary, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	n := bytes.Count(data, []byte("\n")) + 1
	v := &vocabulary{blank: -1, ids: make(map[string]int)}
	taken := make([]bool, 0, n)
	for line := range bytes.Lines(data) {
		if len(bytes.Trim(line, "\r\n")) == 0 {
			continue
		}
		piece, id, err := splitToken(string(line))
		if err != nil {
			return nil, err
		}
		if id >= n {
			return nil, fmt.Errorf("%w: token %d of %d lines", ErrFormat, id, n)
		}
		for len(v.pieces) <= id {
			v.pieces, taken = append(v.pieces, ""), append(taken, false)
		}
		if taken[id] {
			return nil, fmt.Errorf("%w: token %d is there twice", ErrFormat, id)
		}
		v.pieces[id], taken[id], v.ids[piece] = piece, true, id
	}
	for id, ok := range taken {
		if !ok {
			return nil, fmt.Errorf("%w: there is no token %d", ErrFormat, id)
		}
	}
	if len(v.pieces) < 2 {
		return nil, fmt.Errorf("%w: %d tokens", ErrFormat, len(v.pieces))
	}
	v.understand()
	return v, nil
}

// understand finds the texts of the pieces.
func (v *vocabulary) understand() {
	v.bytes = make([]string, len(v.pieces))
	marked := 0
	for id, p := range v.pieces {
		var code byte
		switch {
		case p == "<blk>" || p == "<blank>" || p == "<eps>":
			v.blank = id
		case p == "<unk>" || p == "<pad>" || p == "<s>" || p == "</s>":
		case strings.HasPrefix(p, "<|") && strings.HasSuffix(p, "|>"):
		case len(p) == 6 && readByte(p, &code):
			v.bytes[id] = string([]byte{code})
		default:
			v.bytes[id] = strings.ReplaceAll(p, marker, " ")
			if strings.HasPrefix(p, marker) {
				marked++
			}
		}
	}
	v.spaced = 8*marked >= len(v.pieces)
}

// readByte reads a piece such as <0x0A>.
func readByte(p string, code *byte) bool {
	if !strings.HasPrefix(p, "<0x") || p[5] != '>' {
		return false
	}
	n, err := strconv.ParseUint(p[3:5], 16, 8)
	*code = byte(n)
	return err == nil
}

// europe are the languages of Parakeet v3, which it finds out by itself.
//
// NVIDIA, parakeet-tdt-0.6b-v3, model card.
var europe = strings.Fields("bg hr cs da nl en et fi fr de el hu it lv lt mt pl pt ro sk sl es sv ru uk")

// flash are the languages of Canary flash and of the first Canary.
//
// NVIDIA, canary-180m-flash, model card.
var flash = []string{"en", "de", "es", "fr"}

// languages lists the codes of the languages the pieces can write: those of Canary's pieces
// <|en|>, English where there are no letters but its own, those of Parakeet v3 where Greek and
// Cyrillic are, and nil where that is not known. Canaries have pieces for all languages of ISO 639,
// of which they were trained on those of Parakeet v3, or on the four of flash.
//
// NVIDIA, NeMo, build_canary_2_special_tokenizer.py.
func (v *vocabulary) languages(attends bool, known func(code string) bool) (list []string) {
	plain, greek, cyrillic, other := true, false, false, false
	for id, p := range v.pieces {
		if code, ok := strings.CutPrefix(p, "<|"); ok && attends {
			if code, ok = strings.CutSuffix(code, "|>"); ok && known(code) {
				list = append(list, code)
			}
		}
		for _, r := range v.bytes[id] {
			switch {
			case !unicode.IsLetter(r) || r == utf8.RuneError:
			case unicode.Is(unicode.Greek, r):
				greek = true
			case unicode.Is(unicode.Cyrillic, r):
				cyrillic = true
			case !unicode.In(r, unicode.Latin, unicode.Common, unicode.Inherited):
				other = true
			}
			plain = plain && (r < 0x80 || !unicode.IsLetter(r))
		}
	}
	trained := func(of []string) []string {
		if len(list) <= len(europe) {
			return list
		}
		return slices.DeleteFunc(list, func(code string) bool { return !slices.Contains(of, code) })
	}
	switch {
	case attends && greek && cyrillic && !other:
		return trained(europe)
	case attends && !greek && !cyrillic && !other:
		return trained(flash)
	case attends:
		return list
	case plain:
		return []string{"en"}
	case greek && cyrillic && !other:
		return europe
	}
	return nil
}
