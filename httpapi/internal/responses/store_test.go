package responses

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"quern/httpapi/internal/fault"
	"quern/httpapi/internal/server"
)

// entryOf is a response of an owner with an item of n bytes.
func entryOf(owner, id string, n int) *entry {
	text := `"` + strings.Repeat("x", n) + `"`
	return &entry{owner: owner, object: object{ID: id, Output: []kept{}}, input: []kept{{"item of " + id, []byte(text)}}}
}

func (s *store) has(owner, id string) bool {
	_, _, err := s.get(context.Background(), owner, id)
	return err == nil
}

// check returns what is wrong with a store: limits that do not hold, or sums that are not.
func (s *store) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var bytes int64
	items, shelved := 0, 0
	for id, e := range s.byID {
		if e.object.ID != id {
			return fmt.Errorf("%s is stored as %s", e.object.ID, id)
		}
		bytes += e.size
		items += len(e.input) + len(e.object.Output)
	}
	for owner, h := range s.shelves {
		var own int64
		for at := h.oldest.Front(); at != nil; at = at.Next() {
			e := at.Value.(*entry)
			if e.owner != owner || e.at != at || s.byID[e.object.ID] != e {
				return fmt.Errorf("%s is on the wrong shelf", e.object.ID)
			}
			own += e.size
			shelved++
		}
		if own != h.bytes || h.oldest.Len() == 0 {
			return fmt.Errorf("a shelf of %d has %d bytes, not %d", h.oldest.Len(), own, h.bytes)
		}
	}
	switch {
	case bytes != s.bytes || len(s.byID) != shelved+s.working || len(s.byItem) != items:
		return fmt.Errorf("%d bytes of %d, %d+%d entries of %d, %d items of %d", s.bytes, bytes, shelved, s.working, len(s.byID), len(s.byItem), items)
	case s.bytes > s.limits.Bytes || len(s.byID) > s.limits.Count || s.working > s.limits.Background:
		return fmt.Errorf("%d bytes, %d entries, %d under way: over %+v", s.bytes, len(s.byID), s.working, s.limits)
	}
	return nil
}

// TestLimitsHold: whatever a thousand writers do at a time, no limit is passed and nothing
// is lost or counted twice.
func TestLimitsHold(t *testing.T) {
	s := newStore(server.Responses{Bytes: 1 << 20, Count: 100, Background: 8, Age: time.Hour})
	var wg sync.WaitGroup
	var held, dropped, refused atomic.Int64
	for i := range 1000 {
		wg.Go(func() {
			owner, id := fmt.Sprint("key ", i%7), fmt.Sprint("response ", i)
			e := entryOf(owner, id, 100*(i%300))
			working := i%5 == 0
			if working {
				e.job = newJob(true)
			}
			if err := s.add(context.Background(), e, working); err != nil {
				refused.Add(1)
			} else if working {
				for range 3 {
					s.grow(e, 1000*(i%17))
				}
				o := e.object
				o.Output = []kept{{"out of " + id, []byte(`"y"`)}}
				s.finish(context.Background(), e, o)
				s.grow(e, 1000*(i%19)) // the last event
			}
			if err := s.check(); err != nil {
				t.Error(err)
			}
			switch {
			case i%11 == 0:
				s.remove(context.Background(), e)
			case i%13 == 0:
				s.chain(context.Background(), owner, id, true)
			}
			if s.has(owner, id) {
				held.Add(1)
			} else {
				dropped.Add(1)
			}
			if s.has("another", id) {
				t.Errorf("another key sees %s", id)
			}
		})
	}
	wg.Wait()
	if err := s.check(); err != nil {
		t.Error(err)
	}
	// How many are refused depends on the order of the goroutines.
	if held.Load() == 0 || dropped.Load() == 0 || len(s.byID) == 0 {
		t.Errorf("%d kept, %d dropped, %d refused, %d at the end", held.Load(), dropped.Load(), refused.Load(), len(s.byID))
	}
	for id, e := range s.byID {
		s.remove(context.Background(), e)
		if s.has(e.owner, id) {
			t.Errorf("%s is still there", id)
		}
	}
	if s.bytes != 0 || len(s.byItem) != 0 || len(s.shelves) != 0 {
		t.Errorf("%d bytes, %d items and %d shelves are left of nothing", s.bytes, len(s.byItem), len(s.shelves))
	}
}

// TestWhoHasMostLoses: a key that fills the store takes nothing from one that does not.
func TestWhoHasMostLoses(t *testing.T) {
	s := newStore(server.Responses{Bytes: 1 << 20, Count: 10, Background: 1})
	if err := s.add(context.Background(), entryOf("small", "first", 10), false); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if err := s.add(context.Background(), entryOf("large", fmt.Sprint(i), 1000), false); err != nil {
			t.Fatal(err)
		}
	}
	if !s.has("small", "first") || s.has("large", "90") || !s.has("large", "91") || !s.has("large", "99") {
		t.Error("the oldest of the key that has most did not go first")
	}
	if err := s.add(context.Background(), entryOf("small", "too large", 2<<20), false); err == nil || s.has("small", "too large") {
		t.Errorf("what is larger than the store was kept: %v", err)
	}
}

// TestAge: a response expires when its time has come, also without requests, and one
// that is gone on from stays with all before it.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore(server.Responses{Bytes: 1 << 20, Count: 10, Background: 1, Age: time.Hour})
		add := func(id, previous string) {
			e := entryOf("k", id, 10)
			if previous != "" {
				e.object.Previous = &previous
			}
			if err := s.add(context.Background(), e, false); err != nil {
				t.Fatal(err)
			}
		}
		add("a", "")
		time.Sleep(30 * time.Minute)
		add("b", "a")
		add("c", "")
		time.Sleep(29 * time.Minute)
		if _, err := conversationOf(context.Background(), s, "k", "b"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute) // a is 1:58 old, and was used 59 minutes ago
		if !s.has("k", "a") || !s.has("k", "b") || s.has("k", "c") {
			t.Error("age does not count from the last use")
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		s.mu.Lock()
		left, timer := len(s.byID), s.sweeper
		s.mu.Unlock()
		if left != 0 || timer != nil {
			t.Errorf("%d responses are left without requests; sweeper %v", left, timer)
		}
	})
}

// TestChain: a conversation is all there is before a response, or none.
func TestChain(t *testing.T) {
	s := newStore(server.Responses{Bytes: 1 << 20, Count: 10, Background: 1})
	previous := ""
	var list []*entry
	for _, id := range []string{"a", "b", "c"} {
		e := entryOf("k", id, 10)
		if previous != "" {
			before := previous
			e.object.Previous = &before
		}
		e.object.Output = []kept{{"out of " + id, []byte(`"y"`)}}
		previous = id
		list = append(list, e)
		if err := s.add(context.Background(), e, false); err != nil {
			t.Fatal(err)
		}
	}
	ids := func(items []kept) string {
		var out []string
		for _, k := range items {
			out = append(out, k.id)
		}
		return strings.Join(out, ", ")
	}
	const before = "item of a, out of a, item of b, out of b, item of c"
	items, err := conversationOf(context.Background(), s, "k", "c")
	if got := ids(items); err != nil || got != before+", out of c" {
		t.Errorf("%s, %v", got, err)
	}
	if got := ids(must(inputsOf(context.Background(), s, "k", "c"))); got != before {
		t.Errorf("made from %s", got)
	}
	if _, err := conversationOf(context.Background(), s, "another", "c"); !is(err, fault.CodePreviousNotFound) {
		t.Errorf("another key: %v", err)
	}
	s.remove(context.Background(), list[1])
	if _, err := conversationOf(context.Background(), s, "k", "c"); !is(err, fault.CodePreviousNotFound) || !strings.Contains(err.Error(), "others") {
		t.Errorf("with a hole: %v", err)
	}
	if got := ids(must(inputsOf(context.Background(), s, "k", "c"))); got != "item of c" {
		t.Errorf("made from %s", got)
	}
	if _, ok, _ := s.item(context.Background(), "k", "out of b"); ok {
		t.Error("an item is left of a response that was removed")
	}
	if raw, ok, _ := s.item(context.Background(), "k", "out of c"); !ok || string(raw) != `"y"` {
		t.Errorf("item %s, %v", raw, ok)
	}
	if _, ok, _ := s.item(context.Background(), "another", "out of c"); ok {
		t.Error("another key sees an item")
	}
}

func is(err error, c fault.Code) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Code == c
}

// TestBackgroundIsBounded: one job more than may be under way is refused, until one has ended.
func TestBackgroundIsBounded(t *testing.T) {
	s := newStore(server.Responses{Bytes: 1 << 20, Count: 10, Background: 1})
	job := func(id string) (*entry, error) {
		e := entryOf("key", id, 10)
		e.job = newJob(true)
		return e, s.add(context.Background(), e, true)
	}
	first, err := job("first")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job("second"); err == nil || s.has("key", "second") {
		t.Errorf("a second job: %v", err)
	}
	s.finish(context.Background(), first, first.object)
	if _, err := job("third"); err != nil {
		t.Errorf("after the first had ended: %v", err)
	}
}

func must(items []kept, err error) []kept {
	if err != nil {
		panic(err)
	}
	return items
}
