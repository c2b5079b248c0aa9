//go:build !js

package main

// A memory that threads share has this flag before its limits, and a maximum: pages of 64 KiB.
const (
	sharedMemory = 3
	most         = 1 << 16
)

// importMemory makes a program of Go import its memory, as go.mem, instead of making it:
// so the kernels, which work in that memory and which the program imports, can be there
// before the program is. It is one that threads share, of at most 4 GiB: kernels in other
// threads work in it too. Nothing else changes.
//
// WebAssembly Core Specification 2.0, 5.5; 3.0, 5.3.10.
func (m module) importMemory() (module, error) {
	memory, imports := &reader{rest: m.section(memorySection)}, &reader{rest: m.section(importSection)}
	if memory.uint() != 1 || memory.byte() != 0 { // 0: no maximum
		return nil, errModule
	}
	least, count := memory.uint(), imports.uint()
	if memory.bad || imports.bad {
		return nil, errModule
	}
	list := append(appendUint(nil, count+1), imports.rest...)
	list = append(list, "\x02go\x03mem"...)
	list = append(list, memoryKind, sharedMemory)
	list = appendUint(appendUint(list, least), most)
	return m.with(memorySection, nil).with(importSection, list), nil
}
