// Package system is what benchmarks ask of the system beside its clocks: ports, and that it forgets
// files.
package system

import "net"

// FreePorts finds so many ports of this machine that no process listens on.
func FreePorts(n int) (ports []string, err error) {
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer ln.Close()
		_, port, _ := net.SplitHostPort(ln.Addr().String())
		ports = append(ports, port)
	}
	return ports, nil
}
