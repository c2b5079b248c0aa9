package kokoro

import (
	"fmt"

	"quern/formats/weights"
)

// A Voice is a pack of style vectors, one for each length of an utterance.
type Voice struct {
	rows, width int
	data        []float32
}

// maxVoiceRows bounds a pack: published ones have 510 rows, old ones 511.
const maxVoiceRows = 1024

// NewVoice makes a voice of a pack of rows of width values. data is kept.
func NewVoice(data []float32, width int) (*Voice, error) {
	if width <= 0 || len(data) == 0 || len(data)%width != 0 || len(data)/width > maxVoiceRows {
		return nil, fmt.Errorf("%w: a voice of %d values in rows of %d", weights.ErrFormat, len(data), width)
	}
	if i := notFinite(data); i >= 0 {
		return nil, fmt.Errorf("%w: a voice holds %v at %d: its file is damaged", weights.ErrFormat, data[i], i)
	}
	return &Voice{rows: len(data) / width, width: width, data: data}, nil
}

// Style returns the style vector for an utterance of n symbols. Packs of 511
// rows count from 0 symbols, others from 1.
func (v *Voice) Style(n int) []float32 {
	row := n - 1
	if v.rows == 511 {
		row = n
	}
	row = min(max(row, 0), v.rows-1)
	return v.data[row*v.width : (row+1)*v.width]
}

// Mix returns the weighted sum of voices; weights usually add up to 1 and may
// be negative.
func Mix(voices []*Voice, weight []float64) (*Voice, error) {
	if len(voices) == 0 || len(voices) != len(weight) {
		return nil, fmt.Errorf("kokoro: %d voices with %d weights", len(voices), len(weight))
	}
	first := voices[0]
	out := &Voice{rows: first.rows, width: first.width, data: make([]float32, len(first.data))}
	for i, v := range voices {
		if v.rows != out.rows || v.width != out.width {
			return nil, fmt.Errorf("kokoro: voices of %d×%d and %d×%d do not mix", out.rows, out.width, v.rows, v.width)
		}
		for k, x := range v.data {
			out.data[k] += float32(weight[i]) * x
		}
	}
	return out, nil
}
