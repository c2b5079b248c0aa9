package token_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"quern/engine/token"
)

// TestPretokenizers compares with the original regular expressions, run by
// JavaScript: see testdata/pretok.mjs. TOKEN_PRETOK names a larger file.
func TestPretokenizers(t *testing.T) {
	path := "testdata/pretok.jsonl"
	if p := os.Getenv("TOKEN_PRETOK"); p != "" {
		path = p
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, bad := 0, 0
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var x struct {
			Pre, Text string
			Pieces    []string
		}
		if err := json.Unmarshal(in.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		got := token.Pieces(x.Pre, x.Text)
		lines++
		if slices.Equal(got, x.Pieces) {
			continue
		}
		if bad++; bad <= 20 {
			i := 0
			for i < min(len(got), len(x.Pieces)) && got[i] == x.Pieces[i] {
				i++
			}
			t.Errorf("%s: pieces of %q from number %d are %q; want %q", x.Pre, x.Text, i,
				got[i:min(i+4, len(got))], x.Pieces[i:min(i+4, len(x.Pieces))])
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	if lines == 0 || bad > 0 {
		t.Errorf("%d of %d texts differ", bad, lines)
	}
	t.Logf("%d texts", lines)
}

// TestPiecesCover says that no pre-tokenizer loses or adds a byte.
func TestPiecesCover(t *testing.T) {
	texts := []string{
		"", "a", " ", "\xff", "a\xffb\xe2\x82", "\xe2\x82 1\xf0\x9f", strings.Repeat("\x80", 5),
		"Hello, wörld 123\n\n  \t漢字かな half½ <sentinel:1>IMGIMGAZ'LL",
	}
	for _, pre := range token.Pretokenizers() {
		for _, text := range texts {
			pieces := token.Pieces(pre, text)
			if got := strings.Join(pieces, ""); got != text {
				t.Errorf("%s: pieces of %q make %q", pre, text, got)
			}
			if text != "" && slices.Contains(pieces, "") {
				t.Errorf("%s: %q has an empty piece: %q", pre, text, pieces)
			}
		}
	}
}

// FuzzPretokenizers holds every pre-tokenizer against the oracle.
func FuzzPretokenizers(f *testing.F) {
	for _, text := range append(awkward()[:20], "Hello, wörld 123\n\n  \t漢字かな half½ <sentinel:1>IMGIMGAZ'LL") {
		f.Add(text)
	}
	names := token.Pretokenizers()
	f.Fuzz(func(t *testing.T, text string) {
		for _, pre := range names {
			got := token.Pieces(pre, text)
			if want := token.SimplePieces(pre, text); !slices.Equal(got, want) {
				t.Errorf("%s: pieces of %q are\n%q; want\n%q", pre, text, got, want)
			}
		}
	})
}

// TestRandomPieces is FuzzPretokenizers on texts made of what patterns tell apart.
func TestRandomPieces(t *testing.T) {
	texts := awkward()
	if testing.Short() {
		texts = texts[:200]
	}
	for _, pre := range token.Pretokenizers() {
		for _, text := range texts {
			got := token.Pieces(pre, text)
			if want := token.SimplePieces(pre, text); !slices.Equal(got, want) {
				t.Fatalf("%s: pieces of %q are\n%q; want\n%q", pre, text, got, want)
			}
		}
	}
}

// awkward returns short texts of characters that patterns tell apart, and of
// runs of them.
func awkward() (texts []string) {
	atoms := strings.Split("a b s t re ve ll d m S LL Re A B Z ' ' ’ \u017F \u01C5 \u02B0 é É ß \u0301 \u0903 漢 々 か カ ー 가 ㄱ ㄅ ä 1 2 3 12 ٣ ½ Ⅷ _ ‿ . , ! ? ( ) | / // - < > $ + ~ ^ ` = # @ [ ] { } … 。 ， 、 。 । ۔ ！ ： “ € → \u200d \u00ad \u0000 \u0085 \u00a0 \u3000 \u2028 \U0001F999 \U00010400 \xff \xe6\xbc \x80 <sentinel: IMGIMG", " ")
	atoms = append(atoms, " ", " ", " ", "  ", "    ", "\t", "\n", "\n", "\r", "\r\n", "\v", "<sentinel:12>", "IMGIMGAB", "IMGIMGZ", strings.Repeat(" ", 40), strings.Repeat(" ", 600), strings.Repeat("A", 70), strings.Repeat("9", 50))
	x := uint32(7)
	next := func(n int) int {
		x = x*1664525 + 1013904223
		return int(uint64(x>>8) * uint64(n) >> 24)
	}
	for range 2000 {
		var b strings.Builder
		few := 1 + next(len(atoms))
		from := next(len(atoms))
		for range 1 + next(24) {
			b.WriteString(atoms[(from+next(few))%len(atoms)])
		}
		texts = append(texts, b.String())
	}
	return texts
}

// TestPiecesLinear says that the characters read grow with the text and no
// faster, whatever a pre-tokenizer looks ahead for.
func TestPiecesLinear(t *testing.T) {
	const n = 1 << 13
	fills := []string{
		"a", " ", "\n", "漢", "1", "'", "A", "é", "\u0301", "\xff", "<", " \n", "a ", "\u3000", "aA", "\t ", "▁", "ᾈ", "AA1",
		"<sentinel:1", "IMGIMGA", "12,", "١", " .", ".\n", "/", "a b ", "a\u0301 ", strings.Repeat(" ", 600) + "x",
	}
	for _, pre := range token.DistinctPretokenizers() {
		for _, f := range fills {
			for _, tail := range []string{"", "x", "1", " x"} {
				one := token.PieceSteps(pre, strings.Repeat(f, n/len(f))+tail)
				four := token.PieceSteps(pre, strings.Repeat(f, 4*n/len(f))+tail)
				if one < n/len(f) || four > 5*one || one > 50*n {
					t.Errorf("%s: %d bytes of %q and %q take %d steps, four times as many %d", pre, n, f, tail, one, four)
				}
			}
		}
	}
}

// TestEncodeSimple holds whole encoding, with its caches and seams, against the
// oracle: with and without words taken whole, and every text twice.
func TestEncodeSimple(t *testing.T) {
	texts := awkward()[:400]
	for i := range 40 {
		text := mixedText[i*37%len(mixedText):]
		texts = append(texts, strings.ToValidUTF8(text[:min(len(text), 90)], "\xff"))
	}
	for _, name := range []string{"llama-spm", "phi-3"} {
		s, _ := goldenSpec(t, name)
		v := newVocab(t, s)
		for _, text := range texts {
			if strings.Contains(text, "<") {
				continue // might be a special token
			}
			want := token.SimpleEncodeSPM(v, text)
			for range 2 {
				if got := v.Encode(nil, text, false); !slices.Equal(got, want) {
					t.Fatalf("%s: %q becomes\n%q; want\n%q", name, text, pieces(v, got), pieces(v, want))
				}
			}
		}
	}
	base, _ := goldenSpec(t, "gpt-2")
	for i, pre := range token.DistinctPretokenizers() {
		if token.IsRaw(pre) {
			continue
		}
		s := base
		s.Pre, s.IgnoreMerges = pre, i%2 == 0
		v := newVocab(t, s)
		for _, text := range texts {
			want := token.SimpleEncode(v, pre, text)
			for range 2 {
				if got := v.Encode(nil, text, false); !slices.Equal(got, want) {
					t.Fatalf("%s: %q becomes\n%q; want\n%q", pre, text, pieces(v, got), pieces(v, want))
				}
			}
		}
	}
}

const mixedText = "石臼は車輪よりも古い。穀物は穴から入れ、粉は縁から出る。小麦を挽くのに一時間かかった。Мельница старше колеса; зерно сыплют в отверстие. الرحى أقدم من العجلة، والحبوب تدخل من الثقب. " +
	"चक्की पहिये से पुरानी है। โม่หินเก่าแก่กว่าล้อ 맷돌은 바퀴보다 오래되었다. Ο μύλος είναι παλαιότερος. 第3章，共12页 ½ → 🦙🚀👩‍🌾"
