package mandarin

import (
	"fmt"
	"strings"
	"sync"
)

// neighbours say how characters are read that are words of their own. A line is a character, a
// reading, and where it holds, from left to right: the characters that may stand before it in
// <…>, those behind it in >…<, and those that may not in <^…> and >^…<. The first line that fits
// is taken. # is the border of the text; classes are N a numeral, P a pronoun.
const neighbours = `
行 xing2 <一> >N人<
行 hang2 <N第几每数各这那两某上下本单整隔首末> >^动程走为驶人为使军路踪程政<
长 chang2 <太很更最多真好挺>
长 zhang3 >大高出成满得了着住势<
长 zhang3 <生疯能会所>
重 chong2 >写读新启建复做来选置装组温返申演叠播试开修塑设构<
只 zhi1 <N几每数各这那两某多整>
种 zhong4 >树花地菜田草植庄果豆瓜粮稻麦棉茶玉了过着下满上出在<
种 zhong4 <好难> >#<
种 zhong4 <去来能想要会爱栽所在我他她你们>
数 shu3 <细来去倒先你我他她> >^字量据学码值目额<
数 shu3 >着了过到一出不<
得 de2 <P己谁#> >了到过奖分冠第票名一胜病救知金银铜满高<
得 dei3 >由先让赶抓<
得 dei3 <P#就还都必总可也又便非谁咱须真准今明>
得 de5
地 di4 >#是有被里上下中<
地 di4 <块片亩处这那每各该此寸的N下种扫拖耕占离着在租买卖平实空满本当就整>
为 wei2 >N该其百千负正零约第主首准由荣零<
为 wei2 <定改分变选译化视称评列设转升判折合即亦仍均皆更最极尤颇较多少者约成作认立奉引结拜誉传命沦尊封>
还 huan2 >给钱书债清贷款本得起<
还 huan2 <归偿退返奉讨要未已须不没> >#给你我他了的<
着 zhao2 <睡猜逮> 
着 zhao2 <找点烧够摸遇碰见打数> >#了的<
着 zhao2 <不得>
都 du1 <首定迁古建> 
干 gan4 <P们都也又> >了<
干 gan4 >什啥嘛吗活事完得过劲起掉架不到出这那哪大成一<
干 gan4 <能会想要在么样实苦大我你他们好怎接来去敢肯不就又>
教 jiao1 >我你他她书会了过给不得我得人学孩<
教 jiao1 <来我你他她谁请没>
背 bei1 >着包上起了个负<
觉 jiao4 <一个场好大睡午这整>
倒 dao3 >在下塌了地闭霉<
倒 dao4
差 cha1 <之温时落利价反视偏误>
空 kong4 <有没抽得填趁留>
传 zhuan4 <外列正自小>
弹 tan2 >钢琴吉奏古唱起了着<
调 diao4 <声音语曲色腔论格高低>
调 diao4 >查动研到头转包走<
好 hao4 <爱喜癖嗜所>
看 kan1 >守家护孩着<
难 nan4 <遇落受遭逃空罹>
相 xiang4 <照真长> 
应 ying4 <反供适响对>
应 ying4 >了声着<
系 ji4 >着上好了紧领鞋安<
盛 cheng2 >了饭汤满一碗上<
冲 chong4 <很太真>
钉 ding4 >在上住<
量 liang2 <测丈衡度> 
量 liang2 >一体了身血<
磨 mo4 <石推拉>
泊 po1 <湖>
扇 shan1 >了风着<
担 dan4 <重扁一>
转 zhuan4 <团打旋自> >^移变身换化让达弯向<
转 zhuan4 >圈来着个悠动<
中 zhong4 >毒奖弹枪计箭暑风标签了招<
中 zhong4 <猜看相命打击射切押抓>
发 fa4 <头理美烫染黑白长短金毛假护洗剪卷披>
血 xue4
和 huo4 <搅掺>
和 huo2 <面> >一好了成<
挣 zheng4 >钱扎脱了<
曾 zeng1 >国子先祖孙参<
朝 zhao1 <今明> >#气阳夕<
恶 wu4 <可厌憎好>
咽 yan4 >了下不<
结 jie1 >果实巴了<
散 san3 <松懒闲零>
藏 zang4 <西宝> 
宿 xiu4 <星一二两整住三> >#<
佛 fo2
吐 tu4 <呕上想> 
吐 tu4 >血了<
切 qie1 >成开了菜肉片断蛋水苹西土<
落 la4 >课<
卷 juan4 <N第各每上下中首试答全本该>
藏 zang4 >族语文历医香羚獒区北南东<
燕 yan1 >国都京山赵王<
燕 yan1 <前后北西南>
率 shuai4 >军部领兵队众团师先<
划 hua2 >船桨水破<
`

// surnames are those that are read in another way than the character else, behind 姓 or before titles.
var surnames = sync.OnceValue(func() map[rune]string {
	return map[rune]string{'单': "shan4", '曾': "zeng1", '解': "xie4", '仇': "qiu2", '任': "ren2", '华': "hua4", '区': "ou1", '查': "zha1", '盖': "ge3", '朴': "piao2", '尉': "wei4", '乐': "yue4", '缪': "miao4", '员': "yun4", '召': "shao4", '种': "chong2", '重': "chong2", '冼': "xian3", '逄': "pang2", '晁': "chao2", '繁': "po2", '覃': "qin2", '宁': "ning4", '应': "ying1", '燕': "yan1"}
})

var titles = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, title := range strings.Fields("先生 女士 小姐 太太 老师 教授 博士 经理 总 总经理 董事长 医生 大夫 同学 同志 主任 师傅 老板 校长 院长 局长 部长 处长 科长 市长 县长 警官 律师 导演 教练 阿姨 叔叔 大爷 大妈 哥 姐 某 氏 家 姓") {
		out[title] = true
	}
	return out
})

// A neighbour is a line of neighbours.
type neighbour struct {
	said         Syllable
	before, next string // "" is anything
	notBefore    bool
	notNext      bool
}

const (
	numerals = "零〇一二三四五六七八九十百千万亿两几半"
	pronouns = "我你您他她它们咱"
)

var rules = sync.OnceValue(func() map[rune][]neighbour {
	rules, err := parse(neighbours)
	if err != nil {
		panic("mandarin: " + err.Error()) // the lines are constants; a test reads them
	}
	return rules
})

func parse(lines string) (map[rune][]neighbour, error) {
	out := map[rune][]neighbour{}
	classes := strings.NewReplacer("N", numerals, "P", pronouns)
	for line := range strings.Lines(lines) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		var n neighbour
		ok := len(f) > 1
		if ok {
			n.said, ok = Parse(f[1])
		}
		for _, place := range f[min(2, len(f)):] {
			set := classes.Replace(strings.Trim(place, "<>^"))
			not := len(place) > 1 && place[1] == '^'
			switch {
			case place[0] == '<' && strings.HasSuffix(place, ">"):
				n.before, n.notBefore = set, not
			case place[0] == '>' && strings.HasSuffix(place, "<"):
				n.next, n.notNext = set, not
			default:
				ok = false
			}
		}
		if !ok {
			return nil, fmt.Errorf("%q is no rule", line)
		}
		r := []rune(f[0])[0]
		out[r] = append(out[r], n)
	}
	return out, nil
}

func (n *neighbour) fits(before, next rune) bool {
	return (n.before == "" || strings.ContainsRune(n.before, before) != n.notBefore) &&
		(n.next == "" || strings.ContainsRune(n.next, next) != n.notNext)
}

// lone reads the characters that are words of their own by what stands around.
func (t *reading) lone() {
	for k := range t.words {
		w := &t.words[k]
		if w.End-w.Start != 1 || t.written[w.Start] != t.chars[w.Start] && t.readings[t.written[w.Start]] != t.readings[t.chars[w.Start]] {
			continue
		}
		i := w.Start
		r := t.chars[i]
		if said, ok := t.special(k); ok {
			w.Read[0] = said
			continue
		}
		for _, n := range rules()[r] {
			if n.fits(t.at(i-1), t.at(i+1)) {
				w.Read[0] = n.said
				break
			}
		}
	}
}

// special reads the particles that depend on more than their neighbours.
func (t *reading) special(k int) (Syllable, bool) {
	i := t.words[k].Start
	if p := surnames()[t.chars[i]]; p != "" && (t.at(i-1) == '姓' || k+1 < len(t.words) && titles()[string(t.chars[i+1:t.words[k+1].End])]) {
		return Parse(p)
	}
	said := func(p string) (Syllable, bool) { return Parse(p) }
	switch t.chars[i] {
	case '地':
		// Behind an adverb, and before what is done.
		if k > 0 && t.at(i+1) != '#' && t.words[k-1].End-t.words[k-1].Start > 1 && !strings.ContainsRune("是有被里上下中", t.at(i+1)) {
			return said("de5")
		}
	case '为':
		for j := max(0, i-12); j < i; j++ {
			if r := t.chars[j]; r == '以' || r == '被' || r == '称' || r == '将' || r == '把' {
				return said("wei2")
			}
		}
		for j := i + 2; j < min(len(t.chars), i+9); j++ {
			if t.chars[j] == '所' {
				return said("wei2")
			}
		}
	case '觉':
		for j := max(0, i-6); j < i; j++ {
			if t.chars[j] == '睡' {
				return said("jiao4")
			}
		}
	case '了':
		// Behind what can be done, at the end.
		if k > 0 && t.at(i-1) == '得' && t.words[k-1].Read[len(t.words[k-1].Read)-1].Tone() == 5 && strings.ContainsRune("#吗么的呢吧", t.at(i+1)) {
			return said("liao3")
		}
	case '儿':
		if k > 0 {
			return said("er5")
		}
	}
	return 0, false
}
