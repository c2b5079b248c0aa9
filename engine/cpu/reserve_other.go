//go:build !unix

package cpu

func reserve(n int) (data []byte, free func() error, err error) {
	return make([]byte, n), func() error { return nil }, nil
}
