//go:build !js

package japanese

import _ "embed"

//go:embed data/japanese.bin
var lexiconData []byte

// packed returns the packed lexicon.
func packed() ([]byte, error) { return lexiconData, nil }
