package g2p

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"

	"quern/engine/tts/g2p/graphone"
)

// ErrFormat is wrapped by every error about dictionaries that cannot be read.
var ErrFormat = errors.New("g2p: malformed dictionary")

// A lexicon is sorted words and their US phonemes, as _gen packed them.
type lexicon struct {
	words, said       []byte
	wordEnds, saidEnd []uint32
}

// maxData bounds what the embedded files unpack to.
const maxData = 8 << 20

func inflate(data []byte) ([]byte, error) {
	out, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), maxData))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return out, nil
}

// openLexicon unpacks words that are front-coded.
func openLexicon(packed []byte) (*lexicon, error) {
	data, err := inflate(packed)
	if err != nil {
		return nil, err
	}
	var cols [3][]byte
	var sizes [3]uint64
	for i := range sizes {
		v, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, fmt.Errorf("%w: no lengths", ErrFormat)
		}
		sizes[i], data = v, data[n:]
	}
	for i, n := range sizes {
		if n > uint64(len(data)) {
			return nil, fmt.Errorf("%w: truncated", ErrFormat)
		}
		cols[i], data = data[:n], data[n:]
	}
	l := &lexicon{}
	last := 0 // where the word before begins
	for _, shared := range cols[0] {
		rest, after, ok := bytes.Cut(cols[1], []byte{'\n'})
		said, left, ok2 := bytes.Cut(cols[2], []byte{'\n'})
		if !ok || !ok2 || int(shared) > len(l.words)-last || len(l.words)+len(rest) > maxData {
			return nil, fmt.Errorf("%w: word %d", ErrFormat, len(l.wordEnds))
		}
		begin := len(l.words)
		l.words = append(append(l.words, l.words[last:last+int(shared)]...), rest...)
		l.said = append(l.said, said...)
		l.wordEnds = append(l.wordEnds, uint32(len(l.words)))
		l.saidEnd = append(l.saidEnd, uint32(len(l.said)))
		last, cols[1], cols[2] = begin, after, left
	}
	return l, nil
}

func part(data []byte, ends []uint32, i int) []byte {
	if i == 0 {
		return data[:ends[0]]
	}
	return data[ends[i-1]:ends[i]]
}

// find returns the phonemes of a lower-case word.
func (l *lexicon) find(w string) (string, bool) {
	i := sort.Search(len(l.wordEnds), func(i int) bool { return string(part(l.words, l.wordEnds, i)) >= w })
	if i == len(l.wordEnds) || string(part(l.words, l.wordEnds, i)) != w {
		return "", false
	}
	return string(part(l.said, l.saidEnd, i)), true
}

// tagged is an entry of misaki's dictionaries: phonemes by part of speech. Most
// have DEFAULT alone; None is for a word nothing follows.
type tagged map[string]string

// readMisaki reads those of misaki's files that are there, gold over silver.
func readMisaki(dir fs.FS) ([2]map[string]tagged, error) {
	var out [2]map[string]tagged
	for accent, prefix := range []string{"us", "gb"} {
		for _, kind := range []string{"silver", "gold"} {
			name := prefix + "_" + kind + ".json"
			data, err := fs.ReadFile(dir, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return out, err
			}
			var raw map[string]any
			if err := json.Unmarshal(data, &raw); err != nil {
				return out, fmt.Errorf("%w: %s: %w", ErrFormat, name, err)
			}
			if out[accent] == nil {
				out[accent] = make(map[string]tagged, len(raw))
			}
			for w, v := range raw {
				t := tagged{}
				switch v := v.(type) {
				case string:
					t["DEFAULT"] = symbols(v)
				case map[string]any:
					for tag, p := range v {
						s, _ := p.(string) // null: spelled
						t[tag] = symbols(s)
					}
				default:
					return out, fmt.Errorf("%w: %s: %q is neither a string nor tags", ErrFormat, name, w)
				}
				out[accent][w] = t
			}
		}
	}
	return out, nil
}

// Words returns the built-in dictionary in order, US; for measurements.
func (g *G2P) Words() []graphone.Pair {
	out := make([]graphone.Pair, len(g.words.wordEnds))
	for i := range out {
		out[i] = graphone.Pair{Word: string(part(g.words.words, g.words.wordEnds, i)), Phones: string(part(g.words.said, g.words.saidEnd, i))}
	}
	return out
}
