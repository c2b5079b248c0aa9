package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// maxIntBits bounds integers. Python itself refuses to print more than 4300
// digits.
const maxIntBits = 14_000

func isNumber(v Value) bool {
	switch v.(type) {
	case Bool, Int, bigInt, Float:
		return true
	}
	return false
}

// smallInt returns v as an int64 if it is a bool or an int that fits.
func smallInt(v Value) (int64, bool) {
	switch v := v.(type) {
	case Bool:
		if v {
			return 1, true
		}
		return 0, true
	case Int:
		return int64(v), true
	}
	return 0, false
}

// isInt reports whether v is an int or a bool, which is an int in Python.
func isInt(v Value) bool {
	_, big := v.(bigInt)
	_, small := smallInt(v)
	return big || small
}

// bigOf returns the value of an int; the result must not be changed.
func bigOf(v Value) *big.Int {
	if b, ok := v.(bigInt); ok {
		return b.n
	}
	n, _ := smallInt(v)
	return big.NewInt(n)
}

func fromBig(n *big.Int) Value {
	if n.IsInt64() {
		return Int(n.Int64())
	}
	if n.BitLen() > maxIntBits {
		panic(limitf("an integer has more than %d bits", maxIntBits))
	}
	return bigInt{n}
}

// floatOf converts a number.
func floatOf(v Value) float64 {
	switch v := v.(type) {
	case Float:
		return float64(v)
	case bigInt:
		f, _ := new(big.Float).SetInt(v.n).Float64()
		if math.IsInf(f, 0) {
			panic(raisef("OverflowError", "int too large to convert to float"))
		}
		return f
	}
	n, _ := smallInt(v)
	return float64(n)
}

// arith computes a op b for numbers.
func arith(op string, a, b Value) Value {
	if isInt(a) && isInt(b) {
		if op == "/" {
			return divideInts(a, b)
		}
		return intArith(op, a, b)
	}
	x := floatOf(a)
	return floatArith(op, x, floatOf(b))
}

func intArith(op string, a, b Value) Value {
	x, xok := smallInt(a)
	y, yok := smallInt(b)
	if xok && yok {
		if v, ok := smallArith(op, x, y); ok {
			return v
		}
	}
	m, n := bigOf(a), bigOf(b)
	z := new(big.Int)
	switch op {
	case "+":
		z.Add(m, n)
	case "-":
		z.Sub(m, n)
	case "*":
		z.Mul(m, n)
	case "//", "%":
		if n.Sign() == 0 {
			panic(zeroDivision("integer division or modulo by zero"))
		}
		// Python rounds towards minus infinity.
		rem := new(big.Int)
		z.QuoRem(m, n, rem)
		if rem.Sign() != 0 && rem.Sign() != n.Sign() {
			z.Sub(z, big.NewInt(1))
			rem.Add(rem, n)
		}
		if op == "%" {
			z = rem
		}
	default:
		return intPower(m, n)
	}
	return fromBig(z)
}

// smallArith computes without big integers; not ok if it might overflow.
func smallArith(op string, x, y int64) (Value, bool) {
	switch op {
	case "+":
		if z := x + y; (z > x) == (y > 0) {
			return Int(z), true
		}
	case "-":
		if z := x - y; (z < x) == (y > 0) {
			return Int(z), true
		}
	case "*":
		const half = 1 << 31
		if x > -half && x < half && y > -half && y < half {
			return Int(x * y), true
		}
	case "//", "%":
		if y == 0 || y == -1 {
			return nil, false
		}
		q, rem := x/y, x%y
		if rem != 0 && (rem < 0) != (y < 0) {
			q--
			rem += y
		}
		if op == "%" {
			return Int(rem), true
		}
		return Int(q), true
	}
	return nil, false
}

func intPower(m, n *big.Int) Value {
	if n.Sign() < 0 {
		x, _ := new(big.Float).SetInt(m).Float64()
		y, _ := new(big.Float).SetInt(n).Float64()
		return floatArith("**", x, y)
	}
	if m.CmpAbs(big.NewInt(1)) <= 0 { // 0, 1 or -1: only the exponent's parity counts
		e := int64(n.Bit(0))
		if n.Sign() > 0 {
			e += 2
		}
		n = big.NewInt(e)
	} else if !n.IsInt64() || n.Int64() > maxIntBits || int64(m.BitLen()-1)*n.Int64() > maxIntBits {
		panic(limitf("an integer has more than %d bits", maxIntBits))
	}
	return fromBig(new(big.Int).Exp(m, n, nil))
}

// divideInts is true division, rounded once.
func divideInts(a, b Value) Value {
	n := bigOf(b)
	if n.Sign() == 0 {
		panic(zeroDivision("division by zero"))
	}
	f, _ := new(big.Rat).SetFrac(bigOf(a), n).Float64()
	if math.IsInf(f, 0) {
		panic(raisef("OverflowError", "integer division result too large for a float"))
	}
	return Float(f)
}

func zeroDivision(message string) thrown { return raisef("ZeroDivisionError", "%s", message) }

func floatArith(op string, x, y float64) Value {
	switch op {
	case "+":
		return Float(x + y)
	case "-":
		return Float(x - y)
	case "*":
		return Float(x * y)
	case "/":
		if y == 0 {
			panic(zeroDivision("float division by zero"))
		}
		return Float(x / y)
	case "//", "%":
		if y == 0 {
			panic(zeroDivision("float floor division by zero"))
		}
		rem := math.Mod(x, y)
		if rem != 0 && (rem < 0) != (y < 0) {
			rem += y
		}
		if rem == 0 {
			rem = math.Copysign(0, y)
		}
		if op == "%" {
			return Float(rem)
		}
		div := (x - rem) / y
		q := math.Floor(div)
		if div-q > 0.5 {
			q++
		}
		if div == 0 {
			q = math.Copysign(0, x/y)
		}
		return Float(q)
	}
	if x == 0 && y < 0 {
		panic(zeroDivision("0.0 cannot be raised to a negative power"))
	}
	if x < 0 && y != math.Trunc(y) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		panic(valueErrorf("complex numbers are not supported"))
	}
	z := math.Pow(x, y)
	if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		panic(raisef("OverflowError", "(34, 'Numerical result out of range')"))
	}
	return Float(z)
}

func negate(v Value) Value {
	if f, ok := v.(Float); ok {
		return -f
	}
	return fromBig(new(big.Int).Neg(bigOf(v)))
}

func absolute(v Value) Value {
	if f, ok := v.(Float); ok {
		return Float(math.Abs(float64(f)))
	}
	return fromBig(new(big.Int).Abs(bigOf(v)))
}

// truncate is Python's int of a float.
func truncate(f float64) Value {
	switch {
	case math.IsNaN(f):
		panic(valueErrorf("cannot convert float NaN to integer"))
	case math.IsInf(f, 0):
		panic(raisef("OverflowError", "cannot convert float infinity to integer"))
	}
	n, _ := big.NewFloat(f).Int(nil)
	return fromBig(n)
}

// numberText is Python's str of a number.
func numberText(v Value) string {
	switch v := v.(type) {
	case Bool:
		if v {
			return "True"
		}
		return "False"
	case bigInt:
		return v.n.String()
	case Float:
		return floatText(float64(v))
	}
	n, _ := smallInt(v)
	return strconv.FormatInt(n, 10)
}

// floatText is the shortest decimal that reads back as f, spelled as Python
// spells it.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	if exp, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:]); exp < -4 || exp >= 16 {
		return s
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// parseInt is Python's int of a string. Base 0 takes the base from a prefix.
func parseInt(s string, base int) Value {
	bad := valueErrorf("invalid literal for int() with base %d: %s", base, quote(s))
	text := strings.TrimFunc(s, isSpace)
	if len(text) > maxIntBits/3 {
		panic(limitf("an integer has more than %d digits", maxIntBits/3))
	}
	if base != 0 && (base < 2 || base > 36) {
		panic(valueErrorf("int() base must be >= 2 and <= 36, or 0"))
	}
	neg := strings.HasPrefix(text, "-")
	if neg || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	if len(text) > 1 && text[0] == '0' {
		want := map[byte]int{'b': 2, 'o': 8, 'x': 16}[text[1]|0x20]
		if want != 0 && (base == 0 || base == want) {
			base, text = want, text[2:]
			text = strings.TrimPrefix(text, "_")
		}
	}
	if base == 0 {
		base = 10
		if len(text) > 1 && text[0] == '0' && strings.Trim(text, "0_") != "" {
			panic(bad)
		}
	}
	var digits strings.Builder
	last := rune('_')
	for _, r := range text {
		if r == '_' {
			if last == '_' {
				panic(bad)
			}
		} else if d := decimalDigit(r); d >= 0 {
			digits.WriteByte(byte('0' + d))
		} else {
			digits.WriteRune(r)
		}
		last = r
	}
	if last == '_' {
		panic(bad)
	}
	n, ok := new(big.Int).SetString(digits.String(), base)
	if !ok || strings.ContainsAny(digits.String(), "+-_") {
		panic(bad)
	}
	if neg {
		n.Neg(n)
	}
	return fromBig(n)
}

// parseFloat is Python's float of a string.
func parseFloat(s string) float64 {
	text := strings.ToLower(strings.TrimFunc(s, isSpace))
	body := strings.TrimLeft(text, "+-")
	if len(text)-len(body) > 1 {
		panic(valueErrorf("could not convert string to float: %s", quote(s)))
	}
	switch body {
	case "nan":
		return math.NaN()
	case "inf", "infinity":
	default:
		clean := true
		for i := 0; i < len(body); i++ {
			switch c := body[i]; {
			case isDecimal(c), c == '.', c == 'e':
			case c == '+' || c == '-':
				clean = clean && i > 0 && body[i-1] == 'e'
			case c == '_':
				clean = clean && i > 0 && i+1 < len(body) && isDecimal(body[i-1]) && isDecimal(body[i+1])
			default:
				clean = false
			}
		}
		if !clean {
			panic(valueErrorf("could not convert string to float: %s", quote(s)))
		}
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	if err != nil && !math.IsInf(f, 0) {
		panic(valueErrorf("could not convert string to float: %s", quote(s)))
	}
	return f
}

// round is Python's round: half to even on the exact value.
func round(v Value, places int64) Value {
	if f, ok := v.(Float); ok {
		x := float64(f)
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0) || places > 400:
			return f
		case places < -400:
			return Float(math.Copysign(0, x))
		case places >= 0:
			x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'f', int(places), 64), 64)
			return Float(x)
		}
		scale := math.Pow(10, float64(-places))
		return Float(math.RoundToEven(x/scale) * scale)
	}
	if places >= 0 {
		if b, ok := v.(Bool); ok {
			n, _ := smallInt(b)
			return Int(n)
		}
		return v
	}
	if places < -5000 {
		return Int(0)
	}
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(-places), nil)
	q, rem := new(big.Int).DivMod(bigOf(v), scale, new(big.Int))
	if c := rem.Lsh(rem, 1).Cmp(scale); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return fromBig(q.Mul(q, scale))
}
