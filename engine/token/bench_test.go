package token_test

import (
	"path/filepath"
	"strings"
	"testing"

	"quern/bench/fixtures"
	"quern/engine/token"
	"quern/engine/token/internal/pretoken"
)

const english = `The hand-mill is older than the wheel. A quern is two round stones: the lower one, the bed, lies still, and the upper one, the runner, turns on it. You pour grain through a hole in the runner, and meal comes out at the rim. In 1831 a farmer near Thetford found seven of them under his barley; he didn't know what they were, and he used three as door-steps. They're in the county museum now, with a card that says "c. 400 BC". `

const code = `func (w *Writer) flush(ctx context.Context) error {
	if w.n == 0 || w.err != nil {
		return w.err
	}
	for i := 0; i < len(w.buf[:w.n]); i += 4096 {
		// Short writes are errors of the writer below.
		if _, err := w.dst.Write(w.buf[i:min(i+4096, w.n)]); err != nil {
			w.err = fmt.Errorf("flush at %d of %d: %w", i, w.n, err)
			return w.err
		}
	}
	w.n = 0
	return nil
}
`

// benchText returns a text of at most 1 MiB: prose, code, and mixed, which is
// many scripts; and varied, in which few words occur twice.
func benchText(t testing.TB, kind string) string {
	t.Helper()
	var text string
	var err error
	switch kind {
	case "prose":
		text, err = fixtures.Written(".md", filepath.Join("..", ".."), fixtures.Path(t, "..", "design"))
	case "code":
		text, err = fixtures.Written(".go", "..")
	case "mixed":
		v := newVocab(t, llama3(t))
		var tokens []string
		for id := range token.ID(v.Size()) {
			tokens = append(tokens, string(v.Bytes(id)))
		}
		text = fixtures.Mixed(tokens)
	case "varied":
		text = fill(varied())
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// varied is text in which few words occur twice, so that remembering words
// does not help.
func varied() string {
	var b strings.Builder
	x := uint32(1)
	for range 20000 {
		for range 3 + x>>28 {
			x = x*1664525 + 1013904223
			b.WriteByte('a' + byte(x>>24)%26)
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func fill(s string) string { return strings.Repeat(s, 1<<20/len(s)+1)[:1<<20] }

// benchKinds are the texts of benchmarks.
var benchKinds = []string{"prose", "code", "mixed", "varied"}

// BenchmarkEncode has a row for every list of patterns, with the tokens of
// Llama 3, and then for vocabularies of all families.
func BenchmarkEncode(b *testing.B) {
	texts := make(map[string]string)
	for _, kind := range benchKinds {
		texts[kind] = benchText(b, kind)
	}
	run := func(b *testing.B, name string, s func() token.Spec) {
		b.Run(name, func(b *testing.B) {
			v := newVocab(b, s())
			for _, kind := range benchKinds {
				b.Run(kind, func(b *testing.B) { encodes(b, v, texts[kind]) })
			}
		})
	}
	llama := llama3(b)
	for _, pre := range distinctPretokenizers() {
		s := llama
		s.Pre = pre
		s.IgnoreMerges = pretoken.All[pre].IgnoreMerges
		if !pretoken.All[pre].Raw {
			run(b, "pre="+pre, func() token.Spec { return s })
		}
	}
	for _, name := range vocabs {
		run(b, name, func() token.Spec { s, _ := goldenSpec(b, name); return s })
	}
	run(b, "unigram", func() token.Spec {
		s, _ := goldenSpec(b, "llama-spm")
		s.Model, s.Charsmap = "t5", charsmap(replacements)
		return s
	})
}

// encodes measures one text. bench/tokens measures by the processor time used,
// which says more on a machine that does something else as well.
func encodes(b *testing.B, v *token.Vocab, text string) {
	dst := v.Encode(nil, text, true)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		dst = v.Encode(dst[:0], text, true)
	}
}

func BenchmarkDecode(b *testing.B) {
	s, _ := goldenSpec(b, "llama-bpe")
	v := newVocab(b, s)
	ids := v.Encode(nil, fill(english), false)
	d := v.NewDecoder(token.DecodeOptions{})
	dst := make([]byte, 0, 1<<21)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for b.Loop() {
		dst = dst[:0]
		for _, id := range ids {
			dst = d.Append(dst, id)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for _, name := range []string{"llama-bpe", "llama-spm", "bert-bge"} {
		s, _ := goldenSpec(b, name)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				newVocab(b, s)
			}
		})
	}
}
