/**
 * The footer of value files, which hold large values apart from the SSTables whose cells refer to
 * them. See FORMAT.md, "Value file".
 *
 * All constants are part of the disk format: never change a value, add a format version instead.
 */
import { readUint64LE, writeUint64LE } from '../../../base/bytes.js'
import { checkFooter, checkFooterTail, sealFooter, type FooterKind } from '../footer-frame.js'
import { footerTailBytes } from '../format.js'
import { damaged, type SectionFile } from '../blocks/section.js'

/** Size of the footer. Never change. */
export const valueFooterBytes = 64

const valueFooter: FooterKind = {
  footerBytes: valueFooterBytes,
  version: 2,
  magic: Buffer.from('CellarVL', 'latin1'),
}

/** The content of the footer of a value file. */
export interface ValueFooter {
  /** Size of the values, trailers included; they come first. */
  readonly dataBytes: number
  readonly valueCount: number
  /** Stored size of the index, which follows. */
  readonly indexBytes: number
}

/** Makes the footer for `offset` of file `fileNumber`. */
export function encodeValueFooter(
  footer: ValueFooter,
  databaseId: Buffer,
  fileNumber: number,
  offset: number,
): Buffer {
  const target = Buffer.alloc(valueFooterBytes)
  writeUint64LE(target, 0, footer.dataBytes)
  target.writeUInt32LE(footer.valueCount, 8)
  target.writeUInt32LE(footer.indexBytes, 12)
  sealFooter(target, valueFooter, databaseId, fileNumber, offset)
  return target
}

/**
 * Decodes the footer of a file of `fileBytes`. Throws `ERR_FORMAT_VERSION` for a file of another
 * version, else `ERR_CORRUPTION`, also if the file belongs to another database than `databaseId`.
 */
export function decodeValueFooter(
  source: Buffer,
  databaseId: Buffer,
  file: SectionFile,
  fileBytes: number,
): ValueFooter {
  checkFooterTail(source.subarray(-footerTailBytes), valueFooter, file, fileBytes)
  checkFooter(source, valueFooter, databaseId, file, fileBytes)
  const offset = fileBytes - valueFooterBytes
  const footer = {
    dataBytes: readUint64LE(source, 0),
    valueCount: source.readUInt32LE(8),
    indexBytes: source.readUInt32LE(12),
  }
  const total = footer.dataBytes + footer.indexBytes + valueFooterBytes
  if (total !== fileBytes) throw damaged(file, offset, `parts of ${fileBytes} bytes`, `${total}`)
  return footer
}
