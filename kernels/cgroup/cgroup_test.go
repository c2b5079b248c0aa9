package cgroup_test

import (
	"os"
	"testing"
	"testing/fstest"

	"quern/kernels/cgroup"
)

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name   string
		files  map[string]string
		memory int64   // 0: no limit
		cpus   float64 // 0: no limit
	}{
		{"another system", nil, 0, 0},
		{"version 2, no limits", map[string]string{
			"proc/self/cgroup": "0::/user.slice\n", "sys/fs/cgroup/user.slice/memory.max": "max\n", "sys/fs/cgroup/user.slice/cpu.max": "max 100000\n"}, 0, 0},
		{"version 2, a container", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "134217728\n", "sys/fs/cgroup/cpu.max": "250000 100000\n"}, 128 << 20, 2.5},
		{"version 2, a unit of systemd, the slice around it being smaller", map[string]string{
			"proc/self/cgroup": "0::/a.slice/quern.service\n",
			"sys/fs/cgroup/a.slice/quern.service/memory.max": "4294967296\n", "sys/fs/cgroup/a.slice/memory.max": "1073741824\n",
			"sys/fs/cgroup/a.slice/quern.service/cpu.max": "100000 100000\n", "sys/fs/cgroup/a.slice/cpu.max": "max 100000\n"}, 1 << 30, 1},
		{"version 1", map[string]string{
			"proc/self/cgroup": "4:memory:/a/b\n3:cpuset:/a\n2:cpu,cpuacct:/a\n1:name=systemd:/\n0::/\n",
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "268435456\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "50000\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"}, 256 << 20, 0.5},
		{"version 1, no limits", map[string]string{
			"proc/self/cgroup":                           "4:memory:/\n2:cpu:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":         "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"}, 0, 0},
		{"version 1, a container that is told the host's path", map[string]string{
			"proc/self/cgroup": "4:memory:/docker/0123\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n"}, 1 << 20, 0},
		{"another controller's group", map[string]string{
			"proc/self/cgroup": "3:cpuset:/a\n", "sys/fs/cgroup/cpuset/a/memory.limit_in_bytes": "1048576\n"}, 0, 0},
		{"a path that leaves the mount", map[string]string{
			"proc/self/cgroup": "0::/../../x\n", "sys/fs/cgroup/memory.max": "4096\n"}, 4096, 0},
		{"nonsense", map[string]string{
			"proc/self/cgroup": "\n:\n0:\n0::\n:::::\n0::/\n", "sys/fs/cgroup/memory.max": "-5\n", "sys/fs/cgroup/cpu.max": "0 0\n"}, 0, 0},
		{"nothing said", map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "", "sys/fs/cgroup/cpu.max": ""}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range tt.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if n, limited := cgroup.Memory(root); n != tt.memory || limited != (tt.memory > 0) {
				t.Errorf("memory: %d, %v; want %d", n, limited, tt.memory)
			}
			if n, limited := cgroup.CPUs(root); n != tt.cpus || limited != (tt.cpus > 0) {
				t.Errorf("CPUs: %g, %v; want %g", n, limited, tt.cpus)
			}
		})
	}
	// What this machine says is anything, but never less than this test takes.
	if n, limited := cgroup.Memory(os.DirFS("/")); limited && n < 1<<20 {
		t.Errorf("this process may use %d bytes", n)
	}
}
