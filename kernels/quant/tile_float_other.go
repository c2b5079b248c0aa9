//go:build !amd64 || noasm

package quant

func floatTilesOf(Type) *floatTiles { return &floatTiles{} }

func sumTilesOf(Type) *sumTiles { return &sumTiles{} }
