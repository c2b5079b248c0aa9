package engine

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

// Long texts go one after another in order, short ones beside them.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b budget
		const long = 15 << 20
		first, err := b.take(t.Context(), long)
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 3 {
			go func() {
				s, err := b.take(t.Context(), long-i)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				s.release()
			}()
			synctest.Wait()
		}
		var short []*share
		for range textReserve / textLeast {
			s, err := b.take(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			short = append(short, s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 2)
		for _, n := range []int{10, long} {
			go func() {
				_, err := b.take(ctx, n)
				failed <- err
			}()
		}
		synctest.Wait()
		if len(failed) > 0 || len(order) > 0 {
			t.Fatalf("%d more texts are in work than there is room for", len(failed)+len(order))
		}
		cancel()
		for range 2 {
			if err := <-failed; !errors.Is(err, context.Canceled) {
				t.Errorf("a text whose request ended waits: %v", err)
			}
		}
		if _, err := b.take(ctx, 10); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that has ended gets a share: %v", err)
		}
		first.release()
		for _, s := range short {
			s.release()
		}
		synctest.Wait()
		if !slices.Equal(order, []int{0, 1, 2}) || b.used != 0 || len(b.waiting) != 0 {
			t.Errorf("order %v, %d bytes in use, %d waiting", order, b.used, len(b.waiting))
		}
	})
}
