package responses

import (
	"container/list"
	"context"
	"encoding/json"
	"sync"
	"time"

	"quern/engine"
	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// A store keeps responses in memory, each for the key that made it. It never exceeds
// its limits: for a new entry without room, the least recently used entries of the key that holds
// most are dropped.
type store struct {
	limits server.Responses

	mu      sync.Mutex
	byID    map[string]*entry
	byItem  map[string]*entry // by the ids of its items
	shelves map[string]*shelf // by owner
	bytes   int64
	working int // entries under way
	sweeper *time.Timer
}

// A shelf is the entries of one key, without those under way.
type shelf struct {
	oldest list.List // of *entry, the one not used for longest first
	bytes  int64
}

// An entry is a stored response. Only its store changes it.
type entry struct {
	owner  string
	object object // replaced, never changed
	input  []kept
	job    *job // nil if it was not made in the background

	size int64
	used time.Time     // when it was made, or last gone on from
	at   *list.Element // on its shelf; nil while it is under way

	stop func(context.Context) error // has another process, which makes it, stop; nil where none does
}

// over reports whether a response is.
func (e *entry) over() bool { return e.object.Status != queued && e.object.Status != inProgress }

func newStore(limits server.Responses) *store {
	return &store{limits: limits, byID: map[string]*entry{}, byItem: map[string]*entry{}, shelves: map[string]*shelf{}}
}

// overhead is the bytes of an entry beside its content.
const overhead = 4 << 10

// weigh is the memory an entry counts as.
func (e *entry) weigh() int64 {
	n := int64(overhead)
	for _, items := range [][]kept{e.input, e.object.Output} {
		for _, k := range items {
			n += int64(len(k.raw)) + 256
		}
	}
	for _, t := range e.object.Tools {
		n += int64(len(t))
	}
	n += int64(len(e.object.Text.Format) + len(e.object.ToolChoice))
	if e.object.Instructions != nil {
		n += int64(len(*e.object.Instructions))
	}
	if e.job != nil {
		n += e.job.size()
	}
	return n
}

// add keeps a response, unless there is no room for it even without others, or it is under
// way and too many are.
func (s *store) add(_ context.Context, e *entry, working bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if working && s.working >= s.limits.Background {
		return fault.New(engine.CodeQueueFull, "", "%d responses are being made in the background, the most there may be (responses.background); try again later", s.working)
	}
	e.used, e.size = time.Now(), e.weigh()
	s.byID[e.object.ID] = e
	s.index(e)
	s.bytes += e.size
	if working {
		s.working++
	} else {
		s.shelve(e)
	}
	if !s.makeRoom() {
		s.drop(e)
	}
	if s.byID[e.object.ID] != e {
		return noRoom()
	}
	return nil
}

func noRoom() error {
	return fault.New(engine.CodeQueueFull, "", "there is no room to keep the response (responses.bytes, responses.count); try again later, send less, or set \"store\": false")
}

// grow counts n bytes more for an entry. It fails when there is no room.
func (s *store) grow(e *entry, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[e.object.ID] != e {
		return nil
	}
	s.resize(e, e.size+int64(n))
	if s.makeRoom() {
		return nil
	}
	s.resize(e, e.size-int64(n))
	return noRoom()
}

// resize counts an entry as so many bytes. mu is held.
func (s *store) resize(e *entry, size int64) {
	s.bytes += size - e.size
	if e.at != nil {
		s.shelves[e.owner].bytes += size - e.size
	}
	e.size = size
}

// update replaces the response of an entry under way.
func (s *store) update(_ context.Context, e *entry, o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[e.object.ID] == e {
		e.object = o
	}
}

// finish replaces the response of an entry, which is over.
func (s *store) finish(_ context.Context, e *entry, o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[e.object.ID] != e {
		return // it was deleted
	}
	e.object = o
	s.index(e)
	s.resize(e, e.weigh())
	e.used = time.Now()
	s.working--
	s.shelve(e)
	s.makeRoom()
}

// index adds the items of an entry to byItem. mu is held.
func (s *store) index(e *entry) {
	for _, items := range [][]kept{e.input, e.object.Output} {
		for _, k := range items {
			s.byItem[e.owner+k.id] = e
		}
	}
}

// shelve makes an entry one that may be dropped for others. mu is held.
func (s *store) shelve(e *entry) {
	h := s.shelves[e.owner]
	if h == nil {
		h = &shelf{}
		s.shelves[e.owner] = h
	}
	h.bytes += e.size
	e.at = h.oldest.PushBack(e)
	if s.sweeper == nil && s.limits.Age > 0 {
		s.sweeper = time.AfterFunc(s.limits.Age, s.sweep)
	}
}

// makeRoom drops entries until the limits hold. It fails when none are left that may be
// dropped. mu is held.
func (s *store) makeRoom() bool {
	for s.bytes > s.limits.Bytes {
		if !s.dropOldest(func(h *shelf) int64 { return h.bytes }) {
			return false
		}
	}
	for len(s.byID) > s.limits.Count {
		if !s.dropOldest(func(h *shelf) int64 { return int64(h.oldest.Len()) }) {
			return false
		}
	}
	return true
}

// dropOldest drops the oldest entry of the shelf that has most. mu is held.
func (s *store) dropOldest(has func(*shelf) int64) bool {
	var most *shelf
	for _, h := range s.shelves {
		if most == nil || has(h) > has(most) {
			most = h
		}
	}
	if most == nil {
		return false
	}
	s.drop(most.oldest.Front().Value.(*entry)) // a shelf is never empty
	return true
}

// drop removes an entry. mu is held.
func (s *store) drop(e *entry) {
	delete(s.byID, e.object.ID)
	for _, items := range [][]kept{e.input, e.object.Output} {
		for _, k := range items {
			if s.byItem[e.owner+k.id] == e {
				delete(s.byItem, e.owner+k.id)
			}
		}
	}
	s.bytes -= e.size
	if e.at == nil {
		s.working--
		return
	}
	h := s.shelves[e.owner]
	h.oldest.Remove(e.at)
	if h.bytes -= e.size; h.oldest.Len() == 0 {
		delete(s.shelves, e.owner)
	}
}

// expire drops entries that are too old. mu is held.
func (s *store) expire() {
	if s.limits.Age <= 0 {
		return
	}
	now := time.Now()
	for _, h := range s.shelves {
		for h.oldest.Len() > 0 {
			e := h.oldest.Front().Value.(*entry)
			if now.Sub(e.used) < s.limits.Age {
				break
			}
			s.drop(e)
		}
	}
}

// sweep expires entries when no request does.
func (s *store) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	next := s.limits.Age
	for _, h := range s.shelves {
		next = min(next, s.limits.Age-time.Since(h.oldest.Front().Value.(*entry).used))
	}
	if s.sweeper = nil; len(s.shelves) > 0 {
		s.sweeper = time.AfterFunc(next, s.sweep)
	}
}

// get returns a response as it stands.
func (s *store) get(_ context.Context, owner, id string) (e *entry, o object, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e = s.find(owner, id); e == nil {
		return nil, object{}, notFound(id)
	}
	return e, e.object, nil
}

func notFound(id string) error {
	return fault.New(fault.CodeNotFound, "", "there is no response %.140q; it may have been deleted, or was dropped as old (responses.age, responses.bytes)", id)
}

// find returns an entry of an owner's; nil when there is none. mu is held.
func (s *store) find(owner, id string) *entry {
	s.expire()
	if e := s.byID[id]; e != nil && e.owner == owner {
		return e
	}
	return nil
}

// remove forgets a response.
func (s *store) remove(_ context.Context, e *entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID[e.object.ID] == e {
		s.drop(e)
	}
	return nil
}

// chain returns a response and those it goes on from, oldest first, and whether that is all
// of them; entries that a request continues count as used now.
func (s *store) chain(_ context.Context, owner, id string, goOn bool) (out []*entry, whole bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, whole, err = walk(id, func(id string) (*entry, error) {
		e := s.find(owner, id)
		if e == nil {
			return nil, nil
		}
		now := *e // which may change
		return &now, nil
	})
	if goOn && whole && out[len(out)-1].over() {
		for _, e := range out {
			s.byID[e.object.ID].used = time.Now()
			s.shelves[owner].oldest.MoveToBack(e.at)
		}
	}
	return out, whole, err
}

// item returns an item of an owner's.
func (s *store) item(_ context.Context, owner, id string) (json.RawMessage, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	e := s.byItem[owner+id]
	if e == nil {
		return nil, false, nil
	}
	raw, ok := e.item(id)
	return raw, ok, nil
}

// item returns an item of a response, or of its input.
func (e *entry) item(id string) (json.RawMessage, bool) {
	for _, items := range [][]kept{e.object.Output, e.input} {
		for _, k := range items {
			if k.id == id {
				return k.raw, true
			}
		}
	}
	return nil, false
}
