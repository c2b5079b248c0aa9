package cpu

import (
	"testing"

	"quern/engine/graph"
	"quern/engine/graph/graphtest"
)

func TestBackend(t *testing.T) {
	for _, threads := range []int{1, 3} {
		graphtest.Backend(t, func(*testing.T) graph.Backend { return Open(threads) })
	}
}
