//go:build !unix

package token_test

import "time"

func cputime() time.Duration { return 0 }
