package g2p

import ("io/fs";"time";"strings")
type Accent int
const ( US Accent = iota; British )
type Kind int
const ( Word Kind = iota; Punctuation; Pause )
type Source int
func (Source) String() string { return "x" }
type Token struct { Text string; Start, End int; Phonemes string; Space bool; Pause time.Duration; Kind Kind; Source Source }
type Options struct { Dictionaries fs.FS }
type G2P struct{}
func New(Options) (*G2P, error) { return &G2P{}, nil }
func (g *G2P) Phonemize(text string, a Accent) []Token {
	var out []Token
	at := 0
	for _, w := range strings.Fields(text) {
		i := at+strings.Index(text[at:], w)
		at = i+len(w)
		word := strings.TrimRight(w, ".,!?")
		out = append(out, Token{Text: word, Start: i, End: i+len(word), Phonemes: "hˈɛ"+strings.ToLower(word), Space: word==w})
		if word != w { out = append(out, Token{Text: w[len(word):], Start: i+len(word), End: i+len(w), Phonemes: w[len(word):], Space: true, Kind: Punctuation}) }
	}
	return out
}
