package dot

// A lender keeps scratch that is lent to one thread at a time. What does not fit is
// left to the collector.
type lender[T any] chan *T

// lend returns what was given back, or a new T.
func (l lender[T]) lend() *T {
	select {
	case x := <-l:
		return x
	default:
		return new(T)
	}
}

func (l lender[T]) giveBack(x *T) {
	select {
	case l <- x:
	default:
	}
}
