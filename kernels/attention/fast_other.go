//go:build !amd64 || noasm

package attention

import "quern/kernels/quant"

func softmaxVectors() *softmaxVector { return &noSoftmaxVector }

var noSoftmaxVector softmaxVector

func attendTilesOf(quant.Type) *attendTiles { return &noAttendTiles }

var noAttendTiles attendTiles
