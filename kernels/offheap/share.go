package offheap

import (
	"runtime/debug"
	"sync"
)

// shared is what Share divides: reservations come first, and the heap gets the rest.
var shared struct {
	sync.Mutex
	total    int64 // 0: nothing is divided
	reserved int64
}

// Share has the Go heap and what is reserved outside it stay within total bytes: the collector
// works harder as the heap nears what reservations leave of them, of which it always has an
// eighth. It sets the runtime's soft limit of memory (debug.SetMemoryLimit), now and with each
// reservation. Bytes count once they are reserved, whether they are written or not.
func Share(total int64) {
	shared.Lock()
	defer shared.Unlock()
	shared.total = total
	divide()
}

// take counts n bytes more as reserved; n is below 0 where they are given back.
func take(n int) {
	shared.Lock()
	defer shared.Unlock()
	shared.reserved += int64(n)
	divide()
}

func divide() {
	if shared.total > 0 {
		debug.SetMemoryLimit(max(shared.total-shared.reserved, shared.total/8))
	}
}
