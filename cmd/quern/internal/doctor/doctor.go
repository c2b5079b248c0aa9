// Package doctor checks a machine for causes of slow or failing models, and
// says how to fix them.
package doctor

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"quern/kernels/cgroup"
)

// A State is the result of a check.
type State string

// The states.
const (
	OK     State = "ok"
	Slow   State = "slow"   // it works, and could work better
	Broken State = "broken" // it does not work
)

// A Finding is the outcome of one check.
type Finding struct {
	What  string `json:"what"`
	State State  `json:"state"`
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"` // what to do about it
}

// A Machine is the machine to check.
type Machine struct {
	Root    string // where /proc and /sys are; "/" but in tests
	Level   string // of the CPU, as kernels.Level calls it
	Cores   int
	Threads int // of compute; 0 is one a core

	Read  func() (bytesPerSecond float64, err error) // measures memory
	GPU   func() error                               // why no GPU is used
	Dirs  []Dir
	Files uint64 // that may be open; 0 is not known

	Config string // file of the settings, "" for none
	Bad    error  // why it cannot be used
}

// A Dir is a folder that is written to.
type Dir struct {
	Use, Path, Setting string
	Why                string // it should be fast
}

// Look runs all checks, in order.
func (m *Machine) Look() []Finding {
	var list []Finding
	for _, look := range []func(*Machine) []Finding{
		(*Machine).config, (*Machine).cpu, (*Machine).quota, (*Machine).governor, (*Machine).bandwidth,
		(*Machine).hugePages, (*Machine).gpu, (*Machine).folders, (*Machine).files,
	} {
		list = append(list, look(m)...)
	}
	return list
}

func one(what string, state State, found, fix string) []Finding {
	if state == OK {
		fix = ""
	}
	return []Finding{{what, state, found, fix}}
}

func (m *Machine) config() []Finding {
	switch {
	case m.Bad != nil:
		return one("configuration", Broken, m.Bad.Error(), "correct it; quern help settings lists what there is")
	case m.Config == "":
		return one("configuration", OK, "no file, the defaults hold", "")
	}
	return one("configuration", OK, m.Config, "")
}

func (m *Machine) cpu() []Finding {
	found := fmt.Sprintf("%s, %d cores", m.Level, m.Cores)
	switch {
	case m.Level == "generic":
		return one("CPU level", Slow, found, "this CPU, or the virtual machine, has none of the instructions quern has kernels for (AVX2, AVX-512; NEON on arm64): models run many times slower; choose a CPU type with AVX2, in QEMU -cpu host")
	case m.Level == "neon":
		return one("CPU level", Slow, found, "without dot product instructions quantised models run slower; newer arm64 CPUs have them")
	}
	return one("CPU level", OK, found, "")
}

// quota is a container's limit of CPU time.
func (m *Machine) quota() []Finding {
	cpus, limited := cgroup.CPUs(os.DirFS(m.Root))
	if !limited {
		return nil
	}
	threads := cmp.Or(m.Threads, m.Cores)
	found := fmt.Sprintf("%.1f CPUs for %d compute threads", cpus, threads)
	if float64(threads) > cpus {
		return one("CPU quota", Slow, found, fmt.Sprintf("threads that wait for each other are stopped by the quota: set threads: %d, or give CPUs whole (cpuset)", max(int(cpus), 1)))
	}
	return one("CPU quota", OK, found, "")
}

func (m *Machine) governor() []Finding {
	g := m.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	switch g {
	case "":
		return nil
	case "powersave", "conservative", "userspace":
		// These drivers raise the clock by themselves under that name.
		driver := m.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver")
		if driver != "intel_pstate" && driver != "amd-pstate-epp" || g != "powersave" {
			return one("CPU governor", Slow, g, "cpupower frequency-set -g performance")
		}
	}
	return one("CPU governor", OK, g, "")
}

// slowMemory is what any machine of the last ten years reads faster, in bytes a second.
const slowMemory = 8e9

func (m *Machine) bandwidth() []Finding {
	speed, err := m.Read()
	if err != nil {
		return one("memory bandwidth", Broken, err.Error(), "free memory, or raise the container's limit")
	}
	found := fmt.Sprintf("%.1f GB/s read: a model of 4 GB makes at most %.1f tokens/s for one request", speed/1e9, speed/4e9)
	if speed < slowMemory {
		return one("memory bandwidth", Slow, found, "decoding is as fast as memory is read: fill all memory channels, look for other load, or use a smaller or more quantised model")
	}
	return one("memory bandwidth", OK, found, "")
}

func (m *Machine) hugePages() []Finding {
	modes := m.text("sys/kernel/mm/transparent_hugepage/enabled")
	_, rest, _ := strings.Cut(modes, "[")
	mode, _, ok := strings.Cut(rest, "]")
	switch {
	case !ok:
		return nil
	case mode == "never":
		return one("huge pages", Slow, mode, "the KV cache is read 15 % slower without: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled")
	}
	return one("huge pages", OK, mode, "")
}

func (m *Machine) gpu() []Finding {
	err := m.GPU()
	if err == nil {
		return one("GPU", OK, "NVIDIA's driver answers", "")
	}
	devices, _ := filepath.Glob(filepath.Join(m.Root, "dev", "nvidia[0-9]*"))
	if len(devices) == 0 {
		return one("GPU", OK, "none, models run on the CPU", "")
	}
	return one("GPU", Slow, fmt.Sprintf("%d GPUs that are not used: %v", len(devices), err),
		"use the build with -tags cuda, and give it NVIDIA's driver library libcuda.so.1 (QUERN_LIBCUDA)")
}

func (m *Machine) files() []Finding {
	const enough = 4096
	if m.Files == 0 {
		return nil
	}
	found := fmt.Sprint(m.Files)
	if m.Files < enough {
		return one("open files", Slow, found, "each connection is a file, and they may be half of all: ulimit -n 65536, or LimitNOFILE=65536 in the unit")
	}
	return one("open files", OK, found, "")
}

// text is a file of the system, "" where there is none.
func (m *Machine) text(name string) string {
	b, err := os.ReadFile(filepath.Join(m.Root, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
