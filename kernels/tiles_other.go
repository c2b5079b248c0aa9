//go:build !amd64 || noasm

package kernels

func (c *product) tiles() { c.tilesGo() }
