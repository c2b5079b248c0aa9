package quant

import "fmt"

// The checks take a type's sizes as arguments: functions the table names cannot
// read the table, or Go would have no order to initialise them in.

// checkDecode returns the number of blocks in n weights.
func checkDecode(t Type, n, bytes, block, blockBytes int) int {
	if n%block != 0 || bytes != n/block*blockBytes {
		panic(fmt.Sprintf("quant: decoding %d bytes of %v into %d floats", bytes, t, n))
	}
	return n / block
}

// checkEncode returns the number of blocks in n weights.
func checkEncode(t Type, n, bytes, block, blockBytes int) int {
	if n%block != 0 || bytes != n/block*blockBytes {
		panic(fmt.Sprintf("quant: encoding %d floats into %d bytes of %v", n, bytes, t))
	}
	return n / block
}

// checkDot returns the number of blocks in n weights.
func checkDot(t, with Type, n int, w, x []byte, block, blockBytes int) int {
	if n < 0 || n%block != 0 || len(w) != n/block*blockBytes || len(x) != ActBytes(with, n) {
		panic(fmt.Sprintf("quant: dot of %d weights of %v in %d bytes with %d bytes", n, t, len(w), len(x)))
	}
	return n / block
}
