package disk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
)

// A file is a header and the bytes kept, numbers little-endian:
//
//	 0  magic, which has the version of this format
//	 8  when it was last used, see stamp; it alone changes, and the checksums leave it out
//	16  key
//	48  bytes kept
//	56  CRC-32C of these from 16 on and of the bytes kept
//	60  CRC-32 (IEEE) of the same
//
// Two checksums of different polynomials, since either is computed faster than memory is
// read, and one in 2³² damaged files would be too many to trust 32 bits with.
const (
	magic   = "quernkv1"
	usedAt  = 8
	keyAt   = 16
	sizeAt  = 48
	sumsAt  = 56
	header  = 64
	maxFile = 1 << 40
)

// errForeign is a file that does not match its name.
var errForeign = errors.New("the file is damaged, or none of quern's")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sums are the checksums of a file that begins with head.
func sums(head, data []byte) (s [8]byte) {
	binary.LittleEndian.PutUint32(s[:], crc32.Update(crc32.Checksum(head[keyAt:sumsAt], castagnoli), castagnoli, data))
	binary.LittleEndian.PutUint32(s[4:], crc32.Update(crc32.ChecksumIEEE(head[keyAt:sumsAt]), crc32.IEEETable, data))
	return s
}

// headerOf is that of a file.
func headerOf(k Key, used stamp, data []byte) (h [header]byte) {
	copy(h[:], magic)
	binary.LittleEndian.PutUint64(h[usedAt:], uint64(used))
	copy(h[keyAt:], k[:])
	binary.LittleEndian.PutUint64(h[sizeAt:], uint64(len(data)))
	s := sums(h[:], data)
	copy(h[sumsAt:], s[:])
	return h
}

// A stamp orders files by their last use: a count of uses, which no clock moves, and in its low
// bits how far from the start of a sequence a block is. Of blocks used together the last is evicted
// first, since those before it can be used without it.
type stamp uint64

const depthBits = 16

// at is the stamp of a block, the depth-th of a sequence, at use number n.
func at(n uint64, depth int) stamp {
	const deepest = 1<<depthBits - 1
	return stamp(n<<depthBits | uint64(deepest-min(depth, deepest)))
}

func (s stamp) use() uint64 { return uint64(s) >> depthBits }

// latest is the highest use number believed: a damaged file must not stop the count.
const latest = 1 << 40

// readHeader reads that of a file of k: its last use and bytes kept.
func readHeader(r io.Reader, k Key) (h [header]byte, used stamp, size int64, err error) {
	if _, err = io.ReadFull(r, h[:]); err != nil {
		return h, 0, 0, foreignIfShort(err)
	}
	size = int64(binary.LittleEndian.Uint64(h[sizeAt:]))
	if string(h[:len(magic)]) != magic || !bytes.Equal(h[keyAt:keyAt+len(k)], k[:]) || size < 0 || size > maxFile {
		return h, 0, 0, errForeign
	}
	if used = stamp(binary.LittleEndian.Uint64(h[usedAt:])); used.use() > latest {
		used = 0
	}
	return h, used, size, nil
}

// readFile fills data with the bytes of the file of k, which must be as many.
func readFile(r io.Reader, k Key, data []byte) (used stamp, err error) {
	h, used, size, err := readHeader(r, k)
	if err != nil {
		return 0, err
	}
	if size != int64(len(data)) {
		return 0, errForeign
	}
	if _, err := io.ReadFull(r, data); err != nil {
		return 0, foreignIfShort(err)
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || err == nil {
		return 0, errForeign
	}
	if s := sums(h[:], data); !bytes.Equal(s[:], h[sumsAt:]) {
		return 0, errForeign
	}
	return used, nil
}

func foreignIfShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errForeign
	}
	return err
}

// An FS is the files of a Store; names are paths. It is the operating system's but in tests.
type FS interface {
	// Open opens a file for reading, Create a new one for writing, Update one for WriteAt.
	Open(name string) (File, error)
	Create(name string) (File, error)
	Update(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	Mkdir(name string) error
	ReadDir(name string) ([]fs.DirEntry, error)
}

// A File is an open file.
type File interface {
	io.Reader
	io.Writer
	io.WriterAt
	io.Closer
}
