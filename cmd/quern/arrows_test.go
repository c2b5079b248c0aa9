package main

import (
	"encoding/json"
	"errors"
	"go/build/constraint"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// arrows says what a package may import beside the standard library. A name
// that ends in /... stands for everything below it, and for itself. The closest
// matching pkg counts. Tests may import more and are not checked.
var arrows = []struct {
	pkg string
	may []string
}{
	{"kernels", []string{"quern/kernels/internal/isa"}},
	{"kernels/offheap", []string{"golang.org/x/sys/..."}},
	{"kernels/cgroup", nil},
	{"kernels/threads", []string{"quern/kernels/cgroup", "golang.org/x/sys/..."}},
	{"kernels/fourier", nil},
	{"kernels/bandwidth", []string{"quern/kernels/internal/isa", "quern/kernels/threads"}},
	{"kernels/vec", []string{"quern/kernels/internal/isa", "quern/kernels/threads"}},
	{"kernels/dot", []string{"quern/kernels/internal/isa", "quern/kernels/quant"}},
	{"kernels/gemm", []string{"quern/kernels/internal/isa", "quern/kernels/threads"}},
	{"kernels/matmul", []string{"quern/kernels/dot", "quern/kernels/quant", "quern/kernels/threads", "quern/kernels/vec"}},
	{"kernels/attention", []string{"quern/kernels/dot", "quern/kernels/gemm", "quern/kernels/internal/isa", "quern/kernels/quant", "quern/kernels/threads", "quern/kernels/vec"}},
	{"kernels/conv", []string{"quern/kernels/gemm", "quern/kernels/internal/isa", "quern/kernels/threads", "quern/kernels/vec"}},
	{"kernels/recurrent", []string{"quern/kernels/gemm", "quern/kernels/internal/isa", "quern/kernels/threads", "quern/kernels/vec"}},
	{"kernels/internal/...", []string{"quern/kernels/internal/...", "golang.org/x/sys/..."}},
	{"kernels/internal/isa/isatest", []string{"quern/kernels/internal/isa", "quern/bench/fixtures"}},
	{"kernels/cuda/...", []string{"quern/kernels/cuda/...", "quern/kernels/quant"}},
	{"kernels/quant", []string{"quern/kernels/internal/isa", "golang.org/x/sys/..."}},
	{"kernels/cuda/driver", []string{"quern/kernels/cuda/...", "github.com/ebitengine/purego"}},
	{"kernels/internal/isa", []string{"golang.org/x/sys/..."}},

	{"codecs/...", []string{"quern/codecs/...", "golang.org/x/sys/..."}},
	{"codecs/aac", []string{"quern/codecs/...", "quern/kernels/fourier"}},
	{"codecs/resample", []string{"quern/codecs/...", "quern/kernels/dot", "quern/kernels/quant"}},
	{"codecs/internal/audiotest", []string{"quern/bench/fixtures"}},
	{"codecs/flac", []string{"quern/codecs/...", "github.com/mewkiz/flac/..."}},
	{"codecs/mp4", []string{"quern/codecs/...", "github.com/mycophonic/saprobe-alac"}},
	{"codecs/opus", []string{"quern/codecs/...", "github.com/thesyncim/gopus"}},
	{"codecs/vorbis", []string{"quern/codecs/...", "github.com/jfreymuth/vorbis"}},

	{"formats/internal/scan", nil},
	{"formats/weights", []string{"quern/kernels/quant", "golang.org/x/sys/..."}},
	{"formats/...", []string{"quern/formats/weights", "quern/formats/internal/...", "quern/kernels/quant"}},
	{"formats/onnx/onnxtest", []string{"quern/formats/onnx", "quern/kernels/quant"}},
	{"formats", []string{"quern/formats/...", "quern/kernels/quant"}},

	{"engine/diskspace", []string{"golang.org/x/sys/..."}},
	{"engine/hub", []string{"quern/engine/diskspace", "quern/engine/filelock", "quern/engine/promise", "quern/kernels/quant", "golang.org/x/sys/..."}},
	{"engine/filelock", []string{"golang.org/x/sys/..."}},
	{"engine/hub/hubtest", nil},
	{"engine/promise", nil},
	{"engine/rescue", nil},
	{"engine/store", []string{"quern/engine", "quern/engine/hub", "quern/engine/rescue"}},
	{"engine/graph", []string{"quern/formats/weights", "quern/kernels/quant", "quern/kernels/threads", "gorgonia.org/...", "github.com/chewxy/hm", "gonum.org/v1/gonum/graph/..."}},
	{"engine/graph/graphtest", []string{"quern/engine/graph", "quern/formats/weights", "quern/kernels/quant", "quern/kernels/threads"}},
	{"engine/model", []string{"quern/engine/graph", "quern/engine/rescue", "quern/formats/weights", "quern/kernels/quant"}},
	{"engine/cpu", []string{"quern/engine/graph", "quern/formats/weights", "quern/kernels/...", "golang.org/x/sys/..."}},
	{"engine/cuda", []string{"quern/engine/graph", "quern/formats/weights", "quern/kernels/...", "golang.org/x/sys/..."}},
	{"engine/token/...", []string{"quern/engine/token/...", "quern/formats/weights", "golang.org/x/text/..."}},
	{"engine/onnx", []string{"quern/engine/onnx/internal/...", "quern/formats/onnx"}},
	{"engine/onnx/internal/tensor", []string{"quern/engine/rescue", "quern/formats/onnx", "quern/kernels/quant"}},
	{"engine/onnx/internal/run", []string{"quern/engine/onnx/internal/tensor", "quern/formats/onnx", "quern/kernels/offheap", "quern/kernels/threads"}},
	{"engine/onnx/internal/...", []string{"quern/engine/onnx/internal/ops/...", "quern/engine/onnx/internal/run", "quern/engine/onnx/internal/tensor", "quern/formats/onnx", "quern/kernels/..."}},
	{"engine/sample", []string{"quern/engine/token", "quern/kernels", "quern/kernels/vec"}},
	{"engine/kv", nil},
	{"engine/kv/disk", nil},
	{"engine/kv/disk/disktest", []string{"quern/engine/kv/disk"}},
	{"engine/sched", []string{"quern/engine/graph", "quern/engine/kv", "quern/engine/kv/disk", "quern/engine/rescue", "quern/engine/sample", "quern/engine/token", "quern/engine/trace", "quern/kernels/quant", "quern/kernels/threads"}},
	{"engine/trace", nil},
	{"engine/draft", []string{"quern/engine/graph", "quern/engine/kv", "quern/engine/sched", "quern/engine/token"}},
	{"engine/chat/...", []string{"quern/engine/chat/...", "quern/engine/wire", "golang.org/x/text/..."}},
	{"engine/wire", nil},
	{"engine/wire/rules", []string{"quern/engine/grammar", "quern/engine/grammar/schema", "quern/engine/wire"}},
	{"engine/asr/...", []string{"quern/engine/asr/...", "quern/engine/graph", "quern/engine/kv", "quern/engine/rescue", "quern/engine/token", "quern/formats/...", "quern/kernels/..."}},
	{"engine/asr/heard", []string{"quern/engine/asr/audio", "quern/engine/asr/vad", "quern/engine/token"}},
	{"engine/asr/speakers", []string{"quern/engine/asr/heard"}},
	{"engine/asr/diarize", []string{"quern/engine/asr/audio", "quern/engine/asr/speakers", "quern/engine/onnx", "quern/formats/onnx", "quern/formats/weights", "quern/kernels/vec"}},
	{"engine/asr/conformer", []string{"quern/engine/asr", "quern/engine/asr/audio", "quern/engine/asr/heard", "quern/engine/asr/vad", "quern/engine/onnx", "quern/engine/rescue", "quern/engine/token", "quern/formats/onnx", "quern/formats/weights"}},
	{"engine/tts/...", []string{"quern/engine/tts/...", "quern/engine/graph", "quern/formats/...", "quern/kernels/...", "golang.org/x/text/..."}},
	{"engine/grammar", nil},
	{"engine/grammar/...", []string{"quern/engine/grammar", "quern/engine/grammar/..."}},
	{"engine/builtin", nil},
	{"engine/budget", []string{"quern/engine"}},
	{"engine/spell", nil},
	{"engine", []string{"quern/engine/asr/audio", "quern/engine/asr/heard", "quern/engine/asr/speakers", "quern/engine/asr/vad", "quern/engine/chat", "quern/engine/sample", "quern/engine/token", "quern/engine/tts", "quern/kernels/quant"}},
	{"engine/device", []string{"quern/engine", "quern/engine/cpu", "quern/engine/cuda", "quern/engine/graph", "quern/kernels/cuda/driver", "quern/kernels/threads"}},
	{"engine/wholefile", nil},
	{"engine/lm", []string{"quern/engine", "quern/engine/budget", "quern/engine/builtin", "quern/engine/cpu", "quern/engine/graph", "quern/engine/kv/disk", "quern/engine/model", "quern/engine/quantize", "quern/engine/rescue", "quern/engine/token", "quern/engine/tts/kokoro", "quern/formats", "quern/formats/...", "quern/kernels/quant"}},
	{"engine/measure", []string{"quern/engine", "quern/engine/asr", "quern/engine/asr/conformer", "quern/engine/device", "quern/engine/graph", "quern/engine/lm", "quern/engine/model", "quern/engine/onnx/serve", "quern/engine/token", "quern/formats/onnx", "quern/kernels", "quern/kernels/quant", "quern/kernels/threads"}},
	{"engine/quantize", []string{"quern/engine/wholefile", "quern/engine/model", "quern/engine/rescue", "quern/engine/token", "quern/formats/...", "quern/formats", "quern/kernels/quant", "quern/kernels/threads"}},

	// What requests ask for: the jobs import neither each other nor the catalog or residency of models.
	{"engine/catalog", []string{"quern/engine", "quern/engine/rescue", "quern/formats/gguf", "quern/formats/weights"}},
	{"engine/residency", []string{"quern/engine", "quern/engine/catalog", "quern/engine/rescue", "quern/formats/weights"}},
	{"engine/constrain", []string{"quern/engine", "quern/engine/grammar", "quern/engine/grammar/...", "quern/engine/sample", "quern/engine/token", "quern/engine/wire", "quern/engine/wire/rules"}},
	{"engine/textgen", []string{"quern/engine", "quern/engine/budget", "quern/engine/chat", "quern/engine/constrain", "quern/engine/lm", "quern/engine/sample", "quern/engine/sched", "quern/engine/token", "quern/engine/wire", "quern/engine/wire/rules"}},
	{"engine/embed", []string{"quern/engine", "quern/engine/graph", "quern/engine/lm", "quern/engine/model", "quern/engine/token", "quern/formats/weights"}},
	{"engine/speech", []string{"quern/engine", "quern/engine/budget", "quern/engine/tts", "quern/engine/tts/g2p", "quern/engine/tts/ssml"}},
	{"engine/transcribe", []string{"quern/engine", "quern/engine/asr", "quern/engine/asr/audio", "quern/engine/asr/heard", "quern/engine/asr/conformer", "quern/engine/asr/vad", "quern/engine/budget", "quern/engine/asr/diarize"}},
	{"engine/live", []string{"quern/engine", "quern/engine/asr/audio", "quern/engine/asr/heard", "quern/engine/asr/vad"}},
	{"engine/onnx/serve", []string{"quern/engine", "quern/engine/asr", "quern/engine/graph", "quern/engine/lm", "quern/engine/model", "quern/engine/onnx", "quern/engine/token", "quern/engine/wholefile",
		"quern/formats/onnx", "quern/formats/safetensors", "quern/formats/weights", "quern/kernels/threads"}},
	{"engine/local", []string{"quern/engine/...", "quern/formats/ggml", "quern/formats/onnx", "quern/formats/weights"}},

	{"httpapi", []string{"quern/httpapi/internal/anthropic", "quern/httpapi/internal/body", "quern/httpapi/internal/cohere", "quern/httpapi/internal/eleven", "quern/httpapi/internal/guard", "quern/httpapi/internal/limits", "quern/httpapi/internal/llama", "quern/httpapi/internal/ollama", "quern/httpapi/internal/openai", "quern/httpapi/internal/fault", "quern/httpapi/internal/realtime", "quern/httpapi/internal/reqlog", "quern/httpapi/internal/responses", "quern/httpapi/internal/scribe", "quern/httpapi/internal/server", "quern/httpapi/internal/vllm", "quern/httpapi/page"}},
	{"httpapi/page", nil},
	{"httpapi/batch", nil},
	{"httpapi/jobs", []string{"quern/engine/diskspace", "quern/engine/filelock", "quern/httpapi/batch", "github.com/nats-io/..."}},
	{"httpapi/internal/openai", []string{"quern/codecs", "quern/engine", "quern/engine/chat", "quern/engine/token", "quern/httpapi/batch", "quern/httpapi/internal/ask", "quern/httpapi/internal/audio", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/reqlog", "quern/httpapi/internal/server", "quern/httpapi/internal/stream", "quern/httpapi/internal/turn", "quern/httpapi/transcript", "quern/engine/live"}},
	{"httpapi/internal/anthropic", []string{"quern/engine", "quern/engine/chat", "quern/httpapi/internal/ask", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/reqlog", "quern/httpapi/internal/server", "quern/httpapi/internal/stream", "quern/httpapi/internal/turn"}},
	{"httpapi/internal/ollama", []string{"quern/engine", "quern/engine/chat", "quern/httpapi/internal/ask", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/server", "quern/httpapi/internal/stream", "quern/httpapi/internal/turn"}},
	{"httpapi/internal/llama", []string{"quern/engine", "quern/engine/token", "quern/httpapi/internal/ask", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/server", "quern/httpapi/internal/stream", "quern/httpapi/internal/turn"}},
	{"httpapi/internal/vllm", []string{"quern/engine", "quern/httpapi/internal/ask", "quern/httpapi/internal/body", "quern/httpapi/internal/reqlog", "quern/httpapi/internal/server"}},
	{"httpapi/internal/cohere", []string{"quern/engine", "quern/httpapi/internal/ask", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/reqlog", "quern/httpapi/internal/server"}},
	{"httpapi/internal/eleven", []string{"quern/engine", "quern/httpapi/spool", "quern/httpapi/internal/audio", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/server", "quern/httpapi/internal/stream", "quern/httpapi/transcript", "quern/httpapi/internal/socket"}},
	{"httpapi/internal/scribe", []string{"quern/codecs", "quern/codecs/pcm", "quern/codecs/resample", "quern/engine", "quern/engine/live", "quern/httpapi/internal/audio", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/reqlog", "quern/httpapi/internal/server", "quern/httpapi/internal/socket", "quern/httpapi/transcript"}},
	{"httpapi/internal/socket", []string{"quern/httpapi/internal/fault", "quern/httpapi/internal/server", "github.com/coder/websocket"}},
	{"httpapi/internal/realtime", []string{"quern/codecs", "quern/codecs/pcm", "quern/codecs/resample", "quern/engine", "quern/engine/chat", "quern/engine/live", "quern/httpapi/internal/ask", "quern/httpapi/internal/audio", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/guard", "quern/httpapi/internal/metrics", "quern/httpapi/internal/reqlog", "quern/httpapi/internal/server", "quern/httpapi/internal/socket", "quern/httpapi/internal/turn", "quern/httpapi/transcript"}},
	{"httpapi/internal/responses", []string{"quern/engine", "quern/engine/chat", "quern/httpapi/batch", "quern/httpapi/internal/ask", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/reqlog", "quern/httpapi/internal/server", "quern/httpapi/internal/stream", "quern/httpapi/internal/turn"}},
	{"httpapi/internal/audio", []string{"quern/codecs", "quern/engine", "quern/engine/live", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/metrics", "quern/httpapi/internal/server", "quern/httpapi/internal/stream", "quern/httpapi/transcript"}},
	{"httpapi/internal/turn", []string{"quern/engine", "quern/httpapi/internal/fault", "quern/httpapi/internal/metrics", "quern/httpapi/internal/server", "quern/httpapi/internal/stream"}},
	{"httpapi/internal/ask", []string{"quern/engine", "quern/engine/chat", "quern/engine/token", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/server", "quern/httpapi/internal/turn", "quern/httpapi/transcript"}},
	{"httpapi/internal/server", []string{"quern/engine", "quern/engine/trace", "quern/engine/budget", "quern/httpapi/audit", "quern/httpapi/batch", "quern/httpapi/spool", "quern/httpapi/internal/body", "quern/httpapi/internal/fault", "quern/httpapi/internal/guard", "quern/httpapi/internal/limits", "quern/httpapi/internal/metrics", "quern/httpapi/internal/reqlog", "quern/httpapi/internal/stream", "github.com/julienschmidt/httprouter"}},
	{"httpapi/internal/body", []string{"quern/engine", "quern/engine/spell", "quern/engine/token", "quern/httpapi/spool", "quern/httpapi/internal/fault"}},
	{"httpapi/internal/stream", []string{"quern/httpapi/internal/fault"}},
	{"httpapi/internal/limits", []string{"quern/httpapi/internal/fault"}},
	{"httpapi/audit", nil},
	{"httpapi/internal/guard", []string{"quern/httpapi/internal/fault", "quern/httpapi/internal/limits", "golang.org/x/sys/..."}},
	{"httpapi/internal/reqlog", []string{"quern/engine/trace", "quern/httpapi/internal/fault"}},
	{"httpapi/internal/metrics", []string{"quern/engine", "quern/httpapi/spool", "github.com/prometheus/..."}},
	{"httpapi/internal/fault", []string{"quern/engine", "quern/httpapi/spool"}},
	{"httpapi/transcript", []string{"quern/engine"}},
	{"httpapi/spool", nil},

	{"cmd/quern/...", []string{"quern/cmd/quern/internal/...", "quern/httpapi", "quern/httpapi/audit", "quern/httpapi/batch", "quern/httpapi/jobs", "quern/httpapi/spool", "quern/httpapi/transcript", "quern/codecs", "quern/engine", "quern/engine/device", "quern/engine/lm", "quern/kernels/cgroup", "quern/kernels/offheap", "quern/engine/live", "quern/engine/local", "quern/engine/onnx/serve", "quern/engine/transcribe", "quern/engine/measure", "quern/engine/quantize", "quern/engine/wholefile", "quern/engine/chat", "quern/engine/wire", "quern/engine/hub", "quern/engine/store", "quern/engine/model",
		"quern/engine/sample", "quern/engine/spell", "quern/engine/token", "quern/formats", "quern/formats/weights", "quern/kernels", "quern/kernels/quant", "quern/kernels/threads",
		"github.com/spf13/...", "github.com/goccy/go-yaml/...", "github.com/mattn/go-runewidth", "github.com/chzyer/readline",
		"github.com/dustin/go-humanize", "golang.org/x/term", "golang.org/x/sys/..."}},

	{"cmd/quern/internal/telemetry", []string{"quern/engine/trace", "go.opentelemetry.io/..."}},

	{"cmd/quern-release", nil},
	{"cmd/quern-wasm", []string{"quern/engine", "quern/engine/hub", "quern/engine/local", "quern/engine/promise", "quern/engine/store", "quern/httpapi", "quern/httpapi/page"}},

	{"bench/...", []string{"..."}},
	{"examples/...", nil},
}

// only lists third-party modules that these packages alone may import.
var only = map[string][]string{
	"gorgonia.org/...":                        {"quern/engine/graph"},
	"github.com/julienschmidt/httprouter/...": {"quern/httpapi/internal/server"},
	"github.com/coder/websocket/...":          {"quern/httpapi/internal/socket"},
	"github.com/nats-io/...":                  {"quern/httpapi/jobs", "quern/bench/jobs"},
	"go.opentelemetry.io/...":                 {"quern/cmd/quern/internal/telemetry"},
}

func matches(pattern, pkg string) bool {
	if pattern == "..." {
		return true
	}
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == dir || strings.HasPrefix(pkg, dir+"/")
	}
	return pattern == pkg
}

// rule returns what pkg may import.
func rule(pkg string) (may []string, ok bool) {
	best := -1
	for _, a := range arrows {
		dir, below := strings.CutSuffix(a.pkg, "/...")
		score := 2 * len(dir)
		if !below {
			score++ // an exact name beats a pattern
		}
		if matches("quern/"+a.pkg, pkg) && score > best {
			may, best, ok = a.may, score, true
		}
	}
	return may, ok
}

// forTests reports whether pkg is no part of the program: it is in bench, or its name
// says that tests share it.
func forTests(pkg string) bool {
	return matches("quern/bench/...", pkg) || strings.HasPrefix(pkg, "quern/") && strings.HasSuffix(pkg, "test")
}

// breaches returns what is wrong with pkg importing imports.
func breaches(pkg string, imports []string) []string {
	may, ok := rule(pkg)
	if !ok {
		return []string{pkg + " is not in the import table; add it there and to ARCHITECTURE's picture"}
	}
	var out []string
	for _, imp := range imports {
		first, _, _ := strings.Cut(imp, "/")
		if !strings.Contains(first, ".") && first != "quern" {
			continue // standard library
		}
		if !slices.ContainsFunc(may, func(m string) bool { return matches(m, imp) }) {
			out = append(out, pkg+" imports "+imp)
		}
		for module, owners := range only {
			if matches(module, imp) && !slices.Contains(owners, pkg) {
				out = append(out, pkg+" imports "+imp+", which only "+strings.Join(owners, " and ")+" may")
			}
		}
		if forTests(imp) && !forTests(pkg) {
			out = append(out, pkg+" imports "+imp+", which only tests may")
		}
	}
	return out
}

func TestArrows(t *testing.T) {
	if testing.Short() {
		t.Skip("asks go list of every build")
	}
	for _, tt := range []struct {
		name     string
		env      []string
		args     []string
		gorgonia bool
	}{
		{"default", nil, nil, true},
		{"wasm", []string{"GOOS=js", "GOARCH=wasm"}, nil, false},
		{"windows", []string{"GOOS=windows", "GOARCH=amd64"}, nil, true},
		{"cuda", nil, []string{"-tags", "cuda"}, false},
		{"nogorgonia", nil, []string{"-tags", "nogorgonia"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command("go", append(append([]string{"list", "-e", "-json=ImportPath,Imports"}, tt.args...), "quern/...")...)
			cmd.Env = append(os.Environ(), append(tt.env, "CGO_ENABLED=0")...)
			cmd.Stderr = os.Stderr
			text, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			seen, gorgonia := 0, false
			for dec := json.NewDecoder(strings.NewReader(string(text))); ; {
				var p struct {
					ImportPath string
					Imports    []string
				}
				if err := dec.Decode(&p); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				seen++
				gorgonia = gorgonia || slices.Contains(p.Imports, "gorgonia.org/gorgonia")
				for _, b := range breaches(p.ImportPath, p.Imports) {
					t.Error(b)
				}
			}
			if seen < 10 {
				t.Errorf("go list named %d packages; the check saw next to nothing", seen)
			}
			if gorgonia != tt.gorgonia {
				t.Errorf("built with gorgonia: %v, want %v", gorgonia, tt.gorgonia)
			}
		})
	}
}

func TestArrowsNotice(t *testing.T) {
	for _, tt := range []struct {
		pkg, imp string
		ok       bool
	}{
		{"quern/kernels/quant", "fmt", true},
		{"quern/kernels/quant", "golang.org/x/sys/cpu", true},
		{"quern/kernels/quant", "quern/kernels", false},
		{"quern/kernels/matmul", "quern/kernels/quant", true},
		{"quern/kernels/vec", "quern/kernels/gemm", false},
		{"quern/kernels", "quern/formats/weights", false},
		{"quern/formats/gguf", "quern/formats/weights", true},
		{"quern/formats/gguf", "quern/formats", false},
		{"quern/formats", "quern/formats/gguf", true},
		{"quern/engine/graph", "gorgonia.org/gorgonia", true},
		{"quern/engine/model", "gorgonia.org/gorgonia", false},
		{"quern/bench/x", "gorgonia.org/gorgonia", false},
		{"quern/bench/x", "quern/engine", true},
		{"quern/engine", "quern/httpapi", false},
		{"quern/engine/textgen", "quern/engine/embed", false},
		{"quern/engine/speech", "quern/engine/residency", false},
		{"quern/engine/catalog", "quern/engine/embed", false},
		{"quern/engine/residency", "quern/engine/catalog", true},
		{"quern/engine/local", "quern/engine/textgen", true},
		{"quern/httpapi", "quern/formats", false},
		{"quern/cmd/quern", "quern/bench/x", false},
		{"quern/codecs", "quern/codecs/internal/audiotest", false},
		{"quern/codecs", "quern/bench/fixtures", false},
		{"quern/codecs", "quern/kernels/fourier", false},
		{"quern/codecs/aac", "quern/kernels/fourier", true},
		{"quern/codecs/aac", "quern/kernels/vec", false},
		{"quern/codecs/internal/audiotest", "quern/bench/fixtures", true},
		{"quern/codecs/internal/audiotest", "quern/bench/x", false},
		{"quern/bench/x", "quern/codecs/internal/audiotest", true},
		{"quern/elsewhere", "fmt", false},
	} {
		if got := len(breaches(tt.pkg, []string{tt.imp})) == 0; got != tt.ok {
			t.Errorf("%s importing %s: allowed %v; want %v", tt.pkg, tt.imp, got, tt.ok)
		}
	}
}

// The cuda tag stays where it belongs: beside the backend and the driver only the
// table of devices uses it, and the recorder, which leaves gorgonia out under it.
func TestCUDATag(t *testing.T) {
	root := filepath.Join("..", "..")
	allowed := []string{"engine/device", "engine/cuda", "engine/graph", "kernels/cuda", "kernels/cuda/driver"}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".git") || d.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(path); ext != ".go" && ext != ".s" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "package ") || strings.HasPrefix(line, "TEXT ") {
				break
			}
			if !constraint.IsGoBuild(line) {
				continue
			}
			expr, err := constraint.Parse(line)
			if err != nil {
				return err
			}
			if strings.Contains(expr.String(), "cuda") && !slices.Contains(allowed, filepath.ToSlash(dir)) {
				t.Errorf("%s has the build tag cuda", path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
