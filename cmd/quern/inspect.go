package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine"
	"quern/engine/lm"
	"quern/engine/local"
	"quern/engine/model"
	"quern/engine/onnx/serve"
	"quern/engine/transcribe"
	"quern/formats/weights"
)

func (a *app) inspectCmd() *cobra.Command {
	var graph, asJSON bool
	var adapter string
	cmd := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show what a model file holds and whether quern can run it",
		Long: `Prints the metadata and the tensor table of a model, and whether quern can run it.
MODEL is a file, or the name of a model in the configuration, a model folder or the
store. Long arrays and texts are shortened; --json has them whole. Of an ONNX model it
prints what the graph takes and gives, its operators, and those quern lacks; of a
recogniser of several graphs (Parakeet, Canary) also what they are together. Of a PyTorch
checkpoint (.pth, .pt, .bin) it prints the tensors; nothing in it is executed, and of such
files quern runs Kokoro's only.

--adapter FILE adds a LoRA adapter, which has to fit the model, to the memory it takes.
--graph prints the forward pass as quern records it, in Graphviz's language.`,
		Example: `  quern inspect model.gguf
  quern inspect quern-tiny
  quern inspect --json model.gguf | jq .metadata
  quern inspect --graph model.gguf | dot -Tsvg > model.svg`,
		Args: exactModel,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exclusive(cmd, "graph", "json"); err != nil {
				return err
			}
			if settings.Exists(args[0]) {
				if err := idle(cmd, args[0]+" is a file", "models"); err != nil {
					return err
				}
			}
			file, err := a.modelFile(cmd.Context(), cmd, args[0])
			if err != nil {
				return err
			}
			adapters, err := adapterOf(adapter)
			if err != nil {
				return err
			}
			if serve.IsGraph(file) || transcribe.IsConformer(file) {
				if graph || adapters != nil {
					return usageError{errors.New("--graph and --adapter are for models that quern records; an ONNX file is a graph already")}
				}
				return inspectONNX(a.out, file, asJSON)
			}
			set, err := lm.Open(file)
			if err != nil {
				return err
			}
			if use := local.FileUse(file); graph && use != "" {
				return fmt.Errorf("--graph draws text models; this file is for: %s", use)
			}
			defer set.Close()
			if adapters != nil {
				if _, err := lm.EstimateFile(file, engine.ModelOptions{Adapters: adapters}, 0); err != nil {
					return err
				}
			}
			switch {
			case graph:
				dot, err := model.Graphviz(set)
				if err != nil {
					return err
				}
				_, err = a.out.Write(dot)
				return err
			case asJSON:
				return inspectJSON(a.out, file, set, adapters)
			}
			return inspectText(a.out, file, set, adapters)
		},
	}
	cmd.Flags().BoolVar(&graph, "graph", false, "print the recorded forward pass as Graphviz")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	adapterFlag(cmd.Flags(), &adapter, "add")
	settings.AddFlags(cmd)
	return cmd
}

// typeTotal sums the tensors of one number type.
type typeTotal struct {
	name           string
	tensors        int
	elems, storage int64
}

func totals(set *weights.Set) (all typeTotal, byType []typeTotal) {
	index := map[string]int{}
	add := func(name string, elems, storage int) {
		i, ok := index[name]
		if !ok {
			i = len(byType)
			index[name] = i
			byType = append(byType, typeTotal{name: name})
		}
		for _, sum := range []*typeTotal{&all, &byType[i]} {
			sum.tensors++
			sum.elems += int64(elems)
			sum.storage += int64(storage)
		}
	}
	for t := range set.All() {
		add(t.Type.String(), t.Elems(), len(t.Data))
	}
	for _, r := range set.Raws() {
		elems := 1
		for _, d := range r.Shape {
			elems *= d
		}
		add(r.DType, elems, len(r.Data))
	}
	sort.SliceStable(byType, func(i, j int) bool { return byType[i].storage > byType[j].storage })
	return all, byType
}

func inspectText(out io.Writer, file string, set *weights.Set, adapters []engine.Adapter) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	all, byType := totals(set)
	fmt.Fprintf(w, "file\t%s\n", terminal.Plain(file))
	fmt.Fprintf(w, "format\t%s\n", set.Source)
	fmt.Fprintf(w, "tensors\t%d, %s weights, %s\n", all.tensors, scaled(all.elems), humanize.Bytes(uint64(all.storage)))
	for _, t := range byType {
		fmt.Fprintf(w, "\t%s: %d, %s weights, %s\n", t.name, t.tensors, scaled(t.elems), humanize.Bytes(uint64(t.storage)))
	}
	if use := local.FileUse(file); use != "" {
		fmt.Fprintf(w, "quern\tcan run it: %s\n", terminal.Plain(use))
	} else if model.IsAdapter(&set.Meta) {
		fmt.Fprintf(w, "quern\tcan run it with its model: quern run MODEL --adapter %s, or adapters: of the model in the configuration\n", terminal.Plain(file))
	} else if err := lm.CanRun(set); err != nil {
		fmt.Fprintf(w, "quern\tcannot run it: %s\n", terminal.Plain(err.Error()))
	} else {
		fmt.Fprintf(w, "quern\tcan run it\n")
		if e, err := lm.EstimateFile(file, engine.ModelOptions{Adapters: adapters}, 0); err == nil {
			fmt.Fprintf(w, "model\t%s, makes %s\n", e.Arch, e.Makes)
			fmt.Fprintf(w, "memory\t%s: weights %s, KV cache %s for a request of %d tokens, compute %s\n", readable(e.Weights+e.OneRequest+e.Compute),
				readable(e.Weights), readable(e.OneRequest), e.Context, readable(e.Compute))
			for _, p := range near(e.Pools) {
				fmt.Fprintf(w, "\ta sequence keeps %s in %d layers that see %s\n", readable(p.Bytes), p.Layers, p.Sees)
			}
			if e.Adapters > 0 {
				fmt.Fprintf(w, "adapter\t%s of the weights\n", readable(e.Adapters))
			}
			if e.State > 0 {
				fmt.Fprintf(w, "states\t%s a sequence, of which %d run together\n", readable(e.State), e.Running)
			}
		}
	}
	senses, drafts := model.Skipped(set)
	if senses > 0 {
		fmt.Fprintf(w, "skipped\t%d tensors that see or hear: it gets text only\n", senses)
	}
	if drafts > 0 {
		fmt.Fprintf(w, "drafts\t%d tensors of layers that draft (nextn, MTP): %s\n", drafts, drafting(file, adapters))
	}
	fmt.Fprintf(w, "\nmetadata\t%d\n", set.Meta.Len())
	for k, v := range set.Meta.All() {
		fmt.Fprintf(w, "  %s\t%s\n", terminal.Plain(k), abbreviate(v))
	}
	fmt.Fprintf(w, "\ntensor\ttype\tshape\tbytes\n")
	for t := range set.All() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", terminal.Plain(t.Name), t.Type, shape(t.Shape), len(t.Data))
	}
	for _, r := range set.Raws() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", terminal.Plain(r.Name), r.DType, shape(r.Shape), len(r.Data))
	}
	return w.Flush()
}

// drafting is the memory of a model's own layer that drafts, as text, or why it cannot be loaded.
func drafting(file string, adapters []engine.Adapter) string {
	n, err := draftBytes(file, adapters)
	if err != nil {
		return "left out: " + terminal.Plain(err.Error())
	}
	return fmt.Sprintf("left out but with speculation: mtp, which takes %s more", readable(n))
}

// draftBytes is the memory of a model's own layer that drafts, its part of the cache for one request
// included.
func draftBytes(file string, adapters []engine.Adapter) (int64, error) {
	without, err := lm.EstimateFile(file, engine.ModelOptions{Adapters: adapters}, 0)
	if err != nil {
		return 0, err
	}
	with, err := lm.EstimateFile(file, engine.ModelOptions{Adapters: adapters, Speculation: engine.SpeculationMTP}, 0)
	return with.Weights + with.Draft + with.OneRequest + with.Compute - without.Weights - without.OneRequest - without.Compute, err
}

func readable(n int64) string { return humanize.Bytes(uint64(max(n, 0))) }

func shape(dims []int) string {
	var s []string
	for _, d := range dims {
		s = append(s, strconv.Itoa(d))
	}
	return strings.Join(s, " × ")
}

// scaled writes a count the way models are named: 1.10 B.
func scaled(n int64) string {
	switch f := float64(n); {
	case f >= 1e9:
		return fmt.Sprintf("%.2f B", f/1e9)
	case f >= 1e6:
		return fmt.Sprintf("%.1f M", f/1e6)
	case f >= 1e3:
		return fmt.Sprintf("%.1f K", f/1e3)
	}
	return strconv.FormatInt(n, 10)
}

const (
	showElems = 6   // of an array
	showBytes = 100 // of a text
)

// abbreviate writes a metadata value on one line.
func abbreviate(v weights.Value) string {
	switch x := v.(type) {
	case string:
		return quoteShort(x)
	case []string:
		return abbreviateList(len(x), func(i int) string { return quoteShort(x[i]) })
	case []int64:
		return abbreviateList(len(x), func(i int) string { return strconv.FormatInt(x[i], 10) })
	case []float64:
		return abbreviateList(len(x), func(i int) string { return strconv.FormatFloat(x[i], 'g', -1, 32) })
	case []bool:
		return abbreviateList(len(x), func(i int) string { return strconv.FormatBool(x[i]) })
	case []weights.Value:
		return abbreviateList(len(x), func(i int) string { return abbreviate(x[i]) })
	case float64:
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	return fmt.Sprint(v)
}

func abbreviateList(n int, elem func(int) string) string {
	var s []string
	for i := range min(n, showElems) {
		s = append(s, elem(i))
	}
	text := "[" + strings.Join(s, ", ")
	if n > showElems {
		text += fmt.Sprintf(", … %d in all", n)
	}
	return text + "]"
}

func quoteShort(s string) string {
	if len(s) <= showBytes {
		return strconv.Quote(s)
	}
	return strconv.Quote(strings.ToValidUTF8(s[:showBytes], "")) + fmt.Sprintf("… %d bytes in all", len(s))
}

// memory is the memory that one request needs, in bytes.
type memory struct {
	Weights  int64 `json:"weights"` // adapters included
	Adapters int64 `json:"adapters,omitempty"`
	Cache    int64 `json:"kv_cache"`
	Compute  int64 `json:"compute"`
	Context  int   `json:"context_length"`
	// The blocks of a sequence of Context tokens, by the windows of layers, where these differ.
	Pools []pool `json:"kv_pools,omitempty"`
}

type pool struct {
	Sees   string `json:"sees"`
	Layers int    `json:"layers"`
	Bytes  int64  `json:"bytes"`
}

// near lists the pools of a cache of several.
func near(pools []lm.Pool) (list []pool) {
	for _, p := range pools {
		if p.Layers > 0 && len(pools) > 1 {
			list = append(list, pool{p.String(), p.Layers, p.Bytes * int64(p.Kept)})
		}
	}
	return list
}

func inspectJSON(out io.Writer, file string, set *weights.Set, adapters []engine.Adapter) error {
	type tensor struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Shape []int  `json:"shape"`
		Bytes int    `json:"bytes"`
	}
	all, _ := totals(set)
	r := struct {
		File     string      `json:"file"`
		Format   string      `json:"format"`
		Weights  int64       `json:"weights"`
		Bytes    int64       `json:"bytes"`
		Runnable bool        `json:"runnable"`
		Reason   string      `json:"reason,omitempty"`
		Arch     string      `json:"architecture,omitempty"`
		Makes    string      `json:"makes,omitempty"`
		Senses   int         `json:"skipped_tensors,omitempty"` // of image and audio inputs
		Drafts   int         `json:"drafting_tensors,omitempty"`
		MTP      int64       `json:"mtp_bytes,omitempty"` // of memory, that these take with speculation: mtp
		Memory   *memory     `json:"memory,omitempty"`
		Metadata orderedMeta `json:"metadata"`
		Tensors  []tensor    `json:"tensors"`
	}{
		File: file, Format: set.Source.String(), Weights: all.elems, Bytes: all.storage,
		Runnable: true, Metadata: orderedMeta{&set.Meta}, Tensors: []tensor{},
	}
	if local.FileUse(file) != "" {
		// Its memory depends on the windows decoded together.
	} else if err := lm.CanRun(set); err != nil {
		r.Runnable, r.Reason = false, err.Error()
	} else if e, err := lm.EstimateFile(file, engine.ModelOptions{Adapters: adapters}, 0); err == nil {
		r.Arch, r.Makes = e.Arch, e.Makes
		r.Memory = &memory{e.Weights, e.Adapters, e.OneRequest, e.Compute, e.Context, near(e.Pools)}
	}
	if r.Senses, r.Drafts = model.Skipped(set); r.Drafts > 0 {
		r.MTP, _ = draftBytes(file, adapters) // 0 of those that are not read
	}
	for t := range set.All() {
		r.Tensors = append(r.Tensors, tensor{t.Name, t.Type.String(), t.Shape, len(t.Data)})
	}
	for _, t := range set.Raws() {
		r.Tensors = append(r.Tensors, tensor{t.Name, t.DType, t.Shape, len(t.Data)})
	}
	return writeJSON(out, r)
}

// orderedMeta writes metadata as an object in file order.
type orderedMeta struct{ *weights.Meta }

func (m orderedMeta) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for k, v := range m.All() {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(k)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(finite(v))
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// finite replaces the numbers JSON has no spelling for by their names.
func finite(v weights.Value) any {
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return strconv.FormatFloat(x, 'g', -1, 64)
		}
	case []float64:
		out := make([]any, len(x))
		for i, f := range x {
			out[i] = finite(f)
		}
		return out
	case []weights.Value:
		out := make([]any, len(x))
		for i, e := range x {
			out[i] = finite(e)
		}
		return out
	}
	return v
}
