package weights

import "fmt"

// A Kind is the exact type a metadata value is stored as, which Value's few Go
// types do not tell. For an array it is the kind of the elements, for arrays
// of arrays that of the innermost ones. The zero Kind means unknown; a writer
// then picks what other programs expect.
type Kind uint8

// The kinds.
const (
	Uint8 Kind = iota + 1
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Uint64
	Int64
	Float64
)

var kinds = [...]string{"unknown", "uint8", "int8", "uint16", "int16", "uint32", "int32",
	"float32", "bool", "string", "uint64", "int64", "float64"}

func (k Kind) String() string {
	if int(k) >= len(kinds) {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kinds[k]
}
