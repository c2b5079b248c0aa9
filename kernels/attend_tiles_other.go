//go:build !amd64 || noasm

package kernels

import "quern/kernels/quant"

func attendTilesOf(quant.Type) *attendTiles { return &noAttendTiles }

var noAttendTiles attendTiles
