//go:build !cuda || !linux

package device

import (
	"errors"

	"quern/engine/graph"
)

const cudaMissing = "this build of quern has no CUDA support: the one named quern-cuda, built for Linux with -tags cuda, has"

func openCUDA([]int, Options) (graph.Backend, error) { return nil, errors.New(cudaMissing) }
