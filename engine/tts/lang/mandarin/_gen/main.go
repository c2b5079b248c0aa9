// Command _gen makes data/mandarin.bin, the lexicon of Mandarin: usual readings of characters,
// simplified characters of traditional ones, and words with how common they are and how they are
// read where their characters do not say so.
//
// It reads, in the folder -dir: pinyin.txt, kMandarin_8105.txt, kMandarin.txt and kTGHZ2013.txt of
// mozillazg/pinyin-data 0.15.0 (MIT; readings of Unicode's Unihan), phrases.txt, which is pinyin.txt of
// mozillazg/phrase-pinyin-data 0.19.0 (MIT), dict.txt.small of fxsjy/jieba (MIT), TSCharacters.txt of
// BYVoid/OpenCC (Apache-2.0); and own.txt beside this file, which comes before all of them.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"quern/engine/tts/lang/mandarin"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "", "`folder` of the sources")
	own := flag.String("own", "_gen/own.txt", "readings of our own")
	out := flag.String("out", "data/mandarin.bin", "file to write")
	least := flag.Int("least", 3, "how often a word must stand in the list of words")
	flag.Parse()
	g := generator{usual: map[rune]mandarin.Syllable{}, simple: map[rune]rune{}, words: map[string]*entry{}}
	if err := g.run(*dir, *own, *out, *least); err != nil {
		log.Fatal(err)
	}
}

// An entry is a word.
type entry struct {
	often int
	said  []mandarin.Syllable // nil: as its characters
}

type generator struct {
	usual  map[rune]mandarin.Syllable
	simple map[rune]rune
	words  map[string]*entry
}

func (g *generator) run(dir, own, out string, least int) error {
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"pinyin.txt", "kMandarin.txt", "kMandarin_8105.txt"} {
		if err := g.characters(at(name)); err != nil {
			return err
		}
	}
	var source map[rune]mandarin.Syllable // readings before those of our own
	for _, step := range []struct {
		file string
		take func(line string) error
	}{
		{at("TSCharacters.txt"), g.traditional},
		{at("dict.txt.small"), func(line string) error { return g.word(line, least) }},
		{at("phrases.txt"), g.phrase},
		{own, g.own},
	} {
		if err := each(step.file, step.take); err != nil {
			return err
		}
		if step.file == at("TSCharacters.txt") {
			source = maps.Clone(g.usual)
		}
	}
	g.variants()
	if err := g.keep(source, at("kTGHZ2013.txt")); err != nil {
		return err
	}
	g.compose()
	g.prune()
	data, err := g.pack()
	if err != nil {
		return err
	}
	odd := 0
	for _, e := range g.words {
		if e.said != nil {
			odd++
		}
	}
	log.Printf("%d characters, %d traditional, %d words, %d of them with readings of their own, %d bytes", len(g.usual), len(g.simple), len(g.words), odd, len(data))
	return os.WriteFile(out, data, 0o666)
}

// each calls take with every line of a file that is no remark.
func each(file string, take func(line string) error) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			if err := take(line); err != nil {
				return fmt.Errorf("%s:%d: %w", file, n, err)
			}
		}
	}
	return nil
}

// characters reads "U+4E00: yī,yí  # 一": the first reading that is a syllable.
func (g *generator) characters(file string) error {
	return each(file, func(line string) error {
		code, list, _ := strings.Cut(line, ":")
		n, err := strconv.ParseUint(strings.TrimPrefix(code, "U+"), 16, 21)
		if err != nil {
			return err
		}
		for _, p := range strings.Split(strings.ReplaceAll(strings.TrimSpace(list), "->", ","), ",") {
			if s, ok := marked(strings.TrimSpace(p)); ok {
				g.usual[rune(n)] = s
				break
			}
		}
		return nil
	})
}

// marked reads a syllable with its tone as a mark: "lǜ".
func marked(p string) (mandarin.Syllable, bool) {
	tone := "5"
	var b strings.Builder
	for _, r := range norm.NFD.String(p) {
		switch r {
		case '\u0304':
			tone = "1"
		case '\u0301':
			tone = "2"
		case '\u030c':
			tone = "3"
		case '\u0300':
			tone = "4"
		case '\u0308':
			s := b.String()
			b.Reset()
			b.WriteString(s[:len(s)-1] + "v")
		default:
			b.WriteRune(r)
		}
	}
	return mandarin.Parse(norm.NFC.String(b.String()) + tone)
}

// keep has traditional characters read as the simplified ones in their place, but those that have
// another reading in the sources where the dictionary of the mainland gives the simplified one several.
func (g *generator) keep(source map[rune]mandarin.Syllable, file string) error {
	several := map[rune]bool{}
	err := each(file, func(line string) error {
		code, list, _ := strings.Cut(line, ":")
		n, err := strconv.ParseUint(strings.TrimPrefix(code, "U+"), 16, 21)
		several[rune(n)] = strings.Contains(list, ",")
		return err
	})
	for from, to := range g.simple {
		if g.usual[from] == source[from] && (source[from] == source[to] || !several[to]) {
			g.usual[from] = g.usual[to]
		}
	}
	return err
}

// variants reads characters that Unicode has twice, as others are: those of other standards, and
// radicals.
func (g *generator) variants() {
	for r := rune(0x2e80); r < 0xfb00; r++ {
		s := []rune(norm.NFKC.String(string(r)))
		if _, ok := g.usual[r]; ok || len(s) != 1 || s[0] == r || !unicode.Is(unicode.Han, r) {
			continue
		}
		if said, ok := g.usual[s[0]]; ok {
			g.usual[r], g.simple[r] = said, cmp.Or(g.simple[s[0]], s[0])
		}
	}
}

// traditional reads "乾	干 乾".
func (g *generator) traditional(line string) error {
	f := strings.Fields(line)
	from, to := []rune(f[0]), []rune(f[1])
	if len(from) != 1 || len(to) != 1 {
		return nil
	}
	if _, ok := g.usual[from[0]]; ok && from[0] != to[0] {
		g.simple[from[0]] = to[0]
	}
	return nil
}

// word reads "中国 12345 ns".
func (g *generator) word(line string, least int) error {
	f := strings.Fields(line)
	often, err := strconv.Atoi(f[1])
	if err != nil {
		return err
	}
	if g.fits(f[0]) && (often >= least || utf8.RuneCountInString(f[0]) == 1) {
		g.words[f[0]] = &entry{often: often}
	}
	return nil
}

// fits reports whether all characters are known, and how many there may be.
func (g *generator) fits(word string) bool {
	n := 0
	for _, r := range word {
		if _, ok := g.usual[r]; !ok || r > 0xffff {
			return false
		}
		n++
	}
	return n <= 12
}

// phrase reads "中国: zhōng guó". Words that change a tone before others are written without
// the change, which the program makes itself.
func (g *generator) phrase(line string) error {
	word, list, _ := strings.Cut(line, ":")
	chars, readings := []rune(word), strings.Fields(list)
	if len(chars) != len(readings) || len(chars) < 2 || !g.fits(word) {
		return nil
	}
	var said []mandarin.Syllable
	for i, p := range readings {
		s, ok := marked(p)
		switch {
		case !ok:
			return nil
		case chars[i] == '一' || chars[i] == '不':
			s = g.usual[chars[i]]
		}
		said = append(said, s)
	}
	e := g.words[word]
	if e == nil {
		e = &entry{often: 2}
		g.words[word] = e
	}
	e.said = said
	return nil
}

// own reads a line of own.txt, which says what there is.
func (g *generator) own(line string) error {
	f := strings.Fields(line)
	if f[0] == "~" || len(f[0]) > 2 && f[0][0] == '/' {
		return g.each(f[0], f[1:])
	}
	if word, ok := strings.CutPrefix(f[0], "-"); ok {
		delete(g.words, word)
		return nil
	}
	chars := []rune(f[0])
	if len(f) == 3 && f[1] == "=" {
		g.simple[chars[0]] = []rune(f[2])[0]
		if f[2] == f[0] {
			delete(g.simple, chars[0])
		}
		return nil
	}
	often := 0
	if n, err := strconv.Atoi(f[len(f)-1]); err == nil {
		often, f = n, f[:len(f)-1]
	}
	if len(f)-1 != len(chars) {
		return fmt.Errorf("%q has %d readings", line, len(f)-1)
	}
	var said []mandarin.Syllable
	for _, p := range f[1:] {
		s, ok := mandarin.Parse(p)
		if !ok {
			return fmt.Errorf("%q is no syllable", p)
		}
		said = append(said, s)
	}
	if len(chars) == 1 {
		g.usual[chars[0]] = said[0]
		return nil
	}
	e := g.words[f[0]]
	if e == nil {
		e = &entry{often: seldom}
		g.words[f[0]] = e
	}
	e.often = cmp.Or(often, max(e.often, seldom))
	e.said = said
	return nil
}

// seldom is how common words of our own are at least: rarer ones would be taken apart where a part
// is a particle.
const seldom = 200

// each gives the last characters of words a reading, "/zi3" or "/hang2/zhang3", or a neutral tone.
func (g *generator) each(how string, words []string) error {
	for _, w := range words {
		chars := []rune(w)
		if !g.fits(w) {
			return fmt.Errorf("%q is no word", w)
		}
		e := g.words[w]
		if e == nil {
			e = &entry{often: seldom}
			g.words[w] = e
		}
		if e.said == nil {
			e.said = g.composed(chars)
		}
		last := len(chars) - 1
		if how == "~" {
			e.said[last] = e.said[last]&^7 | 5
			continue
		}
		list := strings.Split(how[1:], "/")
		for i, p := range list {
			s, ok := mandarin.Parse(p)
			if !ok || len(list) > len(chars) {
				return fmt.Errorf("%q of %q", how, w)
			}
			e.said[last+1-len(list)+i] = s
		}
	}
	return nil
}

// compose reads words that have no reading of their own.
func (g *generator) compose() {
	said := map[string][]mandarin.Syllable{}
	for word, e := range g.words {
		if chars := []rune(word); e.said == nil && len(chars) > 1 {
			said[word] = g.composed(chars)
		}
	}
	for word, list := range said {
		g.words[word].said = list
	}
}

// composed reads a word by those with readings of their own that it is made of, the longest first.
func (g *generator) composed(chars []rune) []mandarin.Syllable {
	var out []mandarin.Syllable
	for i := 0; i < len(chars); {
		n := min(len(chars)-i, len(chars)-1)
		for n > 1 && (g.words[string(chars[i:i+n])] == nil || g.words[string(chars[i:i+n])].said == nil) {
			n--
		}
		if n > 1 {
			out = append(out, g.words[string(chars[i:i+n])].said...)
		} else {
			out = append(out, g.part(chars, i))
		}
		i += n
	}
	return out
}

// part is how a character of a longer word is read where nothing else says so.
func (g *generator) part(word []rune, i int) mandarin.Syllable {
	said := ""
	switch {
	case word[i] == '长' && i > 1 && i == len(word)-1:
		said = "zhang3" // a head of something
	case word[i] == '得' && i == 0:
		said = "de2"
	case word[i] == '只' && i > 0 && i == len(word)-1:
		said = "zhi1"
	case word[i] == '子' && i > 0 && i == len(word)-1:
		said = "zi5"
	case word[i] == '儿' && i > 0 && i == len(word)-1:
		said = "er5"
	}
	if s, ok := mandarin.Parse(said); ok {
		return s
	}
	return g.usual[word[i]]
}

// prune forgets readings that are the usual ones, and rare words that have no other.
func (g *generator) prune() {
	for word, e := range g.words {
		same := true
		i := 0
		for _, r := range word {
			same = same && (e.said == nil || e.said[i] == g.usual[r])
			i++
		}
		if same {
			e.said = nil
		}
		if i > 1 && same && e.often <= 2 {
			delete(g.words, word)
		}
	}
}
