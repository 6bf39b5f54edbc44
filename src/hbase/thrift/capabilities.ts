/** The capabilities of HBase through its Thrift2 gateway, and the refusal of others. */
import {
  CellarError,
  ErrorCode,
  requireCapability,
  type Capabilities,
  type Capability,
} from '../../api/index.js'

/** The capabilities of the gateway. */
export const hbaseCapabilities: Capabilities = Object.freeze({
  sync: false,
  snapshots: false,
  changes: false,
  atomicAcrossRows: false,
  atomicAcrossTables: false,
  coprocessors: false,
  /** Only those that `parseFilter` makes; see `filterMember` of `reads.ts`. */
  filters: false,
  rawScans: false,
  upkeep: false,
})

/** Refuses a call that needs a capability. `ERR_UNSUPPORTED`. */
export function refuse(capability: Capability, what: string): never {
  requireCapability(hbaseCapabilities, capability, what)
  throw new CellarError(ErrorCode.unsupported, what)
}
