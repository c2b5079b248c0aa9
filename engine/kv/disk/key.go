// Package disk keeps blocks of KV caches in files, so that prompts are found again after a
// restart.
//
// A Store is a folder with a limit of bytes. A block is a file of its own, named by the hash
// of everything its bits depend on: the model, the tokens of the block and all before it.
// Files appear by being renamed when they are whole, say their own name and a checksum, and
// are only ever read, replaced by the same or removed. So servers share a folder without a
// lock, a crash leaves files that are whole or are refused, and any other file
// is a miss.
//
// Only Close and Get wait for the disk, and these not for ever.
package disk

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// A Key names a block by what its bits depend on.
type Key [sha256.Size]byte

// Root is the key before the first blocks of all that parts describe.
func Root(parts ...string) Key {
	h := sha256.New()
	for _, s := range parts {
		var n [8]byte
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	return Key(h.Sum(nil))
}

// Next is the key of the block with these tokens that follows k.
func (k Key) Next(tokens []int32) Key {
	var room [sha256.Size + 4*64]byte
	b := append(room[:0], k[:]...)
	for _, t := range tokens {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	return sha256.Sum256(b)
}

// States is the key of the states behind a block. No block has it: those hash whole tokens.
func (k Key) States() Key { return sha256.Sum256(append(k[:], 's')) }

// folder and file are where in a Store a key is.
func (k Key) folder() string { return hex.EncodeToString(k[:1]) }
func (k Key) file() string   { return hex.EncodeToString(k[1:]) }

// keyOf is the key of a file, if its name is one's.
func keyOf(folder, file string) (k Key, ok bool) {
	b, err := hex.DecodeString(folder + file)
	if err != nil || len(folder) != 2 || len(b) != len(k) {
		return k, false
	}
	k = Key(b)
	return k, k.folder() == folder && k.file() == file
}
