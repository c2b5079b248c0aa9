//go:build !js

package mandarin

import _ "embed"

//go:embed data/mandarin.bin
var lexiconData []byte

// packed returns the packed lexicon.
func packed() ([]byte, error) { return lexiconData, nil }
