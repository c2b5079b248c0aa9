package cuda

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"quern/engine/cpu"
	"quern/engine/graph"
	"quern/kernels/cuda/driver"
	"quern/kernels/quant"
)

// A tamper is a driver that changes a module before it is compiled.
type tamper struct {
	driver.Driver
	from, to string
}

type tampered struct {
	driver.Context
	by tamper
}

func (t tamper) Open(device int) (driver.Context, error) {
	c, err := t.Driver.Open(device)
	return tampered{c, t}, err
}

func (c tampered) Module(ptx string) (driver.Module, error) {
	if strings.Contains(ptx, "wgmma") {
		ptx = strings.ReplaceAll(ptx, c.by.from, c.by.to)
	}
	return c.Context.Module(ptx)
}

// TestWGMMA wants products of many rows by the kernels the device has, and by
// their twins where those give something else, fault or do not load.
func TestWGMMA(t *testing.T) {
	asked(t)
	const rows = 80
	for _, tt := range []struct {
		name       string
		capability int
		env        string
		from, to   string
		used       string // kernel of the model's products
		logged     string
	}{
		{"capability 8.0", 80, "", "", "", "gemm_q8_0", ""},
		{"capability 9.0", 90, "", "", "", "gemm90_q8_0", ""},
		{"capability 10.0", 100, "", "", "", "gemm_q8_0", ""},
		{"off", 90, "off", "", "", "gemm_q8_0", ""},
		{"wrong sums", 90, "", "1, 1, 1, 0;", "1, 1, -1, 0;", "gemm_q8_0", "gemm90_q4_0: row 0"},
		{"fault", 90, "", "wgmma.fence.sync.aligned;", "", "gemm_q8_0", "without a wgmma.fence"},
		{"not loaded", 90, "", "wgmma.mma_async", "wgmma.mma_sync", "gemm_q8_0", "CUDA_ERROR_INVALID_PTX"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("QUERN_CUDA_WGMMA", tt.env)
			f := driver.NewFake(1, gigabyte)
			f.List[0].Capability = tt.capability
			seen := map[string]int{}
			f.Fail = func(kernel string) error { seen[kernel]++; return nil }
			var drv driver.Driver = f
			if tt.from != "" {
				drv = tamper{f, tt.from, tt.to}
			}
			var log bytes.Buffer
			b, err := Open(Options{Driver: drv, Layers: AllLayers, Host: cpu.Open(1), Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Count(log.String(), "wgmma is not used")
			if want := tt.logged != ""; lines != map[bool]int{true: 1}[want] || !strings.Contains(log.String(), tt.logged) {
				t.Errorf("logged %s, want %q", log.String(), tt.logged)
			}
			if f.Used(0) != 0 {
				t.Errorf("%d bytes are left of the comparison", f.Used(0))
			}
			clear(seen)

			// Products of one value by both kinds of weights, then of another.
			g := graph.NewBuilder(rows, rows)
			r := rand.New(rand.NewPCG(3, 3))
			x := g.Embed(g.Tokens(), tensor(r, "embed", quant.F32, vocab, 64))
			y := g.Add(g.Linear(x, tensor(r, "u", quant.F16, 96, 64), nil), g.Linear(x, tensor(r, "v", quant.Q8_0, 96, 64), nil))
			p, err := g.Compile(g.Linear(y, tensor(r, "w", quant.Q8_0, 72, 96), nil))
			if err != nil {
				t.Fatal(err)
			}
			spec := graph.CacheSpec{Layers: graph.Alike(1, 1, 32), Blocks: 2, BlockSize: rows, Type: quant.F16}
			t.Cleanup(func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				if live := f.Live(); len(live) > 0 {
					t.Errorf("not released: %v", live)
				}
			})
			got, want := newRunner(t, b, p, spec), newRunner(t, b.o.Host, p, spec)
			for _, n := range []int{rows, 5, rows} {
				in := &graph.Batch{Tables: [][]int32{{0}}}
				for i := range int32(n) {
					in.Tokens, in.Positions, in.Seq = append(in.Tokens, (i*5+int32(n))%vocab), append(in.Positions, i), append(in.Seq, 0)
				}
				if d := distance(got.run(in), want.run(in)); d > 0.05 {
					t.Errorf("%d rows: products are %.2g of their size from the CPU's", n, d)
				}
			}
			if seen[tt.used] != 4 {
				t.Errorf("kernels were %v, want 4 of %s", seen, tt.used)
			}
		})
	}
}

// A model's prompts give what they do by mma.sync, and its decoding of many sequences
// what the CPU does but for its rounding to eight bits, by the kernels for many rows,
// whose activations come out of the norms before.
func TestWGMMAModel(t *testing.T) {
	asked(t)
	_, m := load(t, "llama-Q4_K_M.gguf")
	const rows = 66
	p, spec := program(t, m, rows, rows)
	spec.Blocks = 32
	f := fake(90)
	b := open(t, f, AllLayers)
	counts := counted(f)
	t.Setenv("QUERN_CUDA_WGMMA", "off")
	twin := open(t, fake(90), AllLayers)
	prompt, decode := &graph.Batch{Tables: [][]int32{make([]int32, 18)}}, &graph.Batch{}
	for i := range prompt.Tables[0] {
		prompt.Tables[0][i] = int32(20 - i)
	}
	for i := range int32(rows) {
		prompt.Tokens, prompt.Positions, prompt.Seq = append(prompt.Tokens, i%7), append(prompt.Positions, i), append(prompt.Seq, 0)
		if i > 0 { // more than 64, so that no product is by integers
			prompt.Want = append(prompt.Want, i)
		}
	}
	for i := range int32(12) {
		decode.Tables = append(decode.Tables, []int32{20 + i})
		decode.Tokens, decode.Positions, decode.Seq, decode.Want = append(decode.Tokens, i%5), append(decode.Positions, 0), append(decode.Seq, i), append(decode.Want, i)
	}
	got, want := newRunner(t, b, p, spec), newRunner(t, twin, p, spec)
	if d := distance(got.run(prompt), want.run(prompt)); d > 0.02 {
		t.Errorf("a prompt's logits are %.2g of their size from those by mma.sync", d)
	}
	compare(t, b, p, spec, []*graph.Batch{decode, decode}, 0.15)
	for _, k := range []string{"gemm90_norm", "gemm90_q4_k", "gemm90_q6_k", "gemm90_q4_k_64", "gemm90_q6_k_64"} {
		if counts[k] == 0 || counts["rmsnorm_quantize"] != 0 {
			t.Errorf("launches: %v; want norms and products of many rows only", counts)
		}
	}
}
