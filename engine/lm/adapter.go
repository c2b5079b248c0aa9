package lm

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"quern/engine"
	"quern/engine/graph"
	"quern/engine/model"
	"quern/formats"
	"quern/formats/weights"
)

// OpenAdapter opens the file of an adapter, or the folder of one as PEFT writes it, where
// the whole model may lie beside it.
func OpenAdapter(path string) (*weights.Set, error) {
	if in := filepath.Join(path, "adapter_model.safetensors"); isFile(in) {
		path = in
	}
	return formats.Open(path)
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// openAdapters reads adapters for the model that m has opened. Their data is put together
// with Low.Fill.
func (m *File) openAdapters(list []engine.Adapter) error {
	m.Low = new(weights.Set)
	for _, a := range list {
		if err := m.openAdapter(a); err != nil {
			return fmt.Errorf("adapter %q: %w", a.Name, err)
		}
	}
	return nil
}

func (m *File) openAdapter(a engine.Adapter) error {
	file, err := OpenAdapter(a.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s", a.Path) // it is not the model's file that is missing
	}
	if err != nil {
		return err
	}
	m.Low.OnClose(file.Close)
	scale := cmp.Or(a.Scale, 1)
	x, err := model.ReadAdapter(m.LM, m.Raw, file, scale)
	if err != nil {
		return err
	}
	for _, t := range x.Tensors {
		t.Name = fmt.Sprintf("%s × %g: %s", a.Name, scale, t.Name)
		if err := m.Low.Add(t); err != nil {
			return fmt.Errorf("%w: %v", model.ErrFormat, err)
		}
	}
	m.Adapters = append(m.Adapters, x)
	return nil
}

// changes are what the adapters of m change.
func (m *File) changes() graph.Changes { return model.Changes(m.Adapters) }

// room is the bytes of adapters' scratch for so many rows: numbers between A and B, and the inputs
// of experts.
func (m *File) room(rows int) int64 {
	rank := 0
	for _, x := range m.Adapters {
		rank = max(rank, x.Rank)
	}
	for w := range m.changes().Linear {
		if len(w.Shape) == 3 {
			return 4 * int64(rows) * int64(m.Config.Used*(rank+m.Config.Hidden)+rank)
		}
	}
	return 4 * int64(rows*rank)
}
