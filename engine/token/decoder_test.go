package token_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"quern/engine/token"
)

func TestDecoder(t *testing.T) {
	spm := newVocab(t, smallSPM().Spec)
	bpe := newVocab(t, smallBPE().Spec)
	bert := newVocab(t, smallBERT().Spec)
	ids := func(v *token.Vocab, texts ...string) (ids []token.ID) {
		for _, text := range texts {
			id, ok := v.Lookup(text)
			if !ok {
				t.Fatalf("no token %q", text)
			}
			ids = append(ids, id)
		}
		return ids
	}
	for _, tt := range []struct {
		name string
		v    *token.Vocab
		ids  []token.ID
		opt  token.DecodeOptions
		want []string // text after each token and after Flush
	}{
		{"spm", spm, ids(spm, "▁hello", "▁world"), token.DecodeOptions{}, []string{"hello", " world", ""}},
		{"spm continued", spm, ids(spm, "▁hello"), token.DecodeOptions{Continued: true}, []string{" hello", ""}},
		{"spm after BOS", spm, ids(spm, "<s>", "▁hello"), token.DecodeOptions{}, []string{"", "hello", ""}},
		{"spm one space only", spm, ids(spm, "▁▁", "▁h"), token.DecodeOptions{}, []string{" ", " h", ""}},
		{"spm byte space", spm, ids(spm, "<0x20>", "h"), token.DecodeOptions{}, []string{" ", "h", ""}},
		{"spm bytes", spm, ids(spm, "<0xC3>", "<0xA9>"), token.DecodeOptions{}, []string{"", "é", ""}},
		{"hidden", spm, ids(spm, "<s>", "h", "</s>", "<unk>"), token.DecodeOptions{}, []string{"", "h", "", "", ""}},
		{"shown", spm, ids(spm, "<s>", "h", "</s>", "<unk>"), token.DecodeOptions{Special: true}, []string{"<s>", "h", "</s>", "<unk>", ""}},
		{"user-defined", spm, ids(spm, "<tool>"), token.DecodeOptions{}, []string{"<tool>", ""}},
		{"bpe", bpe, ids(bpe, "hello", spell(" w")), token.DecodeOptions{}, []string{"hello", " w", ""}},
		{"character in parts", bpe, ids(bpe, spell("\xe6\xbc"), spell("\xa2")), token.DecodeOptions{}, []string{"", "漢", ""}},
		{"character cut", bpe, ids(bpe, spell("\xe6\xbc"), "h"), token.DecodeOptions{}, []string{"", "\ufffd\ufffdh", ""}},
		{"character cut by end", bpe, ids(bpe, spell("\xe6\xbc")), token.DecodeOptions{}, []string{"", "\ufffd\ufffd"}},
		{"character cut by hidden", bpe, ids(bpe, spell("\xe6\xbc"), "<s>", spell("\xa2")), token.DecodeOptions{}, []string{"", "", "漢", ""}},
		{"no character", bpe, ids(bpe, spell("\xff"), spell("\xa2")), token.DecodeOptions{}, []string{"\ufffd", "\ufffd", ""}},
		{"out of range", bpe, []token.ID{-1, 1 << 30}, token.DecodeOptions{Special: true}, []string{"", "", ""}},
		{"bert", bert, ids(bert, "▁un", "aff", "▁a"), token.DecodeOptions{}, []string{"un", "aff", " a", ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := tt.v.NewDecoder(tt.opt)
			// Twice, since Flush makes ready for another stream.
			for range 2 {
				for i, id := range tt.ids {
					if got := string(d.Append(nil, id)); got != tt.want[i] {
						t.Errorf("token %d: %q; want %q", i, got, tt.want[i])
					}
				}
				if got, want := string(d.Flush(nil)), tt.want[len(tt.ids)]; got != want {
					t.Errorf("Flush: %q; want %q", got, want)
				}
			}
			if got, want := tt.v.Decode(tt.ids, tt.opt), strings.Join(tt.want, ""); got != want {
				t.Errorf("Decode = %q; want the stream, %q", got, want)
			}
		})
	}
}

// TestDecodeEncoded says that decoding undoes encoding where encoding keeps
// everything: in all families but WordPiece and unigram.
func TestDecodeEncoded(t *testing.T) {
	for _, name := range vocabs {
		if name == "bert-bge" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			v, _ := golden(t, name)
			for _, text := range []string{"", " ", "  two", english, code, "漢字 кот\tÉ́🦙\r\n\x00", "<s> </s> <|end|>"} {
				if got := v.Decode(v.Encode(nil, text, false), token.DecodeOptions{}); got != text {
					// Falcon has no token for some control bytes.
					if name != "falcon" || !strings.Contains(text, "\x00") {
						t.Errorf("decodes %q as %q", text, got)
					}
				}
			}
		})
	}
}

func TestDecoderAllocates(t *testing.T) {
	v := newVocab(t, smallBPE().Spec)
	ids := v.Encode(nil, "hello 漢\xff w<tool>", true)
	d := v.NewDecoder(token.DecodeOptions{})
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() {
		dst = dst[:0]
		for _, id := range ids {
			dst = d.Append(dst, id)
		}
		dst = d.Flush(dst)
	}); n != 0 {
		t.Errorf("decoding allocates %v times", n)
	}
}

// FuzzDecoder feeds any ids: what comes out is UTF-8 at every step, and the
// whole equals the text of the bytes.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte("hello \xe6\xbc\xa2\xf0\x9f\xa6"), false)
	f.Add([]byte{0xf0, 0x9f, 'a', 0xf4, 0x90, 0xc0, 0xed, 0xa0, 0x80}, true)
	spm, bpe := newVocab(f, smallSPM().Spec), newVocab(f, smallBPE().Spec)
	f.Fuzz(func(t *testing.T, data []byte, special bool) {
		for _, v := range []*token.Vocab{spm, bpe} {
			opt := token.DecodeOptions{Special: special, Continued: true}
			d := v.NewDecoder(opt)
			var whole, raw []byte
			var ids []token.ID
			for _, b := range data {
				id := token.ID(b)
				if b > 250 {
					id = token.ID(v.Size()) - token.ID(b-248)
				}
				ids = append(ids, id)
				if k := v.Kind(id); special || k != token.Control && k != token.Unknown {
					raw = append(raw, v.Bytes(id)...)
				}
				n := len(whole)
				if whole = d.Append(whole, id); !utf8.Valid(whole[n:]) {
					t.Fatalf("token %d of %v makes %q", len(ids)-1, ids, whole[n:])
				}
			}
			if whole = d.Flush(whole); !utf8.Valid(whole) {
				t.Fatalf("%v makes %q", ids, whole)
			}
			if got := v.Decode(ids, opt); got != string(whole) {
				t.Fatalf("Decode(%v) = %q; streamed %q", ids, got, whole)
			}
			if want := string([]rune(string(raw))); want != string(whole) {
				t.Fatalf("%v makes %q; want %q", ids, whole, want)
			}
		}
	})
}
