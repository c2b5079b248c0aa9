//go:build !js

package g2p

import _ "embed"

var (
	//go:embed data/lexicon.bin
	lexiconData []byte
	//go:embed data/graphones.bin
	graphoneData []byte
)

// packed returns the packed dictionary and its model of spelling.
func packed() (lexicon, graphones []byte, err error) { return lexiconData, graphoneData, nil }
