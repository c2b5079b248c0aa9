package lang

import (
	"cmp"
	"strings"
	"sync"
	"unicode/utf8"
)

// chineseUnits are those that are written in Latin letters or signs.
var chineseUnits = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"km/h": "公里每小时", "m/s": "米每秒", "km²": "平方公里", "km2": "平方公里", "m²": "平方米", "m2": "平方米", "m³": "立方米", "m3": "立方米", "cm²": "平方厘米", "cm³": "立方厘米", "km": "公里", "m": "米", "cm": "厘米", "mm": "毫米", "nm": "纳米", "μm": "微米", "um": "微米",
		"kg": "公斤", "g": "克", "mg": "毫克", "t": "吨", "L": "升", "l": "升", "ml": "毫升", "mL": "毫升", "h": "小时", "min": "分钟", "s": "秒", "ms": "毫秒", "W": "瓦", "kW": "千瓦", "MW": "兆瓦", "GW": "吉瓦", "kWh": "千瓦时", "V": "伏", "kV": "千伏", "mAh": "毫安时", "mA": "毫安", "Hz": "赫兹", "kHz": "千赫兹", "MHz": "兆赫兹", "GHz": "吉赫兹",
		"dB": "分贝", "Pa": "帕", "kPa": "千帕", "MPa": "兆帕", "cal": "卡", "kcal": "千卡", "kJ": "千焦", "J": "焦", "N": "牛", "Ω": "欧姆", "lb": "磅", "ft": "英尺", "mph": "英里每小时", "rpm": "转每分钟", "㎡": "平方米", "㎏": "公斤", "㎞": "公里", "㎝": "厘米", "㎜": "毫米", "°": "度", "bps": "比特每秒", "Mbps": "兆比特每秒", "px": "像素", "ppm": "百万分之一", "mol": "摩尔",
	}
})

// chineseMoney are signs and codes of money, and what it is called behind the amount.
var chineseMoney = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"¥": "元", "CN¥": "元", "RMB": "元", "CNY": "元", "JP¥": "日元", "JPY": "日元", "$": "美元", "US$": "美元", "USD": "美元", "HK$": "港元", "HKD": "港元", "NT$": "新台币", "TWD": "新台币", "A$": "澳元", "AUD": "澳元", "C$": "加元", "CAD": "加元", "S$": "新加坡元", "SGD": "新加坡元",
		"€": "欧元", "EUR": "欧元", "£": "英镑", "GBP": "英镑", "₹": "卢比", "INR": "卢比", "₩": "韩元", "KRW": "韩元", "CHF": "瑞士法郎", "RUB": "卢布", "R$": "雷亚尔",
	}
})

// What stands before numbers that are said digit by digit, as telephone numbers and as others are.
const (
	chinesePhones  = "电话 拨打 热线 手机 致电 拨通 分机 传真 座机 呼叫 打 拨 拨了 打了"
	chineseNumbers = "编号 密码 邮编 验证码 工号 学号 尾号 账号 帐号 卡号 代码 型号 证号 单号 订单 航班 代 区 QQ 微信 房 门牌 身份证 银行卡 车牌 编 证 单"
	chineseScores  = "比分 比数 以 大胜 战胜 击败 领先 落后 战平 小胜 惜败 不敌"
)

// chinesePatterns compiles the patterns of Mandarin once. Longer and stricter forms stand before
// those they contain.
func chinesePatterns(v *vocabulary) func() []pattern {
	return sync.OnceValue(func() []pattern {
		const (
			num    = `(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)`
			to     = ` ?(?:-|–|—|~|至|到) ?`
			scale  = `(万亿|[千百]万|[千百十]亿|亿|万|千)?`
			places = `(?:房间|号房|室|宿舍|教室|房)`
		)
		units, money := alternatives(chineseUnits()), alternatives(chineseMoney())
		date := func(_ *scanner, m []string) string {
			return strings.Join(v.day(m[3], m[2], m[1]), "")
		}
		amount, figures := v.chineseAmount, func(digits string) string { return chineseFigures(digits, '一') }
		phone := func(_ *scanner, m []string) string { return strings.Join(v.phoned(m[0]), "") }
		return []pattern{
			// Dates, times and years.
			at(`(\d{4})-(\d{1,2})-(\d{1,2})T(\d{2}):(\d{2})(?::\d{2})?Z?`, func(s *scanner, m []string) string {
				if d := date(s, m); d != "" && atoi(m[4]) < 25 && atoi(m[5]) < 60 {
					return d + "," + chineseClock(atoi(m[4]), atoi(m[5]), -1)
				}
				return ""
			}),
			at(`(\d{4})-(\d{1,2})-(\d{1,2})`, date), at(`(\d{4})/(\d{1,2})/(\d{1,2})`, date), at(`(\d{4})\.(\d{1,2})\.(\d{1,2})`, date),
			at(`((?:19|20)\d\d)[-/](0[1-9]|1[0-2])`, func(_ *scanner, m []string) string { return figures(m[1]) + "年" + chineseNumber(atoi(m[2])) + "月" }),
			at(`(\d{4})年?`+to+`(\d{4})(年)`, func(_ *scanner, m []string) string { return figures(m[1]) + "年到" + figures(m[2]) + "年" }),
			at(`(\d{4})(年|届|级)`, func(s *scanner, m []string) string {
				after := s.after(m[0])
				n := atoi(m[1])
				long := n%1000 == 0 && n != 2000 || n%100 == 0 && (strings.HasPrefix(after, "前") || strings.HasPrefix(after, "来") || strings.HasPrefix(after, "间") || strings.HasPrefix(after, "的") || strings.HasPrefix(after, "历史"))
				if long || n < 1000 && m[1][0] != '0' || s.directly("近约达") {
					return ""
				}
				return figures(m[1]) + m[2]
			}),
			at(`(0\d|[5-9][1-9])(年)`, func(s *scanner, m []string) string {
				after := s.after(m[0])
				if m[1][0] != '0' && (after != "" && strings.ContainsRune("代来前后间的多以了里内历级", firstRune(after)) || s.directly("第近约了有过")) {
					return ""
				}
				return figures(m[1]) + m[2]
			}),
			at(`([06-9]0|[0-9]5|10)后`, func(_ *scanner, m []string) string { return figures(m[1]) + "后" }),
			at(`(\d{1,2}):([0-5]\d)`+to+`(\d{1,2}):([0-5]\d)`, func(_ *scanner, m []string) string {
				if atoi(m[1]) > 24 || atoi(m[3]) > 24 {
					return ""
				}
				return chineseClock(atoi(m[1]), atoi(m[2]), -1) + "到" + chineseClock(atoi(m[3]), atoi(m[4]), -1)
			}),
			at(`(\d{1,2}):([0-5]\d)(?::([0-5]\d))?(?: ?([AaPp])\.?[Mm]\b\.?)?`, func(s *scanner, m []string) string {
				if atoi(m[1]) > 24 || s.behind(chineseScores) {
					return ""
				}
				sec := int64(-1)
				if m[3] != "" {
					sec = atoi(m[3])
				}
				half := map[string]string{"a": "上午", "p": "下午"}[strings.ToLower(m[4])]
				return half + chineseClock(atoi(m[1]), atoi(m[2]), sec)
			}),
			at(`(`+num+`) ?: ?(`+num+`)(?: ?: ?(`+num+`))?`, func(_ *scanner, m []string) string {
				out := amount("", m[1]) + "比" + amount("", m[2])
				if m[3] != "" {
					out += "比" + amount("", m[3])
				}
				return out
			}),

			// Telephone numbers and others that are said digit by digit.
			at(`(?:\+?86[- ]?)?1[3-9]\d(?:[- ]?\d{4}){2}`, phone), at(`0\d{2,3}-\d{7,8}(?:-\d{1,5})?|[48]00-?\d{3}-?\d{4}|\+\d{1,3}(?:[ -]\d{2,5}){2,4}|\+\d{6,15}`, phone),
			at(`\d{3,}(?:-\d{3,})*`, func(s *scanner, m []string) string {
				switch {
				case strings.ContainsRune(counted2, firstRune(s.after(m[0]))): // so many of something
				case s.called(chinesePhones):
					return phone(s, m)
				case s.called(chineseNumbers):
					return figures(m[0])
				}
				return ""
			}),
			at(`12306|10086|10010|12315`, phone),
			at(`(\d{3,4})(`+places+`)`, func(_ *scanner, m []string) string { return figures(m[1]) + m[2] }),
			at(`(\d{3})(路)`, func(_ *scanner, m []string) string { return figures(m[1]) + m[2] }),
			at(`(?:No\.|NO\.|№) ?(\d+)`, func(_ *scanner, m []string) string { return "第" + amount("", m[1]) }),

			// Money.
			at(`([-−]?)(`+money+`) ?(`+num+`)(?:`+to+`(?:`+money+`)?(`+num+`))? ?`+scale+`元?`, func(_ *scanner, m []string) string {
				out := amount(m[1], trimmed(m[3]))
				if m[4] != "" {
					out += "到" + amount("", trimmed(m[4]))
				} else if m[1] == "" {
					out = v.countedAs(trimmed(m[3]), m[5]+chineseMoney()[m[2]])
				}
				return out + m[5] + chineseMoney()[m[2]]
			}),
			at(`([-−]?)(`+num+`) ?`+scale+` ?(`+money+`)\b`, func(_ *scanner, m []string) string {
				return amount(m[1], trimmed(m[2])) + m[3] + chineseMoney()[m[4]]
			}),
			at(`([-−]?)(`+num+`) ?`+scale+` ?([€£₹₩])`, func(_ *scanner, m []string) string {
				return amount(m[1], trimmed(m[2])) + m[3] + chineseMoney()[m[4]]
			}),

			// Percentages, degrees and units.
			at(`([-−]?)(`+num+`)%?`+to+`(`+num+`) ?([%‰])`, func(_ *scanner, m []string) string {
				return hundredth(m[4]) + amount(m[1], m[2]) + "到" + hundredth(m[4]) + amount("", m[3])
			}),
			at(`([-−+]?)(`+num+`) ?([%‰])`, func(_ *scanner, m []string) string {
				if m[1] == "+" {
					return "正" + hundredth(m[3]) + amount("", m[2])
				}
				return strings.Join(v.negative(m[1]), "") + hundredth(m[3]) + amount("", m[2])
			}),
			at(`([-−]?)(`+num+`)(?:(?:°C?|℃)?`+to+`([-−]?)(`+num+`))? ?(°C|℃|°F|℉)`, func(_ *scanner, m []string) string {
				below := func(sign, n string) string {
					if sign != "" {
						return "零下" + amount("", n)
					}
					return amount("", n)
				}
				out := below(m[1], m[2])
				if m[4] != "" {
					out += "到" + below(m[3], m[4])
				}
				if strings.HasSuffix(m[5], "F") || m[5] == "℉" {
					return out + "华氏度"
				}
				return out + "摄氏度"
			}),
			at(`([-−]?)(`+num+`)(?:`+to+`(`+num+`))? ?(`+units+`)`, func(_ *scanner, m []string) string {
				unit := chineseUnits()[m[4]]
				if m[3] != "" {
					return amount(m[1], m[2]) + "到" + v.countedAs(m[3], unit) + unit
				}
				return strings.Join(v.negative(m[1]), "") + v.countedAs(m[2], unit) + unit
			}),
			at(`(`+num+`)w`, func(_ *scanner, m []string) string { return amount("", m[1]) + "万" }),
			at(`/(月|年|天|日|小时|分钟|分|秒|斤|公斤|千克|吨|人|次|个|台|股|平方米|平米|㎡|m²|kg|h|s)`, func(s *scanner, m []string) string {
				if !s.directly("元块角分吨斤克米里升次个人件度") && !strings.HasSuffix(s.text[:s.i], "℃") {
					return ""
				}
				if unit := chineseUnits()[m[1]]; unit != "" {
					return "每" + unit
				}
				return "每" + m[1]
			}),

			// Sums, powers, versions, ranges and fractions.
			at(`(`+num+`) ?([-−+×xX*÷/]) ?(`+num+`) ?= ?(`+num+`)`, func(_ *scanner, m []string) string {
				sign := cmp.Or(map[string]string{"-": "减", "−": "减", "+": "加", "÷": "除以", "/": "除以"}[m[2]], "乘以")
				return amount("", m[1]) + sign + amount("", m[3]) + "等于" + amount("", m[4])
			}),
			at(`(`+num+`)\^([-−]?)(\d+)`, func(_ *scanner, m []string) string {
				return amount("", m[1]) + "的" + amount(m[2], m[3]) + "次方"
			}),
			at(`(`+num+`) ?[xX×*] ?(`+num+`)`, func(_ *scanner, m []string) string { return amount("", m[1]) + "乘" + amount("", m[2]) }),
			at(`\d+(?:\.\d+){2,}`, func(_ *scanner, m []string) string {
				var out []string
				for _, part := range strings.Split(m[0], ".") {
					if len(part) > 2 {
						out = append(out, figures(part))
					} else {
						out = append(out, strings.Join(v.whole(part, false), ""))
					}
				}
				return strings.Join(out, "点")
			}),
			at(`(?:(\d{1,4}) )?(\d{1,4})/(\d{1,4})`, func(_ *scanner, m []string) string {
				return strings.Join(v.part(m[1], m[2], m[3]), "")
			}),
			at(`(`+num+`)`+to+`(`+num+`)`, func(s *scanner, m []string) string {
				if s.behind(chineseScores) {
					return amount("", m[1]) + "比" + amount("", m[2])
				}
				return amount("", m[1]) + "到" + v.countedAs(m[2], s.after(m[0]))
			}),
			at(`([-−])(`+num+`)`, func(_ *scanner, m []string) string { return amount(m[1], m[2]) }),
			at(`(`+num+`)`, func(s *scanner, m []string) string {
				if s.directly("第初十") {
					return amount("", m[1])
				}
				return v.countedAs(m[1], s.after(m[0]))
			}),
		}
	})
}

// after is what stands behind the next bytes, which are those of a pattern's match.
func (s *scanner) after(match string) string {
	return strings.TrimLeft(s.text[min(len(s.text), s.i+lengthBefore(s.text[s.i:], len(match))):], " ")
}

// hundredth is what a percentage begins with.
func hundredth(sign string) string {
	if sign == "‰" {
		return "千分之"
	}
	return "百分之"
}

// trimmed is an amount of money without zeros at the end of its fraction.
func trimmed(n string) string {
	if strings.Contains(n, ".") {
		return strings.TrimRight(strings.TrimRight(n, "0"), ".")
	}
	return n
}

func lastRune(s string) (rune, int) { return utf8.DecodeLastRuneInString(s) }
