//go:build !noasm

#include "textflag.h"
#include "neon_arm64.h"

// Every instruction of neon_arm64.h by its number in the table of
// neon_arm64_test.go, on V21 (d), V10 (n) and V28 (m).

// func tryNEON(op int, d, n, m *[16]byte)
TEXT ·tryNEON(SB), NOSPLIT, $0-32
	MOVD op+0(FP), R0
	MOVD d+8(FP), R1
	MOVD n+16(FP), R2
	MOVD m+24(FP), R3
	VLD1 (R1), [V21.B16]
	VLD1 (R2), [V10.B16]
	VLD1 (R3), [V28.B16]
	ADD  $19, R2, R20

	CMP $0, R0
	BNE op1
	LDURQ(21, 20, -19)
	B   done

op1:
	CMP $1, R0
	BNE op2
	LDURD(21, 20, -19)
	B   done

op2:
	CMP $2, R0
	BNE op3
	LDURS(21, 20, -19)
	B   done

op3:
	CMP $3, R0
	BNE op4
	LDURH(21, 20, -19)
	B   done

op4:
	CMP $4, R0
	BNE op5
	LDURB(21, 20, -19)
	B   done

op5:
	CMP $5, R0
	BNE op6
	ZERO(21)
	B   done

op6:
	CMP $6, R0
	BNE op7
	MOVIB(21, 0xb6)
	B   done

op7:
	CMP $7, R0
	BNE op8
	MOVIH(21, 0xb6)
	B   done

op8:
	CMP $8, R0
	BNE op9
	MOVIS(21, 0xb6)
	B   done

op9:
	CMP $9, R0
	BNE op10
	AND(21, 10, 28)
	B   done

op10:
	CMP $10, R0
	BNE op11
	BIC(21, 10, 28)
	B   done

op11:
	CMP $11, R0
	BNE op12
	ORR(21, 10, 28)
	B   done

op12:
	CMP $12, R0
	BNE op13
	BIT(21, 10, 28)
	B   done

op13:
	CMP $13, R0
	BNE op14
	BSL(21, 10, 28)
	B   done

op14:
	CMP $14, R0
	BNE op15
	CMTST(21, 10, 28)
	B   done

op15:
	CMP $15, R0
	BNE op16
	CMHIS(21, 10, 28)
	B   done

op16:
	CMP $16, R0
	BNE op17
	USHRB(21, 10, 3)
	B   done

op17:
	CMP $17, R0
	BNE op18
	SHLB(21, 10, 3)
	B   done

op18:
	CMP $18, R0
	BNE op19
	SHLS(21, 10, 21)
	B   done

op19:
	CMP $19, R0
	BNE op20
	USHLB(21, 10, 28)
	B   done

op20:
	CMP $20, R0
	BNE op21
	USHLH(21, 10, 28)
	B   done

op21:
	CMP $21, R0
	BNE op22
	USHLS(21, 10, 28)
	B   done

op22:
	CMP $22, R0
	BNE op23
	TBL(21, 10, 28)
	B   done

op23:
	CMP $23, R0
	BNE op24
	ZIP1B(21, 10, 28)
	B   done

op24:
	CMP $24, R0
	BNE op25
	ZIP1H(21, 10, 28)
	B   done

op25:
	CMP $25, R0
	BNE op26
	ZIP1S(21, 10, 28)
	B   done

op26:
	CMP $26, R0
	BNE op27
	ZIP1D(21, 10, 28)
	B   done

op27:
	CMP $27, R0
	BNE op28
	SXTLB(21, 10)
	B   done

op28:
	CMP $28, R0
	BNE op29
	SXTL2B(21, 10)
	B   done

op29:
	CMP $29, R0
	BNE op30
	SXTLH(21, 10)
	B   done

op30:
	CMP $30, R0
	BNE op31
	SXTL2H(21, 10)
	B   done

op31:
	CMP $31, R0
	BNE op32
	UXTLB(21, 10)
	B   done

op32:
	CMP $32, R0
	BNE op33
	UXTL2B(21, 10)
	B   done

op33:
	CMP $33, R0
	BNE op34
	UXTLH(21, 10)
	B   done

op34:
	CMP $34, R0
	BNE op35
	UXTL2H(21, 10)
	B   done

op35:
	CMP $35, R0
	BNE op36
	SHLLH(21, 10)
	B   done

op36:
	CMP $36, R0
	BNE op37
	SHLL2H(21, 10)
	B   done

op37:
	CMP $37, R0
	BNE op38
	FCVTL(21, 10)
	B   done

op38:
	CMP $38, R0
	BNE op39
	FCVTL2(21, 10)
	B   done

op39:
	CMP $39, R0
	BNE op40
	SCVTF(21, 10)
	B   done

op40:
	CMP $40, R0
	BNE op41
	SUBB(21, 10, 28)
	B   done

op41:
	CMP $41, R0
	BNE op42
	SUBH(21, 10, 28)
	B   done

op42:
	CMP $42, R0
	BNE op43
	SUBVS(21, 10, 28)
	B   done

op43:
	CMP $43, R0
	BNE op44
	ADDP(21, 10, 28)
	B   done

op44:
	CMP $44, R0
	BNE op45
	ADDV(21, 10)
	B   done

op45:
	CMP $45, R0
	BNE op46
	SMULLB(21, 10, 28)
	B   done

op46:
	CMP $46, R0
	BNE op47
	SMLAL2B(21, 10, 28)
	B   done

op47:
	CMP $47, R0
	BNE op48
	SMULLH(21, 10, 28)
	B   done

op48:
	CMP $48, R0
	BNE op49
	SMLALH(21, 10, 28)
	B   done

op49:
	CMP $49, R0
	BNE op50
	SMLAL2H(21, 10, 28)
	B   done

op50:
	CMP $50, R0
	BNE op51
	SADDLP(21, 10)
	B   done

op51:
	CMP $51, R0
	BNE op52
	SADALP(21, 10)
	B   done

op52:
	CMP $52, R0
	BNE op53
	MLAE(21, 10, 28, 3)
	B   done

op53:
	CMP $53, R0
	BNE op54
	SDOT(21, 10, 28)
	B   done

op54:
	CMP $54, R0
	BNE op55
	FADD(21, 10, 28)
	B   done

op55:
	CMP $55, R0
	BNE op56
	FADDP(21, 10, 28)
	B   done

op56:
	CMP $56, R0
	BNE op57
	FSUB(21, 10, 28)
	B   done

op57:
	CMP $57, R0
	BNE op58
	FMUL(21, 10, 28)
	B   done

op58:
	CMP $58, R0
	BNE op59
	FMULE(21, 10, 28, 3)
	B   done

op59:
	CMP $59, R0
	BNE op60
	FMLA(21, 10, 28)
	B   done

op60:
	CMP $60, R0
	BNE op61
	SCVTF7(21, 10)
	B   done

op61:
	CMP $61, R0
	BNE op62
	FMLS(21, 10, 28)
	B   done

op62:
	UNDEF

done:
	VST1 [V21.B16], (R1)
	RET
