//go:build !js

package lang

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// japaneseVocabulary is how numbers and signs are said in Japanese, in katakana.
func japaneseVocabulary() *vocabulary {
	v := &vocabulary{
		cardinal: func(n int64, _ bool) []string { return strings.Fields(japaneseNumber(n)) },
		ordinal:  func(n int64, _ bool) []string { return strings.Fields("ダイ" + japaneseNumber(n)) },
		english:  true, point: "テン", to: "カラ", over: "ブンノ", and: "ト", lower: true, begins: "(HNACS~〜≈<>=±№#^〒'",
		date: func(_ *vocabulary, d, m, y int64) []string {
			out := countJapanese(m, "月") + " " + japaneseDay(d)
			if y > 0 {
				out = countJapanese(y, "年") + " " + out
			}
			return strings.Fields(out)
		},
		clock:  func(_ *vocabulary, h, m int64) []string { return strings.Fields(japaneseClock(h, m, -1)) },
		phoned: japanesePhone,
		signs: map[rune]string{'%': "パーセント", '‰': "パーミル", '&': "アンド", '+': "プラス", '−': "マイナス", '@': "アットマーク", '=': "イコール", '×': "カケル", '÷': "ワル", '±': "プラスマイナス", '<': "ショーナリ", '>': "ダイナリ", '≤': "ショーナリイコール", '≥': "ダイナリイコール", '≠': "ノットイコール", '≈': "ニアリーイコール",
			'#': "シャープ", '°': "ド", '℃': "ド", '℉': "カシド", '€': "ユーロ", '$': "ドル", '£': "ポンド", '¥': "エン", '₹': "ルピー", '₩': "ウォン", '∞': "ムゲンダイ", '©': "コピーライト", '™': "トレードマーク", '§': "セクション", '²': "ノ ニジョー", '³': "ノ サンジョー", '√': "ルート", '〒': "ユービン バンゴー", '※': "コメジルシ",
			'½': "ニブンノイチ", '¼': "ヨンブンノイチ", '¾': "ヨンブンノサン", '⅓': "サンブンノイチ", '⅔': "サンブンノニ", '.': "テン", 'π': "パイ", 'μ': "ミュー", 'α': "アルファ", 'β': "ベータ", 'γ': "ガンマ", 'δ': "デルタ", 'ε': "イプシロン", 'θ': "シータ", 'λ': "ラムダ", 'σ': "シグマ", 'φ': "ファイ", 'ω': "オメガ", 'Ω': "オーム", 'Σ': "シグマ", 'Δ': "デルタ",
			'Ⅰ': "イチ", 'Ⅱ': "ニ", 'Ⅲ': "サン", 'Ⅳ': "ヨン", 'Ⅴ': "ゴ", 'Ⅵ': "ロク", 'Ⅶ': "ナナ", 'Ⅷ': "ハチ", 'Ⅸ': "キュー", 'Ⅹ': "ジュー", 'Ⅺ': "ジューイチ", 'Ⅻ': "ジューニ",
			'㈱': "カブシキガイシャ", '㈲': "ユーゲンガイシャ", '㍿': "カブシキガイシャ", '㍾': "メージ", '㍽': "タイショー", '㍼': "ショーワ", '㍻': "ヘーセー", '㋿': "レーワ",
			'㍉': "ミリ", '㌔': "キロ", '㌢': "センチ", '㍍': "メートル", '㌘': "グラム", '㌧': "トン", '㌃': "アール", '㌶': "ヘクタール", '㍑': "リットル", '㍗': "ワット", '㌍': "カロリー", '㌦': "ドル", '㌣': "セント", '㌫': "パーセント", '㍊': "ミリバール", '㌻': "ページ",
			'㎡': "ヘーホーメートル", '㎥': "リッポーメートル", '㎏': "キログラム", '㎞': "キロメートル", '㎝': "センチメートル", '㎜': "ミリメートル", '㎎': "ミリグラム", '㏄': "シーシー"},
	}
	v.patterns = japanesePatterns(v)
	return v
}

var (
	japaneseDigits = []string{"ゼロ", "イチ", "ニ", "サン", "ヨン", "ゴ", "ロク", "ナナ", "ハチ", "キュー"}
	// Figures one by one: those of one mora are drawn out.
	japaneseFigures = []string{"ゼロ", "イチ", "ニー", "サン", "ヨン", "ゴー", "ロク", "ナナ", "ハチ", "キュー"}
)

// japaneseGroups are the names of 10,000 and its powers, the highest first.
var japaneseGroups = []struct {
	value int64
	name  string
}{{1_0000_0000_0000, "チョー"}, {1_0000_0000, "オク"}, {1_0000, "マン"}, {1, ""}}

// japaneseNumber says a whole number, with a space behind each power of 10,000.
func japaneseNumber(n int64) string {
	if n == 0 {
		return "ゼロ"
	}
	var out []string
	for _, g := range japaneseGroups {
		group := n / g.value
		n %= g.value
		if group == 0 {
			continue
		}
		var said string
		if group >= 10_000 {
			said = strings.ReplaceAll(japaneseNumber(group), " ", "")
		} else {
			said = japaneseThousand(group, g.name != "")
		}
		if g.name == "チョー" {
			said = hardened(said, "ト")
		}
		out = append(out, said+g.name)
	}
	return strings.Join(out, " ")
}

// japaneseThousand says a number from 1 to 9,999; one thousand is イッセン before a name.
func japaneseThousand(n int64, named bool) string {
	out := ""
	switch d := n / 1000; d {
	case 0:
	case 1:
		out = "セン"
		if named {
			out = "イッセン"
		}
	case 3:
		out = "サンゼン"
	case 8:
		out = "ハッセン"
	default:
		out = japaneseDigits[d] + "セン"
	}
	switch d := n / 100 % 10; d {
	case 0:
	case 1:
		out += "ヒャク"
	case 3:
		out += "サンビャク"
	case 6:
		out += "ロッピャク"
	case 8:
		out += "ハッピャク"
	default:
		out += japaneseDigits[d] + "ヒャク"
	}
	switch d := n / 10 % 10; d {
	case 0:
	case 1:
		out += "ジュー"
	default:
		out += japaneseDigits[d] + "ジュー"
	}
	if d := n % 10; d > 0 {
		out += japaneseDigits[d]
	}
	return out
}

// A counter is what is counted, and how numbers sound before it.
type counter struct {
	kana   string
	three  string           // its kana behind 3, some and thousands; "" as it is
	lasts  map[int64]string // what 4, 7 or 9 at the end of a number is
	names  map[int64]string // numbers with it that are a word of their own
	loan   bool             // from other languages: only ten changes
	pFour  bool             // フン is プン behind 4 too
	always bool             // its beginning does not change, and numbers do not either
}

// counters are words behind numbers with their kana. Options: the kana behind 3 after "3", what 4, 7 and 9 are
// after them, p where 4 makes ハ パ, = where nothing changes, + where it comes from another language.
const counters = `
本 ホン 3ボン; 匹 ヒキ 3ビキ; 杯 ハイ 3バイ; 票 ヒョー 3ビョー; 遍 ヘン 3ベン; 分 フン p; 泊 ハク p; 発 ハツ p; 歩 ホ p; 敗 ハイ p; 拍 ハク p; 版 ハン p; 班 ハン p; 品 ヒン; 編 ヘン; 筆 ヒツ; 犯 ハン p; 腹 フク; 拍子 ビョーシ; 分目 ブンメ; 分咲き ブザキ
回 カイ; 回目 カイメ; 回戦 カイセン; 回生 カイセー; 階 カイ 3ガイ; 階建て カイダテ; 軒 ケン 3ゲン; 件 ケン; 個 コ; 箇 コ; 個所 カショ; 箇所 カショ; か所 カショ; カ所 カショ; ヶ所 カショ; ヵ所 カショ; ケ所 カショ; か国 カコク; カ国 カコク; ヶ国 カコク; ヵ国 カコク; ケ国 カコク; か国語 カコクゴ; カ国語 カコクゴ; ヶ国語 カコクゴ; か月 カゲツ; カ月 カゲツ; ヶ月 カゲツ; ヵ月 カゲツ; ケ月 カゲツ; 箇月 カゲツ; か年 カネン; カ年 カネン; ヶ年 カネン; か条 カジョー; カ条 カジョー; ヶ条 カジョー
曲 キョク; 巻 カン; 株 カブ; 缶 カン; 機 キ; 基 キ; 脚 キャク; 局 キョク; 句 ク; 桁 ケタ; 校 コー; 戸 コ; 口 クチ; 期 キ; 期生 キセー; 級 キュー; 球 キュー; 区 ク; 課 カ; 組 クミ =; か寺 カジ; 画 カク; 斤 キン; 貫 カン; 海里 カイリ; 日市 カイチ =
歳 サイ; 才 サイ; 歳児 サイジ; 冊 サツ; 隻 セキ; 足 ソク 3ゾク; 種 シュ; 種類 シュルイ; 週 シュー; 週間 シューカン; 周 シュー; 周年 シューネン; 章 ショー; 勝 ショー; 社 シャ; 世紀 セーキ; 世代 セダイ; 世帯 セタイ; 尺 シャク; 席 セキ; 戦 セン; 節 セツ; 色 ショク; 車線 シャセン; 進数 シンスー; 進法 シンポー; 試合 シアイ =; 作 サク; 作目 サクメ; 升 ショー; 寸 スン; 親等 シントー; 斉 セー; 石 コク; 首 シュ; 線 セン; 錠 ジョー; 室 シツ; 賞 ショー; 周目 シューメ; 週目 シューメ
体 タイ; 対 ツイ; 頭 トー; 通 ツー; 通り トーリ =; 点 テン; 丁 チョー; 丁目 チョーメ; 着 チャク; 店 テン; 店舗 テンポ; 滴 テキ; 等 トー; 等分 トーブン; 等賞 トーショー; 党 トー; 都市 トシ; 都府県 トフケン; 棟 トー; 艇 テー; 転 テン; 低 テー; 等星 トーセー; 都道府県 トドーフケン; 坪 ツボ =; 束 タバ =; 粒 ツブ =; 袋 フクロ =; 箱 ハコ =; 皿 サラ =; 玉 タマ =; 株 カブ
人 ニン 4ヨ 7シチ; 人前 ニンマエ 4ヨ 7シチ; 人組 ニングミ 4ヨ; 人乗り ニンノリ 4ヨ 7シチ; 人称 ニンショー; 名 メー; 名様 メーサマ; 年 ネン 4ヨ; 年生 ネンセー 4ヨ; 年代 ネンダイ; 年度 ネンド 4ヨ; 年版 ネンバン; 月 ガツ 4シ 7シチ 9ク; 月号 ガツゴー 4シ 7シチ 9ク; 月期 ガツキ 4シ 7シチ 9ク; 月末 ガツマツ 4シ 7シチ 9ク; 月分 ガツブン 4シ 7シチ 9ク; 月中旬 ガツチュージュン 4シ 7シチ 9ク; 月上旬 ガツジョージュン 4シ 7シチ 9ク; 月下旬 ガツゲジュン 4シ 7シチ 9ク
日 ニチ 7シチ 9ク; 時 ジ 4ヨ 7シチ 9ク; 時間 ジカン 4ヨ 7シチ 9ク; 時間目 ジカンメ 4ヨ 7シチ 9ク; 時限 ジゲン 4ヨ 7シチ 9ク; 秒 ビョー; 円 エン 4ヨ; 銭 セン; 円玉 エンダマ 4ヨ; 円札 エンサツ
番 バン; 番目 バンメ; 番地 バンチ; 番線 バンセン; 番組 バングミ; 番手 バンテ; 番街 バンガイ; 号 ゴー; 号室 ゴーシツ; 号車 ゴーシャ; 号線 ゴーセン; 号機 ゴーキ; 号館 ゴーカン; 倍 バイ; 部 ブ; 部作 ブサク; 部屋 ヘヤ =; 面 メン; 門 モン; 問 モン; 文字 モジ; 両 リョー; 輪 リン; 里 リ; 列 レツ; 話 ワ; 羽 ワ; 割 ワリ; 割引 ワリビキ; 割増 ワリマシ; 厘 リン; 畳 ジョー 4ヨ; 枚 マイ; 枚目 マイメ; 台 ダイ; 台目 ダイメ; 代 ダイ; 代目 ダイメ; 代前半 ダイゼンハン; 代後半 ダイコーハン; 度 ド; 度目 ドメ; 段 ダン; 段階 ダンカイ; 段落 ダンラク; 打席 ダセキ; 打点 ダテン; 安打 アンダ; 得点 トクテン; 失点 シッテン; 行 ギョー; 行目 ギョーメ; 語 ゴ; 条 ジョー; 条件 ジョーケン; 次 ジ; 次元 ジゲン; 字 ジ; 児 ジ; 男 ナン; 女 ジョ; 位 イ; 院 イン; 駅 エキ; 園 エン; 議席 ギセキ; 言語 ゲンゴ; 合 ゴー; 合目 ゴーメ; 限目 ゲンメ; 時台 ジダイ 4ヨ 7シチ 9ク; 重 ジュー; 重奏 ジューソー; 乗 ジョー; 場所 バショ; 番勝負 バンショーブ; 膳 ゼン; 俵 ヒョー; 便 ビン; 尾 ビ; 幕 マク; 盤 バン; 万 マン; 味 ミ; 夜 ヤ; 要素 ヨーソ; 葉 ヨー; 浪 ロー; 路線 ロセン; 枠 ワク; 隊 タイ =; 代表 ダイヒョー =; 団体 ダンタイ; 大学 ダイガク =; 作品 サクヒン =; 地区 チク =; 地点 チテン =; 項目 コーモク =; 法人 ホージン =; 部門 ブモン =; 分野 ブンヤ =; 家族 カゾク =; 大会 タイカイ =; 拠点 キョテン =; 路 ロ; 車 シャ; 次元 ジゲン; 箇条 カジョー; 晩 バン; 世 セー; 世代目 セダイメ
パーセント パーセント +; ポイント ポイント +; ページ ページ +; 頁 ページ +; ポンド ポンド +; パック パック +; セット セット +; センチ センチ; センチメートル センチメートル; トン トン; キロ キロ +; キロメートル キロメートル +; キログラム キログラム +; キロワット キロワット +; カロリー カロリー +; ケース ケース +; カップ カップ +; コース コース +; クラス クラス +; チーム チーム +; シーズン シーズン +; ステップ ステップ +; テラバイト テラバイト +; ヘクタール ヘクタール +; ヘルツ ヘルツ +; フィート フィート +; フロア フロア +; フラン フラン +; タイトル タイトル +; タイプ タイプ +; コマ コマ; カット カット +; サイズ サイズ +; サイクル サイクル +; ピース ピース +; ペソ ペソ +; ペア ペア +; パターン パターン +; パーミル パーミル +; シーシー シーシー +; ホール ホール +; ホーン ホーン +; テスラ テスラ +; トラック トラック +; カラット カラット +; ケルビン ケルビン +; キロバイト キロバイト +; キロヘルツ キロヘルツ +; キロカロリー キロカロリー +; ヘクトパスカル ヘクトパスカル +; パスカル パスカル +; テラ テラ +; ピクセル ピクセル +
`

// japaneseNames are numbers with what they count that are words of their own.
var japaneseNames = map[string]map[int64]string{
	"人":   {1: "ヒトリ", 2: "フタリ"},
	"人組":  {2: "フタリグミ"},
	"人乗り": {1: "ヒトリノリ", 2: "フタリノリ"},
	"日":   {2: "フツカ", 3: "ミッカ", 4: "ヨッカ", 5: "イツカ", 6: "ムイカ", 7: "ナノカ", 8: "ヨーカ", 9: "ココノカ", 10: "トーカ", 14: "ジューヨッカ", 20: "ハツカ", 24: "ニジューヨッカ"},
	"つ":   {1: "ヒトツ", 2: "フタツ", 3: "ミッツ", 4: "ヨッツ", 5: "イツツ", 6: "ムッツ", 7: "ナナツ", 8: "ヤッツ", 9: "ココノツ"},
	"歳":   {20: "ハタチ"}, "才": {20: "ハタチ"},
	"部屋": {1: "ヒトヘヤ", 2: "フタヘヤ"}, "晩": {1: "ヒトバン", 2: "フタバン"}, "通り": {1: "ヒトトーリ", 2: "フタトーリ"}, "束": {1: "ヒトタバ", 2: "フタタバ"}, "粒": {1: "ヒトツブ", 2: "フタツブ"},
	"袋": {1: "ヒトフクロ", 2: "フタフクロ"}, "箱": {1: "ヒトハコ", 2: "フタハコ"}, "皿": {1: "ヒトサラ", 2: "フタサラ"}, "玉": {1: "ヒトタマ", 2: "フタタマ"}, "口": {1: "ヒトクチ", 2: "フタクチ"}, "株": {1: "ヒトカブ", 2: "フタカブ"}, "桁": {1: "ヒトケタ", 2: "フタケタ"}, "坪": {1: "ヒトツボ", 2: "フタツボ"},
	"時": {0: "レージ"}, "度": {0: "レード"}, "点": {0: "レーテン"}, "羽": {3: "サンバ"}, "重": {1: "イチジュー"},
	"男": {1: "チョーナン", 2: "ジナン"}, "女": {1: "チョージョ", 2: "ジジョ"}, "等星": {1: "イットーセー"},
}

// counterTable is counters, read.
var counterTable = sync.OnceValue(func() map[string]counter {
	out := map[string]counter{"つ": {names: japaneseNames["つ"]}}
	for _, line := range strings.FieldsFunc(counters, func(r rune) bool { return r == ';' || r == '\n' }) {
		fields := strings.Fields(line)
		c := counter{kana: fields[1], lasts: map[int64]string{}, names: japaneseNames[fields[0]]}
		for _, f := range fields[2:] {
			switch f[0] {
			case '3':
				c.three = f[1:]
			case 'p':
				c.pFour = true
			case '+':
				c.loan = true
			case '=':
				c.always = true
			default:
				c.lasts[int64(f[0]-'0')] = f[1:]
			}
		}
		out[fields[0]] = c
	}
	return out
})

// countJapanese says a number of what the table counters has.
func countJapanese(n int64, what string) string {
	c := counterTable()[what]
	if name := c.names[n]; name != "" {
		return name
	}
	said := japaneseNumber(n)
	if last := c.lasts[n%10]; last != "" && n > 0 {
		said = strings.TrimSuffix(said, japaneseDigits[n%10]) + last
	}
	return c.behind(said)
}

// behind puts what is counted behind a number in katakana.
func (c counter) behind(said string) string {
	first, n := utf8.DecodeRuneInString(c.kana)
	voiced := strings.HasSuffix(said, "サン") || strings.HasSuffix(said, "ナン") || strings.HasSuffix(said, "セン") || strings.HasSuffix(said, "ゼン") || strings.HasSuffix(said, "マン")
	switch {
	case c.always || c.kana == "":
		return said + c.kana
	case c.loan:
		if strings.HasSuffix(said, "ジュー") && rowOf(first) != "" {
			said = strings.TrimSuffix(said, "ー") + "ッ"
		}
		return said + c.kana
	}
	hard := hardened(said, rowOf(first))
	i := strings.IndexRune("ハヒフヘホ", first)
	switch {
	case hard != said && i >= 0:
		return hard + string([]rune("パピプペポ")[i/3]) + c.kana[n:]
	case hard != said:
		return hard + c.kana
	case voiced && c.three != "":
		return said + c.three
	case voiced && i >= 0, c.pFour && strings.HasSuffix(said, "ヨン"):
		return said + string([]rune("パピプペポ")[i/3]) + c.kana[n:]
	}
	return said + c.kana
}

// rowOf returns the first kana of the row of those that change numbers before them, or "".
func rowOf(r rune) string {
	for _, row := range []string{"カキクケコ", "サシスセソ", "タチツテト", "ハヒフヘホ", "パピプペポ"} {
		if strings.ContainsRune(row, r) {
			return row[:3]
		}
	}
	return ""
}

// hardened is a number in katakana before a kana of a row: イッ for イチ, and so on.
func hardened(said, row string) string {
	if row == "" {
		return said
	}
	labial := row == "ハ" || row == "パ"
	for _, change := range []struct {
		from, to string
		holds    bool
	}{
		{"イチ", "イッ", true}, {"ハチ", "ハッ", true}, {"ジュー", "ジュッ", true},
		{"ロク", "ロッ", row == "カ" || labial}, {"ャク", "ャッ", row == "カ" || labial},
	} {
		if change.holds && strings.HasSuffix(said, change.from) {
			return strings.TrimSuffix(said, change.from) + change.to
		}
	}
	return said
}

// japaneseDay says a day of a month.
func japaneseDay(d int64) string {
	if d == 1 {
		return "ツイタチ"
	}
	return countJapanese(d, "日")
}

// japaneseClock says a time; no seconds are less than 0.
func japaneseClock(h, m, sec int64) string {
	out := countJapanese(h, "時")
	if m > 0 || sec > 0 {
		out += " " + countJapanese(m, "分")
	}
	if sec > 0 {
		out += " " + countJapanese(sec, "秒")
	}
	return out
}

// japanesePhone says figures one by one, with a pause between groups.
func japanesePhone(s string) []string {
	var out []string
	for _, group := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" .-()/", r) }) {
		if out != nil {
			out = append(out, ",")
		}
		if strings.HasPrefix(group, "+") {
			group, out = group[1:], append(out, "プラス")
		}
		out = append(out, figuresJapanese(group))
	}
	return out
}

// figuresJapanese says figures one by one.
func figuresJapanese(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if isDigit(c) {
			b.WriteString(japaneseFigures[c-'0'])
		}
	}
	return b.String()
}

// A sum is an amount in katakana; n is its value where it is a whole number, or -1.
type sum struct {
	said string
	n    int64
}

// japaneseAmount reads an amount: figures with commas and a fraction, and numerals in kanji, behind figures or
// without. It says nothing of what is none.
func japaneseAmount(s string) (sum, bool) {
	s = strings.ReplaceAll(s, ",", "")
	if whole, rest, ok := strings.Cut(s, "."); ok {
		fraction := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
		return sum{japaneseDecimal(whole, fraction) + japaneseScale(rest[len(fraction):]), -1}, fraction != ""
	}
	if digitsOf(s) == s && (len(s) > 15 || len(s) > 1 && s[0] == '0') {
		return sum{figuresJapanese(s), -1}, s != ""
	}
	n, ok := kanjiValue(s)
	if !ok {
		return sum{}, false
	}
	return sum{japaneseNumber(n), n}, true
}

// japaneseScale is what a power of ten behind a fraction is called.
func japaneseScale(s string) string {
	out := ""
	for _, r := range s {
		out += map[rune]string{'十': "ジュー", '百': "ヒャク", '千': "セン", '万': "マン", '億': "オク", '兆': "チョー"}[r]
	}
	return out
}

// japaneseDecimal says a number with a fraction.
func japaneseDecimal(whole, fraction string) string {
	n := atoi(whole)
	said := strings.ReplaceAll(japaneseNumber(n), " ", "")
	switch {
	case n == 0:
		said = "レー"
	case n%10 == 2 || n%10 == 5:
		said += "ー"
	default:
		said = hardened(said, "タ")
	}
	if len(fraction) == 1 {
		return said + "テン" + japaneseDigits[fraction[0]-'0']
	}
	return said + "テン" + figuresJapanese(fraction)
}

// kanjiValue is the value of a number in figures, kanji or both, and whether it is one: 二〇二四, 三百六十五, 1億2000万.
func kanjiValue(s string) (int64, bool) {
	var total, group, digits int64
	count := 0 // of digits in a row
	for _, r := range s {
		if d := strings.IndexRune("〇一二三四五六七八九", r); d >= 0 || r >= '0' && r <= '9' {
			d /= 3
			if r < 0x80 {
				d = int(r - '0')
			}
			if count++; count > 15 {
				return 0, false
			}
			digits = digits*10 + int64(d)
			continue
		}
		small := map[rune]int64{'十': 10, '百': 100, '千': 1000}[r]
		large := map[rune]int64{'万': 1_0000, '億': 1_0000_0000, '兆': 1_0000_0000_0000}[r]
		switch {
		case small > 0:
			if count == 0 {
				digits = 1
			}
			if group > 0 && group%(small*10) != 0 || digits > 9999 {
				return 0, false
			}
			group += digits * small
		case large > 0:
			group += digits
			if group == 0 || group > 99_9999 || total > 0 && total%(large*10_000) != 0 {
				return 0, false
			}
			total, group = total+group*large, 0
		default:
			return 0, false
		}
		digits, count = 0, 0
	}
	if total > 0 && group+digits > 9999 || s == "" {
		return 0, false
	}
	return total + group + digits, true
}
