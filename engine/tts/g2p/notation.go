package g2p

import "strings"

// Moves of chess, chords of music and the steps of a scale that they stand on.

var pieces = map[byte]string{'K': "king", 'Q': "queen", 'R': "rook", 'B': "bishop", 'N': "knight"}

var qualities = map[string]string{"": "", "m": "minor", "min": "minor", "maj": "major", "dim": "diminished", "aug": "augmented", "sus": "sus", "add": "add"}

const (
	move  = `(?:(?:[KQRBN][a-h]?[1-8]?x?|[a-h]x)[a-h][1-8](?:=[QRBN])?|[a-h][18]=[QRBN])[+#]?`
	chord = `[A-G][b#♭♯]?(?:maj|min|dim|aug|sus|add|m)?\d{0,2}`
)

var (
	moves     = lazy(`^` + move + `$`)
	moveAhead = lazy(`^ (?:\d{1,3}\. ?)?(?:` + move + `|[a-h][1-8]|O-O)\b`)
	oneChord  = lazy(`^([A-G])([b#♭♯]?)(maj|min|dim|aug|sus|add|m)?(\d{0,2})$`)
)

var notation = []pattern{
	// Nf3, exd5, Qxd4+
	{re(move), func(m []string, s *scanner) []string {
		w := m[0]
		if !strings.ContainsAny(w[1:], "x+#=") && !s.playing() {
			return nil
		}
		var out []string
		if name := pieces[w[0]]; name != "" {
			out, w = append(out, name), w[1:]
		}
		for k := range len(w) {
			switch c := w[k]; {
			case c == 'x':
				out = append(out, "takes")
			case c == '=':
				out = append(out, "promotes", "to")
			case pieces[c] != "":
				out = append(out, pieces[c])
			case c == '+':
				out = append(out, "check")
			case c == '#':
				out = append(out, "mate")
			case isDigit(c):
				out = append(out, ones[c-'0'])
			default:
				out = append(out, "!"+strings.ToUpper(w[k:k+1]))
			}
		}
		return out
	}},
	{re(`O-O(-O)?`), func(m []string, s *scanner) []string {
		if m[1] != "" {
			return []string{"castles", "queenside"}
		}
		return []string{"castles"}
	}},
	// C–Am–F–G7
	{re(chord + `(?:[-–—]` + chord + `){1,11}`), func(m []string, s *scanner) []string {
		list := strings.FieldsFunc(m[0], func(r rune) bool { return r == '-' || r == '–' || r == '—' })
		shaped := false
		for _, c := range list {
			shaped = shaped || len(c) > 1 && strings.Trim(c[1:], "0123456789") != ""
		}
		if !shaped {
			return nil // sizes A–D, A4-B5
		}
		var out []string
		for _, c := range list {
			out = append(out, chordWords(c, s)...)
		}
		return out
	}},
	// Gmaj7, Em7, Dsus4
	{re(`[A-G][b#♭♯]?(?:(?:maj|min|dim|aug|sus|add|m)(?:2|4|6|7|9|11|13)|(?:maj|min|dim|aug))`), func(m []string, s *scanner) []string { return chordWords(m[0], s) }},
	// ii–V–I
	{re(`[iv]{1,3}(?:[-–][ivIV]{1,3}){2,7}|[IV]{1,3}(?:[-–][ivIV]{1,3}){2,7}`), func(m []string, s *scanner) []string {
		var out []string
		for _, step := range strings.FieldsFunc(m[0], func(r rune) bool { return r == '-' || r == '–' }) {
			n := romanNumber(step)
			if n == 0 || n > 7 {
				return nil
			}
			out = append(out, ones[n])
		}
		return out
	}},
}

// chordWords says one chord: A minor seven.
func chordWords(c string, s *scanner) []string {
	m := oneChord().FindStringSubmatch(c)
	if m == nil {
		return nil
	}
	out := []string{"!" + m[1]}
	for _, w := range []string{map[string]string{"b": "flat", "♭": "flat", "#": "sharp", "♯": "sharp"}[m[2]], qualities[m[3]]} {
		if w != "" {
			out = append(out, w)
		}
	}
	if m[4] != "" {
		out = append(out, cardinal(m[4], s.accent)...)
	}
	return out
}

// playing reports whether a game of chess is written down: the number of a move or another move
// stands before, or another behind.
func (s *scanner) playing() bool {
	before := strings.TrimRight(s.text[max(0, s.i-8):s.i], " ")
	if t := strings.TrimRight(before, "."); t != before && t != "" && isDigit(t[len(t)-1]) {
		return true
	}
	return moves().MatchString(s.lastSource()) || moveAhead().MatchString(s.text[s.matchEnd:min(len(s.text), s.matchEnd+16)])
}
