module quern-gen

go 1.26

require github.com/klauspost/asmfmt v1.3.2
