// Package cgroup reads what the control groups of Linux allow this process.
package cgroup

import (
	"bufio"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Memory returns how many bytes the process may use, and whether there is a limit at all. root
// is where /proc and /sys are. On other systems nothing is found, and nothing is limited.
func Memory(root fs.FS) (bytes int64, limited bool) {
	each(root, "memory", func(dir string) {
		for _, name := range []string{"memory.max", "memory.limit_in_bytes"} {
			// "max" is no number; version 1 says a number that no machine has.
			n, err := strconv.ParseInt(text(root, dir, name), 10, 64)
			if err == nil && n > 0 && n < 1<<60 && (!limited || n < bytes) {
				bytes, limited = n, true
			}
		}
	})
	return bytes, limited
}

// CPUs returns how many CPUs' time the process may use, and whether there is a limit at all.
func CPUs(root fs.FS) (n float64, limited bool) {
	each(root, "cpu", func(dir string) {
		quota, period, _ := strings.Cut(text(root, dir, "cpu.max"), " ")
		if quota == "" {
			quota, period = text(root, dir, "cpu.cfs_quota_us"), text(root, dir, "cpu.cfs_period_us")
		}
		q, err := strconv.ParseFloat(quota, 64) // "max" is no number, and -1 no limit
		p, err2 := strconv.ParseFloat(period, 64)
		if err == nil && err2 == nil && q > 0 && p > 0 && (!limited || q/p < n) {
			n, limited = q/p, true
		}
	})
	return n, limited
}

// each calls do with the folders of the groups that the process is in and that a controller may
// limit, from the innermost outwards. A folder need not be there: a container sees the
// outermost of its groups only, where the host's root would be.
func each(root fs.FS, controller string, do func(dir string)) {
	file, err := root.Open("proc/self/cgroup")
	if err != nil {
		return
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		// "ID:CONTROLLERS:PATH"; version 2 names no controllers.
		_, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		mounts := []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		if controllers != "" {
			if !strings.Contains(","+controllers+",", ","+controller+",") {
				continue
			}
			mounts = []string{"sys/fs/cgroup/" + controllers, "sys/fs/cgroup/" + controller}
		}
		for _, mount := range mounts {
			for g := path.Clean("/" + group); ; g = path.Dir(g) {
				do(mount + strings.TrimSuffix(g, "/"))
				if g == "/" {
					break
				}
			}
		}
	}
}

// text is the first line of a file, "" where there is none.
func text(root fs.FS, dir, name string) string {
	b, err := fs.ReadFile(root, dir+"/"+name)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}
