// Package tag recognises the tags that programs put beside the sound of a file.
package tag

import "bytes"

// heads are what ID3v1, ID3v2 and APEv2 begin with.
var heads = [][]byte{[]byte("TAG"), []byte("ID3"), []byte("APETAGEX")}

// Begins reports whether p begins with a tag.
func Begins(p []byte) bool {
	for _, h := range heads {
		if bytes.HasPrefix(p, h) {
			return true
		}
	}
	return false
}
