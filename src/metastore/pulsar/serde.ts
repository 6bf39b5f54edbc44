/** How values of caches, locks and elections become bytes. */
import type { Stat } from './types.js'

/** Writes and reads values of one type. */
export interface MetadataSerde<T> {
  /**
   * The bytes to store at `path`. What the function throws reaches the writer, and nothing is
   * written.
   */
  serialize(path: string, value: T): Uint8Array
  /**
   * The value of the bytes of a record, whose version and times are in `stat`. May throw anything
   * for bytes that are no value.
   */
  deserialize(path: string, bytes: Buffer, stat: Stat): T
}

/** Values as JSON. */
export function jsonSerde<T>(): MetadataSerde<T> {
  return {
    serialize: (_path, value) => Buffer.from(JSON.stringify(value)),
    deserialize: (_path, bytes) => JSON.parse(bytes.toString()) as T,
  }
}

/** Texts as UTF-8. */
export const textSerde: MetadataSerde<string> = {
  serialize: (_path, value) => Buffer.from(value),
  deserialize: (_path, bytes) => bytes.toString(),
}
