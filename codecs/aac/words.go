package aac

import (
	"math"
	"sync"
)

// A word is a code with its length.
type word struct {
	bits uint32
	n    uint8
}

// costs are the bits of the symbols of a codebook, signs included.
type costs []uint8

// words are what every encoder reads and none changes.
type words struct {
	scale    [121]word  // by difference plus 60
	spectral [11][]word // by symbol
	cost     [11]costs  // of symbol, with signs
	power    [maxQuantum + 1]float32
	gain     [256]float32 // of scalefactor i
	shrink   [256]float32 // gain to the power of -3/4
}

var wordsShared = sync.OnceValue(func() *words {
	t := shared()
	w := &words{gain: t.gain}
	copy(w.power[:], t.power[:])
	for i := range w.shrink {
		w.shrink[i] = float32(math.Exp2(-3.0 / 16 * float64(i-scaleZero)))
	}
	scaleBook.each(func(symbol int, code word) { w.scale[symbol] = code })
	for i := range spectralBooks {
		b := &spectralBooks[i]
		w.spectral[i] = make([]word, len(b.symbols))
		w.cost[i] = make(costs, len(b.symbols))
		b.each(func(symbol int, code word) {
			w.spectral[i][symbol] = code
			w.cost[i][symbol] = code.n + shapes[i].describe(symbol).signs
		})
	}
	return w
})

// each calls f with every symbol and its code.
func (b *codebook) each(f func(symbol int, code word)) {
	at, next := 0, uint32(0)
	for i, n := range b.counts {
		for range int(n) {
			f(int(b.symbols[at]), word{next, uint8(i + 1)})
			at, next = at+1, next+1
		}
		next <<= 1
	}
}
