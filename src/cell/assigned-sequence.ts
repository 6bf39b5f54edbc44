/**
 * The sequence that a file from outside gets when it becomes part of a table. Its keys were written
 * before the sequence was known, so they are rewritten while the file is read.
 */
import { keySuffixBytes, writeSequence } from './cell-key.js'

/** Makes the key patch (`sstable/key-patch.ts`) of a sequence; none without a sequence. */
export function patchOfSequence(sequence: number | undefined) {
  if (sequence === undefined) return undefined
  return {
    bytesMax: keySuffixBytes,
    properties: { minSequence: sequence, maxSequence: sequence },
    patch: (buffer: Buffer, keyEnd: number): void => writeSequence(buffer, keyEnd, sequence),
  }
}
