package g2p

import (
	"errors"
	"os"
)

// packed returns the packed dictionary and its model of spelling. In a browser they are
// files of the site, so that the program stays small.
func packed() (lexicon, graphones []byte, err error) {
	lexicon, err = os.ReadFile("/site/lexicon.bin")
	graphones, other := os.ReadFile("/site/graphones.bin")
	return lexicon, graphones, errors.Join(err, other)
}
