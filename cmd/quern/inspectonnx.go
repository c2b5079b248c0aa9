package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/dustin/go-humanize"

	"quern/cmd/quern/internal/terminal"
	"quern/engine"
	"quern/engine/onnx/serve"
	"quern/engine/transcribe"
)

// inspectONNX shows a graph: its inputs, outputs and operators, and
// whether quern can run and serve it.
func inspectONNX(out io.Writer, path string, asJSON bool) error {
	var ear *transcribe.Conformer
	if transcribe.IsConformer(path) {
		var err error
		if ear, err = transcribe.Describe(path); err != nil {
			return err
		}
		if !strings.EqualFold(filepath.Ext(path), ".onnx") { // a folder, or another of its files
			path = ear.Graphs[0]
		}
	}
	info, err := serve.Describe(path)
	if err != nil {
		return err
	}
	if ear != nil {
		info.Kind, info.Serve = engine.KindTranscription, nil
	}
	if asJSON {
		return writeJSON(out, onnxJSON(info, ear))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	if ear != nil {
		printConformer(w, ear)
	}
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
func onnxJSON(info *serve.Info, ear *transcribe.Conformer) any {
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
		Listens   *conformerJSON   `json:"listens,omitempty"`
	}{
		info.File, "ONNX", info.Opsets, info.Producer, sums(info.Weights), info.WeightBytes, info.Problem == nil, reason(info.Problem),
		info.Kind, reason(info.Serve), values(info.Inputs), values(info.Outputs), sums(info.Operators), listens(ear),
	}
}

// printConformer shows the description of a Parakeet or Canary.
func printConformer(w io.Writer, c *transcribe.Conformer) {
	decoder := fmt.Sprintf("%s, %d tokens", c.Kind, c.Tokens)
	if c.Durations > 0 {
		decoder += fmt.Sprintf(", %d durations", c.Durations)
	}
	fmt.Fprintf(w, "recogniser\t%s, %s's files, %s of %s\n", c.Architecture(), c.Layout, humanize.Bytes(uint64(c.Size)), c.Number)
	for _, g := range c.Graphs {
		fmt.Fprintf(w, "\t%s\n", terminal.Plain(g))
	}
	fmt.Fprintf(w, "decoder\t%s\n", decoder)
	features := "normalised by band"
	if c.Plain {
		features = "not normalised"
	}
	fmt.Fprintf(w, "features\t%d bands, %s; a frame of the encoder is %g ms\n", c.Bands, features, c.Frame*1000)
	longest := "the file does not say how long sound may be"
	if c.Longest > 0 {
		longest = fmt.Sprintf("the encoder has positions for %.4g s", c.Longest)
	}
	fmt.Fprintf(w, "windows\tof at most %g s; %s\n", c.Window, longest)
	if c.Ranges != "" {
		fmt.Fprintf(w, "\tone at a time, for %s looks at all a run holds\n", c.Ranges)
	}
	if len(c.Languages) > 0 {
		fmt.Fprintf(w, "languages\t%s\n", strings.Join(c.Languages, " "))
	}
	fmt.Fprintln(w)
}

// conformerJSON is that as JSON.
type conformerJSON struct {
	Architecture string   `json:"architecture"`
	Layout       string   `json:"layout"`
	Graphs       []string `json:"graphs"`
	Tokens       int      `json:"tokens"`
	Durations    int      `json:"durations"`
	Bands        int      `json:"bands"`
	Frame        float64  `json:"frame_s"`
	Longest      float64  `json:"longest_s"`
	Window       float64  `json:"window_s"`
	Languages    []string `json:"languages"`
	Bytes        int64    `json:"bytes"`
}

func listens(c *transcribe.Conformer) *conformerJSON {
	if c == nil {
		return nil
	}
	return &conformerJSON{c.Architecture(), c.Layout, c.Graphs, c.Tokens, c.Durations, c.Bands, c.Frame, c.Longest, c.Window, append([]string{}, c.Languages...), c.Size}
}
