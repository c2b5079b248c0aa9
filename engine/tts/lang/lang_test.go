package lang_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"quern/bench/fixtures"
	"quern/engine/tts/g2p"
	"quern/engine/tts/lang"
	"quern/engine/tts/lang/japanese"
	"quern/engine/tts/lang/mandarin"
)

func english(t testing.TB) *g2p.G2P {
	t.Helper()
	g, err := g2p.New(g2p.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// heard returns the words of tokens as they are said.
func heard(tokens []g2p.Token) string {
	var out []string
	for _, t := range tokens {
		switch {
		case t.Kind == g2p.Punctuation:
			out = append(out, t.Phonemes)
		case t.Kind == g2p.Word && t.Source == g2p.Spelled:
			out = append(out, strings.ToUpper(t.Text))
		case t.Kind == g2p.Word:
			out = append(out, t.Text)
		}
	}
	return strings.Join(out, " ")
}

// sounds returns the phonemes of tokens.
func sounds(tokens []g2p.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.Phonemes)
		if t.Space {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// joined returns the phonemes of the words of tokens.
func joined(tokens []g2p.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		if t.Kind == g2p.Word {
			b.WriteString(t.Phonemes)
		}
	}
	return b.String()
}

// spoken returns the phonemes of words in pinyin, or in katakana.
func spoken(t testing.TB, code, words string) string {
	var b strings.Builder
	for _, p := range strings.Fields(words) {
		if code == "ja" {
			b.WriteString(japanese.Sounds(p))
			continue
		}
		s, ok := mandarin.Parse(p)
		if !ok {
			t.Fatalf("%q is no syllable", p)
		}
		b.WriteString(s.Sounds())
	}
	return b.String()
}

// TestReading holds each language against its table: "text => words", "text = sounds", and
// "text ~ pinyin" or "text ~ katakana"; " | " stands between words that are as right.
func TestReading(t *testing.T) {
	g := english(t)
	for _, e := range lang.Languages {
		l := e.Open()
		t.Run(l.Code, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", l.Code+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			cases := 0
			for line := range strings.Lines(string(data)) {
				line = strings.TrimSpace(line)
				if line == "" || strings.HasPrefix(line, "# ") {
					continue
				}
				cases++
				say := heard
				text, want, ok := strings.Cut(line, " => ")
				right := strings.Split(want, " | ")
				if from, pinyin, found := strings.Cut(line, " ~ "); found {
					text, ok, say = from, true, joined
					right = nil
					for p := range strings.SplitSeq(pinyin, " | ") {
						right = append(right, spoken(t, l.Code, p))
					}
				}
				if !ok {
					say = sounds
					text, want, ok = strings.Cut(line, " = ")
					right = []string{want}
				}
				if !ok {
					t.Fatalf("%q is no case", line)
				}
				tokens, err := l.Read(t.Context(), text, lang.Reading{English: g})
				if err != nil {
					t.Errorf("%s: %v", text, err)
				} else if got := say(tokens); !slices.Contains(right, got) {
					t.Errorf("%s: got %q, want %q", text, got, right)
				}
				check(t, text, tokens)
			}
			if cases < 60 {
				t.Errorf("%d cases; a table holds 60 at least", cases)
			}
		})
	}
}

// check fails where tokens are not as they must be of any text.
func check(t *testing.T, text string, tokens []g2p.Token) {
	t.Helper()
	at := 0
	for _, k := range tokens {
		if k.Start < at || k.End < k.Start || k.End > len(text) {
			t.Fatalf("%q: token %q is at %d to %d of %d behind %d", text, k.Text, k.Start, k.End, len(text), at)
		}
		at = k.Start
		if k.Kind == g2p.Word && k.Phonemes == "" {
			t.Errorf("%q: the word %q is not said", text, k.Text)
		}
		for _, r := range k.Phonemes {
			if !strings.ContainsRune(vocabulary, r) {
				t.Errorf("%q: %q is said %q; %q is not in Kokoro's vocabulary", text, k.Text, k.Phonemes, r)
			}
		}
	}
}

// vocabulary is Kokoro's.
const vocabulary = ";:,.!?—…\"()“” \u0303ʣʥʦʨᵝꭧAIOQSTWYᵊabcdefhijklmnopqrstuvwxyzɑɐɒæβɔɕçɖðʤəɚɛɜɟɡɥɨɪʝɯɰŋɳɲɴøɸθœɹɾɻʁɽʂʃʈʧʊʋʌɣɤχʎʒʔˈˌːʰʲ↓→↗↘ᵻ"

// Letters of another script are refused with their place; the names of letters alone are
// said.
func TestScript(t *testing.T) {
	for _, e := range lang.Languages {
		l := e.Open()
		_, err := l.Read(t.Context(), "abc привет", lang.Reading{})
		if !errors.Is(err, lang.ErrScript) || !strings.Contains(err.Error(), "Cyrillic") || !strings.Contains(err.Error(), "byte 4") {
			t.Errorf("%s: %v", l.Code, err)
		}
	}
}

// Every character of Devanagari is said in Kokoro's symbols, alone and behind a letter, or
// refused.
func TestDevanagari(t *testing.T) {
	for r := rune(0x900); r < 0x980; r++ {
		for _, text := range []string{string(r), "क" + string(r), "क" + string(r) + "न"} {
			tokens, err := lang.Find("hi").Read(t.Context(), text, lang.Reading{})
			if err != nil && (!errors.Is(err, lang.ErrScript) || !strings.Contains(err.Error(), "no letter of Hindi")) {
				t.Errorf("%q: %v", text, err)
			}
			check(t, text, tokens)
		}
	}
}

func TestCode(t *testing.T) {
	for tag, want := range map[string]string{"es": "es", "es-MX": "es", "ES_es": "es", "e": "es", "en": "en-us", "en-GB": "en-gb", "en-AU": "en-us", "b": "en-gb", "a": "en-us", "": "", "xx": "", "pt-PT": "", "zh-CN": "zh", "zh": "zh", "z": "zh", "cmn": "zh", "cmn-Hans-CN": "zh", "zh-TW": "zh", "zh-Hant": "zh", "zh_Hant_TW": "zh", "zh-Hans-SG": "zh", "zh-cmn": "zh", "yue": "", "zh-yue": "", "zh-HK": "", "zh-Hant-HK": "", "zh-MO": "", "zh-min-nan": "", "wuu": "", "ja-JP": "ja", "english": "", "hi": "hi", "hi-IN": "hi", "h": "hi", "ja": "ja"} {
		got, ok := lang.Code(tag)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: got %q, %v, want %q", tag, got, ok, want)
		}
	}
}

func TestMarks(t *testing.T) {
	l := lang.Find("es")
	lexicon, err := g2p.ParseLexicon([]byte("quern kweɾn\nñu ˈɲu\nONU =Naciones Unidas\nperro ˈpero"))
	if err != nil {
		t.Fatal(err)
	}
	text := "a 123 xyz quern ñu ONU Perro [eco](/ˈɛko/) [pause:1.5s] fin"
	tokens, err := l.Read(t.Context(), text, lang.Reading{Lexicons: []*g2p.UserLexicon{nil, lexicon}, Marks: []g2p.Mark{
		{Start: 2, End: 5, As: g2p.Digits}, {Start: 6, End: 9, Phonemes: "ˈiks", Delivery: g2p.Delivery{Volume: 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, text, tokens)
	if got, want := heard(tokens), "a uno dos tres xyz quern ñu naciones unidas Perro eco fin"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := sounds(tokens), "a ˈuno ðˈos tɾˈes ˈiks kweɾn ɲˈu naθjˈones unˈiðas pˈero ˈɛko  fˈin"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, k := range tokens {
		if k.Kind == g2p.Pause && k.Pause != 1500*time.Millisecond || k.Text == "xyz" && k.Delivery.Volume != 3 || k.Text == "unidas" && text[k.Start:k.End] != "ONU" {
			t.Errorf("%+v", k)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Read(ctx, text, lang.Reading{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Numbers of all sizes have words that are said.
func TestNumbers(t *testing.T) {
	for _, e := range lang.Languages {
		l := e.Open()
		for _, n := range []int{0, 1, 7, 10, 11, 16, 19, 20, 21, 28, 30, 31, 70, 71, 77, 80, 81, 90, 91, 99, 100, 101, 108, 110, 180, 200, 221, 300, 500, 999, 1000, 1001, 1100, 1999, 2000, 2001, 2100, 10_000, 21_000, 21_021, 100_000, 101_101, 999_999,
			1_000_000, 1_000_001, 2_000_000, 21_000_000, 100_000_000, 1_000_000_000, 1_234_567_890, 2_000_000_000_000, 999_999_999_999_999, 1_000_000_000_000_000} {
			for _, form := range []string{"%d", "%dº", "-%d kg", "%d %%", "%d €", "€%d,21", "%d/3", "%d h", "siglo %d", "1.%d"} {
				text := fmt.Sprintf(form, n)
				tokens, err := l.Read(t.Context(), text, lang.Reading{})
				if err != nil {
					t.Fatal(err)
				}
				check(t, text, tokens)
				if len(tokens) == 0 || strings.ContainsAny(heard(tokens), "0123456789-") {
					t.Errorf("%s: %s is %q", l.Code, text, heard(tokens))
				}
			}
		}
	}
}

// Words of any length are read with memory, and so in time, linear in it.
func TestLongWords(t *testing.T) {
	read := func(l *lang.Language, text string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		tokens, err := l.Read(t.Context(), text, lang.Reading{})
		runtime.ReadMemStats(&after)
		if err != nil && !errors.Is(err, lang.ErrScript) {
			t.Fatal(err)
		}
		check(t, text, tokens)
		return after.TotalAlloc - before.TotalAlloc
	}
	for i, e := range lang.Languages {
		l := e.Open()
		read(l, "a 1") // what is made once
		for k, piece := range []string{"a", "b", "é", "1", "-", "'", "1.", "(", "ña", "I", "क", "क्", "कं", "ज्ञा"} {
			if !fixtures.Whole && (i+k)%3 != 0 {
				continue
			}
			quarter := read(l, strings.Repeat(piece, 5000/len(piece)))
			whole := read(l, strings.Repeat(piece, 20_000/len(piece)))
			if whole > 6*quarter+1<<18 {
				t.Errorf("%s: 20 KB of %q took %d bytes, 5 KB took %d", l.Code, piece, whole, quarter)
			}
		}
	}
}

// Runs of characters of any length are read: nothing looks further than a few characters.
func TestLongRuns(t *testing.T) {
	for _, tt := range []struct {
		code   string
		pieces []string
	}{
		{"zh", []string{"的", "一", "不", "好", "著", "为", "中国人民", "2个", "１", "，", "——"}},
		{"ja", []string{"の", "一", "ア", "ｶﾞ", "っ", "ー", "生", "々", "は゛", "日本国民", "3本", "二〇", "１", "、", "〜", "T", "㍿"}},
	} {
		for _, piece := range tt.pieces {
			text := strings.Repeat(piece, 20_000/len(piece))
			tokens, err := lang.Find(tt.code).Read(t.Context(), text, lang.Reading{})
			if err != nil {
				t.Fatal(err)
			}
			check(t, text, tokens)
			if len(tokens) == 0 || tokens[len(tokens)-1].End < len(text)-64 {
				t.Errorf("%s: %q is not read to its end", tt.code, piece)
			}
		}
	}
}

// Every character of the common blocks is said in Kokoro's symbols or refused.
func TestCharacters(t *testing.T) {
	for code, least := range map[string]int{"zh": 20_000, "ja": 6_000} {
		said := 0
		for r := rune(0x3000); r < 0xa000; r++ {
			tokens, err := lang.Find(code).Read(t.Context(), string(r), lang.Reading{})
			if err != nil && !errors.Is(err, lang.ErrScript) {
				t.Fatal(err)
			}
			check(t, string(r), tokens)
			if err == nil {
				said += len(tokens)
			}
		}
		if said < least {
			t.Errorf("%s: %d characters are said", code, said)
		}
	}
}

// A user's words are found inside of runs of characters.
func TestLexiconInRuns(t *testing.T) {
	lexicon, err := g2p.ParseLexicon([]byte("重庆 kwa\n量子猫 =量子计算机\n"))
	if err != nil {
		t.Fatal(err)
	}
	text := "我爱重庆的量子猫吧"
	tokens, err := lang.Find("zh").Read(t.Context(), text, lang.Reading{Lexicons: []*g2p.UserLexicon{lexicon}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, text, tokens)
	if got, want := sounds(tokens), "wo↓ ai↘ kwa tɤ lja↘ŋʦɨ↓ ʨi↘swa↘nʨi→ pa"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Words of users, and marks, are words of their own among characters of Japanese.
func TestLexiconInJapanese(t *testing.T) {
	lexicon, err := g2p.ParseLexicon([]byte("石川島 kwa\n鴎外猫 =良い猫\n"))
	if err != nil {
		t.Fatal(err)
	}
	text := "私は石川島の鴎外猫、[倉庫](/kˈɯɾa/)だ"
	tokens, err := lang.Find("ja").Read(t.Context(), text, lang.Reading{Lexicons: []*g2p.UserLexicon{lexicon}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, text, tokens)
	if got, want := sounds(tokens), "βataɕi βa kwa no joi neko, kˈɯɾa da"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"2024年5月1日、私は一人で3本のﾍﾟﾝを〜¥1,200（10%）で買った。", "二〇二四年三百六十五日何百回佐々木々ゝヾ゛ー", "電話03-1234-5678、ＮＨＫのTシャツ1-2-3、10:30〜12:00", "El 3 de mayo de 1998, a las 15:30: 1.234,56 € (¡5 %!)", "l'eau d'aujourd'hui", "perché c'è", "não são às 10h", "नमस्ते १२३", "₹1,50,000 का ५० % 21वीं सदी, आर.के. ज्ञान दु:ख TV 10:30 बजे", "क़ड़ँः्ा\u200dऽॐ", "2024年5月1日，我一个人去了银行；¥3.5亿（50%-60%）……", "中國著名的行長看著頭髮 iPhone15 １２３％", "電話：13800138000 3:2 -5℃", "XIV 1/2 +34 600 123 456", "[a](/b/) <break time=\"1s\"/>"} {
		for i := range lang.Languages {
			f.Add(s, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, which uint8) {
		l := lang.Languages[int(which)%len(lang.Languages)].Open()
		tokens, err := l.Read(t.Context(), text, lang.Reading{})
		if err != nil {
			if !errors.Is(err, lang.ErrScript) {
				t.Fatal(err)
			}
			return
		}
		if utf8.ValidString(text) {
			check(t, text, tokens)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	for _, e := range lang.Languages {
		l := e.Open()
		b.Run(l.Code, func(b *testing.B) {
			text := strings.Repeat("la casa era una de tres en 1998, con 25 % de la noche. ", 50)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := l.Read(b.Context(), text, lang.Reading{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
