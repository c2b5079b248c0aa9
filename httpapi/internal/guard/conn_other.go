//go:build !linux

package guard

import (
	"net"
	"time"
)

// limitUnread does nothing where the system has no such limit.
func limitUnread(*net.TCPConn, time.Duration) {}
