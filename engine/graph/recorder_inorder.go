//go:build js || cuda || nogorgonia

package graph

func newRecorder() recorder { return new(inorder) }
