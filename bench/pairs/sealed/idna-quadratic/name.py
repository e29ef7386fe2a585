import idna

try:
    idna.encode("\u0628" + "a\u200c" * 2500 + "\u0628")
except idna.IDNAError:
    pass
