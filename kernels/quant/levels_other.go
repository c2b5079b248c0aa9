//go:build !amd64 || noasm

package quant

// There is no assembly here; see levels_amd64.go.

func fastQ8_32(*group, *[GroupLen]float32) bool { return false }

func fastQ8_256(*group, *[GroupLen]float32) bool { return false }

func fastHalves([]byte, []float32) int { return 0 }

func fastFloats([]float32, []byte) int { return 0 }

func fastTop([]float32) (top uint32, n int) { return 0, 0 }

func fastMeasure(_ []fitted, _ []candidate, _, _ []float64, _, _ float64) bool { return false }
