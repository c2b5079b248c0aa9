package constrain

import (
	"slices"
	"sync"
)

// A cache holds the grammars that were used last, and the errors of those that could not be
// made. An entry is added when its grammar begins to be made.
type cache struct {
	mu      sync.Mutex
	entries []*entry // longest unused first
}

type entry struct {
	key key

	ready   chan struct{} // closed when the two below are set
	grammar *Grammar
	err     error
}

// find returns the entry of key, or nil.
func (c *cache) find(key key) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.use(key)
}

// enter is find, or adds an entry for the caller to fill.
func (c *cache) enter(key key) (e *entry, added bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.use(key); e != nil {
		return e, false
	}
	e = &entry{key: key, ready: make(chan struct{})}
	c.entries = append(c.entries, e)
	return e, true
}

// shrink evicts the least recently used entries, until the cache is within its limits.
// Grammars grow while they are used, so their bytes are counted each time.
func (c *cache) shrink() {
	c.mu.Lock()
	defer c.mu.Unlock()
	bytes := 0
	for i := len(c.entries) - 1; i >= 0; i-- {
		bytes += c.entries[i].bytes()
		if kept := len(c.entries) - i; kept > maxCached || bytes > maxBytes && kept > 1 {
			c.entries = slices.Delete(c.entries, 0, i+1)
			return
		}
	}
}

// use finds an entry and makes it the latest. A grammar that has reached its limits, in which
// sequences can only fail, is dropped, to be made again.
func (c *cache) use(key key) *entry {
	i := slices.IndexFunc(c.entries, func(e *entry) bool { return e.key == key })
	if i < 0 {
		return nil
	}
	e := c.entries[i]
	c.entries = slices.Delete(c.entries, i, i+1)
	if g := e.made(); g != nil && g.g.Full() {
		return nil
	}
	c.entries = append(c.entries, e)
	return e
}

// made is the grammar of e, or nil if there is none yet, or cannot be.
func (e *entry) made() *Grammar {
	select {
	case <-e.ready:
		return e.grammar
	default:
		return nil
	}
}

// bytes is the memory of e now.
func (e *entry) bytes() int {
	if g := e.made(); g != nil {
		return g.g.Bytes()
	}
	return 0
}
