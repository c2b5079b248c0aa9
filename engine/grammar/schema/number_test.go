package schema

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"quern/engine/grammar"
)

// TestNumbersEnd: whatever digit a model repeats, a number comes to its end, but under
// several large divisors.
func TestNumbersEnd(t *testing.T) {
	trie := byteTrie(t)
	for _, src := range []string{
		`{}`, `{"type":"integer"}`, `{"type":"number"}`, `{"enum":[1,2.5,-3]}`, `{"const":0}`,
		`{"type":"integer","minimum":0}`, `{"type":"number","exclusiveMaximum":-1e100}`, `{"type":"number","exclusiveMinimum":0,"maximum":1e-300}`,
		`{"type":"integer","multipleOf":7}`, `{"type":"number","multipleOf":0.01,"minimum":5}`, `{"anyOf":[{"type":"integer","minimum":3},{"const":1.25}]}`,
		`{"type":"number","not":{"const":0}}`, `{"type":"integer","not":{"multipleOf":3}}`, `{"type":"number","not":{"type":"integer"}}`,
	} {
		g, _, err := Compile([]byte(src), trie, grammar.Limits{}, Options{})
		if err != nil {
			t.Errorf("%s: %v", src, err)
			continue
		}
		for _, digits := range []string{"0", "9", "05", "1.0", "0.9", "-3e0", "1e9"} {
			s := g.New()
			n := 0
			for ; n < 1000; n++ { // the digits in turn, or what begins a number
				try := digits[n%len(digits):] + digits
				if n == 0 {
					try += "-0123456789"
				}
				if !strings.ContainsFunc(try, func(r rune) bool { return s.Accept(r) == nil }) {
					break
				}
			}
			if n == 0 {
				t.Fatalf("%s: no number begins", src)
			}
			if n == 1000 {
				t.Errorf("%s: %q again and again has no end", src, digits)
			}
		}
	}
}

// TestNumbersWritten: how numbers are written, and that spellings which are not written
// are no way around what is forbidden.
func TestNumbersWritten(t *testing.T) {
	trie := byteTrie(t)
	long := strings.Repeat("7", 60)
	for _, tt := range []struct{ src, yes, no string }{
		{`{"type":"integer"}`, "0 120 -7 " + long, "-0 1.0 -7.0 1.5 1. 01 1e2 " + long + long},
		{`{"type":"integer","minimum":2}`, "2 35 " + long, "2.0 2.00 1 -2 " + long + long},
		{`{"type":"integer","exclusiveMinimum":1e100}`, "1" + strings.Repeat("0", 99) + "10 1" + strings.Repeat("0", 99) + "1 " + long + long, long},
		{`{"type":"number"}`, "1.00 1.50 0." + long + " 1e5 1E-308", "1." + long + long + " 1e00001"},
		{`{"enum":[1,2.5,-100]}`, "1 2.5 -100", "1.0 2.50 -100.0 2 -10"},
		{`{"const":0}`, "0", "-0 0.0"},
		{`{"type":"number","not":{"const":1}}`, "1.5 10 0.10 1.01", "1 1.0 1.00 1.0000"},
		{`{"type":"number","not":{"enum":[0,2.5]}}`, "1.0 2.51 0.01", "0 -0 0.0 -0.00 2.5 2.50 2.5000"},
		{`{"type":"number","not":{"type":"integer"}}`, "1.5 0.50", "1.0 1.00 3 0.0000"},
		{`{"type":"number","multipleOf":0.01}`, "1.25 1.250 3", "1.255 0.001"},
		{`{"anyOf":[{"type":"integer","minimum":3},{"const":1.25}]}`, "3 4 1.25", "4.0 1.250 2"},
	} {
		g, _, err := Compile([]byte(tt.src), trie, grammar.Limits{}, Options{})
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		for _, text := range strings.Fields(tt.yes) {
			if err := reach(g, text); err != nil {
				t.Errorf("%s: %s is not written: %v", tt.src, text, err)
			}
		}
		for _, text := range strings.Fields(tt.no) {
			if reach(g, text) == nil {
				t.Errorf("%s: %s is written", tt.src, text)
			}
		}
	}
}

// TestDivisors: numbers under several divisors are right, and found without a search at
// each digit; too many remainders are refused by name.
func TestDivisors(t *testing.T) {
	trie := byteTrie(t)
	for _, tt := range []struct{ src, yes, no string }{
		{`{"allOf":[{"multipleOf":6},{"multipleOf":4}],"not":{"multipleOf":9}}`, "12 -24 24.0 120", "6 36 0 12.5 -"},
		{`{"type":"number","anyOf":[{"multipleOf":0.5},{"multipleOf":0.03}],"not":{"enum":[1.5,2]}}`, "0.03 0.5 1 4.50 0.060", "1.5 1.50 2 2.00 0.04"},
		{`{"type":"integer","not":{"anyOf":[{"multipleOf":2},{"multipleOf":3},{"multipleOf":5}]},"maximum":-8}`, "-11 -49 -77", "-77.0 -7 -10 -9 -25 11"},
		{`{"type":"number","oneOf":[{"multipleOf":2,"minimum":1},{"multipleOf":3}],"maximum":12}`, "2 3 4 9 -3 0", "6 12 1 -2 14 15"},
		{`{"allOf":[{"multipleOf":33},{"multipleOf":1001},{"multipleOf":429}],"not":{"multipleOf":12},"exclusiveMaximum":-100000}`, "-105105 -111111", "-3003 105105 -108108"},
	} {
		g, _, err := Compile([]byte(tt.src), trie, grammar.Limits{Fuel: 5000}, Options{})
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		for _, text := range strings.Fields(tt.yes) {
			if err := reach(g, text); err != nil {
				t.Errorf("%s: %s: %v", tt.src, text, err)
			}
		}
		for _, text := range strings.Fields(tt.no) {
			if reach(g, text) == nil {
				t.Errorf("%s: %s is written", tt.src, text)
			}
		}
		rng := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			if _, limit := walk(t, g, rng); limit != nil {
				t.Errorf("%s: %v", tt.src, limit)
			}
		}
	}
	_, _, err := Compile([]byte(`{"items":{"allOf":[{"multipleOf":9973},{"multipleOf":9967},{"not":{"multipleOf":9949}}]}}`), trie, grammar.Limits{}, Options{})
	var e *Error
	if !errors.As(err, &e) || e.Pointer != "/items/allOf/0/multipleOf" || !strings.Contains(e.Reason, "more than 65536 states") {
		t.Errorf("%v; want the divisors refused", err)
	}
}
