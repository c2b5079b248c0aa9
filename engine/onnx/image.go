package onnx

// imageTable are operators on tensors (batch, channels, space…).
func imageTable() table { return join(convOps(), poolOps(), sampleOps()) }
