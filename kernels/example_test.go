package kernels_test

import (
	"fmt"
	"slices"

	"quern/kernels"
)

func ExampleLevel() {
	levels := []string{"generic", "avx2", "avx512", "amx", "neon", "dotprod", "simd128"}
	fmt.Println(slices.Contains(levels, kernels.Level()))
	// Output:
	// true
}
