package japanese_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"quern/engine/tts/lang/japanese"
)

func none(int) bool { return false }

// read returns the words of a text in katakana, joined ones with + before them.
func read(t testing.TB, text string) string {
	t.Helper()
	chars, _ := japanese.Fold([]rune(text))
	words, err := japanese.Read(t.Context(), chars, none)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for k, w := range words {
		switch {
		case w.Joined:
			b.WriteByte('+')
		case k > 0:
			b.WriteByte(' ')
		}
		b.WriteString(w.Kana)
	}
	return b.String()
}

// What Kokoro v1.0 was trained with: facts of misaki's table, by hand.
func TestSounds(t *testing.T) {
	for kana, want := range map[string]string{
		"アイウエオ": "aiɯeo", "カキクケコ": "kakʲikɯkeko", "サシスセソ": "saɕisɨseso", "タチツテト": "taʨiʦɨteto", "ナニヌネノ": "naɲinɯneno", "ハヒフヘホ": "haçiɸɯheho", "マミムメモ": "mamʲimɯmemo", "ヤユヨ": "jajɯjo", "ラリルレロ": "ɾaɾʲiɾɯɾeɾo", "ワヲ": "βao",
		"ガギグゲゴ": "ɡaɡʲiɡɯɡeɡo", "ザジズゼゾ": "ʣaʥizɨʣeʣo", "ダヂヅデド": "daʥizɨdedo", "バビブベボ": "babʲibɯbebo", "パピプペポ": "papʲipɯpepo", "キャキュキョ": "kʲakʲɨkʲo", "シャシュショ": "ɕaɕɨɕo", "チャチュチョ": "ʨaʨɨʨo", "ニャニュニョ": "ɲaɲɨɲo", "ヒャヒュヒョ": "çaçɨço", "ミャミュミョ": "mʲamʲɨmʲo", "リャリュリョ": "ɾʲaɾʲɨɾʲo",
		"ファフィフェフォ": "ɸaɸʲiɸeɸo", "ティディトゥドゥ": "tʲidʲitɯdɯ", "ウィウェウォ": "βiβeβo", "ヴァヴィヴヴェヴォ": "vavʲivɯvevo", "シェジェチェ": "ɕeʥeʨe", "ツァツェツォ": "ʦaʦeʦo", "クァクォグァ": "kᵝakᵝoɡᵝa", "デュテュフュ": "dʲɨtʲɨɸʲɨ", "イェ": "je",
		"ガッコー": "ɡaʔkoː", "アッ": "aʔ", "サンバ": "samba", "サンポ": "sampo", "サンマ": "samma", "サンカ": "saŋka", "サンガ": "saŋɡa", "サンタ": "santa", "サンダ": "sanda", "サンナ": "sanna", "サンラ": "sanɾa", "サンズ": "sanzɨ", "サンチ": "saɲʨi", "サンジ": "saɲʥi", "サンニ": "saɲɲi",
		"サンサ": "saɴsa", "サンザ": "saɴʣa", "サンハ": "saɴha", "サンア": "saɴa", "サンヤ": "saɴja", "サンワ": "saɴβa", "サン": "saɴ", "サンツ": "saɴʦɨ", "サンー": "saɴː", "テァ": "ta", "ホォ": "ho", "ンァ": "ɴa", "": "",
	} {
		if got := japanese.Sounds(kana); got != want {
			t.Errorf("%s: got %q, want %q", kana, got, want)
		}
	}
}

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"ｶﾞｷﾞｸﾞ": "ガギグ", "ﾊﾟﾋﾟ": "パピ", "か\u3099は\u309a": "がぱ", "いすゞ": "いすず", "こゝろ": "こころ", "ヽ": "", "バヽ": "バハ", "ハヾ": "ハバ", "ゟ": "より", "ヿ": "コト", "ㇷ゚ㇻ": "プラ", "ﾞ": "", "\uf9dc": "隆", "漢字": "漢字", "ｰ": "ー", "あﾞ": "あ",
	} {
		chars, at := japanese.Fold([]rune(text))
		if string(chars) != want || len(at) != len(chars) {
			t.Errorf("%q: got %q at %d, want %q", text, string(chars), at, want)
		}
		for k := range at {
			if at[k] >= len([]rune(text)) || k > 0 && at[k] < at[k-1] {
				t.Errorf("%q: characters are at %d", text, at)
			}
		}
	}
}

// Words, particles, and readings by context.
func TestRead(t *testing.T) {
	data, err := os.ReadFile("testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		text, want, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			t.Fatalf("%q has no tab", line)
		}
		if got := read(t, text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

// A word whose kana the caller knows is one, and no word lies across a border.
func TestGiven(t *testing.T) {
	words, err := japanese.Read(t.Context(), []rune{'第', japanese.Given, 'は', japanese.Given}, none)
	if err != nil || len(words) != 4 || words[1].Kana != "" || !words[1].Joined || words[2].Kana != "ワ" || words[3].Start != 3 || words[3].End != 4 {
		t.Errorf("got %+v, %v", words, err)
	}
	words, err = japanese.Read(t.Context(), []rune("東京"), func(i int) bool { return i == 1 })
	if err != nil || len(words) != 2 || words[1].Joined {
		t.Errorf("got %+v, %v", words, err)
	}
}

func TestHas(t *testing.T) {
	for r, want := range map[rune]bool{'あ': true, 'ン': true, 'ｱ': true, 'ー': true, '々': true, '学': true, '鬱': true, '您': false, 'A': false, '1': false, '、': false, '가': false, japanese.Given: false, 0x20000: false} {
		if got := japanese.Has(r); got != want {
			t.Errorf("%q: got %v", r, got)
		}
	}
}

// Time and memory are linear in the length, and end with the request.
func TestLong(t *testing.T) {
	read(t, "始め") // what is made once
	taken := func(text string) uint64 {
		var before, after runtime.MemStats
		chars, _ := japanese.Fold([]rune(text))
		runtime.ReadMemStats(&before)
		words, err := japanese.Read(t.Context(), chars, none)
		runtime.ReadMemStats(&after)
		if err != nil || len(words) == 0 || words[len(words)-1].End != len(chars) {
			t.Fatalf("%.30q: %d words, %v", text, len(words), err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	for _, piece := range []string{"あ", "ア", "ン", "生", "上下", "の", "ー", "っ", "々", "すもももももももものうち", "\ue000"} {
		quarter, whole := taken(strings.Repeat(piece, 1000)), taken(strings.Repeat(piece, 4000))
		if whole > 8*quarter+1<<16 { // slices that grow by a quarter allocate up to five times what they hold
			t.Errorf("%q: %d bytes for four times the text of %d", piece, whole, quarter)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := japanese.Read(ctx, []rune("長い文章"), none); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func BenchmarkRead(b *testing.B) {
	text, _ := japanese.Fold([]rune(strings.Repeat("国境の長いトンネルを抜けると雪国であった", 20)))
	b.SetBytes(int64(len(string(text))))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := japanese.Read(b.Context(), text, none); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadShort reads what stands between two figures of a text.
func BenchmarkReadShort(b *testing.B) {
	text, _ := japanese.Fold([]rune("時に"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := japanese.Read(b.Context(), text, none); err != nil {
			b.Fatal(err)
		}
	}
}
