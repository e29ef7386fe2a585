.text
f: .fill 64, 1, 0x90
g: .fill 64, 1, 0x90
end:
.section .gopclntab, "a"
table:
.long 0xfffffff1
.byte 0, 0, 1, 8
.quad 2, 0, 0, names - table, 0, 0, programs - table, about - table
names: .asciz "main.f"
top: .asciz "runtime.goexit"
programs: .byte 0, 2, 4, 32, 60, 0
.balign 4
about:
.long 0, of_f - about, g - f, of_g - about, end - f
of_f: .long 0, 0, 0, 0, 1, 0, 0, 0, 0, 0
.byte 0, 0, 0, 0
of_g: .long g - f, top - names, 0, 0, 1, 0, 0, 0, 0, 0
.byte 0, 1, 0, 0
