package token_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"quern/engine/token"
)

// FuzzEncode says that byte-level BPE loses nothing, whatever the text and the
// pre-tokenizer, and that plain text reaches no control token.
func FuzzEncode(f *testing.F) {
	f.Add("hello <tool>漢\xff </s>", byte(0))
	f.Add("I'M 12345 \n\n é\u0301 <sentinel:1>", byte(17))
	f.Add("ab\xe6\xbc", byte(200))
	names := pretokenizers()
	vocabs := make(map[string]*token.Vocab)
	for _, pre := range names {
		s := smallBPE().Spec
		s.Pre, s.IgnoreMerges = pre, len(pre)%2 == 0
		if p := pre; p == "gemma4" || p == "sarvam-moe" || p == "granite-embed-multi-311m" {
			continue // not byte-level
		}
		vocabs[pre] = newVocab(f, s)
	}
	f.Fuzz(func(t *testing.T, text string, n byte) {
		pre := names[int(n)%len(names)]
		v, ok := vocabs[pre]
		if !ok {
			return
		}
		for _, special := range []bool{false, true} {
			var got []byte
			for _, id := range v.Encode(nil, text, special) {
				if !special && v.Kind(id) == token.Control {
					t.Fatalf("%s: %q reaches %q", pre, text, v.Text(id))
				}
				got = append(got, v.Bytes(id)...)
			}
			if string(got) != text {
				t.Fatalf("%s: %q encodes to what stands for %q", pre, text, got)
			}
		}
	})
}

// FuzzSpec builds vocabularies of any parts. What New accepts must encode and
// decode anything.
func FuzzSpec(f *testing.F) {
	f.Add([]byte("\x00\x00a\x01b\x01ab\x01<0x41>\x06<s>\x03"), "ab<s> \xff")
	f.Add([]byte("\x01\x01h\x01e\x01he\x01</s>\x03\x02\x00\x01"), "he he</s>")
	f.Add([]byte("\x02\xff▁a\x01b\x01[UNK]\x02"), "Ab, 中")
	f.Add([]byte("\x03\x7f▁\x01a\x01<unk>\x02<x>\x04"), " a  x<x>")
	f.Add([]byte("\x04\x0f▁\x01\n\x01a\x01a▁\x01"), "a \n\nb")
	f.Add([]byte("\x05\x00\\n\x01\\xff\x01ab\x01a\x01<s>\x03"), "aab\n\xff<s>")
	models := []string{"llama", "gpt2", "bert", "t5", "gemma4", "rwkv"}
	names := append(pretokenizers(), "", "unknown")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		if len(data) < 2 {
			return
		}
		s := token.Spec{Model: models[int(data[0])%len(models)], Pre: names[int(data[1])%len(names)]}
		s.SpacePrefix, s.MergeSpaces = data[1]&1 != 0, data[1]&2 != 0
		s.IgnoreMerges, s.Lowercase = data[1]&4 != 0, data[1]&8 != 0
		s.StripAccents, s.AddBOS = data[1]&16 != 0, data[1]&32 != 0
		rest := data[2:]
		// Tokens end with a small byte, which is their kind.
		for {
			i := bytes.IndexFunc(rest, func(r rune) bool { return r < 9 })
			if i < 0 {
				break
			}
			s.Tokens = append(s.Tokens, string(rest[:i]))
			s.Kinds = append(s.Kinds, token.Kind(rest[i]))
			s.Scores = append(s.Scores, float32(int8(i*37))/3)
			rest = rest[i+1:]
		}
		// What follows is read as merges, roles, scores and a character map.
		n := len(s.Tokens)
		s.Special = make(map[token.Role]token.ID)
		for i, b := range rest {
			s.Special[token.Role(i%20)] = token.ID(b) - 1
			if i+1 < len(rest) && n > 0 {
				s.Merges = append(s.Merges, [2]string{s.Tokens[int(b)%n], s.Tokens[int(rest[i+1])%n]})
			}
		}
		if len(rest) > 4 {
			s.Charsmap = rest
			if n > 0 {
				s.Scores[0] = math.Float32frombits(binary.LittleEndian.Uint32(rest))
			}
			s.LStrip = []token.ID{token.ID(rest[0])}
			s.RStrip = s.LStrip
		}
		v, err := token.New(s)
		if err != nil {
			if !errors.Is(err, token.ErrFormat) && !errors.Is(err, token.ErrUnsupported) {
				t.Fatalf("New: %v wraps neither sentinel", err)
			}
			return
		}
		for _, special := range []bool{false, true} {
			ids := v.EncodeSequence(text, special)
			checkBounds(t, v, text, special)
			for _, id := range ids {
				if id < 0 || int(id) >= v.Size() {
					t.Fatalf("Encode(%q) has token %d of %d", text, id, v.Size())
				}
			}
			v.Decode(ids, token.DecodeOptions{Special: special})
		}
		for id := range token.ID(v.Size()) {
			v.Bytes(id)
		}
	})
}
