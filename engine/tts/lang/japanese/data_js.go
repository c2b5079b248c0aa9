package japanese

import "os"

// packed returns the packed lexicon, which in a browser is a file of the site.
func packed() ([]byte, error) { return os.ReadFile("/site/japanese.bin") }
