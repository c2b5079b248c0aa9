module quern-gen

go 1.26
