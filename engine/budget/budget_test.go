package budget

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
		b := Budget{Total: 16 << 20, Least: 256 << 10, Reserve: 2 << 20}
		const long = 15 << 20
		first, err := b.Take(t.Context(), long)
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 3 {
			go func() {
				s, err := b.Take(t.Context(), long-i)
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				s.Release()
			}()
			synctest.Wait()
		}
		var short []*Share
		for range b.Reserve / b.Least {
			s, err := b.Take(t.Context(), 10)
			if err != nil {
				t.Fatal(err)
			}
			short = append(short, s)
		}
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 2)
		for _, n := range []int{10, long} {
			go func() {
				_, err := b.Take(ctx, n)
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
		if _, err := b.Take(ctx, 10); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that has ended gets a share: %v", err)
		}
		first.Release()
		for _, s := range short {
			s.Release()
		}
		synctest.Wait()
		if !slices.Equal(order, []int{0, 1, 2}) || b.used != 0 || len(b.waiting) != 0 {
			t.Errorf("order %v, %d bytes in use, %d waiting", order, b.used, len(b.waiting))
		}
	})
}
