"""Print the phonemes flite's CMU lexicon gives the words on standard input.

The dictionary in pocketsphinx-en-us has lost its stress marks; flite's copy of
the same dictionary (Debian package libflite1, 2.2) kept which vowels are
stressed. Only that is used.
"""
import ctypes
import sys

flite = ctypes.CDLL("libflite.so.1", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL("libflite_usenglish.so.1", mode=ctypes.RTLD_GLOBAL)
cmulex = ctypes.CDLL("libflite_cmulex.so.1", mode=ctypes.RTLD_GLOBAL)
P = ctypes.c_void_p
cmulex.cmu_lex_init.restype = P
flite.lex_lookup.restype = P
flite.lex_lookup.argtypes = [P, ctypes.c_char_p, ctypes.c_char_p, P]
for name in ("val_car", "val_cdr"):
    getattr(flite, name).restype = P
    getattr(flite, name).argtypes = [P]
flite.val_string.restype = ctypes.c_char_p
flite.val_string.argtypes = [P]
flite.delete_val.argtypes = [P]

flite.flite_init()
lexicon = cmulex.cmu_lex_init()
for line in sys.stdin:
    word = line.strip()
    first = at = flite.lex_lookup(lexicon, word.encode(), None, None)
    phones = []
    while at:
        phones.append(flite.val_string(flite.val_car(at)).decode())
        at = flite.val_cdr(at)
    flite.delete_val(first)
    print(word, *phones)
