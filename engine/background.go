package engine

import "context"

type background struct{}

// InBackground marks what is asked under ctx as work that others come before: text models
// run it only in what they leave, and it takes no place in a queue.
func InBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, background{}, true)
}

// IsBackground reports whether others come before what is asked under ctx.
func IsBackground(ctx context.Context) bool { return ctx.Value(background{}) != nil }
