package diarize

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"

	"quern/engine/asr/speakers"
	"quern/engine/onnx"
)

// The files of a PLDA, as pyannote's speaker-diarization-community-1 has them.
const (
	transformFile = "xvec_transform.npz"
	pldaFile      = "plda.npz"

	mostNPZ = 64 << 20 // bytes of a file, and of what it holds
)

// readPLDA reads the space of embeddings from the files in a folder.
func readPLDA(dir fs.FS) (*speakers.PLDA, error) {
	p := new(speakers.PLDA)
	for _, x := range []struct {
		file   string
		arrays map[string]*[]float64
	}{
		{transformFile, map[string]*[]float64{"mean1": &p.Mean, "lda": &p.LDA, "mean2": &p.After}},
		{pldaFile, map[string]*[]float64{"mu": &p.Mu, "tr": &p.Tr, "psi": &p.Psi}},
	} {
		f, err := dir.Open(x.file)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(f, mostNPZ+1))
		f.Close()
		if err == nil && len(data) > mostNPZ {
			err = fmt.Errorf("%w: it has more than %d MiB", ErrUnsupported, mostNPZ>>20)
		}
		if err == nil {
			err = readNPZ(data, x.arrays)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.file, err)
		}
	}
	return p, nil
}

// readNPZ reads arrays of numbers from an archive as numpy.savez writes it.
func readNPZ(data []byte, arrays map[string]*[]float64) error {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	for name, to := range arrays {
		f, err := z.Open(name + ".npy")
		if err != nil {
			return fmt.Errorf("%w: it holds no array %q", ErrFormat, name)
		}
		raw, err := io.ReadAll(io.LimitReader(f, mostNPZ+1))
		f.Close()
		if err != nil || len(raw) > mostNPZ {
			return fmt.Errorf("%w: array %q cannot be read, or has more than %d MiB", ErrFormat, name, mostNPZ>>20)
		}
		t, err := onnx.ReadNPY(raw)
		if err != nil {
			return fmt.Errorf("array %q: %w", name, err)
		}
		if t.F == nil && t.D == nil {
			return fmt.Errorf("%w: array %q holds no floats", ErrUnsupported, name)
		}
		*to = make([]float64, t.Len())
		for i := range *to {
			(*to)[i] = t.At(i)
		}
	}
	return nil
}
