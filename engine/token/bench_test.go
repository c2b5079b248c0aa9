package token_test

import (
	"strings"
	"testing"

	"quern/engine/token"
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

// texts are 1 MiB each.
var texts = map[string]string{
	"english": fill(english),
	"code":    fill(code),
	"cjk":     fill("手回しの石臼は車輪よりも古い。石臼とは二枚の丸い石である。下の石は動かず、上の石が回る。穀物は穴から入れ、粉は縁から出る。"),
	"varied":  fill(varied()),
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

func BenchmarkEncode(b *testing.B) {
	for _, name := range vocabs {
		s, _ := goldenSpec(b, name)
		v := newVocab(b, s)
		for _, kind := range []string{"english", "code", "cjk", "varied"} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				text := texts[kind]
				dst := v.Encode(nil, text, true)
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					dst = v.Encode(dst[:0], text, true)
				}
			})
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	s, _ := goldenSpec(b, "llama-bpe")
	v := newVocab(b, s)
	ids := v.Encode(nil, texts["english"], false)
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
