// Command _gen makes data/japanese.bin, the lexicon of Japanese: words with their classes, what they
// cost, how they are said, and what classes cost beside each other.
//
// It reads, in the folder -dir, sys.dic, matrix.bin and left-id.def of Debian's
// open-jtalk-mecab-naist-jdic 1.11-3: the NAIST Japanese Dictionary as Open JTalk has it, in the form MeCab
// compiles it to (BSD-3-clause; data/LICENSE); and own.txt beside this file, whose words come before those.
package main

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"quern/engine/tts/lang/japanese"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "", "`folder` of the dictionary")
	own := flag.String("own", "_gen/own.txt", "words of our own")
	out := flag.String("out", "data/japanese.bin", "file to write")
	list := flag.String("list", "", "`file` to write the words to, as text")
	flag.Parse()
	if err := run(*dir, *own, *out, *list); err != nil {
		log.Fatal(err)
	}
}

// A form is a word in one class.
type form struct {
	class int
	cost  int
	kana  string // "" where it is said as it is written
}

type dictionary struct {
	names []string        // of the classes of MeCab's dictionary
	kinds []japanese.Kind // of those
	pairs []int16         // [right][left]
	words map[string][]form
}

func run(dir, own, out, list string) error {
	d := dictionary{words: map[string][]form{}}
	if err := d.classes(filepath.Join(dir, "left-id.def")); err != nil {
		return err
	}
	if err := d.matrix(filepath.Join(dir, "matrix.bin")); err != nil {
		return err
	}
	if err := d.system(filepath.Join(dir, "sys.dic")); err != nil {
		return err
	}
	all := d.count()
	d.reduce()
	d.alone("公園")
	if err := d.own(own); err != nil {
		return err
	}
	if list != "" {
		if err := d.list(list); err != nil {
			return err
		}
	}
	data, err := d.pack()
	if err != nil {
		return err
	}
	log.Printf("%d words with %d forms of %d, %d bytes", len(d.words), d.count(), all, len(data))
	return os.WriteFile(out, data, 0o666)
}

func (d *dictionary) count() int {
	n := 0
	for _, forms := range d.words {
		n += len(forms)
	}
	return n
}

// classes reads the names of classes: "1355 名詞,数,*,*,*,*,*".
func (d *dictionary) classes(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		number, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.Atoi(number); !ok || err != nil || n != len(d.kinds) {
			return fmt.Errorf("%s: %q is no class %d", file, line, len(d.kinds))
		}
		d.names, d.kinds = append(d.names, name), append(d.kinds, kindOf(name))
	}
	return nil
}

// kinds of classes, by how their names begin; the first that fits.
var kinds = []struct {
	name string
	kind japanese.Kind
}{
	{"BOS", japanese.Border}, {"名詞,数", japanese.Number}, {"名詞,接尾,助数詞", japanese.Counter}, {"名詞,接尾", japanese.Suffix}, {"名詞,固有名詞", japanese.Name}, {"名詞", japanese.Noun},
	{"接頭詞", japanese.Prefix}, {"動詞,接尾", japanese.Auxiliary}, {"形容詞,接尾", japanese.Auxiliary}, {"動詞", japanese.Verb}, {"形容詞", japanese.Verb}, {"助動詞", japanese.Auxiliary},
	{"助詞,接続助詞", japanese.Joining}, {"助詞", japanese.Particle},
}

func kindOf(name string) japanese.Kind {
	for _, k := range kinds {
		if strings.HasPrefix(name, k.name) {
			return k.kind
		}
	}
	return japanese.Other
}

// matrix reads the costs of pairs.
func (d *dictionary) matrix(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	n := len(d.kinds)
	if len(data) != 4+2*n*n || int(binary.LittleEndian.Uint16(data)) != n || int(binary.LittleEndian.Uint16(data[2:])) != n {
		return fmt.Errorf("%s has not %d by %d costs", file, n, n)
	}
	for i := 4; i < len(data); i += 2 {
		d.pairs = append(d.pairs, int16(binary.LittleEndian.Uint16(data[i:])))
	}
	return nil
}

// system reads the words of MeCab's dictionary: a header of 72 bytes, a double array of the words, 16 bytes
// for each form, and what the dictionary says of it.
func (d *dictionary) system(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	if len(data) < 72 {
		return fmt.Errorf("%s is cut off", file)
	}
	trieSize, tokenSize := int(le.Uint32(data[24:])), int(le.Uint32(data[28:]))
	trie, tokens, features := data[72:][:trieSize], data[72+trieSize:][:tokenSize], data[72+trieSize+tokenSize:]
	base := func(p int) int { return int(int32(le.Uint32(trie[8*p:]))) }
	check := func(p int) int { return int(le.Uint32(trie[8*p+4:])) }
	var walk func(b int, word []byte) error
	walk = func(b int, word []byte) error {
		if v := -base(b) - 1; check(b) == b && v >= 0 {
			for k := range v & 0xff {
				t := tokens[16*(v>>8+k):][:16]
				feature, _, _ := bytes.Cut(features[le.Uint32(t[8:]):], []byte{0})
				if le.Uint16(t) != le.Uint16(t[2:]) { // ちゅう alone has two classes
					continue
				}
				d.add(string(word), string(feature), int(le.Uint16(t)), int(int16(le.Uint16(t[6:]))))
			}
		}
		for c := range 256 {
			if p := b + c + 1; 8*p < len(trie) && check(p) == b {
				if err := walk(base(p), append(word, byte(c))); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk(base(0), nil)
}

// mostCharacters is how long a word may be.
const mostCharacters = 12

// add takes a word if it is written in kana and Chinese characters.
func (d *dictionary) add(word, feature string, class, cost int) {
	fields := strings.Split(feature, ",")
	if len(fields) < 9 || utf8.RuneCountInString(word) > mostCharacters {
		return
	}
	for _, r := range word {
		if !(isKana(r) || unicode.Is(unicode.Han, r) && r < 0x10000 || r == '々' || r == '〆') {
			return
		}
	}
	if fields[0] == "動詞" && word != "出来" && utf8.RuneCountInString(fields[8]) > 1 && !strings.ContainsFunc(word, isKana) {
		return // 冷 for 冷え, which would be part of 冷やす
	}
	kana := strings.NewReplacer(":", "", "’", "", "'", "").Replace(fields[8])
	for _, r := range kana {
		if r < 'ァ' || r > 'ー' || r == '・' {
			return
		}
	}
	if kana == "" {
		return
	}
	if last := []rune(kana); fields[0] == "形容詞" && len(last) > 1 && last[len(last)-1] == 'イ' && strings.ContainsRune("イキシチニヒミリギジビ", last[len(last)-2]) {
		last[len(last)-1] = 'ー'
		kana = string(last) // アタラシー, as UniDic has it
	}
	if kana == japanese.Katakana([]rune(word)) {
		if kana = ""; d.kinds[class] == japanese.Name { // in kana, which are read without it
			return
		}
	}
	d.words[word] = append(d.words[word], form{class, cost, kana})
}

func isKana(r rune) bool { return r >= 'ぁ' && r <= 'ゖ' || r >= 'ァ' && r <= 'ヺ' || r == 'ー' }

// reduce keeps the cheapest form of each class, and of names the cheapest.
func (d *dictionary) reduce() {
	reduced := make(map[string][]form, len(d.words))
	for word, forms := range d.words {
		forms = slices.DeleteFunc(slices.Clone(forms), func(f form) bool {
			return strings.Contains(d.names[f.class], "一段,仮定形") && !d.conditional(word, f.kana)
		})
		slices.SortStableFunc(forms, func(a, b form) int {
			return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.class, b.class), strings.Compare(a.kana, b.kana))
		})
		for _, f := range forms {
			if !slices.ContainsFunc(reduced[word], func(k form) bool {
				return k.class == f.class || d.kinds[k.class] == japanese.Name && d.kinds[f.class] == japanese.Name
			}) {
				reduced[word] = append(reduced[word], f)
			}
		}
	}
	d.words = reduced
}

// conditional reports whether a word is a verb with れ behind its stem, which the dictionary has: not 晴れ as ハレレ.
func (d *dictionary) conditional(word, kana string) bool {
	stem, ok := strings.CutSuffix(word, "れ")
	return ok && (kana == "" || slices.ContainsFunc(d.words[stem], func(f form) bool {
		return d.kinds[f.class] == japanese.Verb && cmp.Or(f.kana, japanese.Katakana([]rune(stem)))+"レ" == kana
	}))
}

// own takes lines of a word, its kana and a word whose class and cost it has, or a cost alone: "私 ワタシ" sets
// the kana of all of its forms.
func (d *dictionary) own(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		switch {
		case len(fields) == 2 && d.words[fields[0]] != nil:
			for i := range d.words[fields[0]] {
				d.words[fields[0]][i].kana = fields[1]
			}
		case len(fields) == 3 && d.words[fields[2]] != nil:
			d.words[fields[0]] = []form{{d.words[fields[2]][0].class, d.words[fields[2]][0].cost, fields[1]}}
		default:
			return fmt.Errorf("%s: %q is no word with its kana, or no word like one", file, line)
		}
	}
	return nil
}

// list writes the words as text.
func (d *dictionary) list(file string) error {
	var lines []string
	for word, forms := range d.words {
		for _, f := range forms {
			lines = append(lines, fmt.Sprintf("%s\t%d\t%d\t%d\t%s\n", word, f.class, d.kinds[f.class], f.cost, f.kana))
		}
	}
	slices.Sort(lines)
	return os.WriteFile(file, []byte(strings.Join(lines, "")), 0o666)
}
