package torch

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"quern/formats/weights"
)

// A pickle is a program for a stack machine that can call any Python function.
// This machine runs the part that PyTorch's checkpoints of tensors need and
// calls nothing: the few functions of the list below become values of our own,
// everything else is refused by name.
//
// Python's pickletools documents the operations.

// What a pickle can hold beside nil, bool, int64, float64 and string.
type (
	tuple  []any
	list   struct{ items []any }
	dict   struct{ keys, values []any }
	global string
	// A storage is a run of numbers in a file of the archive.
	storage struct {
		kind global
		file string
	}
	tensor struct {
		storage       *storage
		offset        int64
		shape, stride []int64
	}
	mark struct{}
)

const (
	orderedDict      = global("collections.OrderedDict")
	rebuildTensor    = global("torch._utils._rebuild_tensor_v2")
	rebuildParameter = global("torch._utils._rebuild_parameter")
)

// Limits of a pickle: a checkpoint of a thousand tensors needs some 30,000
// values on its way.
const (
	maxDepth = 64      // dictionaries within dictionaries
	maxMemo  = 1 << 20 // values kept for later
	maxStack = 1 << 20
)

type machine struct {
	in    []byte
	at    int
	stack []any
	memo  map[uint32]any
}

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: pickle: "+format, append([]any{weights.ErrFormat}, args...)...)
}

func refused(format string, args ...any) error {
	return fmt.Errorf("%w: pickle: "+format, append([]any{weights.ErrUnsupported}, args...)...)
}

// unpickle runs a pickle and returns its result.
func unpickle(data []byte) (out any, err error) {
	m := &machine{in: data, memo: make(map[uint32]any)}
	for {
		op, err := m.bytes(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' {
			return m.pop()
		}
		if err := m.step(op[0]); err != nil {
			return nil, err
		}
		if len(m.stack) > maxStack || len(m.memo) > maxMemo {
			return nil, refused("more than %d values", maxStack)
		}
	}
}

func (m *machine) bytes(n int) ([]byte, error) {
	if n < 0 || n > len(m.in)-m.at {
		return nil, bad("it ends too early")
	}
	b := m.in[m.at : m.at+n]
	m.at += n
	return b, nil
}

// number reads n little-endian bytes, at most 8.
func (m *machine) number(n int) (uint64, error) {
	b, err := m.bytes(n)
	if err != nil {
		return 0, err
	}
	var buf [8]byte
	copy(buf[:], b)
	return binary.LittleEndian.Uint64(buf[:]), nil
}

// line reads up to a line feed.
func (m *machine) line() (string, error) {
	text, _, ok := strings.Cut(string(m.in[m.at:min(len(m.in), m.at+256)]), "\n")
	if !ok {
		return "", bad("a line without an end")
	}
	m.at += len(text) + 1
	return text, nil
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

func (m *machine) pop() (any, error) {
	if len(m.stack) == 0 {
		return nil, bad("nothing to take from the stack")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	return v, nil
}

func (m *machine) top() (any, error) {
	if len(m.stack) == 0 {
		return nil, bad("nothing on the stack")
	}
	return m.stack[len(m.stack)-1], nil
}

// sinceMark takes everything above the last mark, and the mark.
func (m *machine) sinceMark() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(mark); ok {
			out := append([]any(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return out, nil
		}
	}
	return nil, bad("no mark on the stack")
}

// take pops n values and returns them in the order they were pushed.
func (m *machine) take(n int) ([]any, error) {
	if len(m.stack) < n {
		return nil, bad("%d values are needed, %d are there", n, len(m.stack))
	}
	out := append([]any(nil), m.stack[len(m.stack)-n:]...)
	m.stack = m.stack[:len(m.stack)-n]
	return out, nil
}

// step runs one operation.
func (m *machine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		v, err := m.number(1)
		if err == nil && v > 5 {
			err = refused("protocol %d", v)
		}
		return err
	case 0x95: // FRAME
		_, err := m.bytes(8)
		return err
	case '(':
		m.push(mark{})
	case 'N':
		m.push(nil)
	case 0x88:
		m.push(true)
	case 0x89:
		m.push(false)
	case '}':
		m.push(&dict{})
	case ']':
		m.push(&list{})
	case ')':
		m.push(tuple(nil))
	case '0':
		_, err := m.pop()
		return err
	case 'K', 'M', 'J', 0x8a, 'G', 'X', 0x8c, 0x8d:
		return m.literal(op)
	case 't', 0x85, 0x86, 0x87:
		return m.tuple(op)
	case 'q', 'r', 'h', 'j', 0x94:
		return m.remember(op)
	case 'c', 0x93:
		return m.global(op)
	case 'Q':
		return m.persistent()
	case 'R':
		return m.reduce()
	case 's', 'u', 'a', 'e', 'b':
		return m.fill(op)
	default:
		return refused("operation %#x", op)
	}
	return nil
}

func (m *machine) literal(op byte) error {
	switch op {
	case 'K', 'M', 'J':
		n := map[byte]int{'K': 1, 'M': 2, 'J': 4}[op]
		v, err := m.number(n)
		if err != nil {
			return err
		}
		if op == 'J' {
			m.push(int64(int32(v)))
		} else {
			m.push(int64(v))
		}
	case 0x8a: // LONG1
		n, err := m.number(1)
		if err != nil {
			return err
		}
		if n > 8 {
			return refused("an integer of %d bytes", n)
		}
		v, err := m.number(int(n))
		if err != nil {
			return err
		}
		shift := 64 - 8*n
		if n == 0 {
			m.push(int64(0))
		} else {
			m.push(int64(v<<shift) >> shift)
		}
	case 'G':
		b, err := m.bytes(8)
		if err != nil {
			return err
		}
		m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	default: // strings with lengths of 4, 1 or 8 bytes
		n := map[byte]int{'X': 4, 0x8c: 1, 0x8d: 8}[op]
		size, err := m.number(n)
		if err != nil {
			return err
		}
		if size > uint64(len(m.in)) {
			return bad("a string runs past the end")
		}
		b, err := m.bytes(int(size))
		if err != nil {
			return err
		}
		m.push(string(b))
	}
	return nil
}

func (m *machine) tuple(op byte) error {
	var items []any
	var err error
	if op == 't' {
		items, err = m.sinceMark()
	} else {
		items, err = m.take(int(op-0x85) + 1)
	}
	if err == nil {
		m.push(tuple(items))
	}
	return err
}

// remember puts the top of the stack into the memo, or gets something out.
func (m *machine) remember(op byte) error {
	var key uint64
	var err error
	switch op {
	case 'q', 'h':
		key, err = m.number(1)
	case 'r', 'j':
		key, err = m.number(4)
	case 0x94:
		key = uint64(len(m.memo))
	}
	if err != nil {
		return err
	}
	if op == 'h' || op == 'j' {
		v, ok := m.memo[uint32(key)]
		if !ok {
			return bad("nothing was kept as number %d", key)
		}
		m.push(v)
		return nil
	}
	v, err := m.top()
	if err == nil {
		m.memo[uint32(key)] = v
	}
	return err
}

// global pushes the name of a function or class if it is an allowed one.
func (m *machine) global(op byte) error {
	var module, name string
	if op == 'c' {
		var err error
		if module, err = m.line(); err != nil {
			return err
		}
		if name, err = m.line(); err != nil {
			return err
		}
	} else {
		v, err := m.take(2)
		if err != nil {
			return err
		}
		var a, b bool
		module, a = v[0].(string)
		name, b = v[1].(string)
		if !a || !b {
			return bad("a name that is no string")
		}
	}
	g := global(module + "." + name)
	if _, ok := storages[g]; !ok && g != orderedDict && g != rebuildTensor && g != rebuildParameter {
		return refused("it wants %q, which a file of weights has no use for", g)
	}
	m.push(g)
	return nil
}

// persistent pushes the storage a tuple ('storage', kind, file, device, count)
// names.
func (m *machine) persistent() error {
	v, err := m.pop()
	if err != nil {
		return err
	}
	t, ok := v.(tuple)
	if !ok || len(t) < 5 {
		return bad("a reference that is no storage")
	}
	kind, a := t[1].(global)
	file, b := t[2].(string)
	n, c := t[4].(int64)
	if t[0] != "storage" || !a || !b || !c || n < 0 {
		return bad("a reference that is no storage")
	}
	m.push(&storage{kind: kind, file: file})
	return nil
}

// reduce is a call.
func (m *machine) reduce() error {
	v, err := m.take(2)
	if err != nil {
		return err
	}
	f, a := v[0].(global)
	args, b := v[1].(tuple)
	if !a || !b {
		return bad("a call of something else than a function")
	}
	switch f {
	case orderedDict:
		if len(args) != 0 {
			return refused("an OrderedDict with arguments")
		}
		m.push(&dict{})
	case rebuildTensor:
		t, err := newTensor(args)
		if err != nil {
			return err
		}
		m.push(t)
	case rebuildParameter:
		if len(args) == 0 {
			return bad("a parameter of nothing")
		}
		m.push(args[0])
	default:
		return refused("a call of %q", f)
	}
	return nil
}

// newTensor reads (storage, offset, shape, stride, …).
func newTensor(args tuple) (*tensor, error) {
	if len(args) < 4 {
		return nil, bad("a tensor of %d arguments", len(args))
	}
	s, a := args[0].(*storage)
	offset, b := args[1].(int64)
	shape, c := integers(args[2])
	stride, d := integers(args[3])
	if !a || !b || !c || !d || offset < 0 || len(shape) != len(stride) || len(shape) > 8 {
		return nil, bad("a tensor with wrong arguments")
	}
	return &tensor{storage: s, offset: offset, shape: shape, stride: stride}, nil
}

func integers(v any) ([]int64, bool) {
	t, ok := v.(tuple)
	out := make([]int64, len(t))
	for i, x := range t {
		n, isInt := x.(int64)
		if !isInt || n < 0 {
			return nil, false
		}
		out[i] = n
	}
	return out, ok
}

// fill adds to the container under what it takes from the stack.
func (m *machine) fill(op byte) error {
	var items []any
	var err error
	switch op {
	case 's':
		items, err = m.take(2)
	case 'u', 'e':
		items, err = m.sinceMark()
	case 'a':
		items, err = m.take(1)
	case 'b':
		// State set on an object: only dictionaries have some, and it is theirs.
		_, err := m.pop()
		return err
	}
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	switch c := v.(type) {
	case *dict:
		if op == 'a' || op == 'e' || len(items)%2 != 0 {
			return bad("a dictionary is filled like a list")
		}
		for i := 0; i < len(items); i += 2 {
			c.keys, c.values = append(c.keys, items[i]), append(c.values, items[i+1])
		}
	case *list:
		if op == 's' || op == 'u' {
			return bad("a list is filled like a dictionary")
		}
		c.items = append(c.items, items...)
	default:
		return bad("something that is no container is filled")
	}
	return nil
}
