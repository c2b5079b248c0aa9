//go:build unix

package tools

import (
	"os/exec"
	"syscall"
)

// inGroup gives a command a process group of its own, which ends with it when its context
// does. kill ends processes left in the group.
func inGroup(cmd *exec.Cmd) (kill func() error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	return kill
}
