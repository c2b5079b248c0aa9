package japanese

import _ "embed"

//go:embed data/japanese.bin
var packed []byte
