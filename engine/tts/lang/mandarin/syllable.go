package mandarin

import (
	"slices"
	"strings"
	"sync"
)

// A Syllable is one of Mandarin with its tone, 1 to 4, or 5 where it is neutral.
type Syllable uint16

func syllable(index, tone int) Syllable { return Syllable(index<<3 | tone) }

// Tone is 1 to 5.
func (s Syllable) Tone() int { return int(s & 7) }

// in returns the syllable with another tone.
func (s Syllable) in(tone int) Syllable { return s&^7 | Syllable(tone) }

// base is the syllable without a tone, in pinyin with v for ü.
func (s Syllable) base() string { return pinyin()[int(s>>3)%len(pinyin())] }

// String is the syllable in pinyin with its tone behind it: "lv4".
func (s Syllable) String() string { return s.base() + string(rune('0'+s.Tone())) }

// Parse reads "lv4"; without a tone it is neutral.
func Parse(text string) (Syllable, bool) {
	tone := 5
	if k := len(text) - 1; k > 0 && text[k] >= '1' && text[k] <= '5' {
		text, tone = text[:k], int(text[k]-'0')
	}
	i, ok := indexes()[text]
	return syllable(i, tone), ok
}

// Syllables lists what syllables there are, without tones.
func Syllables() []string { return slices.Clone(pinyin()) }

// Sounds is the syllable in Kokoro's symbols: the arrow of its tone stands behind the vowel,
// before an n or ŋ.
func (s Syllable) Sounds() string { return sounds()[int(s>>3)%len(pinyin())][s.Tone()] }

// pinyin are the syllables there are.
var pinyin = sync.OnceValue(func() []string {
	return strings.Fields(`a ai an ang ao ba bai ban bang bao bei ben beng bi bian biang biao bie bin bing bo bu
	ca cai can cang cao ce cei cen ceng cha chai chan chang chao che chen cheng chi chong chou chu chua chuai chuan chuang chui chun chuo ci cong cou cu cuan cui cun cuo
	da dai dan dang dao de dei den deng di dia dian diao die din ding diu dong dou du duan dui dun duo e ê ei en eng er
	fa fan fang fei fen feng fiao fo fou fu ga gai gan gang gao ge gei gen geng gong gou gu gua guai guan guang gui gun guo
	ha hai han hang hao he hei hen heng hm hng hong hou hu hua huai huan huang hui hun huo
	ji jia jian jiang jiao jie jin jing jiong jiu ju juan jue jun ka kai kan kang kao ke kei ken keng kong kou ku kua kuai kuan kuang kui kun kuo
	la lai lan lang lao le lei leng li lia lian liang liao lie lin ling liu lo long lou lu luan lun luo lv lve
	m ma mai man mang mao me mei men meng mi mian miao mie min ming miu mo mou mu
	n na nai nan nang nao ne nei nen neng ng ni nia nian niang niao nie nin ning niu nong nou nu nuan nun nuo nv nve
	o ou pa pai pan pang pao pei pen peng pi pian piao pie pin ping po pou pu
	qi qia qian qiang qiao qie qin qing qiong qiu qu quan que qun ran rang rao re ren reng ri rong rou ru rua ruan rui run ruo
	sa sai san sang sao se sen seng sha shai shan shang shao she shei shen sheng shi shou shu shua shuai shuan shuang shui shun shuo si song sou su suan sui sun suo
	ta tai tan tang tao te tei teng ti tian tiao tie ting tong tou tu tuan tui tun tuo
	wa wai wan wang wei wen weng wo wu xi xia xian xiang xiao xie xin xing xiong xiu xu xuan xue xun
	ya yan yang yao ye yi yin ying yo yong you yu yuan yue yun
	za zai zan zang zao ze zei zen zeng zha zhai zhan zhang zhao zhe zhei zhen zheng zhi zhong zhou zhu zhua zhuai zhuan zhuang zhui zhun zhuo zi zong zou zu zuan zui zun zuo`)
})

// indexes are those of pinyin.
var indexes = sync.OnceValue(func() map[string]int {
	out := make(map[string]int, len(pinyin()))
	for i, p := range pinyin() {
		out[p] = i
	}
	return out
})

// What Kokoro v1.0 was trained with is the output of misaki's ZHG2P (version unset): initials
// and finals in IPA without ties and marks of syllables, and arrows for tones.

// initials are in the order in which they are looked for.
var initials = []struct{ pinyin, sounds string }{
	{"zh", "ꭧ"}, {"ch", "ꭧʰ"}, {"sh", "ʂ"}, {"b", "p"}, {"p", "pʰ"}, {"m", "m"}, {"f", "f"}, {"d", "t"}, {"t", "tʰ"}, {"n", "n"}, {"l", "l"}, {"g", "k"}, {"k", "kʰ"},
	{"h", "x"}, {"j", "ʨ"}, {"q", "ʨʰ"}, {"x", "ɕ"}, {"r", "ɻ"}, {"z", "ʦ"}, {"c", "ʦʰ"}, {"s", "s"},
}

// finals are by their names in full; the tone stands where 0 is.
var finals = map[string]string{
	"a": "a0", "ai": "ai0", "an": "a0n", "ang": "a0ŋ", "ao": "au0", "e": "ɤ0", "ei": "ei0", "en": "ə0n", "eng": "ə0ŋ", "o": "wo0", "ong": "ʊ0ŋ", "ou": "ou0",
	"i": "i0", "ia": "ja0", "ian": "jɛ0n", "iang": "ja0ŋ", "iao": "jau0", "ie": "je0", "in": "i0n", "ing": "i0ŋ", "io": "jɔ0", "iong": "jʊ0ŋ", "iou": "jou0",
	"u": "u0", "ua": "wa0", "uai": "wai0", "uan": "wa0n", "uang": "wa0ŋ", "uei": "wei0", "uen": "wə0n", "ueng": "wə0ŋ", "uo": "wo0",
	"v": "y0", "van": "ɥɛ0n", "ve": "ɥe0", "vn": "y0n",
}

// interjections are syllables that have no initial and final of the usual ones.
var interjections = map[string]string{"ê": "ɛ0", "er": "ɚ0", "o": "ɔ0", "m": "m0", "n": "n0", "ng": "ŋ0", "hm": "hm0", "hng": "hŋ0"}

var arrows = [8]string{1: "→", 2: "↗", 3: "↓", 4: "↘"}

// sounds are those of every syllable in every tone.
var sounds = sync.OnceValue(func() [][8]string {
	out := make([][8]string, len(pinyin()))
	for i, p := range pinyin() {
		toneless := toSounds(p)
		for tone, arrow := range arrows {
			out[i][tone] = strings.Replace(toneless, "0", arrow, 1)
		}
	}
	return out
})

// toSounds returns the sounds of a syllable with 0 for its tone.
func toSounds(p string) string {
	if s := interjections[p]; s != "" {
		return s
	}
	switch p[0] {
	case 'y':
		return finals[full("", spelt(p))]
	case 'w':
		return finals[full("", spelt(p))]
	}
	for _, initial := range initials {
		if final, ok := strings.CutPrefix(p, initial.pinyin); ok {
			if final == "i" && strings.Contains("zh ch sh r z c s", initial.pinyin) {
				return initial.sounds + "ɨ0"
			}
			return initial.sounds + finals[full(initial.pinyin, final)]
		}
	}
	return finals[p]
}

// spelt returns the final of a syllable that is written with y or w.
func spelt(p string) string {
	rest := p[1:]
	switch {
	case p[0] == 'y' && rest[0] == 'u':
		return "v" + rest[1:]
	case p[0] == 'y' && rest[0] == 'i':
		return rest
	case p[0] == 'y':
		return "i" + rest
	case rest == "u":
		return rest
	}
	return "u" + rest
}

// full writes out a final that is written shorter behind an initial.
func full(initial, final string) string {
	if strings.Contains("jqx", initial) && initial != "" && final[0] == 'u' {
		return "v" + final[1:]
	}
	switch final {
	case "iu":
		return "iou"
	case "ui":
		return "uei"
	case "un":
		return "uen"
	}
	return final
}
