/**
 * The sequence of a bulk-loaded file. The keys of the file were written before its sequence was
 * known. So the sequence is put into the keys while the file is read.
 */
import { keySuffixBytes, writeSequence } from './cell-key.js'

/**
 * Makes the key patch (`storage/sstable/blocks/key-patch.ts`) that sets a sequence; undefined
 * without a sequence.
 */
export function patchOfSequence(sequence: number | undefined) {
  if (sequence === undefined) return undefined
  return {
    bytesMax: keySuffixBytes,
    properties: { minSequence: sequence, maxSequence: sequence },
    patch: (buffer: Buffer, keyEnd: number): void => writeSequence(buffer, keyEnd, sequence),
  }
}
