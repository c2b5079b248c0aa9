package graph

// NewListBuilder is a Builder as builds without gorgonia have it.
func NewListBuilder(rows, want int) *Builder { return newBuilder(rows, want, new(inorder)) }
