//go:build amd64 && !noasm

#include "textflag.h"

// vendor writes the name that leaf 0 of CPUID gives.
//
// func vendor(v *[12]byte)
TEXT ·vendor(SB), NOSPLIT, $0-8
	XORL  AX, AX
	XORL  CX, CX
	CPUID
	MOVQ  v+0(FP), DI
	MOVL  BX, (DI)
	MOVL  DX, 4(DI)
	MOVL  CX, 8(DI)
	RET
