// Package notify sends the program's state to a service manager, by systemd's sd_notify(3).
package notify

import "net"

// The states.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
)

// Send sends a state to the manager that listens on socket, the value of NOTIFY_SOCKET: a path, or a name
// behind an @. If socket is empty, it does nothing.
func Send(socket, state string) error {
	if socket == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return err
	}
	_, err = c.Write([]byte(state))
	if bad := c.Close(); err == nil {
		err = bad
	}
	return err
}
