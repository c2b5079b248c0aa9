// Vector instructions by register number. Go's assembler lacks many of them,
// and numbers let the macros of kernels take registers as parameters. d is the
// destination, n and m the sources, i an element, s a shift, r a general
// register's number. TestEncodings runs every one on known operands.

// Loads of 16, 8, 4, 2 or 1 bytes at off(Rr), -256 ≤ off < 256, any alignment.
#define LDURQ(d, r, off) WORD $(0x3cc00000 | (((off)&511)<<12) | ((r)<<5) | (d)) // ldur Qd, [Xr, #off]
#define LDURD(d, r, off) WORD $(0xfc400000 | (((off)&511)<<12) | ((r)<<5) | (d)) // ldur Dd, [Xr, #off]
#define LDURS(d, r, off) WORD $(0xbc400000 | (((off)&511)<<12) | ((r)<<5) | (d)) // ldur Sd, [Xr, #off]
#define LDURH(d, r, off) WORD $(0x7c400000 | (((off)&511)<<12) | ((r)<<5) | (d)) // ldur Hd, [Xr, #off]
#define LDURB(d, r, off) WORD $(0x3c400000 | (((off)&511)<<12) | ((r)<<5) | (d)) // ldur Bd, [Xr, #off]

// Constants: imm is 0 to 255, in every byte or in every word.
#define ZERO(d) WORD $(0x6f00e400 | (d)) // movi Vd.2d, #0
#define MOVIB(d, imm) WORD $(0x4f00e400 | ((((imm)>>5)&7)<<16) | (((imm)&31)<<5) | (d)) // movi Vd.16b, #imm
#define MOVIH(d, imm) WORD $(0x4f008400 | ((((imm)>>5)&7)<<16) | (((imm)&31)<<5) | (d)) // movi Vd.8h, #imm
#define MOVIS(d, imm) WORD $(0x4f000400 | ((((imm)>>5)&7)<<16) | (((imm)&31)<<5) | (d)) // movi Vd.4s, #imm

// Bits.
#define AND(d, n, m) WORD $(0x4e201c00 | ((m)<<16) | ((n)<<5) | (d)) // and Vd.16b, Vn.16b, Vm.16b
#define BIC(d, n, m) WORD $(0x4e601c00 | ((m)<<16) | ((n)<<5) | (d)) // bic Vd.16b, Vn.16b, Vm.16b: n &^ m
#define ORR(d, n, m) WORD $(0x4ea01c00 | ((m)<<16) | ((n)<<5) | (d)) // orr Vd.16b, Vn.16b, Vm.16b
#define BIT(d, n, m) WORD $(0x6ea01c00 | ((m)<<16) | ((n)<<5) | (d)) // bit Vd.16b, Vn.16b, Vm.16b: n where m is set
#define BSL(d, n, m) WORD $(0x6e601c00 | ((m)<<16) | ((n)<<5) | (d)) // bsl Vd.16b, Vn.16b, Vm.16b: n where d was set, else m
#define CMTST(d, n, m) WORD $(0x4e208c00 | ((m)<<16) | ((n)<<5) | (d)) // cmtst Vd.16b, Vn.16b, Vm.16b
#define CMHIS(d, n, m) WORD $(0x6ea03400 | ((m)<<16) | ((n)<<5) | (d)) // cmhi Vd.4s, Vn.4s, Vm.4s
#define USHRB(d, n, s) WORD $(0x6f000400 | ((16-(s))<<16) | ((n)<<5) | (d)) // ushr Vd.16b, Vn.16b, #s
#define SHLB(d, n, s) WORD $(0x4f005400 | ((8+(s))<<16) | ((n)<<5) | (d)) // shl Vd.16b, Vn.16b, #s
#define SHLS(d, n, s) WORD $(0x4f005400 | ((32+(s))<<16) | ((n)<<5) | (d)) // shl Vd.4s, Vn.4s, #s
#define USHLB(d, n, m) WORD $(0x6e204400 | ((m)<<16) | ((n)<<5) | (d)) // ushl Vd.16b, Vn.16b, Vm.16b
#define USHLH(d, n, m) WORD $(0x6e604400 | ((m)<<16) | ((n)<<5) | (d)) // ushl Vd.8h, Vn.8h, Vm.8h
#define USHLS(d, n, m) WORD $(0x6ea04400 | ((m)<<16) | ((n)<<5) | (d)) // ushl Vd.4s, Vn.4s, Vm.4s

// Permutations and widening.
#define TBL(d, n, m) WORD $(0x4e000000 | ((m)<<16) | ((n)<<5) | (d)) // tbl Vd.16b, {Vn.16b}, Vm.16b
#define ZIP1B(d, n, m) WORD $(0x4e003800 | ((m)<<16) | ((n)<<5) | (d)) // zip1 Vd.16b, Vn.16b, Vm.16b
#define ZIP1H(d, n, m) WORD $(0x4e403800 | ((m)<<16) | ((n)<<5) | (d)) // zip1 Vd.8h, Vn.8h, Vm.8h
#define ZIP1S(d, n, m) WORD $(0x4e803800 | ((m)<<16) | ((n)<<5) | (d)) // zip1 Vd.4s, Vn.4s, Vm.4s
#define ZIP1D(d, n, m) WORD $(0x4ec03800 | ((m)<<16) | ((n)<<5) | (d)) // zip1 Vd.2d, Vn.2d, Vm.2d
#define SXTLB(d, n) WORD $(0x0f08a400 | ((n)<<5) | (d)) // sxtl Vd.8h, Vn.8b
#define SXTL2B(d, n) WORD $(0x4f08a400 | ((n)<<5) | (d)) // sxtl2 Vd.8h, Vn.16b
#define SXTLH(d, n) WORD $(0x0f10a400 | ((n)<<5) | (d)) // sxtl Vd.4s, Vn.4h
#define SXTL2H(d, n) WORD $(0x4f10a400 | ((n)<<5) | (d)) // sxtl2 Vd.4s, Vn.8h
#define UXTLB(d, n) WORD $(0x2f08a400 | ((n)<<5) | (d)) // uxtl Vd.8h, Vn.8b
#define UXTL2B(d, n) WORD $(0x6f08a400 | ((n)<<5) | (d)) // uxtl2 Vd.8h, Vn.16b
#define UXTLH(d, n) WORD $(0x2f10a400 | ((n)<<5) | (d)) // uxtl Vd.4s, Vn.4h
#define UXTL2H(d, n) WORD $(0x6f10a400 | ((n)<<5) | (d)) // uxtl2 Vd.4s, Vn.8h
#define SHLLH(d, n) WORD $(0x2e613800 | ((n)<<5) | (d)) // shll Vd.4s, Vn.4h, #16
#define SHLL2H(d, n) WORD $(0x6e613800 | ((n)<<5) | (d)) // shll2 Vd.4s, Vn.8h, #16
#define FCVTL(d, n) WORD $(0x0e217800 | ((n)<<5) | (d)) // fcvtl Vd.4s, Vn.4h
#define FCVTL2(d, n) WORD $(0x4e217800 | ((n)<<5) | (d)) // fcvtl2 Vd.4s, Vn.8h
#define SCVTF(d, n) WORD $(0x4e21d800 | ((n)<<5) | (d)) // scvtf Vd.4s, Vn.4s

// Integers.
#define SUBB(d, n, m) WORD $(0x6e208400 | ((m)<<16) | ((n)<<5) | (d)) // sub Vd.16b, Vn.16b, Vm.16b
#define SUBH(d, n, m) WORD $(0x6e608400 | ((m)<<16) | ((n)<<5) | (d)) // sub Vd.8h, Vn.8h, Vm.8h
#define SUBVS(d, n, m) WORD $(0x6ea08400 | ((m)<<16) | ((n)<<5) | (d)) // sub Vd.4s, Vn.4s, Vm.4s
#define ADDP(d, n, m) WORD $(0x4ea0bc00 | ((m)<<16) | ((n)<<5) | (d)) // addp Vd.4s, Vn.4s, Vm.4s
#define ADDV(d, n) WORD $(0x4eb1b800 | ((n)<<5) | (d)) // addv Sd, Vn.4s
#define SMULLB(d, n, m) WORD $(0x0e20c000 | ((m)<<16) | ((n)<<5) | (d)) // smull Vd.8h, Vn.8b, Vm.8b
#define SMLAL2B(d, n, m) WORD $(0x4e208000 | ((m)<<16) | ((n)<<5) | (d)) // smlal2 Vd.8h, Vn.16b, Vm.16b
#define SMULLH(d, n, m) WORD $(0x0e60c000 | ((m)<<16) | ((n)<<5) | (d)) // smull Vd.4s, Vn.4h, Vm.4h
#define SMLALH(d, n, m) WORD $(0x0e608000 | ((m)<<16) | ((n)<<5) | (d)) // smlal Vd.4s, Vn.4h, Vm.4h
#define SMLAL2H(d, n, m) WORD $(0x4e608000 | ((m)<<16) | ((n)<<5) | (d)) // smlal2 Vd.4s, Vn.8h, Vm.8h
#define SADDLP(d, n) WORD $(0x4e602800 | ((n)<<5) | (d)) // saddlp Vd.4s, Vn.8h
#define SADALP(d, n) WORD $(0x4e606800 | ((n)<<5) | (d)) // sadalp Vd.4s, Vn.8h
#define MLAE(d, n, m, i) WORD $(0x6f800000 | (((i)&1)<<21) | ((m)<<16) | (((i)>>1)<<11) | ((n)<<5) | (d)) // mla Vd.4s, Vn.4s, Vm.s[i]
#define SDOT(d, n, m) WORD $(0x4e809400 | ((m)<<16) | ((n)<<5) | (d)) // sdot Vd.4s, Vn.16b, Vm.16b

// Floats.
#define FADD(d, n, m) WORD $(0x4e20d400 | ((m)<<16) | ((n)<<5) | (d)) // fadd Vd.4s, Vn.4s, Vm.4s
#define FADDP(d, n, m) WORD $(0x6e20d400 | ((m)<<16) | ((n)<<5) | (d)) // faddp Vd.4s, Vn.4s, Vm.4s
#define FSUB(d, n, m) WORD $(0x4ea0d400 | ((m)<<16) | ((n)<<5) | (d)) // fsub Vd.4s, Vn.4s, Vm.4s
#define FMUL(d, n, m) WORD $(0x6e20dc00 | ((m)<<16) | ((n)<<5) | (d)) // fmul Vd.4s, Vn.4s, Vm.4s
#define FMULE(d, n, m, i) WORD $(0x4f809000 | (((i)&1)<<21) | ((m)<<16) | (((i)>>1)<<11) | ((n)<<5) | (d)) // fmul Vd.4s, Vn.4s, Vm.s[i]
#define FMLA(d, n, m) WORD $(0x4e20cc00 | ((m)<<16) | ((n)<<5) | (d)) // fmla Vd.4s, Vn.4s, Vm.4s
#define SCVTF7(d, n) WORD $(0x4f39e400 | ((n)<<5) | (d)) // scvtf Vd.4s, Vn.4s, #7: divided by 128
#define FMLS(d, n, m) WORD $(0x4ea0cc00 | ((m)<<16) | ((n)<<5) | (d)) // fmls Vd.4s, Vn.4s, Vm.4s
