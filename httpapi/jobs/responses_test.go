package jobs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"quern/bench/poll"
	"quern/httpapi/batch"
)

func TestResponses(t *testing.T) {
	t.Parallel() // it waits
	stores(t, func(t *testing.T, o Options) {
		o.ResponseBytes = 64 << 20
		j, _ := openJobs(t, o, (&clerk{}).run)
		ctx := t.Context()
		if _, err := j.Response(ctx, "me", "resp_1"); !errors.Is(err, batch.ErrNotFound) {
			t.Errorf("before there are any: %v", err)
		}
		long := strings.Repeat("0123456789", largeResult/4)
		for _, record := range []string{"", "short", long, long + "longer", "short again"} {
			if err := j.KeepResponse(ctx, "me", "resp_1", []string{"msg_1", "any name / at all"}, []byte(record)); err != nil {
				t.Fatal(err)
			}
			if got, err := j.Response(ctx, "me", "resp_1"); err != nil || string(got) != record {
				t.Errorf("%d bytes, want %d; %v", len(got), len(record), err)
			}
		}
		// Of the records that were replaced nothing is left.
		keys, err := j.s.responses.Keys(ctx)
		if err != nil || len(keys) != 3 {
			t.Errorf("keys %q, %v", keys, err)
		}
		if id, err := j.ResponseOf(ctx, "me", "any name / at all"); id != "resp_1" || err != nil {
			t.Errorf("the item is of %q, %v", id, err)
		}
		_, err1 := j.Response(ctx, "other", "resp_1")
		_, err2 := j.ResponseOf(ctx, "other", "msg_1")
		_, err3 := j.Response(ctx, "me", "resp_1.>")
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, batch.ErrNotFound) {
				t.Error(err)
			}
		}
		if err := j.DropResponse(ctx, "me", "resp_1", []string{"msg_1", "any name / at all"}); err != nil {
			t.Error(err)
		}
		if _, err := j.Response(ctx, "me", "resp_1"); !errors.Is(err, batch.ErrNotFound) {
			t.Error(err)
		}
		if i, err := j.s.js.Stream(ctx, "KV_"+bucketResponses); err != nil || i.CachedInfo().State.Msgs != 0 {
			t.Errorf("%+v, %v is left", i.CachedInfo().State, err)
		}
	})
}

// TestResponsesFull: the oldest responses go, and no more is kept than may be.
func TestResponsesFull(t *testing.T) {
	t.Parallel() // it waits
	stores(t, func(t *testing.T, o Options) {
		o.ResponseBytes = 1 << 20
		j, _ := openJobs(t, o, (&clerk{}).run)
		record := []byte(strings.Repeat("x", 100<<10))
		for i := range 30 {
			if err := j.KeepResponse(t.Context(), "", fmt.Sprint("resp_", i), nil, record); err != nil {
				t.Fatal(err)
			}
		}
		_, first := j.Response(t.Context(), "", "resp_0")
		_, last := j.Response(t.Context(), "", "resp_29")
		if !errors.Is(first, batch.ErrNotFound) || last != nil {
			t.Errorf("the first: %v; the last: %v", first, last)
		}
		if i, err := j.s.js.Stream(t.Context(), "KV_"+bucketResponses); err != nil || i.CachedInfo().State.Bytes > 1<<20 {
			t.Errorf("%d bytes, %v", i.CachedInfo().State.Bytes, err)
		}
	})
}

// TestHold: the process that makes a response is recorded, and receives words.
func TestHold(t *testing.T) {
	t.Parallel() // it waits
	stores(t, func(t *testing.T, o Options) {
		o.ResponseBytes = 1 << 20
		j, _ := openJobs(t, o, (&clerk{}).run)
		held := func() bool {
			held, err := j.ResponseHeld(t.Context(), "resp_1")
			if err != nil {
				t.Fatal(err)
			}
			return held
		}
		words := make(chan string, 1)
		release, err := j.HoldResponse(t.Context(), "me", "resp_1", func(w string) { words <- w })
		if err != nil || !held() {
			t.Fatal(err)
		}
		if err := j.TellResponse(t.Context(), "me", "resp_1", "cancelled"); err != nil {
			t.Fatal(err)
		}
		var heard string
		poll.Until(t, "the word is heard", func() bool {
			select {
			case heard = <-words:
			default:
			}
			return heard != ""
		})
		release()
		if heard != "cancelled" || held() {
			t.Errorf("heard %q, held %v", heard, held())
		}
		if i, err := j.s.js.Stream(t.Context(), "KV_"+bucketResponses); err != nil || i.CachedInfo().State.Msgs != 0 {
			t.Errorf("%+v, %v is left", i.CachedInfo().State, err)
		}
	})
}
