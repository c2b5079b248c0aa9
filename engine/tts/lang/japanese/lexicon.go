package japanese

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
	"unicode/utf8"

	"quern/engine/tts/lang/internal/wordlist"
)

// A lexicon knows words, how they are said, and what words of a class cost beside another.
//
// Its file, deflated, is sections of uvarints, each with its length in bytes before it: the
// characters of words, the commonest first; the kind of each class of words, the commonest first;
// the costs of pairs of classes, each as its difference from the one before it, with the sign in
// the lowest bit; and words, which are in order: how many characters each has in common with the one
// before it, how many more there are, those, and how many forms it has. A form is its class, its
// cost, and its kana, 1 for ァ and so on up to a 0; none are those it is written in.
type lexicon struct {
	kinds []Kind           // of classes
	first [allKinds]uint16 // the commonest class of each kind
	pairs []int16          // [right][left] what a word of class right costs behind one of class left

	words *wordlist.List
	forms []int32 // the forms of word i are from forms[i] up to forms[i+1]

	class  []uint16 // of forms
	cost   []int16
	kana   []byte
	kanaAt []int32

	tables sync.Pool // of *tables, which texts use one after another
}

// Unit is what costs of the file are multiples of.
const Unit = 32

// longest is how many characters a word of the lexicon may have.
const longest = 16

// unpacked is the lexicon that is built in.
var unpacked = sync.OnceValues(func() (*lexicon, error) { return read(packed) })

// A section is what is left of one.
type section struct{ rest []byte }

func (s *section) next() (uint64, error) {
	v, k := binary.Uvarint(s.rest)
	if k <= 0 {
		return 0, fmt.Errorf("the lexicon of Japanese is cut off")
	}
	s.rest = s.rest[k:]
	return v, nil
}

// below returns the next number if it is below a bound.
func (s *section) below(bound int) (int, error) {
	v, err := s.next()
	if err == nil && v >= uint64(bound) {
		err = fmt.Errorf("the lexicon of Japanese is damaged: %d where less than %d must stand", v, bound)
	}
	return int(v), err
}

// signed returns a number with its sign in the lowest bit.
func (s *section) signed() (int, error) {
	v, err := s.below(1 << 20)
	return v>>1 ^ -(v & 1), err
}

// read unpacks a lexicon.
func read(data []byte) (*lexicon, error) {
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), 1<<26))
	if err != nil {
		return nil, fmt.Errorf("the lexicon of Japanese: %w", err)
	}
	var sections [10]section
	for i := range sections {
		n, k := binary.Uvarint(plain)
		if k <= 0 || n > uint64(len(plain)-k) {
			return nil, fmt.Errorf("the lexicon of Japanese is cut off")
		}
		sections[i].rest, plain = plain[k:][:n], plain[k:][n:]
	}
	l := &lexicon{words: wordlist.New()}
	alphabet, kinds := sections[0], sections[1]
	var chars []uint16
	for len(alphabet.rest) > 0 {
		c, err := alphabet.below(1 << 16)
		if err != nil {
			return nil, err
		}
		chars = append(chars, uint16(c))
	}
	for len(kinds.rest) > 0 {
		k, err := kinds.below(int(allKinds))
		if err != nil {
			return nil, err
		}
		l.kinds = append(l.kinds, Kind(k))
	}
	for k := range l.first {
		at := slices.Index(l.kinds, Kind(k))
		if at < 0 {
			return nil, fmt.Errorf("the lexicon of Japanese is damaged: it has no class of kind %d", k)
		}
		l.first[k] = uint16(at)
	}
	if len(l.kinds) < int(allKinds) || len(l.kinds) > 4096 {
		return nil, fmt.Errorf("the lexicon of Japanese is damaged: it has %d classes", len(l.kinds))
	}
	l.pairs = make([]int16, len(l.kinds)*len(l.kinds))
	before := 0
	for i := range l.pairs {
		d, err := sections[2].signed()
		if err != nil {
			return nil, err
		}
		before += d
		l.pairs[i] = int16(before * Unit)
	}
	return l, l.readWords(chars, sections[3:])
}

// readWords unpacks the words.
func (l *lexicon) readWords(chars []uint16, s []section) error {
	common, more, text, counts, classes, costs, kana := &s[0], &s[1], &s[2], &s[3], &s[4], &s[5], &s[6]
	l.kana = bytes.Clone(kana.rest) // the rest of the file is let go
	kanaEnd := 0
	var word []uint16
	for i := int32(0); len(common.rest) > 0; i++ {
		same, err1 := common.below(len(word) + 1)
		rest, err2 := more.below(longest + 1 - same)
		forms, err3 := counts.below(1 << 10)
		for _, err := range []error{err1, err2, err3} {
			if err != nil {
				return err
			}
		}
		word = word[:same]
		for range rest {
			c, err := text.below(len(chars))
			if err != nil {
				return err
			}
			word = append(word, chars[c])
		}
		if len(word) == 0 {
			return fmt.Errorf("the lexicon of Japanese is damaged at word %d", i)
		}
		l.words.Add(word)
		l.forms = append(l.forms, int32(len(l.class)))
		for range forms {
			class, err1 := classes.below(len(l.kinds))
			cost, err2 := costs.signed()
			n := bytes.IndexByte(l.kana[kanaEnd:], 0)
			if err1 != nil || err2 != nil || n < 0 {
				return fmt.Errorf("the lexicon of Japanese is damaged at word %d", i)
			}
			l.class, l.cost, l.kanaAt = append(l.class, uint16(class)), append(l.cost, int16(cost*Unit)), append(l.kanaAt, int32(kanaEnd))
			kanaEnd += n + 1
		}
	}
	l.words.Clip()
	l.forms = slices.Clone(append(l.forms, int32(len(l.class))))
	l.class, l.cost, l.kanaAt = slices.Clone(l.class), slices.Clone(l.cost), slices.Clone(l.kanaAt)
	return nil
}

// said returns the kana of a form, "" where it is said as it is written.
func (l *lexicon) said(form int32) string {
	var out []byte
	for _, c := range l.kana[l.kanaAt[form]:] {
		if c == 0 {
			break
		}
		out = utf8.AppendRune(out, 'ァ'+rune(c)-1)
	}
	return string(out)
}
