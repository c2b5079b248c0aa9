package mandarin

import "strings"

// sandhi changes tones beside others: 一, 不, and third tones before third tones.
func (t *reading) sandhi() {
	all := make([]*Syllable, len(t.chars))
	starts := make([]bool, len(t.chars)+1)
	starts[len(t.chars)] = true
	for k := range t.words {
		w := &t.words[k]
		starts[w.Start] = true
		for j := range w.Said {
			all[w.Start+j] = &w.Said[j]
		}
	}
	for i, r := range t.chars {
		switch {
		case r == '一' && all[i].Tone() == 1:
			*all[i] = t.one(i, all, starts)
		case r == '不' && all[i].Tone() == 4 && i+1 < len(all):
			*all[i] = all[i].in(t.not(i, all))
		}
	}
	t.weak(all, starts)
	t.thirds(all, starts)
}

// weak raises a third tone before a neutral one that was a third: verbs that are said twice, which
// kin are not, and two words.
func (t *reading) weak(all []*Syllable, starts []bool) {
	for i := 0; i+1 < len(t.chars); i++ {
		a, b := t.chars[i], t.chars[i+1]
		if all[i].Tone() != 3 || all[i+1].Tone() != 5 || starts[i+1] {
			continue
		}
		if a == b && !strings.ContainsRune("姐奶姥嫂婶宝", a) || a == '小' && b == '姐' || a == '哪' && b == '里' {
			*all[i] = all[i].in(2)
		}
	}
}

// not is the tone of 不: neutral between a word and itself, else by what follows.
func (t *reading) not(i int, all []*Syllable) int {
	switch {
	case i > 0 && t.chars[i-1] == t.chars[i+1]:
		return 5
	case all[i+1].Tone() == 4:
		return 2
	}
	return 4
}

// Numerals, behind and before which 一 is one of several figures; and what it counts as an ordinal.
const (
	figures  = "零〇一二三四五六七八九幺"
	ordinals = "月号楼级战"
)

// one returns 一 with the tone it has in its place: its own in figures and ordinals and at the end of
// words, a neutral one between a verb and itself, else by what follows.
func (t *reading) one(i int, all []*Syllable, starts []bool) Syllable {
	s := *all[i]
	before, next := t.at(i-1), t.at(i+1)
	switch {
	case next == '#', strings.ContainsRune("第初十", before), strings.ContainsRune(figures, before) && !strings.ContainsRune("百千万亿", next), strings.ContainsRune(figures, next),
		next == '十' && strings.ContainsRune("百千万亿", before), strings.ContainsRune("点比到减加", before) && strings.ContainsRune(figures+"十百千万", t.at(i-2)),
		strings.ContainsRune(ordinals, next) && !starts[i+1], next == '日' && before == '月', next == '又', !starts[i] && starts[i+1]:
		return s
	case before == next:
		return s.in(5)
	case all[i+1].Tone() == 4, all[i+1].Tone() == 5 && t.readings[t.chars[i+1]].Tone() == 4:
		return s.in(2)
	}
	return s.in(4)
}

// thirds raises a third tone before another: in words by their parts of two, then between a word of
// one syllable and its neighbours, those first that are such words both. Between longer words tones
// stay as they are, as speakers differ there.
func (t *reading) thirds(all []*Syllable, starts []bool) {
	raise := func(i int) {
		if i >= 0 && i+1 < len(all) && all[i].Tone() == 3 && all[i+1].Tone() == 3 {
			*all[i] = all[i].in(2)
		}
	}
	single := func(k int) bool { return k >= 0 && k < len(t.words) && t.words[k].End-t.words[k].Start == 1 }
	for k := 0; k < len(t.words); k++ {
		w := t.words[k]
		first := w.Start
		if w.End-w.Start == 3 && !t.has(t.chars[w.Start:w.Start+2]) && t.has(t.chars[w.Start+1:w.End]) {
			first++
		}
		for i := first; i+1 < w.End; i += 2 {
			raise(i)
		}
		for i := w.End - 2; i >= w.Start; i-- {
			raise(i)
		}
		if single(k) && single(k+1) {
			raise(w.Start)
			k++
		}
	}
	for k := len(t.words) - 1; k > 0; k-- {
		if single(k) || single(k-1) {
			raise(t.words[k].Start - 1)
		}
	}
}
