package disk

import "container/heap"

// An index is the files that are known, the least recently used on top of a heap.
type index struct {
	known [256]map[Key]*entry // by folder
	files int
	heap  byUse
	bytes int64
	last  uint64        // highest use number
	dirty map[Key]stamp // last uses that are not in the files' times yet
}

// mostDirty is how many of those are kept until they are written.
const mostDirty = 4096

type entry struct {
	key   Key
	size  int64
	used  stamp
	place int // in the heap
}

func newIndex() index {
	x := index{dirty: map[Key]stamp{}}
	for i := range x.known {
		x.known[i] = map[Key]*entry{}
	}
	return x
}

// entry returns that of a file that is known, else nil.
func (x *index) entry(k Key) *entry { return x.known[k[0]][k] }

func (x *index) use() uint64 {
	x.last++
	return x.last
}

// add adds a file, or updates it.
func (x *index) add(k Key, size int64, used stamp) {
	x.last = max(x.last, used.use())
	if e := x.entry(k); e != nil {
		x.bytes += size - e.size
		e.size = size
		x.raise(e, used)
		return
	}
	e := &entry{key: k, size: size, used: used}
	x.known[k[0]][k] = e
	x.bytes += size
	x.files++
	heap.Push(&x.heap, e)
}

func (x *index) raise(e *entry, used stamp) bool {
	if used <= e.used {
		return false
	}
	e.used = used
	heap.Fix(&x.heap, e.place)
	return true
}

// touch sets the last use of a file.
func (x *index) touch(k Key, used stamp) {
	x.last = max(x.last, used.use())
	if e := x.entry(k); e != nil && x.raise(e, used) {
		x.dirty[k] = used
	}
}

func (x *index) remove(k Key) {
	if e := x.entry(k); e != nil {
		heap.Remove(&x.heap, e.place)
		x.bytes -= e.size
		x.files--
		delete(x.known[k[0]], k)
		delete(x.dirty, k)
	}
}

// oldest is the least recently used, of which there is one.
func (x *index) oldest() Key { return x.heap[0].key }

// merge makes found the files of a folder.
func (x *index) merge(folder byte, found []entry) {
	here := make(map[Key]bool, len(found))
	for _, e := range found {
		here[e.key] = true
		x.add(e.key, e.size, e.used)
	}
	for k := range x.known[folder] {
		if !here[k] {
			x.remove(k)
		}
	}
}

func (x *index) takeDirty() map[Key]stamp {
	d := x.dirty
	x.dirty = map[Key]stamp{}
	return d
}

// byUse implements heap.Interface.
type byUse []*entry

func (h byUse) Len() int           { return len(h) }
func (h byUse) Less(i, j int) bool { return h[i].used < h[j].used }
func (h byUse) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *byUse) Push(x any) {
	e := x.(*entry)
	e.place = len(*h)
	*h = append(*h, e)
}

func (h *byUse) Pop() any {
	n := len(*h) - 1
	e := (*h)[n]
	(*h)[n] = nil
	*h = (*h)[:n]
	return e
}
