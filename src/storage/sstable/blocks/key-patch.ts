/** Rewriting of keys while a file is read; keys are opaque to this room. */
import type { SsTableProperties } from '../properties.js'

/** Rewrites the end of every key of a file. The order of the keys must not change. */
export interface KeyPatch {
  /** Maximum number of bytes rewritten at the end of a key; a shorter key is damage. */
  readonly bytesMax: number
  /** The properties that replace those stored in the file. */
  readonly properties: Partial<SsTableProperties>
  /** Rewrites the key that ends at `keyEnd`. */
  patch(buffer: Buffer, keyEnd: number): void
}
