//go:build js || cuda

package graph

func newRecorder() recorder { return new(inorder) }
