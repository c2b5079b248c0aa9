//go:build !unix

package tools

import "os/exec"

// inGroup does nothing: a command ends alone when its context does.
func inGroup(*exec.Cmd) (kill func() error) { return func() error { return nil } }
