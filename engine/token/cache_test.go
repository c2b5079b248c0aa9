package token

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// TestWordCacheShared lets goroutines fight for one slot: who finds a word must
// find its own tokens.
func TestWordCacheShared(t *testing.T) {
	c := new(wordCache)
	var words []string
	for i := 0; len(words) < 4; i++ {
		word := fmt.Sprint("word ", i)
		key := keyOf(word)
		first := keyOf("word 0")
		if key.slot() == first.slot() {
			words = append(words, word)
		}
	}
	ids := func(k int) []ID { return slices.Repeat([]ID{ID(k)}, 2*k+1) }
	var wg sync.WaitGroup
	for k, word := range words {
		wg.Go(func() {
			key := keyOf(word)
			for range 20000 {
				if got, ok := c.get(nil, &key); ok && !slices.Equal(got, ids(k)) {
					t.Errorf("%s is %v, want %v", word, got, ids(k))
					return
				}
				c.put(&key, ids(k))
			}
		})
	}
	wg.Wait()
	key := keyOf(words[1])
	c.put(&key, ids(1))
	if got, ok := c.get(nil, &key); !ok || !slices.Equal(got, ids(1)) {
		t.Errorf("%s is %v, %v without another writer", words[1], got, ok)
	}
}

// TestCacheKeys says that no two words share a key, short or long.
func TestCacheKeys(t *testing.T) {
	seen := make(map[cacheKey]string)
	for n := 1; n <= cacheWord; n++ {
		for i := range n {
			for _, c := range []byte{0, 1, 'a', 0xFF} {
				word := make([]byte, n)
				word[i] = c
				key := keyOf(word)
				if old, ok := seen[key]; ok && old != string(word) {
					t.Fatalf("%q and %q share a key", old, word)
				}
				seen[key] = string(word)
				key.part()
				if _, ok := seen[key]; ok {
					t.Fatalf("%q as a part is a word", word)
				}
			}
		}
	}
	if key := keyOf(make([]byte, cacheWord+1)); key.n != 0 {
		t.Error("a long word has a key")
	}
}
