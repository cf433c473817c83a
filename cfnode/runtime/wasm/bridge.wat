;; The functions of the shim under the names by which a runtime imports them.
;;
;; The shim needs the memory of the runtime, and the runtime the functions of the shim: so the runtime calls these,
;; and the shim puts its functions into their table once there is a memory. Before that a call traps.
(module
  (type $allocate (func (param i32) (result i32)))
  (type $free (func (param i32)))
  (type $hash (func (param i64) (result i32)))
  (table (export "functions") 4 funcref)

  (func (export "ext_allocator_malloc_version_1") (type $allocate)
    (call_indirect (type $allocate) (local.get 0) (i32.const 0)))
  (func (export "ext_allocator_free_version_1") (type $free)
    (call_indirect (type $free) (local.get 0) (i32.const 1)))
  (func (export "ext_hashing_twox_64_version_1") (type $hash)
    (call_indirect (type $hash) (local.get 0) (i32.const 2)))
  (func (export "ext_hashing_twox_128_version_1") (type $hash)
    (call_indirect (type $hash) (local.get 0) (i32.const 3))))
