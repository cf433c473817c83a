;; Allocator and twox hashes for a runtime, without leaving WebAssembly.
;;
;; Of 240,000 host calls of a block with 600 extrinsics, 200,000 allocate, free or hash a storage key. Here they
;; cost nanoseconds.
;;
;; Allocator (as Substrate's): sizes are powers of two from 8 bytes (order 0) to 32 MiB (order 22). Every block
;; has a header of 8 bytes in front: its order in the low half, and in the high half 1 while it is in use. A free
;; block's header holds the next free block of its order instead. Nothing is ever joined or given back.
(module
  (import "env" "memory" (memory $memory 0))                  ;; the runtime's
  (import "bridge" "functions" (table 4 funcref))             ;; through which the runtime calls this module
  (elem (i32.const 0) func $malloc $release $twox_64 $twox_128)
  (memory $free 1)                                            ;; by order: the first free block, 0 for none
  (global $top (export "top") (mut i32) (i32.const 0))        ;; where no block has been yet

  ;; A trap is told by the name of the function it happens in.
  (func $out_of_memory unreachable)
  (func $too_large unreachable)
  (func $not_allocated unreachable)

  (func $order (param $size i32) (result i32)
    (if (result i32) (i32.le_u (local.get $size) (i32.const 8))
      (then (i32.const 0))
      (else (i32.sub (i32.const 29) (i32.clz (i32.sub (local.get $size) (i32.const 1)))))))

  (func $in_use (param $block i32) (param $order i32) (result i32)
    (i64.store $memory (i32.sub (local.get $block) (i32.const 8))
      (i64.or (i64.extend_i32_u (local.get $order)) (i64.const 0x100000000)))
    (local.get $block))

  (func $reserve (param $end i64)                             ;; have memory up to this address, with 1 MiB to spare
    (local $lacking i64)
    (local.set $lacking (i64.sub (local.get $end) (i64.shl (i64.extend_i32_u (memory.size $memory)) (i64.const 16))))
    (if (i64.gt_s (local.get $lacking) (i64.const 0))
      (then
        (local.set $lacking (i64.shr_u (i64.add (local.get $lacking) (i64.const 65535)) (i64.const 16)))
        (if (i32.eq (memory.grow $memory (i32.wrap_i64 (i64.add (local.get $lacking) (i64.const 16)))) (i32.const -1))
          (then
            (if (i32.eq (memory.grow $memory (i32.wrap_i64 (local.get $lacking))) (i32.const -1))
              (then (call $out_of_memory))))))))

  (func $malloc (export "malloc") (param $size i32) (result i32)
    (local $order i32) (local $list i32) (local $block i32) (local $end i64)
    (if (i32.gt_u (local.get $size) (i32.const 0x2000000)) (then (call $too_large)))
    (local.set $order (call $order (local.get $size)))
    (local.set $list (i32.shl (local.get $order) (i32.const 2)))
    (local.set $block (i32.load $free (local.get $list)))
    (if (local.get $block)
      (then
        (i32.store $free (local.get $list) (i32.load $memory (i32.sub (local.get $block) (i32.const 8))))
        (return (call $in_use (local.get $block) (local.get $order)))))
    (local.set $block (i32.add (global.get $top) (i32.const 8)))
    (local.set $end (i64.add (i64.extend_i32_u (local.get $block))
      (i64.shl (i64.const 8) (i64.extend_i32_u (local.get $order)))))
    (call $reserve (local.get $end))
    (global.set $top (i32.wrap_i64 (local.get $end)))
    (call $in_use (local.get $block) (local.get $order)))

  (func $release (param $block i32)
    (local $header i64) (local $list i32)
    (local.set $header (i64.load $memory (i32.sub (local.get $block) (i32.const 8))))
    (if (i64.ne (i64.shr_u (local.get $header) (i64.const 32)) (i64.const 1)) (then (call $not_allocated)))
    (if (i32.gt_u (i32.wrap_i64 (local.get $header)) (i32.const 22)) (then (call $not_allocated)))
    (local.set $list (i32.shl (i32.wrap_i64 (local.get $header)) (i32.const 2)))
    (i64.store $memory (i32.sub (local.get $block) (i32.const 8))
      (i64.extend_i32_u (i32.load $free (local.get $list))))
    (i32.store $free (local.get $list) (local.get $block)))

  ;; xxHash, 64 bits (xxHash specification, XXH64): four lanes over stripes of 32 bytes, then what is left.

  (func $lane (param $state i64) (param $word i64) (result i64)
    (i64.mul
      (i64.rotl
        (i64.add (local.get $state) (i64.mul (local.get $word) (i64.const 0xC2B2AE3D27D4EB4F)))
        (i64.const 31))
      (i64.const 0x9E3779B185EBCA87)))

  (func $merge (param $hash i64) (param $state i64) (result i64)
    (i64.add
      (i64.mul
        (i64.xor (local.get $hash) (call $lane (i64.const 0) (local.get $state)))
        (i64.const 0x9E3779B185EBCA87))
      (i64.const 0x85EBCA77C2B2AE63)))

  (func $stripes (param $at i32) (param $count i32) (param $seed i64) (result i64)
    (local $one i64) (local $two i64) (local $three i64) (local $four i64)
    (local.set $one (i64.add (local.get $seed) (i64.const 0x60EA27EEADC0B5D6)))
    (local.set $two (i64.add (local.get $seed) (i64.const 0xC2B2AE3D27D4EB4F)))
    (local.set $three (local.get $seed))
    (local.set $four (i64.sub (local.get $seed) (i64.const 0x9E3779B185EBCA87)))
    (loop $next
      (local.set $one (call $lane (local.get $one) (i64.load $memory (local.get $at))))
      (local.set $two (call $lane (local.get $two) (i64.load $memory offset=8 (local.get $at))))
      (local.set $three (call $lane (local.get $three) (i64.load $memory offset=16 (local.get $at))))
      (local.set $four (call $lane (local.get $four) (i64.load $memory offset=24 (local.get $at))))
      (local.set $at (i32.add (local.get $at) (i32.const 32)))
      (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))
    (call $merge
      (call $merge
        (call $merge
          (call $merge
            (i64.add
              (i64.add (i64.rotl (local.get $one) (i64.const 1)) (i64.rotl (local.get $two) (i64.const 7)))
              (i64.add (i64.rotl (local.get $three) (i64.const 12)) (i64.rotl (local.get $four) (i64.const 18))))
            (local.get $one))
          (local.get $two))
        (local.get $three))
      (local.get $four)))

  (func $rest (param $hash i64) (param $at i32) (param $left i32) (result i64)
    (loop $words
      (if (i32.ge_u (local.get $left) (i32.const 8))
        (then
          (local.set $hash
            (i64.add
              (i64.mul
                (i64.rotl
                  (i64.xor (local.get $hash) (call $lane (i64.const 0) (i64.load $memory (local.get $at))))
                  (i64.const 27))
                (i64.const 0x9E3779B185EBCA87))
              (i64.const 0x85EBCA77C2B2AE63)))
          (local.set $at (i32.add (local.get $at) (i32.const 8)))
          (local.set $left (i32.sub (local.get $left) (i32.const 8)))
          (br $words))))
    (if (i32.ge_u (local.get $left) (i32.const 4))
      (then
        (local.set $hash
          (i64.add
            (i64.mul
              (i64.rotl
                (i64.xor (local.get $hash)
                  (i64.mul (i64.load32_u $memory (local.get $at)) (i64.const 0x9E3779B185EBCA87)))
                (i64.const 23))
              (i64.const 0xC2B2AE3D27D4EB4F))
            (i64.const 0x165667B19E3779F9)))
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (local.set $left (i32.sub (local.get $left) (i32.const 4)))))
    (loop $bytes
      (if (local.get $left)
        (then
          (local.set $hash
            (i64.mul
              (i64.rotl
                (i64.xor (local.get $hash)
                  (i64.mul (i64.load8_u $memory (local.get $at)) (i64.const 0x27D4EB2F165667C5)))
                (i64.const 11))
              (i64.const 0x9E3779B185EBCA87)))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (local.set $left (i32.sub (local.get $left) (i32.const 1)))
          (br $bytes))))
    (local.get $hash))

  (func $xxhash (param $at i32) (param $size i32) (param $seed i64) (result i64)
    (local $hash i64) (local $whole i32)
    (local.set $hash
      (if (result i64) (i32.lt_u (local.get $size) (i32.const 32))
        (then (i64.add (local.get $seed) (i64.const 0x27D4EB2F165667C5)))
        (else (call $stripes (local.get $at) (i32.shr_u (local.get $size) (i32.const 5)) (local.get $seed)))))
    (local.set $whole (i32.and (local.get $size) (i32.const 0xFFFFFFE0)))
    (local.set $hash
      (call $rest
        (i64.add (local.get $hash) (i64.extend_i32_u (local.get $size)))
        (i32.add (local.get $at) (local.get $whole))
        (i32.sub (local.get $size) (local.get $whole))))
    (local.set $hash (i64.mul (i64.xor (local.get $hash) (i64.shr_u (local.get $hash) (i64.const 33)))
      (i64.const 0xC2B2AE3D27D4EB4F)))
    (local.set $hash (i64.mul (i64.xor (local.get $hash) (i64.shr_u (local.get $hash) (i64.const 29)))
      (i64.const 0x165667B19E3779F9)))
    (i64.xor (local.get $hash) (i64.shr_u (local.get $hash) (i64.const 32))))

  (func $seeded (param $span i64) (param $seed i64) (result i64)
    (call $xxhash
      (i32.wrap_i64 (local.get $span)) (i32.wrap_i64 (i64.shr_u (local.get $span) (i64.const 32))) (local.get $seed)))

  (func $twox_64 (param $span i64) (result i32)
    (local $to i32)
    (local.set $to (call $malloc (i32.const 8)))
    (i64.store $memory (local.get $to) (call $seeded (local.get $span) (i64.const 0)))
    (local.get $to))

  (func $twox_128 (param $span i64) (result i32)
    (local $to i32)
    (local.set $to (call $malloc (i32.const 16)))
    (i64.store $memory (local.get $to) (call $seeded (local.get $span) (i64.const 0)))
    (i64.store $memory offset=8 (local.get $to) (call $seeded (local.get $span) (i64.const 1)))
    (local.get $to)))
