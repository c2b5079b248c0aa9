package image

import "quern/engine/onnx/internal/run"

// Table are operators on tensors (batch, channels, space…).
func Table() run.Table { return run.Join(convOps(), poolOps(), sampleOps()) }
