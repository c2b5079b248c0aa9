package onnx

import "maps"

// imageOps are operators on tensors (batch, channels, space…).
func imageOps() map[string]op {
	all := make(map[string]op)
	for _, family := range []map[string]op{convOps(), int8ConvOps(), poolOps(), planeNormOps(), sampleOps()} {
		maps.Copy(all, family)
	}
	return all
}
