package dot

// A freelist keeps scratch that is lent to one thread at a time. What does not fit is
// left to the collector.
type freelist[T any] chan *T

// lend returns what was given back, or a new T.
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
