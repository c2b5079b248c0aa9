//go:build !js

package builtin

import _ "embed"

//go:embed quern-tiny.gguf
var data []byte

func gguf() []byte { return data }
