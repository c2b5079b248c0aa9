package token

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"quern/formats/weights"
)

// world is RWKV's tokenizer: the longest token at each place of a text, of bytes. Its
// tokens are spelled as GGUF has them, with escapes; see unescape.
//
// Only normal tokens are looked for. llama.cpp has the control token and those that fill
// the vocabulary up in its trie as well, so that a text with "<s>" in it would end itself;
// RWKV's own tokenizer has neither.
type world struct {
	trie *trie
	unk  ID
}

func newWorld(s *Spec, v *Vocab) (model, error) {
	texts := make([]string, len(s.Tokens))
	var ids []ID
	by := make(map[string]ID, len(s.Tokens))
	for i, text := range s.Tokens {
		if k := v.kinds[i]; text == "" || k != Normal && k != UserDefined {
			continue
		}
		if !escapes(text) {
			return nil, fmt.Errorf("%w: token %d is %.40q, which ends within an escape or has no number in one", ErrFormat, i, text)
		}
		texts[i] = string(unescape(nil, text))
		if old, dup := by[texts[i]]; dup {
			return nil, fmt.Errorf("%w: tokens %d and %d are both %.40q", ErrFormat, old, i, texts[i])
		}
		by[texts[i]] = ID(i)
		ids = append(ids, ID(i))
	}
	return &world{newTrie(texts, ids), v.Special(UNK)}, nil
}

func (m *world) encode(sc *scratch, dst []ID, text string, _ bool) []ID {
	for len(text) > 0 {
		id, n := longest(m.trie, text)
		sc.word(max(n, 1), dst)
		if id == None {
			id, n = m.unk, 1
		}
		if id != None {
			dst = append(dst, id)
		}
		text = text[n:]
	}
	return dst
}

func (m *world) shrinks(vanish *[256]bool) int {
	if m.unk == None {
		for b := range vanish {
			vanish[b] = vanish[b] || m.trie.root[b] == 0 || m.trie.id[m.trie.root[b]] == None
		}
	}
	return 1
}

// unescape appends the bytes that a token of RWKV is spelled with: \t, \n, \r, \xHH, and any
// other character behind a backslash for itself.
func unescape(dst []byte, text string) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			dst = append(dst, text[i])
			continue
		}
		i++
		switch c := text[i]; c {
		case 't':
			dst = append(dst, '\t')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 'x':
			b, err := hexByte(text[i+1:])
			if err != nil {
				return append(dst, text[i-1:]...)
			}
			dst = append(dst, b)
			i += 2
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// escapes reports whether unescape can read all of text.
func escapes(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; i == len(text) {
			return false
		}
		if text[i] == 'x' {
			if _, err := hexByte(text[i+1:]); err != nil {
				return false
			}
			i += 2
		}
	}
	return true
}

func hexByte(s string) (byte, error) {
	if len(s) < 2 {
		return 0, strconv.ErrSyntax
	}
	b, err := strconv.ParseUint(s[:2], 16, 8)
	return byte(b), err
}

// escape spells bytes as converters do: as Python shows them.
func escape(text string) string {
	var b strings.Builder
	both := strings.Contains(text, "'") && strings.Contains(text, `"`)
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\\', c == '\'' && both:
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// worldVocab is where the text of RWKV's vocabulary file is in metadata.
const worldVocab = "hf.rwkv_vocab"

// fromWorld reads the vocabulary that RWKV's models have beside them: a line for each
// token but number 0, its number, its bytes as Python writes them, and how many there are.
// Token 0 ends a text; as in GGUF files an empty line ends a turn.
func fromWorld(m *weights.Meta) (Spec, error) {
	s := Spec{Model: "rwkv", Tokens: []string{"<s>"}, Kinds: []Kind{Control}, Special: map[Role]ID{BOS: 0, EOS: 0}}
	for line := range strings.Lines(m.String(worldVocab)) {
		line = strings.TrimRight(line, "\r\n")
		bad := func(what string) (Spec, error) {
			return Spec{}, fmt.Errorf("%w: line %d of the vocabulary, %.60q: %s", ErrFormat, len(s.Tokens), line, what)
		}
		number, rest, ok := strings.Cut(line, " ")
		at := strings.LastIndexByte(rest, ' ')
		if !ok || at < 0 {
			return bad("want a number, a token and its length")
		}
		if id, err := strconv.Atoi(number); err != nil || id != len(s.Tokens) {
			return bad(fmt.Sprintf("token %s, want %d", number, len(s.Tokens)))
		}
		if len(s.Tokens) == maxTokens {
			return bad("too many tokens")
		}
		text, ok := pythonLiteral(rest[:at])
		if n, err := strconv.Atoi(rest[at+1:]); !ok || err != nil || n != len(text) || n == 0 || n > maxTokenLen/4 {
			return bad("no token of the length it says")
		}
		if text == "\n\n" {
			s.Special[EOT] = ID(len(s.Tokens))
		}
		s.Tokens, s.Kinds = append(s.Tokens, escape(text)), append(s.Kinds, Normal)
	}
	if len(s.Tokens) == 1 {
		return Spec{}, fmt.Errorf("%w: no tokens in the vocabulary", ErrFormat)
	}
	s.hfRoles(m, &hfSettings{})
	return s, nil
}

// pythonLiteral reads a string or bytes as Python writes them.
func pythonLiteral(text string) (string, bool) {
	text, raw := strings.CutPrefix(text, "b")
	if len(text) < 2 || text[0] != text[len(text)-1] || text[0] != '\'' && text[0] != '"' {
		return "", false
	}
	quote := text[0]
	text = text[1 : len(text)-1]
	simple := map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', '\\': '\\', '\'': '\'', '"': '"', '0': 0, 'a': 7, 'b': 8, 'f': 12, 'v': 11}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}
	var b []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == quote:
			return "", false
		case c != '\\':
			b = append(b, c)
			continue
		}
		if i++; i == len(text) {
			return "", false
		}
		if s, ok := simple[text[i]]; ok {
			b = append(b, s)
			continue
		}
		n := digits[text[i]]
		if n == 0 || raw && n > 2 || len(text)-i-1 < n {
			return "", false
		}
		x, err := strconv.ParseUint(text[i+1:i+1+n], 16, 32)
		switch {
		case err != nil, !raw && !utf8.ValidRune(rune(x)):
			return "", false
		case raw:
			b = append(b, byte(x))
		default:
			b = utf8.AppendRune(b, rune(x))
		}
		i += n
	}
	return string(b), true
}
