package lang

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// chineseVocabulary is how numbers and signs are said in Mandarin.
func chineseVocabulary() *vocabulary {
	v := &vocabulary{
		cardinal: func(n int64, _ bool) []string { return []string{chineseNumber(n)} },
		ordinal:  func(n int64, _ bool) []string { return []string{"第" + chineseNumber(n)} },
		english:  true, point: "点", to: "到", over: "分之", and: "又", lower: true, begins: "HNACS~≈<>=±/№#^",
		date: func(v *vocabulary, d, m, y int64) []string {
			out := chineseNumber(m) + "月" + chineseNumber(d) + "日"
			if y > 0 {
				out = chineseFigures(strconv.FormatInt(y, 10), '一') + "年" + out
			}
			return []string{out}
		},
		clock: func(_ *vocabulary, h, m int64) []string { return []string{chineseClock(h, m, -1)} },
		phoned: func(s string) []string {
			var out []string
			for _, group := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" .-()/", r) }) {
				if out != nil {
					out = append(out, ",")
				}
				if strings.HasPrefix(group, "+") {
					group, out = group[1:], append(out, "加")
				}
				out = append(out, chineseFigures(group, '幺'))
			}
			return out
		},
		signs: map[rune]string{'%': "百分号", '‰': "千分号", '&': "和", '+': "加", '−': "负", '@': "艾特", '=': "等于", '×': "乘以", '÷': "除以", '±': "正负", '<': "小于", '>': "大于", '≤': "小于等于", '≥': "大于等于", '≠': "不等于", '≈': "约等于",
			'#': "井号", '°': "度", '℃': "摄氏度", '℉': "华氏度", '€': "欧元", '$': "美元", '£': "英镑", '¥': "元", '￥': "元", '₹': "卢比", '₩': "韩元", '→': "到", '∞': "无穷大", '©': "版权所有", '™': "商标", '§': "节", '²': "的平方", '³': "的立方", '√': "根号",
			'½': "二分之一", '¼': "四分之一", '¾': "四分之三", '⅓': "三分之一", '⅔': "三分之二", '.': "点", 'π': "派", 'μ': "缪", 'α': "阿尔法", 'β': "贝塔", 'γ': "伽马", 'δ': "德尔塔", 'ω': "欧米伽", 'λ': "兰姆达", 'σ': "西格玛", 'θ': "西塔",
			'Ⅰ': "一", 'Ⅱ': "二", 'Ⅲ': "三", 'Ⅳ': "四", 'Ⅴ': "五", 'Ⅵ': "六", 'Ⅶ': "七", 'Ⅷ': "八", 'Ⅸ': "九", 'Ⅹ': "十", 'Ⅺ': "十一", 'Ⅻ': "十二", '㈠': "一", '㈡': "二", '㈢': "三", '㈣': "四", '㈤': "五", '㈥': "六", '㈦': "七", '㈧': "八", '㈨': "九", '㈩': "十",
			'㎡': "平方米", '㎏': "公斤", '㎞': "公里", '㎝': "厘米", '㎜': "毫米"},
	}
	v.patterns = chinesePatterns(v)
	return v
}

var (
	chineseDigits = []rune("零一二三四五六七八九")
	chineseGroups = []string{"", "万", "亿", "万亿"}
)

// chineseNumber says a whole number. Two is 两 before thousands and what is more.
func chineseNumber(n int64) string {
	if n == 0 {
		return "零"
	}
	out := ""
	gap := false // whether a zero stands before what comes next
	for k := len(chineseGroups) - 1; k >= 0; k-- {
		unit := int64(1)
		for range k {
			unit *= 10_000
		}
		group := n / unit
		n %= unit
		switch {
		case group == 0:
			gap = out != ""
			continue
		case k == 2:
			out = strings.TrimSuffix(out, "亿") // of 万亿: 一万二千亿
		}
		if out != "" && (gap || group < 1000) {
			out += "零"
		}
		gap = false
		name := chineseGroups[k]
		switch {
		case group == 2 && k > 0:
			out += "两" + name
		default:
			out += chineseThousand(group, out == "") + name
		}
	}
	return out
}

// chineseThousand says a number below 10,000; first tells that nothing stands before it.
func chineseThousand(n int64, first bool) string {
	out := ""
	gap := false
	for _, u := range []struct {
		value int64
		name  string
	}{{1000, "千"}, {100, "百"}, {10, "十"}, {1, ""}} {
		digit := n / u.value % 10
		if digit == 0 {
			gap = gap || out != ""
			continue
		}
		if gap {
			out += "零"
			gap = false
		}
		switch {
		case digit == 2 && u.value == 1000:
			out += "两千"
		case digit == 1 && u.value == 10 && out == "" && first:
			out += "十"
		default:
			out += string(chineseDigits[digit]) + u.name
		}
	}
	return out
}

// chineseFigures says digits one by one; one is what 1 is called.
func chineseFigures(digits string, one rune) string {
	var b strings.Builder
	for _, c := range []byte(digits) {
		switch {
		case c == '1':
			b.WriteRune(one)
		case isDigit(c):
			b.WriteRune(chineseDigits[c-'0'])
		}
	}
	return b.String()
}

// chineseClock says a time; no seconds are less than 0.
func chineseClock(h, m, sec int64) string {
	out := chineseNumber(h) + "点"
	if h == 2 {
		out = "两点"
	}
	small := func(n int64, name string) string {
		if n < 10 {
			return "零" + chineseNumber(n) + name
		}
		return chineseNumber(n) + name
	}
	if m > 0 || sec > 0 {
		if m == 0 {
			out += "零分"
		} else {
			out += small(m, "分")
		}
	}
	if sec > 0 {
		out += small(sec, "秒")
	}
	return out
}

// chineseAmount says a numeral, with its sign.
func (v *vocabulary) chineseAmount(sign, n string) string {
	return strings.Join(append(v.negative(sign), v.number(n, false)...), "")
}

// counted2 are the characters before which 2 is 两.
const counted2 = "个位名只条张件本次天周岁元块毛角米升里斤吨克公平立毫厘千万亿小分秒点倍种类组项家间台辆部把支枝棵朵颗头匹艘架座栋幢层道份瓶杯碗盘袋包箱盒双对套顿群批片滴口回遍趟下声步者人国省市边端年英海美欧港寸尺亩对届场篇章首段句排行列页轮度股桶节课门幅封根株粒副款样派所扇盏面处笔代"

// countedAs says a number before what is counted: 2 is 两.
func (v *vocabulary) countedAs(n, next string) string {
	if n == "2" && next != "" && strings.ContainsRune(counted2, firstRune(next)) && !strings.HasPrefix(next, "年级") && !strings.HasPrefix(next, "分之") && !strings.HasPrefix(next, "月") && !strings.HasPrefix(next, "代") {
		return "两"
	}
	return strings.Join(v.number(n, false), "")
}

// behind reports whether one of the words stands within a few characters before the scanner, in
// the same clause.
func (s *scanner) behind(words string) bool {
	from := s.i
	for n := 0; from > 0 && n < 8; n++ {
		r, k := lastRune(s.text[:from])
		if !unicode.IsLetter(r) && !strings.ContainsRune(" :：是为“\"（(+-", r) {
			break
		}
		from -= k
	}
	before := s.text[from:s.i]
	return slices.ContainsFunc(strings.Fields(words), func(w string) bool { return strings.Contains(before, w) })
}

// called reports whether one of the words stands before the scanner, or has what joins a number to
// its name behind it.
func (s *scanner) called(words string) bool {
	before := strings.TrimRight(s.text[max(0, s.i-lookahead):s.i], " :：是为号码")
	return slices.ContainsFunc(strings.Fields(words), func(w string) bool { return strings.HasSuffix(before, w) })
}

// directly reports whether the character before the scanner is one of a set.
func (s *scanner) directly(set string) bool {
	r, k := lastRune(s.text[:s.i])
	return k > 0 && strings.ContainsRune(set, r)
}
