/** The capabilities of HBase through its Thrift2 gateway. */
import type { Capabilities } from '../../api/index.js'

/** What the gateway can do. */
export const hbaseCapabilities: Capabilities = Object.freeze({
  sync: false,
  snapshots: false,
  changes: false,
  atomicAcrossRows: false,
  atomicAcrossTables: false,
  coprocessors: false,
  /** Only those that `parseFilter` makes; see `filters.ts`. */
  filters: false,
  rawScans: false,
  upkeep: false,
})
