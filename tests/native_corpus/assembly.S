/* Functions of the corpus: what assembly may say in its call frame information, and no compiler does. */

  .macro function name
  .globl corpus_\name
  .type corpus_\name, @function
  .p2align 4
corpus_\name:
  .cfi_startproc
  .byte 0xf3, 0x0f, 0x1e, 0xfa /* endbr64 */
  .endm
  .macro ends name
  .cfi_endproc
  .size corpus_\name, . - corpus_\name
  .endm

  .text

/* The frame is found by a register other than rsp and rbp, as in the loader's resolver. */
  function cfa_in_rbx
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  mov %rsp, %rbx
  .cfi_def_cfa_register %rbx
  and $-64, %rsp
  sub $256, %rsp
  nop
  mov %rbx, %rsp
  .cfi_def_cfa_register %rsp
  sub $16, %rsp
  .cfi_adjust_cfa_offset 16
  call checkpoint@PLT
  add $16, %rsp
  .cfi_adjust_cfa_offset -16
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
  ends cfa_in_rbx

/* And by one that no call preserves. */
  function cfa_in_r10
  lea 8(%rsp), %r10
  .cfi_def_cfa %r10, 0
  and $-32, %rsp
  pushq -8(%r10)
  push %rbp
  mov %rsp, %rbp
  .cfi_escape 0x10, 6, 2, 0x76, 0
  push %r10
  .cfi_escape 0x0f, 3, 0x76, 0x78, 6
  sub $24, %rsp
  call checkpoint@PLT
  add $24, %rsp
  pop %r10
  .cfi_def_cfa %r10, 0
  pop %rbp
  .cfi_restore %rbp
  lea -8(%r10), %rsp
  .cfi_def_cfa %rsp, 8
  ret
  ends cfa_in_r10

/* A leaf function that keeps registers in other ones. */
  function rbp_in_register
  mov %rbp, %r11
  .cfi_register %rbp, %r11
  mov %rbx, %rdx
  .cfi_register %rbx, %rdx
  xor %ebp, %ebp
  xor %ebx, %ebx
  nop
  mov %rdx, %rbx
  .cfi_restore %rbx
  mov %r11, %rbp
  .cfi_restore %rbp
  ret
  ends rbp_in_register

/* A word on the stack, found by arithmetic: DW_OP_breg7 8, DW_OP_lit8, DW_OP_dup, DW_OP_plus, DW_OP_plus, DW_OP_deref. */
  function cfa_by_expression
  mov %rsp, %rax
  sub $40, %rsp
  .cfi_adjust_cfa_offset 40
  add $8, %rax
  mov %rax, 24(%rsp)
  .cfi_escape 0x0f, 7, 0x77, 8, 0x38, 0x12, 0x22, 0x22, 6
  call checkpoint@PLT
  .cfi_remember_state
  nop
  .cfi_def_cfa %rsp, 48
  add $40, %rsp
  .cfi_adjust_cfa_offset -40
  ret
  .cfi_restore_state
  ud2
  ends cfa_by_expression

/* Many small steps of the stack pointer. */
  function pushed_room
  pushf
  .cfi_adjust_cfa_offset 8
  push $1
  .cfi_adjust_cfa_offset 8
  push %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r12, 0
  call checkpoint@PLT
  pop %r12
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r12
  lea 8(%rsp), %rsp
  .cfi_adjust_cfa_offset -8
  lea 8(%rsp), %rsp
  .cfi_adjust_cfa_offset -8
  ret
  ends pushed_room

/* rbp holds a number while the function calls. */
  function rbp_as_number
  push %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  mov $12345, %ebp
  call checkpoint@PLT
  mov $7, %ebp
  call corpus_rbp_in_register@PLT
  pop %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  ret
  ends rbp_as_number

  .section .note.GNU-stack, "", @progbits
