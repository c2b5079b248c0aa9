package builtin

import (
	"os"
	"sync"
)

// In a browser the model is a file of the site, so that the program stays small. Without
// it there are no bytes, and the reader of them says so.
var gguf = sync.OnceValue(func() []byte {
	data, _ := os.ReadFile("/site/quern-tiny.gguf")
	return data
})
