package lang

// further are languages that need what a browser is not given: the lexicon of Japanese is 4 MB.
var further []Entry
