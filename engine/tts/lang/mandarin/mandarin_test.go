package mandarin_test

import (
	"os"
	"strings"
	"testing"

	"quern/engine/tts/lang/mandarin"
)

// read returns the words of each run of characters of a text: as they are read, or said.
func read(t testing.TB, text string, said bool) string {
	t.Helper()
	var out []string
	for _, run := range strings.FieldsFunc(text, func(r rune) bool { return !mandarin.Has(r) }) {
		words, err := mandarin.Read([]rune(run), func(int) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range words {
			list := w.Read
			if said {
				list = w.Said
			}
			var b strings.Builder
			for _, s := range list {
				b.WriteString(s.String())
			}
			out = append(out, b.String())
		}
	}
	return strings.Join(out, " ")
}

// What Kokoro v1.0 was trained with: facts of misaki's table, by hand.
func TestSounds(t *testing.T) {
	for pinyin, want := range map[string]string{
		"ni3": "ni↓", "hao3": "xau↓", "zhong1": "ꭧʊ→ŋ", "guo2": "kwo↗", "shi4": "ʂɨ↘", "jie4": "ʨje↘", "zi5": "ʦɨ", "si4": "sɨ↘", "ri4": "ɻɨ↘", "chi1": "ꭧʰɨ→", "ci2": "ʦʰɨ↗", "er2": "ɚ↗", "er5": "ɚ", "de5": "tɤ",
		"xue2": "ɕɥe↗", "quan2": "ʨʰɥɛ↗n", "jun1": "ʨy→n", "ju3": "ʨy↓", "nv3": "ny↓", "lve4": "lɥe↘", "yu2": "y↗", "yue4": "ɥe↘", "yuan2": "ɥɛ↗n", "yun2": "y↗n", "yi1": "i→", "yin1": "i→n", "ying1": "i→ŋ", "ya4": "ja↘", "yan2": "jɛ↗n", "yang2": "ja↗ŋ", "yao4": "jau↘",
		"ye3": "je↓", "you3": "jou↓", "yong4": "jʊ↘ŋ", "yo1": "jɔ→", "wu3": "u↓", "wo3": "wo↓", "wa1": "wa→", "wai4": "wai↘", "wei4": "wei↘", "wan4": "wa↘n", "wen2": "wə↗n", "wang2": "wa↗ŋ", "weng1": "wə→ŋ", "bo1": "pwo→", "po2": "pʰwo↗", "mo4": "mwo↘", "fo2": "fwo↗", "o2": "ɔ↗", "duo1": "two→", "dui4": "twei↘",
		"liu4": "ljou↘", "dun4": "twə↘n", "xiong2": "ɕjʊ↗ŋ", "jiang1": "ʨja→ŋ", "huang2": "xwa↗ŋ", "ren2": "ɻə↗n", "re4": "ɻɤ↘", "a5": "a", "ai4": "ai↘", "ang2": "a↗ŋ", "e4": "ɤ↘", "en4": "ə↘n", "ei2": "ei↗", "ou3": "ou↓", "n2": "n↗", "m2": "m↗", "ng4": "ŋ↘", "hng5": "hŋ", "ê4": "ɛ↘", "kuai4": "kʰwai↘", "zhuang1": "ꭧwa→ŋ",
	} {
		s, ok := mandarin.Parse(pinyin)
		if got := s.Sounds(); !ok || got != want || s.String() != pinyin {
			t.Errorf("%s: got %q of %v, %v, want %q", pinyin, got, s, ok, want)
		}
	}
	if _, ok := mandarin.Parse("xyz1"); ok {
		t.Error("xyz1 is a syllable")
	}
}

// Sentences are read as they are read over by hand: of 1,000 syllables 5 may be wrong.
func TestSentences(t *testing.T) {
	data, err := os.ReadFile("testdata/sentences.txt")
	if err != nil {
		t.Fatal(err)
	}
	syllables, wrong := 0, 0
	for line := range strings.Lines(string(data)) {
		text, want, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok {
			continue
		}
		syllables += strings.Count(want, " ") + 1
		if got := strings.ReplaceAll(read(t, text, false), " ", ""); got != strings.ReplaceAll(want, " ", "") {
			wrong++
			t.Logf("%s: got %s, want %s", text, got, want)
		}
	}
	if syllables < 2000 || wrong*200 > syllables {
		t.Errorf("%d sentences with something wrong of %d syllables", wrong, syllables)
	}
}

// Words, and tones beside each other.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"我们一起去看电影": "wo3men5 yi4qi3 qu4 kan4 dian4ying3", "一个人不是一样": "yi2ge4 ren2 bu2shi4 yi2yang4", "展览馆": "zhan2lan2guan3", "小老虎": "xiao3 lao2hu3", "我很好": "wo2 hen2 hao3", "领导好": "ling2dao2 hao3",
		"看一看好不好": "kan4 yi5 kan4 hao3bu5hao3", "二零一五年一月一日": "er4 ling2 yi1 wu3nian2 yi1yue4 yi1ri4", "三百一十五": "san1bai3 yi1shi2wu3", "银行行长": "yin2hang2 hang2zhang3",
		"看著頭髮": "kan4zhe5 tou2fa5", "著名": "zhu4ming2", "乾淨乾隆": "gan1jing4 qian2long2", "": "",
	} {
		if got := read(t, text, true); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	// No word lies across a border, and tones change across it.
	words, err := mandarin.Read([]rune("银行很好"), func(i int) bool { return i == 1 || i == 3 })
	if err != nil || len(words) != 4 || words[2].Said[0].Tone() != 2 {
		t.Errorf("%v, %v", words, err)
	}
}

func TestHas(t *testing.T) {
	for r, want := range map[rune]bool{'中': true, '國': true, '〇': true, '㐄': true, '𬭚': true, 'の': false, 'a': false, '，': false, '한': false} {
		if mandarin.Has(r) != want {
			t.Errorf("%q: %v", r, !want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"中国银行的行长一会儿就来了", "看著乾隆瞭解藉口", "一一不不好好", "三百一十五点零一", "儿儿得得地地为所为"} {
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, every uint8) {
		var chars []rune
		for _, r := range text {
			if mandarin.Has(r) {
				chars = append(chars, r)
			}
		}
		words, err := mandarin.Read(chars, func(i int) bool { return every > 0 && i%int(every) == 0 })
		if err != nil {
			t.Fatal(err)
		}
		at := 0
		for _, w := range words {
			if w.Start != at || len(w.Said) != w.End-w.Start || len(w.Read) != len(w.Said) {
				t.Fatalf("%q: %+v behind %d", string(chars), w, at)
			}
			for _, s := range w.Said {
				if s.Sounds() == "" {
					t.Fatalf("%q: %v has no sounds", string(chars), s)
				}
			}
			at = w.End
		}
		if at != len(chars) {
			t.Fatalf("%d of %d characters are read", at, len(chars))
		}
	})
}

func BenchmarkRead(b *testing.B) {
	text := []rune(strings.Repeat("我们在银行的大厅里等了一会儿行长才慢慢地走过来", 40))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mandarin.Read(text, func(int) bool { return false }); err != nil {
			b.Fatal(err)
		}
	}
}
