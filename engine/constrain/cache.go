package constrain

import (
	"slices"
	"sync"
)

// A cache holds the grammars that were asked for last, and why others could not be
// made. An entry is in it from when its grammar begins to be made.
type cache struct {
	mu      sync.Mutex
	entries []*entry // longest unused first
	bytes   int      // of the sources of entries
}

type entry struct {
	key   key
	bytes int

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
func (c *cache) enter(key key, bytes int) (e *entry, added bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.use(key); e != nil {
		return e, false
	}
	e = &entry{key: key, bytes: bytes, ready: make(chan struct{})}
	c.entries = append(c.entries, e)
	c.bytes += bytes
	for len(c.entries) > maxCached || c.bytes > maxSources && len(c.entries) > 1 {
		c.bytes -= c.entries[0].bytes
		c.entries = slices.Delete(c.entries, 0, 1)
	}
	return e, true
}

// use finds an entry and notes that it was.
func (c *cache) use(key key) *entry {
	i := slices.IndexFunc(c.entries, func(e *entry) bool { return e.key == key })
	if i < 0 {
		return nil
	}
	e := c.entries[i]
	c.entries = append(slices.Delete(c.entries, i, i+1), e)
	return e
}
