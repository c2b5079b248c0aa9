package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine/onnx/serve"
)

func (a *app) runONNXCmd() *cobra.Command {
	var inputs []string
	var output string
	cmd := &cobra.Command{
		Use:   "run-onnx FILE",
		Short: "Run an ONNX graph on arrays",
		Long: `Runs an ONNX graph once. Every input is an array in a .npy file, as numpy.save writes
them, of the type and shape that "quern inspect FILE" tells. Of every output the type,
the shape and the least, mean and largest number are printed; with --output they are
also written as .npy files.

Operators that quern lacks, and inputs that were not given, are listed before any work.`,
		Example: `  quern run-onnx model.onnx --input x=image.npy
  quern run-onnx encoder.onnx --input ids=ids.npy --input mask=mask.npy --output out/`,
		Args: exactFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			files := make(map[string]string)
			for _, s := range inputs {
				// Names may hold anything, files hardly ever an equals sign.
				i := strings.LastIndexByte(s, '=')
				if i <= 0 || i == len(s)-1 {
					return usageError{fmt.Errorf("--input %q: give NAME=FILE.npy", s)}
				}
				if files[s[:i]] != "" {
					return usageError{fmt.Errorf("--input: %q is given twice", s[:i])}
				}
				files[s[:i]] = s[i+1:]
			}
			s, err := a.load(cmd)
			if err != nil {
				return err
			}
			ctx, stop := signals(cmd.Context(), stopSignals()...)
			defer stop()
			list, err := serve.Run(ctx, serve.RunOptions{Path: args[0], Inputs: files, Output: output, Threads: s.Threads})
			if _, ok := errors.AsType[*serve.InputsError](err); ok {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			return printArrays(a.out, list)
		},
	}
	cmd.Flags().StringArrayVar(&inputs, "input", nil, "`NAME=FILE`: an input and the .npy file it is in; give it once for every input")
	cmd.Flags().StringVar(&output, "output", "", "write the outputs into this `folder`")
	settings.AddFlags(cmd)
	return cmd
}

func printArrays(out io.Writer, list []serve.Result) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "output\ttype\tshape\tmin\tmean\tmax\t\n")
	for _, r := range list {
		note := terminal.Plain(r.File)
		if r.Infinite > 0 {
			note = strings.TrimSpace(fmt.Sprintf("%d not finite %s", r.Infinite, note))
		}
		dims := shape(r.Shape)
		if dims == "" && r.Type != "nothing" {
			dims = "scalar"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", terminal.Plain(r.Name), r.Type, dims, short(r.Min), short(r.Mean), short(r.Max), note)
	}
	return w.Flush()
}

// short writes a number in few characters, and none as a dash.
func short(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
