//go:build !amd64 || noasm

package gemm

func (c *int8Product) tiles() { c.tilesGo() }

func rangeFast([]float32, *float32, *float32) int { return 0 }

func quantizeFast([]byte, []float32, float32, int32) int { return 0 }

func rangeLanesFast(*[32]float32, []float32) int { return 0 }

func packFast(_, _ []float32, _ int, _, _, _ float32) int { return 0 }
