package grammar

import (
	"errors"
	"testing"
)

// TestExpressionsBudget: the limit on steps is for all questions together.
func TestExpressionsBudget(t *testing.T) {
	e := NewExpressions(Limits{Compile: 1000})
	for n := 1; n <= 100; n++ {
		if _, err := e.Matches(Repeat(Lit("ab"), n, n), "ab"); err != nil {
			var limit *LimitError
			if !errors.As(err, &limit) || limit.Max != 1000 || n < 3 {
				t.Fatalf("question %d: %v", n, err)
			}
			return
		}
		if _, err := e.Empty(Repeat(Lit("xyz"), n, n)); err != nil {
			continue
		}
	}
	t.Error("100 questions within 1000 steps")
}
