// Command g2p measures quern's English pronunciation against misaki's
// dictionaries, which are read where they lie, and the model of unknown words
// against words it was not trained on; and that of other languages against
// espeak-ng, which is run beside it.
//
//	go run ./bench/g2p -misaki ../shared/fixtures/g2p/misaki
//	go run ./bench/g2p -oracle espeak-ng -lang es -words FILE -show 20
//	go run ./bench/g2p -pinyin FILE -show 20
//	go run ./bench/g2p -kana FILE -show 20
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quern/bench/internal/must"
	"quern/bench/internal/stat"
	"quern/engine/tts/g2p"
	"quern/engine/tts/g2p/graphone"
)

func main() {
	log.SetFlags(0)
	dir := flag.String("misaki", "../shared/fixtures/g2p/misaki", "folder of misaki's dictionaries")
	every := flag.Int("every", 10, "measure one word of so many")
	hold := flag.Bool("holdout", true, "train the model without one word in twenty and measure those")
	show := flag.Int("show", 0, "print so many differences of each dictionary")
	oracle := flag.String("oracle", "", "`program` that is asked how words are said, espeak-ng: measures -lang instead of English")
	code := flag.String("lang", "es", "`code` of the language whose words are measured")
	words := flag.String("words", "", "`file` of words, one a line")
	pinyinFile := flag.String("pinyin", "", "`file` of texts in Chinese and their pinyin, which readings of characters are measured against")
	kanaFile := flag.String("kana", "", "`file` of texts in Japanese and their kana, which readings are measured against")
	flag.Parse()
	if *kanaFile != "" {
		if err := kana(*kanaFile, *show); err != nil {
			log.Fatal(err)
		}
		return
	}
	if *pinyinFile != "" {
		if err := pinyin(*pinyinFile, *show); err != nil {
			log.Fatal(err)
		}
		return
	}
	if *oracle != "" {
		if err := agree(*oracle, *code, *words, *show); err != nil {
			log.Fatal(err)
		}
		return
	}
	if err := run(*dir, *every, *show, *hold); err != nil {
		log.Fatal(err)
	}
}

// A score sums differences from reference phonemes.
type score struct{ words, wrong, phones, edits int }

func (s *score) add(want, got string) bool {
	e := stat.Distance([]rune(want), []rune(got))
	s.words++
	s.phones += len([]rune(want))
	s.edits += e
	if e > 0 {
		s.wrong++
	}
	return e == 0
}

func (s *score) String() string {
	if s.words == 0 {
		return "no words"
	}
	return fmt.Sprintf("%6d words  word error %5.1f %%  phoneme error %5.1f %%", s.words,
		100*float64(s.wrong)/float64(s.words), 100*float64(s.edits)/float64(s.phones))
}

var (
	unmarked = strings.NewReplacer("ˈ", "", "ˌ", "")
	version1 = strings.NewReplacer("ɾ", "T", "ʔ", "t")
)

// load returns the words of one dictionary that have one pronunciation.
func load(path string) (_ map[string]string, err error) {
	defer must.Catch(&err)
	data := must.Get(os.ReadFile(path))
	var raw map[string]any
	must.Do(json.Unmarshal(data, &raw))
	out := map[string]string{}
	for w, v := range raw {
		if p, ok := v.(string); ok && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") == "" && len(w) > 1 {
			out[w] = version1.Replace(p)
		}
	}
	return out, nil
}

func run(dir string, every, show int, hold bool) (err error) {
	defer must.Catch(&err)
	g := must.Get(g2p.New(g2p.Options{}))
	for _, d := range []struct {
		file   string
		accent g2p.Accent
	}{{"us_gold", g2p.US}, {"us_silver", g2p.US}, {"gb_gold", g2p.British}, {"gb_silver", g2p.British}} {
		words := must.Get(load(filepath.Join(dir, d.file+".json")))
		var by [5][2]score // by source; the last of all
		shown := 0
		for i, w := range slices.Sorted(maps.Keys(words)) {
			if i%every != 0 {
				continue
			}
			// A word behind the one measured, so that nothing is at the end.
			t := g.Phonemize(w+" cat", d.accent)[0]
			k := 3
			switch t.Source {
			case g2p.Lexicon:
				k = 0
			case g2p.Rule:
				k = 1
			case g2p.Guess:
				k = 2
			}
			for _, at := range []int{k, 4} {
				same := by[at][0].add(words[w], t.Phonemes)
				by[at][1].add(unmarked.Replace(words[w]), unmarked.Replace(t.Phonemes))
				if at == 4 && !same && shown < show {
					shown++
					fmt.Printf("  %d %-18s %-22s %s\n", k, w, words[w], t.Phonemes)
				}
			}
		}
		for k, name := range []string{"in the dictionary", "by rules", "guessed", "spelled", "all"} {
			if by[k][0].words > 0 {
				fmt.Printf("%-9s %-18s %v\n%-28s without stress %v\n", d.file, name, &by[k][0], "", &by[k][1])
			}
		}
	}
	must.Do(speed(g))
	if hold {
		return holdout(g, dir)
	}
	return nil
}

// holdout trains on words of the built-in dictionary but one in twenty, and
// measures those and the words of misaki's that are unknown.
func holdout(g *g2p.G2P, dir string) error {
	var train, test []graphone.Pair
	for i, p := range g.Words() {
		if strings.Trim(p.Word, "abcdefghijklmnopqrstuvwxyz") != "" || len(p.Word) < 2 {
			continue
		}
		if i%20 == 7 {
			test = append(test, p)
		} else {
			train = append(train, p)
		}
	}
	m := graphone.Train(train)
	var all, bare score
	start := time.Now()
	for _, p := range test {
		got, _ := m.Decode(p.Word)
		all.add(p.Phones, got)
		bare.add(unmarked.Replace(p.Phones), unmarked.Replace(got))
	}
	took := time.Since(start)
	fmt.Printf("model, held-out words of its dictionary, %d trained on: %v\n%-28s without stress %v; %.0f words/s\n", len(train), &all, "", &bare, float64(len(test))/took.Seconds())
	return nil
}

func speed(g *g2p.G2P) error {
	text := strings.Repeat("The history of the windmill is longer than most people think, and by 1850 there were 10,000 of them in Holland. ", 200)
	start := time.Now()
	n := 0
	for range 5 {
		for _, t := range g.Phonemize(text, g2p.US) {
			if t.Kind == g2p.Word {
				n++
			}
		}
	}
	fmt.Printf("running text: %.0f words/s\n", float64(n)/time.Since(start).Seconds())
	return nil
}
