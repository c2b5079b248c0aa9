//go:build !js

package lang

import (
	"cmp"
	"strings"
	"sync"
)

// japaneseUnits are those that are written in Latin letters or signs.
var japaneseUnits = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"km/h": "キロ", "m/s": "メートル", "km²": "ヘーホーキロメートル", "km2": "ヘーホーキロメートル", "m²": "ヘーホーメートル", "m2": "ヘーホーメートル", "m³": "リッポーメートル", "m3": "リッポーメートル", "cm²": "ヘーホーセンチメートル", "cm³": "リッポーセンチメートル", "km": "キロメートル", "m": "メートル", "cm": "センチメートル", "mm": "ミリメートル", "nm": "ナノメートル", "μm": "マイクロメートル", "um": "マイクロメートル",
		"kg": "キログラム", "g": "グラム", "mg": "ミリグラム", "t": "トン", "L": "リットル", "l": "リットル", "ℓ": "リットル", "ml": "ミリリットル", "mL": "ミリリットル", "dl": "デシリットル", "dL": "デシリットル", "cc": "シーシー", "ha": "ヘクタール", "h": "時間", "min": "分", "s": "秒", "ms": "ミリビョー",
		"W": "ワット", "kW": "キロワット", "MW": "メガワット", "GW": "ギガワット", "kWh": "キロワットジ", "V": "ボルト", "kV": "キロボルト", "mA": "ミリアンペア", "mAh": "ミリアンペアジ", "Hz": "ヘルツ", "kHz": "キロヘルツ", "MHz": "メガヘルツ", "GHz": "ギガヘルツ",
		"KB": "キロバイト", "kB": "キロバイト", "MB": "メガバイト", "GB": "ギガバイト", "TB": "テラバイト", "bps": "ビーピーエス", "Mbps": "メガビーピーエス", "Gbps": "ギガビーピーエス", "px": "ピクセル", "dpi": "ディーピーアイ", "fps": "エフピーエス",
		"dB": "デシベル", "Pa": "パスカル", "hPa": "ヘクトパスカル", "kPa": "キロパスカル", "MPa": "メガパスカル", "cal": "カロリー", "kcal": "キロカロリー", "kJ": "キロジュール", "Ω": "オーム", "rpm": "アールピーエム", "mol": "モル", "ppm": "ピーピーエム",
		"㎡": "ヘーホーメートル", "㎥": "リッポーメートル", "㎏": "キログラム", "㎞": "キロメートル", "㎝": "センチメートル", "㎜": "ミリメートル", "㎎": "ミリグラム", "㏄": "シーシー", "㌔": "キロ", "㌘": "グラム", "㌧": "トン", "㍑": "リットル", "°": "ド", "℃": "ド", "°C": "ド", "℉": "ド", "°F": "ド",
		"%": "パーセント", "‰": "パーミル", "㌫": "パーセント",
	}
})

// japaneseMoney are signs and codes of money, and what it is called behind the amount.
var japaneseMoney = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"¥": "円", "JP¥": "円", "JPY": "円", "$": "ドル", "US$": "ドル", "USD": "ドル", "€": "ユーロ", "EUR": "ユーロ", "£": "ポンド", "GBP": "ポンド", "₩": "ウォン", "KRW": "ウォン", "CN¥": "ゲン", "RMB": "ゲン", "CNY": "ゲン", "HK$": "ホンコンドル", "HKD": "ホンコンドル", "NT$": "タイワンドル", "TWD": "タイワンドル",
		"A$": "ゴードル", "AUD": "ゴードル", "C$": "カナダドル", "CAD": "カナダドル", "S$": "シンガポールドル", "SGD": "シンガポールドル", "₹": "ルピー", "INR": "ルピー", "CHF": "スイスフラン", "RUB": "ルーブル", "R$": "レアル", "₿": "ビットコイン",
	}
})

var japaneseWeekdays = map[string]string{"日": "ニチヨービ", "月": "ゲツヨービ", "火": "カヨービ", "水": "スイヨービ", "木": "モクヨービ", "金": "キンヨービ", "土": "ドヨービ"}

// behindCounters is what may follow what is counted: 三日間, 二回目.
var behindCounters = map[string]string{"間": "カン", "目": "メ", "前": "マエ", "後": "ゴ", "前半": "ゼンハン", "後半": "コーハン", "前期": "ゼンキ", "後期": "コーキ", "間隔": "カンカク", "以前": "イゼン", "半": "ハン", "分": "ブン", "余り": "アマリ", "強": "キョー", "弱": "ジャク", "頃": "ゴロ", "ごろ": "ゴロ"}

// japanesePatterns compiles the patterns of Japanese once. Longer and stricter forms stand before
// those they contain.
func japanesePatterns(v *vocabulary) func() []pattern {
	return sync.OnceValue(func() []pattern {
		const (
			num    = `(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)`
			scale  = `(?:[十百千]?[万億兆]|[十百千])`
			amount = `(?:` + num + `(?:` + scale + `(?:` + num + scale + `)*(?:\d{1,3},\d{3}|\d{1,4})?)?)`
			sign   = `([-−+±]?)`
		)
		units, money := alternatives(japaneseUnits()), alternatives(japaneseMoney())
		what := alternatives(counterTable())
		behind := alternatives(behindCounters)
		signed := map[string]string{"-": "マイナス ", "−": "マイナス ", "+": "プラス ", "±": "プラスマイナス "}
		amountOf := func(s string) string {
			a, _ := japaneseAmount(s)
			return a.said
		}
		of := func(s, what string) string {
			if len(s) == 2 && what != "" { // 05分
				s = strings.TrimPrefix(s, "0")
			}
			a, ok := japaneseAmount(s)
			switch c, known := counterTable()[what]; {
			case !ok:
				return ""
			case known && a.n >= 0:
				return countJapanese(a.n, what)
			case known:
				return c.behind(a.said)
			}
			return a.said + what
		}
		tail := func(s string) string {
			out := ""
			for s != "" {
				k := len(s)
				for behindCounters[s[:k]] == "" {
					k--
				}
				out, s = out+behindCounters[s[:k]], s[k:]
			}
			return out
		}
		date := func(_ *scanner, m []string) string { return strings.Join(v.day(m[3], m[2], m[1]), " ") }
		phone := func(_ *scanner, m []string) string { return strings.Join(japanesePhone(m[0]), " ") }
		return []pattern{
			// Dates and times.
			at(`(\d{4})-(\d{1,2})-(\d{1,2})T(\d{2}):(\d{2})(?::\d{2})?Z?`, func(s *scanner, m []string) string {
				if d := date(s, m); d != "" && atoi(m[4]) < 25 && atoi(m[5]) < 60 {
					return d + "," + japaneseClock(atoi(m[4]), atoi(m[5]), -1)
				}
				return ""
			}),
			at(`(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})`, date),
			at(`(\d{4})/(0?[1-9]|1[0-2])`, func(_ *scanner, m []string) string {
				return countJapanese(atoi(m[1]), "年") + " " + countJapanese(atoi(m[2]), "月")
			}),
			at(`(1[0-2]|0?[1-9])/(3[01]|[12]\d|0?[1-9]) ?\(([日月火水木金土])\)`, func(_ *scanner, m []string) string {
				return strings.Join(v.day(m[2], m[1], ""), " ") + " " + japaneseWeekdays[m[3]]
			}),
			at(`\(([日月火水木金土])(?:曜日?)?(・祝)?\)`, func(s *scanner, m []string) string {
				if !s.directly("日0123456789") {
					return ""
				}
				said := ", " + japaneseWeekdays[m[1]]
				if m[2] != "" {
					said += " シュクジツ"
				}
				return said
			}),
			at(`(\d{1,2}):([0-5]\d)(?::([0-5]\d))?(?: ?([AaPp])\.?[Mm]\b\.?)?`, func(s *scanner, m []string) string {
				if atoi(m[1]) > 29 {
					return ""
				}
				sec := int64(-1)
				if m[3] != "" {
					sec = atoi(m[3])
				}
				half := map[string]string{"a": "ゴゼン ", "p": "ゴゴ "}[strings.ToLower(m[4])]
				return half + japaneseClock(atoi(m[1]), atoi(m[2]), sec)
			}),
			at(`(\d{1,2})日`, func(s *scanner, m []string) string { // of a month
				d := atoi(m[1])
				if after := s.after(m[0]); d < 1 || d > 31 || strings.HasPrefix(after, "間") || !s.directly("月") {
					return ""
				}
				return japaneseDay(d)
			}),

			// Telephone numbers and others that are said figure by figure.
			at(`0\d{1,4}-\d{1,4}-\d{3,4}|0\d{1,4}\(\d{1,4}\)\d{3,4}|0\d{9,10}|\+\d{1,3}(?:[ -]\d{1,5}){2,4}|\+\d{6,15}`, phone),
			at(`〒? ?(\d{3})-(\d{4})`, func(s *scanner, m []string) string {
				name := ""
				if strings.HasPrefix(m[0], "〒") {
					name = "ユービンバンゴー "
				} else if s.numbered() {
					return phone(s, m)
				}
				return name + figuresJapanese(m[1]) + " ノ " + figuresJapanese(m[2])
			}),
			at(`\d{3,}(?:-\d{3,})*`, func(s *scanner, m []string) string {
				if !s.numbered() {
					return ""
				}
				return phone(s, m)
			}),

			// Fractions, scores, sums, addresses and versions.
			at(`(\d+)分の(\d+)`, func(_ *scanner, m []string) string {
				return amountOf(m[1]) + "ブンノ " + amountOf(m[2])
			}),
			at(`(\d+) ?対 ?(\d+)`, func(_ *scanner, m []string) string { return amountOf(m[1]) + " タイ " + amountOf(m[2]) }),
			at(`(\d+)割(\d)分(?:(\d)厘)?`, func(_ *scanner, m []string) string {
				out := of(m[1], "割") + " " + japaneseDigits[atoi(m[2])] + "ブ"
				if m[3] != "" {
					out += " " + japaneseDigits[atoi(m[3])] + "リン"
				}
				return out
			}),
			at(`(`+num+`) ?([-−+×xX*÷/]) ?(`+num+`) ?= ?(`+num+`)`, func(_ *scanner, m []string) string {
				sign := cmp.Or(map[string]string{"-": "ヒク", "−": "ヒク", "+": "タス", "÷": "ワル", "/": "ワル"}[m[2]], "カケル")
				return amountOf(m[1]) + " " + sign + " " + amountOf(m[3]) + " ワ " + amountOf(m[4])
			}),
			at(`(`+num+`) ?([+×÷]) ?(`+num+`)`, func(_ *scanner, m []string) string {
				return amountOf(m[1]) + " " + map[string]string{"+": "タス", "×": "カケル", "÷": "ワル"}[m[2]] + " " + amountOf(m[3])
			}),
			at(`(`+num+`)\^([-−]?)(\d+)`, func(_ *scanner, m []string) string {
				return amountOf(m[1]) + " ノ " + signed[m[2]] + of(m[3], "乗")
			}),
			at(`\d+(?:\.\d+){2,}`, func(_ *scanner, m []string) string {
				return strings.Join(fieldsSaid(m[0], "."), "テン ")
			}),
			at(`\d{1,4}(?:-\d{1,4}){2,}`, func(_ *scanner, m []string) string {
				return strings.Join(fieldsSaid(m[0], "-"), " ノ ")
			}),
			at(`(?:No\.|NO\.|№) ?(\d+)`, func(_ *scanner, m []string) string { return "ナンバー " + amountOf(m[1]) }),
			at(`'(\d0)年代`, func(_ *scanner, m []string) string { return of(m[1], "年代") }),

			// Money, units, and what is counted.
			at(sign+`(`+money+`) ?(`+amount+`)`, func(_ *scanner, m []string) string {
				return signed[m[1]] + of(m[3], japaneseMoney()[m[2]])
			}),
			at(sign+`(`+amount+`) ?([€£₩₹]|(?:`+money+`)\b)`, func(_ *scanner, m []string) string {
				return signed[m[1]] + of(m[2], japaneseMoney()[m[3]])
			}),
			at(sign+`(`+amount+`)?[〜～~-](`+amount+`)(%|℃|°C|`+units+`)`, func(_ *scanner, m []string) string {
				if m[2] == "" {
					return ""
				}
				return signed[m[1]] + amountOf(m[2]) + " カラ " + of(m[3], japaneseUnits()[m[4]])
			}),
			at(sign+`(`+amount+`) ?(`+units+`)`, func(_ *scanner, m []string) string {
				out := of(m[2], japaneseUnits()[m[3]])
				switch m[3] {
				case "km/h":
					return "ジソク " + signed[m[1]] + out
				case "m/s":
					return "ビョーソク " + signed[m[1]] + out
				case "℉", "°F":
					return "カシ " + signed[m[1]] + out
				}
				return signed[m[1]] + out
			}),
			at(sign+`(`+amount+`)(数|何)(`+what+`)((?:`+behind+`){0,2})`, func(_ *scanner, m []string) string {
				return signed[m[1]] + amountOf(m[2]) + counterTable()[m[4]].behind(map[string]string{"数": "スー", "何": "ナン"}[m[3]]) + tail(m[5])
			}),
			at(sign+`(`+amount+`)(`+what+`)((?:`+behind+`){0,2})`, func(_ *scanner, m []string) string {
				return signed[m[1]] + of(m[2], m[3]) + tail(m[4])
			}),

			// Ranges and what is left.
			at(`[〜～~] ?(`+amount+`)(?:(`+what+`)((?:`+behind+`){0,2}))?`, func(s *scanner, m []string) string {
				if s.i == 0 || s.directly("\n ") {
					return ""
				}
				return "カラ " + of(m[1], m[2]) + tail(m[3])
			}),
			at(`(`+num+`) ?([-–—〜～~]) ?(`+amount+`)(?:(`+what+`)((?:`+behind+`){0,2}))?`, func(_ *scanner, m []string) string {
				between := " カラ "
				if strings.ContainsAny(m[2], "-–—") && m[4] == "" && atoi(m[1]) >= atoi(m[3]) {
					between = " タイ "
				}
				return amountOf(m[1]) + between + of(m[3], m[4]) + tail(m[5])
			}),
			at(`(?:(\d{1,4}) )?(\d{1,4})/(\d{1,4})`, func(_ *scanner, m []string) string {
				out := amountOf(m[3]) + "ブンノ " + amountOf(m[2])
				if m[1] != "" {
					out = amountOf(m[1]) + " ト " + out
				}
				return out
			}),
			at(sign+`(`+amount+`)`, func(_ *scanner, m []string) string { return signed[m[1]] + amountOf(m[2]) }),
		}
	})
}

// numbered reports whether what stands before the scanner is named by figures.
func (s *scanner) numbered() bool {
	before := strings.TrimRight(s.text[max(0, s.i-lookahead):s.i], " :：はが、")
	for _, w := range []string{"電話", "番号", "TEL", "Tel", "パスワード", "コード", "内線", "FAX"} {
		if strings.HasSuffix(before, w) {
			return true
		}
	}
	return false
}

// fieldsSaid says numbers that a sign separates.
func fieldsSaid(s, sep string) []string {
	var out []string
	for _, part := range strings.Split(s, sep) {
		a, _ := japaneseAmount(part)
		out = append(out, a.said)
	}
	return out
}
