package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"quern/cmd/quern/internal/terminal"
	"quern/engine"
	"quern/engine/onnx/serve"
)

// inspectONNX shows a graph: what it takes and gives, what it is made of, and
// whether quern can run and serve it.
func inspectONNX(out io.Writer, path string, asJSON bool) error {
	info, err := serve.Describe(path)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(out, onnxJSON(info))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "file\t%s\n", terminal.Plain(info.File))
	fmt.Fprintf(w, "format\tONNX %d, operators of version %s\n", info.IR, terminal.Plain(strings.Join(info.Opsets, ", ")))
	if info.Producer != "" {
		fmt.Fprintf(w, "made by\t%s\n", terminal.Plain(info.Producer))
	}
	var all int64
	for _, t := range info.Weights {
		all += t.Count
	}
	fmt.Fprintf(w, "weights\t%s, %s\n", scaled(all), humanize.Bytes(uint64(info.WeightBytes)))
	for _, t := range info.Weights {
		fmt.Fprintf(w, "\t%s: %s\n", t.Name, scaled(t.Count))
	}
	if info.Problem != nil {
		fmt.Fprintf(w, "quern\tcannot run it: %s\n", terminal.Plain(info.Problem.Error()))
	} else {
		fmt.Fprintf(w, "quern\tcan run it\n")
	}
	if info.Serve != nil {
		fmt.Fprintf(w, "serve\tno: %s\n", terminal.Plain(info.Serve.Error()))
	} else {
		fmt.Fprintf(w, "serve\tas a model for %s\n", info.Kind)
	}
	for _, side := range []struct {
		name string
		list []serve.Value
	}{{"input", info.Inputs}, {"output", info.Outputs}} {
		fmt.Fprintf(w, "\n%s\ttype\tshape\n", side.name)
		for _, v := range side.list {
			fmt.Fprintf(w, "%s\t%s\t%s\n", terminal.Plain(v.Name), v.Type, terminal.Plain(v.Shape))
		}
	}
	fmt.Fprintf(w, "\noperator\tnodes\n")
	for _, o := range info.Operators {
		fmt.Fprintf(w, "%s\t%d\n", terminal.Plain(o.Name), o.Count)
	}
	return w.Flush()
}

// onnxJSON is an ONNXInfo as --json prints it.
func onnxJSON(info *serve.Info) any {
	type value struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Shape string `json:"shape"`
	}
	values := func(list []serve.Value) []value {
		out := []value{}
		for _, v := range list {
			out = append(out, value(v))
		}
		return out
	}
	sums := func(list []serve.Count) map[string]int64 {
		out := make(map[string]int64)
		for _, c := range list {
			out[c.Name] = c.Count
		}
		return out
	}
	reason := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	return struct {
		File      string           `json:"file"`
		Format    string           `json:"format"`
		Opsets    []string         `json:"opsets"`
		Producer  string           `json:"producer,omitempty"`
		Weights   map[string]int64 `json:"weights"`
		Bytes     int64            `json:"bytes"`
		Runnable  bool             `json:"runnable"`
		Reason    string           `json:"reason,omitempty"`
		Kind      engine.Kind      `json:"kind,omitempty"`
		NotServed string           `json:"not_served,omitempty"`
		Inputs    []value          `json:"inputs"`
		Outputs   []value          `json:"outputs"`
		Operators map[string]int64 `json:"operators"`
	}{
		info.File, "ONNX", info.Opsets, info.Producer, sums(info.Weights), info.WeightBytes, info.Problem == nil, reason(info.Problem),
		info.Kind, reason(info.Serve), values(info.Inputs), values(info.Outputs), sums(info.Operators),
	}
}
