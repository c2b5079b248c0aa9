//go:build !js && !cuda && !nogorgonia

package graph_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats/gguf"
)

// Of every architecture gorgonia's order gives the Program that recording order
// gives: steps, values and buffers.
func TestModelsAgree(t *testing.T) {
	files, err := filepath.Glob("../model/testdata/*.gguf")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			set, err := gguf.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			m, err := model.Open(set)
			if err != nil {
				t.Fatal(err)
			}
			var programs []*graph.Program
			for _, b := range []*graph.Builder{graph.NewBuilder(512, 64), graph.NewListBuilder(512, 64)} {
				x := m.Hidden(b)
				if !m.Config().Encoder {
					x = m.Logits(b, x)
				}
				p, err := b.Compile(x)
				if err != nil {
					t.Fatal(err)
				}
				programs = append(programs, p)
			}
			if !reflect.DeepEqual(programs[0], programs[1]) {
				t.Errorf("gorgonia's recording gives %d steps and %d buffers, the list %d and %d, or other ones",
					len(programs[0].Steps), len(programs[0].Buffers), len(programs[1].Steps), len(programs[1].Buffers))
			}
		})
	}
}
