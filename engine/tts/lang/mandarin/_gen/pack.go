package main

import (
	"bytes"
	"cmp"
	"compress/flate"
	"encoding/binary"
	"math"
	"slices"
)

// pack writes the lexicon as the program reads it.
func (g *generator) pack() ([]byte, error) {
	var out []byte
	put := func(list []uint64) {
		out = binary.AppendUvarint(out, uint64(len(list)))
		for _, v := range list {
			out = binary.AppendUvarint(out, v)
		}
	}
	runes := func(n int, each func(yield func(rune))) []rune {
		list := make([]rune, 0, n)
		each(func(r rune) { list = append(list, r) })
		slices.Sort(list)
		return list
	}
	deltas := func(list []rune) []uint64 {
		var out []uint64
		var last rune
		for _, r := range list {
			out, last = append(out, uint64(r-last)), r
		}
		return out
	}
	chars := runes(len(g.usual), func(yield func(rune)) {
		for r := range g.usual {
			yield(r)
		}
	})
	var usual, simple []uint64
	for _, r := range chars {
		usual = append(usual, uint64(g.usual[r]))
	}
	traditional := runes(len(g.simple), func(yield func(rune)) {
		for r := range g.simple {
			yield(r)
		}
	})
	for _, r := range traditional {
		simple = append(simple, uint64(g.simple[r]))
	}
	put(deltas(chars))
	put(usual)
	put(deltas(traditional))
	put(simple)
	var words [][]rune
	for w := range g.words {
		words = append(words, []rune(w))
	}
	slices.SortFunc(words, func(a, b []rune) int { return slices.Compare(a, b) })
	var common, more, text, weights, readings []uint64
	var last []rune
	for _, w := range words {
		k := 0
		for k < min(len(w), len(last)) && w[k] == last[k] {
			k++
		}
		common, more = append(common, uint64(k)), append(more, uint64(len(w)-k))
		for _, r := range w[k:] {
			text = append(text, uint64(r))
		}
		e := g.words[string(w)]
		weights = append(weights, uint64(math.Round(4*math.Log2(float64(cmp.Or(e.often, 1))))))
		if e.said == nil {
			readings = append(readings, 0)
		}
		for _, s := range e.said {
			readings = append(readings, uint64(s))
		}
		last = w
	}
	put(common)
	put(more)
	put(text)
	put(weights)
	put(readings)
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(out); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
