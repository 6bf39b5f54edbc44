/** How the keys of a file are changed while the file is read; to this room keys are opaque. */
import type { SsTableProperties } from '../properties.js'

/** Rewrites the end of every key of a file. The order of the keys must stay as it is. */
export interface KeyPatch {
  /** Most bytes at the end of a key that are rewritten; a shorter key is damage. */
  readonly bytesMax: number
  /** What the properties of the file say instead of the stored ones. */
  readonly properties: Partial<SsTableProperties>
  /** Rewrites the key that ends at `keyEnd`. */
  patch(buffer: Buffer, keyEnd: number): void
}
