package token_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"quern/engine/token"
)

// pieces renders ids as the tokens' spellings.
func pieces(v *token.Vocab, ids []token.ID) string {
	var s []string
	for _, id := range ids {
		s = append(s, v.Text(id))
	}
	return strings.Join(s, " ")
}

func TestEncode(t *testing.T) {
	unspaced := smallSPM()
	unspaced.SpacePrefix = false
	accents := smallBERT()
	accents.StripAccents = false
	strips := smallBPE()
	strips.LStrip = []token.ID{token.ID(len(strips.Tokens) - 3)}
	strips.RStrip = []token.ID{token.ID(len(strips.Tokens) - 5), token.ID(len(strips.Tokens) - 3)}
	whole := smallBPE()
	whole.IgnoreMerges = true
	whole.add(spell("ohne"), token.Normal, 0)
	whole.add("ende", token.Control, 0)
	spelled := smallBPE()
	spelled.add("lo", token.Control, 0)
	spelled.Merges = slices.Insert(spelled.Merges, 0, [2]string{"l", "o"})

	for _, tt := range []struct {
		name    string
		s       *builder
		text    string
		special bool
		want    string
	}{
		{"bpe", smallBPE(), "hello hell", false, "hello Ġ hell"},
		{"bpe empty", smallBPE(), "", true, ""},
		{"bpe bytes", smallBPE(), "漢\xff", false, "æ¼¢ ÿ"},
		{"bpe control off", smallBPE(), "<s>he", false, "< s > he"},
		{"bpe control on", smallBPE(), "<s>he</s>", true, "<s> he </s>"},
		{"bpe user-defined", smallBPE(), "he<tool>he", false, "he <tool> he"},
		{"bpe longest", smallBPE(), "<tool>><tool", false, "<tool>> < t o o l"},
		{"bpe turn mark", smallBPE(), "<|im_end|>", false, "< | i m _ e n d | >"},
		{"bpe turn mark on", smallBPE(), "<|im_end|>", true, "<|im_end|>"},
		{"strip left and right", strips, "he \n<tool>\t he", false, "he <tool> he"},
		{"strip right", strips, "he <s> he", true, "he Ġ <s> he"},
		{"strip all", strips, " <tool> ", false, "<tool>"},
		{"whole word", whole, "ohne mehr", false, "ohne Ġ m e h r"},
		{"control word is no text", whole, "ende", false, "e n d e"},
		{"control merge is no text", spelled, "lo", false, "l o"},

		{"raw", smallRaw(), " ab a", false, "▁ab ▁a"},
		{"raw across spaces", smallRaw(), "b b", false, "b▁ b"},
		{"raw bytes", smallRaw(), "é", false, "<0xC3> <0xA9>"},
		{"raw lines", smallRaw(), "a\n\nb", false, "a \n\n b"},
		{"raw many lines", smallRaw(), "\n\n\n", false, "\n \n \n"},

		{"spm", smallSPM(), "hello world", false, "▁hello ▁world"},
		{"spm spaces", smallSPM(), "  hello", false, "▁▁ ▁hello"},
		{"spm bytes", smallSPM(), "hé", false, "▁h <0xC3> <0xA9>"},
		{"spm no prefix", unspaced, "hello", false, "h el lo"},
		{"spm after special", smallSPM(), "hello<s>hello", true, "▁hello <s> ▁hello"},
		{"spm control off", smallSPM(), "<s></s>", false, "▁ < s> </ s>"},
		{"spm byte spelled", smallSPM(), "<0x0A>", false, "▁ < <0x30> <0x78> <0x30> <0x41> >"},
		{"spm user-defined", smallSPM(), "h<tool>", false, "▁h <tool>"},

		{"bert", smallBERT(), "Unaffable  ÜBER!", false, "▁un aff able ▁uber ▁!"},
		{"bert unknown", smallBERT(), "unaffablx a xyz", false, "[UNK] ▁a [UNK]"},
		{"bert ideographs", smallBERT(), "a中as", false, "▁a ▁中 ▁a s"},
		{"bert accents", accents, "Über", false, "[UNK]"},
		{"bert control off", smallBERT(), "[CLS]", false, "▁[ ▁cls ▁]"},
		{"bert control on", smallBERT(), "[CLS] a", true, "[CLS] ▁a"},
		{"bert nothing", smallBERT(), " \x00\ufffd ", false, ""},

		{"unigram", smallUnigram(), "ab", false, "▁ ab"},
		{"unigram spaces", smallUnigram(), "  a   b ", false, "▁a ▁ b"},
		{"unigram charsmap", smallUnigram(), "ﬁ\u3000a\u0308\u200b", false, "▁ fi ▁ ä"},
		{"unigram unknown", smallUnigram(), "axyb", false, "▁a <unk> b"},
		{"unigram invalid", smallUnigram(), "\xff\xfe", false, "▁ <unk>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVocab(t, tt.s.Spec)
			if got := pieces(v, v.Encode(nil, tt.text, tt.special)); got != tt.want {
				t.Errorf("Encode(%q, %v) = %s; want %s", tt.text, tt.special, got, tt.want)
			}
		})
	}
}

func TestEncodeSequence(t *testing.T) {
	bpe := smallBPE()
	bpe.AddBOS, bpe.AddEOS = true, true
	for _, tt := range []struct {
		name string
		s    *builder
		text string
		want string
	}{
		{"bpe", bpe, "he", "<s> he </s>"},
		{"bpe unmarked", smallBPE(), "he", "he"},
		{"spm", smallSPM(), "hello", "<s> ▁hello"},
		{"bert", smallBERT(), "a", "[CLS] ▁a [SEP]"},
		{"unigram", smallUnigram(), "a", "▁a </s>"},
		{"empty", smallSPM(), "", "<s>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := newVocab(t, tt.s.Spec)
			if got := pieces(v, v.EncodeSequence(tt.text, false)); got != tt.want {
				t.Errorf("EncodeSequence(%q) = %s; want %s", tt.text, got, tt.want)
			}
		})
	}
}

func TestVocab(t *testing.T) {
	v := newVocab(t, smallSPM().Spec)
	if got, want := v.Size(), 3+256+25+1; got != want {
		t.Errorf("Size() = %d; want %d", got, want)
	}
	for _, tt := range []struct {
		text  string
		kind  token.Kind
		bytes string
	}{
		{"<unk>", token.Unknown, "<unk>"},
		{"<s>", token.Control, "<s>"},
		{"<0x0A>", token.Byte, "\n"},
		{"<0xFF>", token.Byte, "\xff"},
		{"▁hello", token.Normal, " hello"},
		{"▁▁", token.Normal, "  "},
		{"<tool>", token.UserDefined, "<tool>"},
	} {
		id, ok := v.Lookup(tt.text)
		if !ok || v.Text(id) != tt.text || v.Kind(id) != tt.kind || string(v.Bytes(id)) != tt.bytes {
			t.Errorf("token %q is %d, %q, %v, %q; want %v, %q",
				tt.text, id, v.Text(id), v.Kind(id), v.Bytes(id), tt.kind, tt.bytes)
		}
	}
	if _, ok := v.Lookup("nothing"); ok {
		t.Error("Lookup finds a token that is not there")
	}
	for _, id := range []token.ID{-1, token.ID(v.Size()), math.MaxInt32, math.MinInt32} {
		if v.Bytes(id) != nil || v.Text(id) != "" || v.Kind(id) != token.Unused || v.Ends(id) {
			t.Errorf("id %d: %q, %q, %v, %v", id, v.Bytes(id), v.Text(id), v.Kind(id), v.Ends(id))
		}
	}
	if got := v.Special(token.EOS); got != 2 {
		t.Errorf("EOS = %d; want 2", got)
	}
	if got := v.Special(token.MASK); got != token.None {
		t.Errorf("MASK = %d; want none", got)
	}
	if !v.AddBOS() || v.AddEOS() || v.AddSEP() {
		t.Errorf("adds BOS %v, EOS %v, SEP %v; want only BOS", v.AddBOS(), v.AddEOS(), v.AddSEP())
	}
}

func TestRoles(t *testing.T) {
	for _, tt := range []struct {
		name   string
		kind   token.Kind
		tokens []string
		ending string
		role   token.Role
		want   string
	}{
		{"qwen", token.Control, []string{"<|im_start|>", "<|im_end|>", "<|fim_prefix|>", "<|fim_pad|>"}, "</s> <|im_end|> <|fim_pad|>", token.EOT, "<|im_end|>"},
		{"llama", token.Control, []string{"<|eom_id|>", "<|end_of_text|>", "<|eot_id|>"}, "</s> <|eom_id|> <|end_of_text|> <|eot_id|>", token.EOT, "<|eot_id|>"},
		{"eom", token.Control, []string{"<|eom_id|>"}, "</s> <|eom_id|>", token.EOM, "<|eom_id|>"},
		{"harmony", token.Control, []string{"<|end|>", "<|return|>", "<|call|>"}, "</s> <|return|> <|call|>", token.EOT, "<|end|>"},
		{"solar", token.Control, []string{"<|end|>", "<|flush|>", "<|calls|>"}, "</s> <|flush|> <|calls|>", token.EOT, "<|end|>"},
		{"phi", token.Control, []string{"<|end|>"}, "</s> <|end|>", token.EOT, "<|end|>"},
		{"user-defined", token.UserDefined, []string{"<end_of_turn>"}, "</s> <end_of_turn>", token.EOT, "<end_of_turn>"},
		{"plain", token.Normal, []string{"<end_of_turn>"}, "</s>", token.EOT, ""},
		{"infill", token.Control, []string{"<fim_prefix>", "<fim_suffix>", "<fim_middle>"}, "</s>", token.FIMMiddle, "<fim_middle>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := smallSPM()
			for _, text := range tt.tokens {
				s.add(text, tt.kind, 0)
			}
			v := newVocab(t, s.Spec)
			if got := pieces(v, v.Ending()); got != tt.ending {
				t.Errorf("Ending() = %s; want %s", got, tt.ending)
			}
			for id := range token.ID(v.Size()) {
				if got, want := v.Ends(id), slices.Contains(v.Ending(), id); got != want {
					t.Errorf("Ends(%d) = %v; want %v", id, got, want)
				}
				if v.Ends(id) && v.Kind(id) != token.Control {
					t.Errorf("%q ends a text and is %v", v.Text(id), v.Kind(id))
				}
			}
			if got := v.Text(v.Special(tt.role)); got != tt.want {
				t.Errorf("%v = %q; want %q", tt.role, got, tt.want)
			}
		})
	}
}

// TestUntyped builds a vocabulary from a file without token types.
func TestUntyped(t *testing.T) {
	b := smallBPE()
	b.Kinds = nil
	v := newVocab(t, b.Spec)
	if got, want := pieces(v, v.Encode(nil, "he<s><|im_end|>", true)), "he <s> <|im_end|>"; got != want {
		t.Errorf("Encode = %s; want %s", got, want)
	}
	if got, want := pieces(v, v.Ending()), "</s> <|im_end|>"; got != want {
		t.Errorf("Ending() = %s; want %s", got, want)
	}
}

func TestNewErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*builder)
		want error
	}{
		{"model", func(b *builder) { b.Model = "plamo2" }, token.ErrUnsupported},
		{"no model", func(b *builder) { b.Model = "" }, token.ErrUnsupported},
		{"pre-tokenizer", func(b *builder) { b.Pre = "gpt-9" }, token.ErrUnsupported},
		{"no tokens", func(b *builder) { *b = builder{token.Spec{Model: "gpt2"}} }, token.ErrFormat},
		{"scores", func(b *builder) { b.Scores = b.Scores[1:] }, token.ErrFormat},
		{"score", func(b *builder) { b.Scores[3] = float32(math.NaN()) }, token.ErrFormat},
		{"kinds", func(b *builder) { b.Kinds = b.Kinds[1:] }, token.ErrFormat},
		{"kind", func(b *builder) { b.Kinds[7] = 9 }, token.ErrFormat},
		{"duplicate", func(b *builder) { b.Tokens[7] = b.Tokens[8] }, token.ErrFormat},
		{"gigantic", func(b *builder) { b.Tokens[300-40] = strings.Repeat("x", 1<<20) }, token.ErrFormat},
		{"special", func(b *builder) { b.role(token.EOS, 1000) }, token.ErrFormat},
		{"negative", func(b *builder) { b.role(token.EOS, -2) }, token.ErrFormat},
		{"role", func(b *builder) { b.role(99, 1) }, token.ErrFormat},
		{"strip", func(b *builder) { b.LStrip = []token.ID{-1} }, token.ErrFormat},
		{"bos", func(b *builder) { delete(b.Special, token.BOS); b.AddBOS = true }, token.ErrFormat},
		{"merges", func(b *builder) { b.Merges = nil }, token.ErrFormat},
		{"merge left", func(b *builder) { b.Merges[0] = [2]string{"zz", "e"} }, token.ErrFormat},
		{"merge right", func(b *builder) { b.Merges[0] = [2]string{"h", ""} }, token.ErrFormat},
		{"merge result", func(b *builder) { b.Merges[0] = [2]string{"z", "z"} }, token.ErrFormat},
		{"byte", func(b *builder) { b.Kinds[0] = token.Byte }, token.ErrFormat},
		{"charsmap", func(b *builder) { *b = *smallUnigram(); b.Charsmap = []byte{255, 255, 255, 255, 0} }, token.ErrFormat},
		{"short charsmap", func(b *builder) { *b = *smallUnigram(); b.Charsmap = []byte{0} }, token.ErrFormat},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := smallBPE()
			tt.edit(b)
			if _, err := token.New(b.Spec); !errors.Is(err, tt.want) {
				t.Errorf("New: %v; want %v", err, tt.want)
			}
		})
	}
	b := smallBPE()
	b.Pre = "gpt-9"
	if _, err := token.New(b.Spec); err == nil || !strings.Contains(err.Error(), "qwen2") {
		t.Errorf("New: %v; want the known names", err)
	}
}

// TestEmptyToken says that tokens without text do no harm.
func TestEmptyToken(t *testing.T) {
	for _, b := range []*builder{smallBPE(), smallRaw(), smallSPM(), smallBERT(), smallUnigram()} {
		for _, k := range []token.Kind{token.Normal, token.Control, token.UserDefined} {
			b.add("", k, 1)
		}
		v := newVocab(t, b.Spec)
		if got := pieces(v, v.Encode(nil, "a a", true)); strings.Contains(got, "  ") {
			t.Errorf("%s: Encode = %q", b.Model, got)
		}
	}
}

// fills are what makes naive code quadratic when it is repeated.
var fills = []string{"a", " ", "\n", "漢", "1", "'", "A", "é", "\u0301", "\xff", "<", " \n", "a ", "\u3000", "aA", "\t ", "▁", "ab", "the"}

// TestHostile says that four times as much of one thing costs four times the
// steps: characters read by patterns, ranks compared by merging.
func TestHostile(t *testing.T) {
	const n = 1 << 14
	for _, name := range vocabs {
		if name == "bert-bge" {
			continue // see TestHostileWalks
		}
		v, _ := golden(t, name)
		for _, f := range fills {
			one := token.EncodeSteps(v, strings.Repeat(f, n/len(f)))
			four := token.EncodeSteps(v, strings.Repeat(f, 4*n/len(f)))
			// A level of the tree more is a quarter more.
			if f == "a" && one < n/16 || four > 6*one || one > 40*n {
				t.Errorf("%s: %d bytes of %q take %d steps, four times as many %d", name, n, f, one, four)
			}
		}
	}
}

// TestHostileWalks is TestHostile for what walks a trie at every place: four
// times as much text is four times the places, and no place costs more than the
// vocabulary's tokens are long.
func TestHostileWalks(t *testing.T) {
	const n = 1 << 14
	spm, _ := goldenSpec(t, "llama-spm")
	spm.Model, spm.Charsmap = "t5", charsmap(replacements)
	bert, _ := goldenSpec(t, "bert-bge")
	for name, s := range map[string]token.Spec{"unigram": spm, "WordPiece": bert} {
		longest := 0
		for _, text := range s.Tokens {
			longest = max(longest, len(text))
		}
		v := newVocab(t, s)
		for _, f := range fills {
			one := token.EncodeSteps(v, strings.Repeat(f, n/len(f)))
			four := token.EncodeSteps(v, strings.Repeat(f, 4*n/len(f)))
			if one < n/4 || four > 5*one || one > 4*(longest+2)*n {
				t.Errorf("%s: %d bytes of %q take %d steps, four times as many %d", name, n, f, one, four)
			}
		}
	}
}

// A character map that makes much of little is refused.
func TestCharsmapBounds(t *testing.T) {
	s, _ := goldenSpec(t, "llama-spm")
	s.Model, s.Charsmap = "t5", charsmap(map[string]string{"a": strings.Repeat("b", 1<<10)})
	if _, err := token.New(s); err != nil {
		t.Errorf("1024 bytes: %v", err)
	}
	s.Charsmap = charsmap(map[string]string{"a": strings.Repeat("b", 1<<10+1)})
	if _, err := token.New(s); !errors.Is(err, token.ErrFormat) {
		t.Errorf("1025 bytes: %v, want them refused", err)
	}
}

// TestLongest encodes 128 KiB of what is one word everywhere.
func TestLongest(t *testing.T) {
	for _, name := range vocabs {
		if name == "bert-bge" {
			continue
		}
		v, _ := golden(t, name)
		for _, f := range []string{"a", "ab", "\u0301", " "} {
			text := strings.Repeat(f, 1<<17/len(f))
			if v.Decode(v.Encode(nil, text, false), token.DecodeOptions{}) != text {
				t.Errorf("%s: 128 KiB of %q decodes to something else", name, f)
			}
		}
	}
}

// TestLongWords says that the tree finds the pairs that scanning does.
func TestLongWords(t *testing.T) {
	s, _ := goldenSpec(t, "gpt-2")
	s.Pre = "superbpe" // does not cut words
	v := newVocab(t, s)
	check := func(text string) {
		t.Helper()
		if got, want := token.MergeBoth(v, text); !slices.Equal(got, want) {
			t.Errorf("%q: %v by tree, %v by scan", text, got, want)
		}
	}
	for n := 1; n <= 400; n++ {
		check(strings.Repeat("ab", n))
		check(strings.Repeat("a", n))
	}
	letters := strings.ReplaceAll(english+varied(), " ", "")
	for i := range 400 {
		check(letters[i*7 : i*7+i+2])
	}
	check(strings.Repeat("漢字 кот\t", 30))
	check(strings.Repeat("\xff\xfe \x00", 50))
}

// TestEncodeAllocates says that encoding needs no memory but the result's,
// whether words are new or known.
func TestEncodeAllocates(t *testing.T) {
	s, _ := goldenSpec(t, "gpt-2")
	v := newVocab(t, s)
	for _, text := range []string{english, code, varied()[:50000], strings.Repeat("ab", 20000)} {
		dst := v.Encode(nil, text, true)
		if n := testing.AllocsPerRun(10, func() { dst = v.Encode(dst[:0], text, true) }); n > 4 {
			t.Errorf("%.20q: %v allocations", text, n)
		}
	}
}

func TestConcurrent(t *testing.T) {
	for _, b := range []*builder{smallBPE(), smallRaw(), smallSPM(), smallBERT(), smallUnigram()} {
		v := newVocab(t, b.Spec)
		var wg sync.WaitGroup
		for g := range 4 {
			wg.Go(func() {
				for i := range 200 {
					text := fmt.Sprintf("hello hell%d ab %d<tool> 漢", i%7, g*i)
					one := pieces(v, v.Encode(nil, text, true))
					if two := pieces(v, v.Encode(nil, text, true)); one != two {
						t.Errorf("Encode(%q) = %s, then %s", text, one, two)
					}
				}
			})
		}
		wg.Wait()
	}
}
