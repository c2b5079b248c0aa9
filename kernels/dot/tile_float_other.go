//go:build !amd64 || noasm

package dot

import "quern/kernels/quant"

func floatTilesOf(quant.Type) *floatTiles { return &floatTiles{} }

func sumTilesOf(quant.Type) *sumTiles { return &sumTiles{} }
