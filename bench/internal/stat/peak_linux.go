package stat

import (
	"os"
	"syscall"
)

// PeakRSS returns the most memory that a process which has ended had resident, in bytes.
func PeakRSS(p *os.ProcessState) float64 {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return float64(u.Maxrss) * 1024
}
