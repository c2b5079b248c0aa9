package main

import (
	"fmt"
	"regexp"
	"strconv"
)

// use names registers for the rest of the current function: pairs of a name and a
// register. Naming a register twice is a mistake, which reuse is there to allow.
func (a *file) use(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		for name, register := range a.regs {
			if number(register) == number(pairs[i+1]) {
				panic(fmt.Sprintf("%s is named %s and %s", register, name, pairs[i]))
			}
		}
		a.reuse(pairs[i], pairs[i+1])
	}
}

// reuse names registers that have other names, whose values are no longer needed.
func (a *file) reuse(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		if old, ok := a.regs[pairs[i]]; ok && old != pairs[i+1] {
			panic(fmt.Sprintf("%s names %s and %s", pairs[i], old, pairs[i+1]))
		}
		a.regs[pairs[i]] = pairs[i+1]
	}
}

// useRow names n vectors from register first on: stem0, stem1 and so on.
func (a *file) useRow(stem string, v func(int) string, first, n int) {
	for i := range n {
		a.use(fmt.Sprint(stem, i), v(first+i))
	}
}

// num is the number of the vector register that a name stands for.
func (a *file) num(name string) int {
	n, err := strconv.Atoi(a.named("{" + name + "}")[1:])
	if err != nil {
		panic(name + " is not a vector")
	}
	return n
}

// number is what X0, Y0 and Z0, parts of one register, have in common.
func number(register string) string {
	switch register[0] {
	case 'X', 'Y', 'Z':
		return "vector " + register[1:]
	}
	return register
}

var braces = regexp.MustCompile(`\{(\w+)(\.[xyz])?\}`)

// named replaces names in braces by the registers they stand for.
func (a *file) named(text string) string {
	return braces.ReplaceAllStringFunc(text, func(s string) string {
		m := braces.FindStringSubmatch(s)
		register, ok := a.regs[m[1]]
		if !ok {
			panic("no register is named " + m[1])
		}
		if m[2] == "" {
			return register
		}
		return string(m[2][1]-'a'+'A') + register[1:]
	})
}
