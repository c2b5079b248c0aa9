package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Machines by what is the matter with them.
func TestLook(t *testing.T) {
	healthy := func() (*Machine, func(name, text string)) {
		root := t.TempDir()
		put := func(name, text string) {
			t.Helper()
			name = filepath.Join(root, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		put("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
		return &Machine{Root: root, Level: "avx512", Cores: 8, Files: 65536,
			Read: func() (float64, error) { return 30e9, nil }, GPU: func() error { return errors.New("no driver") }}, put
	}
	for _, tt := range []struct {
		name  string
		spoil func(m *Machine, put func(name, text string))
		what  string
		state State
		fix   string
	}{
		{"nothing", func(*Machine, func(string, string)) {}, "huge pages", OK, ""},
		{"configuration", func(m *Machine, _ func(string, string)) { m.Bad = errors.New("quern.yaml:3: x") }, "configuration", Broken, "correct"},
		{"old CPU", func(m *Machine, _ func(string, string)) { m.Level = "generic" }, "CPU level", Slow, "AVX2"},
		{"quota", func(m *Machine, put func(string, string)) {
			m.Threads = 4
			put("proc/self/cgroup", "0::/\n")
			put("sys/fs/cgroup/cpu.max", "250000 100000\n")
		}, "CPU quota", Slow, "threads: 2"},
		{"quota met", func(m *Machine, put func(string, string)) {
			m.Threads = 2
			put("proc/self/cgroup", "0::/\n")
			put("sys/fs/cgroup/cpu.max", "250000 100000\n")
		}, "CPU quota", OK, ""},
		{"governor", func(_ *Machine, put func(string, string)) {
			put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave")
		}, "CPU governor", Slow, "performance"},
		{"governor of a driver that raises the clock", func(_ *Machine, put func(string, string)) {
			put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave")
			put("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "amd-pstate-epp")
		}, "CPU governor", OK, ""},
		{"slow memory", func(m *Machine, _ func(string, string)) { m.Read = func() (float64, error) { return 3e9, nil } }, "memory bandwidth", Slow, "channels"},
		{"no huge pages", func(_ *Machine, put func(string, string)) {
			put("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]")
		}, "huge pages", Slow, "madvise"},
		{"GPU without driver", func(_ *Machine, put func(string, string)) { put("dev/nvidia0", ""); put("dev/nvidiactl", "") }, "GPU", Slow, "libcuda"},
		{"few files", func(m *Machine, _ func(string, string)) { m.Files = 1024 }, "open files", Slow, "ulimit"},
		{"folder", func(m *Machine, _ func(string, string)) {
			m.Dirs = []Dir{{Use: "models", Path: filepath.Join(m.Root, "sys/kernel/mm/transparent_hugepage/enabled/below"), Setting: "model_dirs"}}
		}, "folder of models", Broken, "model_dirs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, put := healthy()
			tt.spoil(m, put)
			found := false
			for _, f := range m.Look() {
				switch {
				case f.What == tt.what:
					found = true
					if f.State != tt.state || !strings.Contains(f.Fix, tt.fix) || (f.Fix == "") != (f.State == OK) || f.Found == "" {
						t.Errorf("%+v", f)
					}
				case f.State != OK:
					t.Errorf("besides, %+v", f)
				}
			}
			if !found {
				t.Errorf("nothing about %s", tt.what)
			}
		})
	}
}

// A folder that will be made is judged by where it will be, and nothing is left in it. What
// lies on one file system is as fast.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	var m Machine
	for _, name := range []string{"a", "b", "c"} {
		m.Dirs = append(m.Dirs, Dir{Use: name, Path: filepath.Join(dir, name, "d"), Setting: "model_dirs"})
	}
	f := m.folders()
	if len(f) != len(m.Dirs) {
		t.Fatalf("%+v", f)
	}
	for _, f := range f {
		if f.State == Broken || !strings.Contains(f.Found, "reads") {
			t.Errorf("%+v", f)
		}
	}
	if runtime.GOOS == "linux" {
		_, first, _ := strings.Cut(f[0].Found, ", writes")
		for _, f := range f[1:] {
			if _, speed, _ := strings.Cut(f.Found, ", writes"); speed != first {
				t.Errorf("%q was measured again beside %q", f.Found, first)
			}
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func Example() {
	m := &Machine{Root: "nowhere", Level: "generic", Cores: 4,
		Read: func() (float64, error) { return 20e9, nil }, GPU: func() error { return errors.New("none") }}
	for _, f := range m.Look() {
		fmt.Println(f.What, f.State)
	}
	// Output:
	// configuration ok
	// CPU level slow
	// memory bandwidth ok
	// GPU ok
}
