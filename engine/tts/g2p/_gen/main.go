// Command _gen makes the embedded data of g2p: the pronouncing dictionary in
// Kokoro's symbols and the model of unknown words trained on it.
//
// It reads cmudict.dict of the CMU Pronouncing Dictionary (its repository cmusphinx/cmudict, at
// 0f8072f814306c5ee4fbf992ed853601b12c01f9), and adds extra.txt.
package main

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"flag"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"quern/engine/tts/g2p/graphone"
)

func main() {
	log.SetFlags(0)
	dict := flag.String("dict", "cmudict.dict", "CMUdict")
	out := flag.String("out", "data", "folder to write")
	extra := flag.String("extra", "_gen/extra.txt", "words of our own")
	flag.Parse()
	if err := run(*dict, *out, *extra); err != nil {
		log.Fatal(err)
	}
}

var spelled = regexp.MustCompile(`^'?[a-z][a-z']*$`)

func run(dict, out, extra string) error {
	phones, err := read(dict)
	if err != nil {
		return err
	}
	words := map[string]string{}
	for w, p := range phones {
		words[w] = symbols(w, p)
	}
	own, err := os.ReadFile(extra)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(own)) {
		if w, p, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(w, "#") {
			words[w] = strings.TrimSpace(p)
		}
	}
	list := slices.Sorted(maps.Keys(words))
	if err := write(filepath.Join(out, "lexicon.bin"), lexicon(list, words)); err != nil {
		return err
	}
	var pairs []graphone.Pair
	for _, w := range list {
		pairs = append(pairs, graphone.Pair{Word: w, Phones: words[w]})
	}
	return write(filepath.Join(out, "graphones.bin"), graphone.Train(pairs).Bytes())
}

// read returns the first pronunciation of each word. Possessives that the rules
// make from their word are left out.
func read(path string) (map[string][]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) > 1 && spelled.MatchString(f[0]) {
			out[f[0]] = f[1:]
		}
	}
	for w := range out {
		base, ok := strings.CutSuffix(w, "'s")
		if !ok {
			base, ok = strings.CutSuffix(w, "s'")
		}
		if _, known := out[base]; ok && known && len(base) > 3 {
			delete(out, w)
		}
	}
	return out, nil
}

// lexicon packs words in three columns: how many bytes are shared with the word
// before and the rest of the word, ended by a newline; the phonemes, ended by a
// newline. Lengths come first.
func lexicon(list []string, words map[string]string) []byte {
	var shared, rest, said []byte
	last := ""
	for _, w := range list {
		n := 0
		for n < len(w) && n < len(last) && w[n] == last[n] {
			n++
		}
		shared = append(shared, byte(n))
		rest = append(append(rest, w[n:]...), '\n')
		said = append(append(said, words[w]...), '\n')
		last = w
	}
	var out []byte
	for _, c := range [][]byte{shared, rest, said} {
		out = binary.AppendUvarint(out, uint64(len(c)))
	}
	return slices.Concat(out, shared, rest, said)
}

func write(path string, data []byte) error {
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.Copy(z, bytes.NewReader(data)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	log.Printf("%s: %d bytes, %d compressed", path, len(data), b.Len())
	return os.WriteFile(path, b.Bytes(), 0o644)
}
