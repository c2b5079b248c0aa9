//go:build !(amd64 || arm64) || noasm

package gemm

func (c *Product) tiles() { c.tilesGo() }

func (c *Windows) tiles() { c.tilesGo() }

// int8ByFloats reports whether tiles of float32 are the fastest for integers.
func int8ByFloats() bool { return false }
