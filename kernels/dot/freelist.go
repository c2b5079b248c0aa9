package dot

// A freelist keeps scratch that one goroutine at a time uses. What exceeds its capacity
// is left to the garbage collector.
type freelist[T any] chan *T

// take returns a T that was put back, or a new one.
func (l freelist[T]) take() *T {
	select {
	case x := <-l:
		return x
	default:
		return new(T)
	}
}

func (l freelist[T]) put(x *T) {
	select {
	case l <- x:
	default:
	}
}
