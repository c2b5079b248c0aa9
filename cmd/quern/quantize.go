package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"quern/cmd/quern/internal/settings"
	"quern/cmd/quern/internal/terminal"
	"quern/engine/local"
	"quern/engine/quantize"
)

func (a *app) quantizeCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quantize SOURCE TARGET TYPE",
		Short: "Write a model as a GGUF file with fewer bits a weight",
		Long: `Writes a GGUF file with the weights of a model in fewer bits. SOURCE is a GGUF file
that holds F32, F16 or BF16, or a directory of SafeTensors, whose tokenizer and chat
template come along, or the name of a model that was pulled. TYPE is one of
` + strings.Join(quantize.Types(), ", ") + `.
Which weights get more bits than others follows llama.cpp, which reads the file too.
"quern bench --quality" tells what was lost.`,
		Example: `  quern quantize model-f16.gguf model-q4_k_m.gguf Q4_K_M
  quern quantize Qwen2.5-0.5B-Instruct/ qwen-q8_0.gguf Q8_0`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 3 {
				return usageError{errors.New("give a source file, a target file and a number type")}
			}
			if !slices.Contains(quantize.Types(), strings.ToUpper(args[2])) {
				return usageError{fmt.Errorf("number type %q is not known; there are %s", args[2], strings.Join(quantize.Types(), ", "))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.load(cmd)
			if err != nil {
				return err
			}
			ctx, stop := signals(cmd.Context(), stopSignals()...)
			defer stop()
			source, err := a.modelFile(ctx, cmd, args[0])
			if err != nil {
				return err
			}
			st, err := os.Stat(source)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return fmt.Errorf("%s is part of quern, and no file that can be quantised", args[0])
			case err == nil && st.Mode().IsRegular():
				if use := local.FileUse(source); use != "" {
					return fmt.Errorf("quantize writes text models, and %s is for: %s", args[0], use)
				}
			}
			bars := a.progress("quantising")
			err = quantize.File(ctx, quantize.Options{
				Source: source, Target: args[1], Type: args[2], Threads: s.Threads,
				Progress: func(done float64) { bars.Update(filepath.Base(args[0]), done) },
			})
			bars.Wait()
			if err != nil {
				return err
			}
			st, err = os.Stat(args[1])
			if err != nil {
				return err
			}
			fmt.Fprintf(a.out, "%s: %s\n", terminal.Plain(args[1]), humanize.Bytes(uint64(st.Size())))
			return nil
		},
	}
	settings.AddFlags(cmd)
	return cmd
}
