package japanese

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// symbols are what kana are in Kokoro's symbols: the table of misaki's first reader of Japanese
// (hexgrad/misaki, ja.py of January 2025, HEPBURN, after polm/cutlet; Apache-2.0 and MIT), with the pairs its later
// one has besides. ッ is ʔ, ー is ː, and ン depends on what follows.
const symbols = `
ァ a ア a ィ i イ i ゥ ɯ ウ ɯ ェ e エ e ォ o オ o
カ ka キ kʲi ク kɯ ケ ke コ ko ガ ɡa ギ ɡʲi グ ɡɯ ゲ ɡe ゴ ɡo ヵ ka ヶ ke
サ sa シ ɕi ス sɨ セ se ソ so ザ ʣa ジ ʥi ズ zɨ ゼ ʣe ゾ ʣo
タ ta チ ʨi ツ ʦɨ テ te ト to ダ da ヂ ʥi ヅ zɨ デ de ド do
ナ na ニ ɲi ヌ nɯ ネ ne ノ no
ハ ha ヒ çi フ ɸɯ ヘ he ホ ho バ ba ビ bʲi ブ bɯ ベ be ボ bo パ pa ピ pʲi プ pɯ ペ pe ポ po
マ ma ミ mʲi ム mɯ メ me モ mo ャ ja ヤ ja ュ jɯ ユ jɯ ョ jo ヨ jo
ラ ɾa リ ɾʲi ル ɾɯ レ ɾe ロ ɾo ヮ βa ワ βa ヰ i ヱ e ヲ o
ヴ vɯ ヷ va ヸ vʲi ヹ ve ヺ vo ッ ʔ ー ː
イェ je ウァ βa ウィ βi ウェ βe ウォ βo
キェ kʲe キャ kʲa キュ kʲɨ キョ kʲo ギェ ɡʲe ギャ ɡʲa ギュ ɡʲɨ ギョ ɡʲo
クァ kᵝa クィ kᵝi クェ kᵝe クォ kᵝo クヮ kᵝa グァ ɡᵝa グィ ɡᵝi グェ ɡᵝe グォ ɡᵝo グヮ ɡᵝa
シェ ɕe シャ ɕa シュ ɕɨ ショ ɕo ジェ ʥe ジャ ʥa ジュ ʥɨ ジョ ʥo スィ sʲi ズィ zʲi
チェ ʨe チャ ʨa チュ ʨɨ チョ ʨo ヂェ ʥe ヂャ ʥa ヂュ ʥɨ ヂョ ʥo
ツァ ʦa ツィ ʦʲi ツェ ʦe ツォ ʦo ティ tʲi テュ tʲɨ ディ dʲi デュ dʲɨ トゥ tɯ ドゥ dɯ
ニェ ɲe ニャ ɲa ニュ ɲɨ ニョ ɲo
ヒェ çe ヒャ ça ヒュ çɨ ヒョ ço ビェ bʲe ビャ bʲa ビュ bʲɨ ビョ bʲo ピェ pʲe ピャ pʲa ピュ pʲɨ ピョ pʲo
ファ ɸa フィ ɸʲi フェ ɸe フォ ɸo フャ ɸʲa フュ ɸʲɨ フョ ɸʲo
ミェ mʲe ミャ mʲa ミュ mʲɨ ミョ mʲo リェ ɾʲe リャ ɾʲa リュ ɾʲɨ リョ ɾʲo
ヴァ va ヴィ vʲi ヴェ ve ヴォ vo ヴャ bʲa ヴュ bʲɨ ヴョ bʲo
`

var table = sync.OnceValue(func() map[string]string {
	fields := strings.Fields(symbols)
	out := make(map[string]string, len(fields)/2)
	for i := 0; i < len(fields); i += 2 {
		out[fields[i]] = fields[i+1]
	}
	return out
})

// Sounds returns a word in katakana in Kokoro's symbols.
func Sounds(kana string) string {
	t := table()
	var b strings.Builder
	for kana != "" {
		_, n := utf8.DecodeRuneInString(kana)
		one, rest := kana[:n], kana[n:]
		second, k := utf8.DecodeRuneInString(rest)
		switch pair := t[kana[:n+k]]; {
		case k > 0 && pair != "":
			b.WriteString(pair)
			kana = rest[k:]
			continue
		case one == "ン":
			b.WriteString(nasal(t[rest[:k]]))
		case k > 0 && strings.ContainsRune("ァィゥェォャュョ", second) && len(t[one]) > 1 && one != "ッ" && one != "ー":
			// A small letter that makes no pair takes the place of the vowel.
			_, vowel := utf8.DecodeLastRuneInString(t[one])
			b.WriteString(t[one][:len(t[one])-vowel] + t[rest[:k]])
			kana = rest[k:]
			continue
		default:
			b.WriteString(t[one])
		}
		kana = rest
	}
	return b.String()
}

// nasal returns what ン is before a sound in the same word.
func nasal(next string) string {
	r, _ := utf8.DecodeRuneInString(next)
	switch {
	case strings.ContainsRune("mpb", r):
		return "m"
	case strings.ContainsRune("kɡ", r):
		return "ŋ"
	case strings.ContainsRune("ɲʨʥ", r):
		return "ɲ"
	case strings.ContainsRune("ntdɾz", r):
		return "n"
	}
	return "ɴ"
}

// Katakana returns a text with its hiragana in katakana.
func Katakana(text []rune) string {
	var b strings.Builder
	for _, r := range text {
		if r >= 'ぁ' && r <= 'ゖ' {
			r += 'ァ' - 'ぁ'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Fold returns a text in the characters that words of the lexicon have, and where in it each of those
// begins: kana of half width and with marks of their own become usual ones, marks of repetition what they
// repeat, and compatibility characters those that they stand for.
func Fold(text []rune) (chars []rune, at []int) {
	for i, r := range text {
		last := len(chars) - 1
		switch {
		case r == '\u3099' || r == '\u309b' || r == 'ﾞ' || r == '\u309a' || r == '\u309c' || r == 'ﾟ':
			mark := '\u3099'
			if r == '\u309a' || r == '\u309c' || r == 'ﾟ' {
				mark = '\u309a'
			}
			if last >= 0 {
				chars[last] = composed(chars[last], mark)
			}
			continue
		case r == 'ゝ' || r == 'ヽ' || r == 'ゞ' || r == 'ヾ':
			if last < 0 || !isKana(chars[last]) {
				continue
			}
			repeated, _ := utf8.DecodeRuneInString(norm.NFD.String(string(chars[last])))
			if r == 'ゞ' || r == 'ヾ' {
				repeated = composed(repeated, '\u3099')
			}
			r = repeated
		case r == '〜' || r == '～': // そうだね〜
			r = 'ー'
		case r == 'ゟ':
			chars, at = append(chars, 'よ', 'り'), append(at, i, i)
			continue
		case r == 'ヿ':
			chars, at = append(chars, 'コ', 'ト'), append(at, i, i)
			continue
		case r >= 'ㇰ' && r <= 'ㇿ':
			r = []rune("クシストヌハヒフヘホムラリルレロ")[r-'ㇰ']
		case r >= '\uff65' && r <= '\uff9d':
			r, _ = utf8.DecodeRuneInString(norm.NFKC.String(string(r)))
		case r >= '\uf900' && r <= '\ufaff':
			r, _ = utf8.DecodeRuneInString(norm.NFC.String(string(r)))
		}
		chars, at = append(chars, r), append(at, i)
	}
	return chars, at
}

// composed returns a kana with a mark, or without one where there is none such.
func composed(r, mark rune) rune {
	s := norm.NFC.String(string(r) + string(mark))
	if out, n := utf8.DecodeRuneInString(s); n == len(s) {
		return out
	}
	return r
}

// Draws reports whether r, a wave behind a kana, makes it long.
func Draws(before, r rune) bool {
	return (r == '〜' || r == '～') && (isKana(before) || before == r || unicode.Is(kanaLetters, before) && !unicode.Is(unicode.Han, before))
}

func isKana(r rune) bool { return r >= 'ぁ' && r <= 'ゖ' || r >= 'ァ' && r <= 'ヺ' || r == 'ー' }

// kanaLetters are letters that Fold and Read know beside Chinese characters.
var kanaLetters = &unicode.RangeTable{R16: []unicode.Range16{
	{0x3005, 0x3007, 1}, {0x3041, 0x3096, 1}, {0x3099, 0x309f, 1}, {0x30a1, 0x30fa, 1}, {0x30fc, 0x30ff, 1}, {0x31f0, 0x31ff, 1}, {0xff66, 0xff9f, 1},
}}
